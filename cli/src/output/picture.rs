//! Pictures of numbers: in the cells of a terminal, and as PNG.

use std::io::{self, Write};
use std::sync::LazyLock;

use anstyle::{Color, RgbColor, Style};
use png::{BitDepth, ColorType, Encoder, EncodingError, StreamWriter};

/// The color of each of the 256 parts of a range, from the smallest numbers to the largest. The colors are the color
/// map viridis, whose lightness grows evenly.
static COLORS: LazyLock<[[u8; 3]; 256]> = LazyLock::new(|| {
    let mut hex = include_str!("viridis.txt").split_ascii_whitespace();
    [(); 256].map(|()| {
        let color = hex.next().and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let [_, rgb @ ..] = color.unwrap_or_default().to_be_bytes();
        rgb
    })
});

/// The characters that replace the colors in output without colors, from the smallest numbers to the largest. NaN is a
/// space.
const SHADES: &[u8] = b".:-=+*#%@";

fn color(part: u8) -> [u8; 3] {
    COLORS.get(usize::from(part)).copied().unwrap_or_default()
}

/// The pixels of a picture in a terminal. Each pixel shows one of the 256 parts of the range (see `COLORS`), or is
/// `None` if it has no color.
pub(crate) struct Pixels {
    pub(crate) width: usize,
    pub(crate) parts: Vec<Option<u8>>,
}

impl Pixels {
    /// The picture of a line through the numbers, from left to right. The picture is `height` pixels high.
    pub(crate) fn line(numbers: &[Option<u8>], height: usize) -> Self {
        let width = numbers.len();
        let mut parts = vec![None; width * height];
        let mut before = None;
        for (column, &number) in numbers.iter().enumerate() {
            // The first row is the top row, so the largest number is in the first row.
            let row = number.map(|part| usize::from(u8::MAX - part) * height / 256);
            if let Some(row) = row {
                // Pixels above or below this number connect it to the number before it.
                let other = before.unwrap_or(row);
                let joined = if other < row { other + 1..row + 1 } else { row..other.max(row + 1) };
                for row in joined {
                    if let Some(pixel) = parts.get_mut(row * width + column) {
                        *pixel = number;
                    }
                }
            }
            before = row;
        }
        Self { width, parts }
    }

    /// Writes the pixels. With colors, each line of text shows two rows of pixels. Without colors, it shows one row.
    pub(crate) fn write(&self, out: &mut impl Write, is_colored: bool) -> io::Result<()> {
        let width = self.width.max(1);
        if !is_colored {
            return self.parts.chunks(width).try_for_each(|row| {
                let shade = |part: &Option<u8>| part.map_or(b' ', shade);
                let line: Vec<u8> = row.iter().map(shade).collect();
                writeln!(out, "{}", String::from_utf8_lossy(&line).trim_end())
            });
        }
        for rows in self.parts.chunks(2 * width) {
            let (upper, lower) = rows.split_at(width.min(rows.len()));
            let mut style = Style::new();
            for (column, &upper) in upper.iter().enumerate() {
                let lower = lower.get(column).copied().flatten();
                let (cell, new) = match (upper, lower) {
                    (None, None) => (' ', Style::new()),
                    (None, Some(_)) => ('▄', Style::new().fg_color(lower.map(of_terminal))),
                    _ => {
                        let colors = [upper, lower].map(|part| part.map(of_terminal));
                        ('▀', Style::new().fg_color(colors[0]).bg_color(colors[1]))
                    }
                };
                if new != style {
                    write!(out, "{style:#}{new}")?;
                    style = new;
                }
                write!(out, "{cell}")?;
            }
            writeln!(out, "{style:#}")?;
        }
        Ok(())
    }
}

fn of_terminal(part: u8) -> Color {
    let [red, green, blue] = color(part);
    RgbColor(red, green, blue).into()
}

fn shade(part: u8) -> u8 {
    SHADES.get(usize::from(part) * SHADES.len() / 256).copied().unwrap_or_default()
}

/// The color key: all colors from left to right, from the smallest numbers to the largest.
pub(crate) fn color_key(is_colored: bool) -> String {
    if !is_colored {
        return String::from_utf8_lossy(SHADES).into();
    }
    let cells = (0..16_u8).map(|cell| {
        let style = Style::new().fg_color(Some(of_terminal(17 * cell)));
        format!("{style}█{style:#}")
    });
    cells.collect()
}

/// Writes the pixels of a PNG, piece by piece.
pub(crate) struct PngPixels<'w, W: Write> {
    stream: StreamWriter<'w, W>,
    has_gaps: bool,
}

impl<W: Write> PngPixels<'_, W> {
    /// Writes the next pixels.
    pub(crate) fn write(&mut self, parts: impl Iterator<Item = Option<u8>>) -> io::Result<()> {
        let bytes: Vec<u8> = if self.has_gaps {
            let rgba = |part| {
                let [red, green, blue] = color(part);
                [red, green, blue, u8::MAX]
            };
            parts.flat_map(|part| part.map_or([0; 4], rgba)).collect()
        } else {
            parts.flatten().collect()
        };
        self.stream.write_all(&bytes)
    }
}

/// Writes a PNG. The function `write` writes its pixels. `failed` converts an error of `out` to the error type of
/// `write`. With `has_gaps`, pixels without a color are transparent. Otherwise, every pixel must have a color, and the
/// colors are stored as a palette.
pub(crate) fn write_png<W: Write, E>(
    out: W,
    [columns, rows]: [u32; 2],
    has_gaps: bool,
    failed: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut PngPixels<'_, W>) -> Result<(), E>,
) -> Result<(), E> {
    let mut encoder = Encoder::new(out, columns, rows);
    encoder.set_depth(BitDepth::Eight);
    if has_gaps {
        encoder.set_color(ColorType::Rgba);
    } else {
        encoder.set_color(ColorType::Indexed);
        encoder.set_palette(COLORS.as_flattened());
    }
    let failed = |error| {
        failed(match error {
            // The original `io::Error` is taken out of the `EncodingError`, because the conversion with `into` keeps
            // only the text.
            EncodingError::IoError(error) => error,
            error => error.into(),
        })
    };
    let mut writer = encoder.write_header().map_err(failed)?;
    {
        // The stream borrows the writer, so that `writer.finish` can return an error of writing the last bytes. If the
        // stream owned the writer, this error would be lost.
        let mut pixels = PngPixels { stream: writer.stream_writer().map_err(failed)?, has_gaps };
        write(&mut pixels)?;
        pixels.stream.finish().map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first color, the last color and a color of the middle are those of Matplotlib.
    #[test]
    fn colors_are_those_of_viridis() {
        assert_eq!([0, 128, 255].map(color), [[68, 1, 84], [33, 145, 140], [253, 231, 37]]);
        let luma = |&[red, green, blue]: &[u8; 3]| {
            299 * i32::from(red) + 587 * i32::from(green) + 114 * i32::from(blue)
        };
        assert!(COLORS.iter().step_by(8).map(luma).is_sorted());
        assert_eq!(include_str!("viridis.txt").split_ascii_whitespace().count(), 256);
    }

    fn written(pixels: &Pixels, is_colored: bool) -> String {
        let mut out = Vec::new();
        pixels.write(&mut out, is_colored).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn pixels_are_half_blocks() {
        let pixels = Pixels {
            width: 3,
            parts: [Some(0), Some(255), None, Some(255), None, Some(0), Some(0), None, None].into(),
        };
        let [low, high] = ["8;2;68;1;84m", "8;2;253;231;37m"];
        let expected = [
            &format!("\x1b[3{low}\x1b[4{high}▀\x1b[0m\x1b[3{high}▀\x1b[0m\x1b[3{low}▄\x1b[0m\n"),
            &*format!("\x1b[3{low}▀\x1b[0m  \n"),
        ];
        assert_eq!(written(&pixels, true), expected.concat());
        assert_eq!(written(&pixels, false), ".@\n@ .\n.\n");
    }

    #[test]
    fn pixels_line_joins_numbers_but_not_across_a_gap() {
        let numbers = [Some(0), Some(255), Some(128), None, Some(0), Some(0)];
        assert_eq!(written(&Pixels::line(&numbers, 4), false), " @\n @+\n @\n.   ..\n");
    }
}

//! Columns that stand below each other.

use unicode_width::UnicodeWidthStr;

/// How a column stands.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The widths of some columns: as much as their cells need, and never less than before.
pub(crate) struct Columns<const N: usize> {
    sides: [Side; N],
    widths: [usize; N],
    /// Wider cells than these stand out of step, rather than all others far apart.
    widest: [usize; N],
}

impl<const N: usize> Columns<N> {
    pub(crate) fn new(sides: [Side; N], widest: [usize; N]) -> Self {
        Self { sides, widths: [0; N], widest }
    }

    /// Makes room for a row.
    pub(crate) fn fit(&mut self, cells: &[String; N]) {
        for ((width, cell), widest) in self.widths.iter_mut().zip(cells).zip(self.widest) {
            if cell.width() <= widest {
                *width = cell.width().max(*width);
            }
        }
    }

    /// A row, without an end of line.
    pub(crate) fn line(&self, cells: &[String; N]) -> String {
        let mut line = String::new();
        for ((cell, width), side) in cells.iter().zip(self.widths).zip(self.sides) {
            if !line.is_empty() {
                line += "  ";
            }
            let fill = " ".repeat(width.saturating_sub(cell.width()));
            match side {
                Side::Left => line += &(cell.clone() + &fill),
                Side::Right => line += &(fill + cell),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The beginning of a text, so wide at most.
pub(crate) fn shortened(text: &str, widest: usize) -> String {
    if text.width() <= widest {
        return text.into();
    }
    let mut short = String::new();
    for character in text.chars() {
        if short.width() + 2 > widest {
            break;
        }
        short.push(character);
    }
    short + "…"
}

//! Aligned columns.

use unicode_width::UnicodeWidthStr;

/// The alignment of a column.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The widths of columns. They grow with their cells.
pub(crate) struct Columns<const N: usize> {
    sides: [Side; N],
    widths: [usize; N],
    /// Cells wider than this do not widen their column: one long cell should not move all others apart.
    widest: [usize; N],
    /// The width of a terminal.
    room: Option<usize>,
}

/// What begins the further lines of a row.
pub(crate) const INDENT: &str = "    ";

impl<const N: usize> Columns<N> {
    pub(crate) fn new(sides: [Side; N], widest: [usize; N]) -> Self {
        Self { sides, widths: [0; N], widest, room: None }
    }

    /// Columns at a terminal of this width. A row that does not fit is broken between columns, and as all cells of a
    /// column are as wide, all rows at the same ones. What is too wide by itself stays whole, so that it can be copied.
    pub(crate) fn within(self, room: Option<usize>) -> Self {
        Self { room, ..self }
    }

    /// Widens the columns for a row.
    pub(crate) fn fit(&mut self, cells: &[String; N]) {
        for ((width, cell), widest) in self.widths.iter_mut().zip(cells).zip(self.widest) {
            let own = cell.width();
            if own <= widest {
                *width = own.max(*width);
            }
        }
    }

    /// Without alignment, if aligned rows would not fit.
    pub(crate) fn aligned_if_fitting(self) -> Self {
        let taken: usize = self.widths.iter().filter(|&&width| width > 0).map(|width| width + 2).sum();
        let fits = self.room.is_none_or(|room| taken <= room + 2);
        if fits { self } else { Self { widths: [0; N], ..self } }
    }

    /// A row, without a line break at its end.
    pub(crate) fn line(&self, cells: &[String; N]) -> String {
        self.line_to(cells, "", INDENT)
    }

    /// A row that ends with a text, which is not aligned. If it is broken, its further lines begin with `indent`.
    pub(crate) fn line_to(&self, cells: &[String; N], end: &str, indent: &str) -> String {
        let (mut row, mut line, mut used) = (String::new(), String::new(), 0);
        let mut add = |text: &str, width: usize| {
            if self.room.is_some_and(|room| used > 0 && used + 2 + width > room) {
                row += line.trim_end();
                row += "\n";
                line = indent.into();
                used = indent.width();
            } else if used > 0 {
                line += "  ";
                used += 2;
            }
            line += text;
            used += width;
        };
        let last = if end.is_empty() { cells.iter().rposition(|cell| !cell.is_empty()) } else { Some(N) };
        let count = last.map_or(0, |last| last + 1);
        for ((cell, width), side) in cells.iter().zip(self.widths).zip(self.sides).take(count) {
            // A column in which nothing stands takes no room.
            if width == 0 && cell.is_empty() {
                continue;
            }
            let fill = " ".repeat(width.saturating_sub(cell.width()));
            let text = match side {
                Side::Left => [cell, fill.as_str()].concat(),
                Side::Right => [fill.as_str(), cell].concat(),
            };
            add(&text, cell.width().max(width));
        }
        if !end.is_empty() {
            add(end, anstream::adapter::strip_str(end).to_string().width());
        }
        row + line.trim_end()
    }
}

/// The text, or if it is wider than this, its beginning and an ellipsis.
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

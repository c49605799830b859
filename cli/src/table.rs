//! Aligned columns.

use std::iter;

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
}

impl<const N: usize> Columns<N> {
    pub(crate) fn new(sides: [Side; N], widest: [usize; N]) -> Self {
        Self { sides, widths: [0; N], widest }
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

    /// A row, without a line break.
    pub(crate) fn line(&self, cells: &[String; N]) -> String {
        let mut line = String::new();
        for ((cell, width), side) in cells.iter().zip(self.widths).zip(self.sides) {
            // A column in which nothing stands takes no room.
            if width == 0 && cell.is_empty() {
                continue;
            }
            if !line.is_empty() {
                line += "  ";
            }
            let fill = iter::repeat_n(' ', width.saturating_sub(cell.width()));
            match side {
                Side::Left => {
                    line += cell;
                    line.extend(fill);
                }
                Side::Right => {
                    line.extend(fill);
                    line += cell;
                }
            }
        }
        line.truncate(line.trim_end().len());
        line
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

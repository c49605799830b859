//! Aligned columns.

use unicode_width::UnicodeWidthStr;

use crate::terminal::BOLD;

/// The alignment of a column.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The width of a column, which grows with its cells.
struct ColumnWidth {
    side: Side,
    width: usize,
    /// Cells wider than this do not widen the column, so one long cell does not make the whole column wide.
    widest: usize,
}

/// The columns of a table. A row can have fewer cells than there are columns.
pub(crate) struct Columns {
    columns: Vec<ColumnWidth>,
    /// The width of the terminal; `None` if the table is not printed at a terminal.
    room: Option<usize>,
}

/// The indent of the continuation lines of a row.
const INDENT: &str = "    ";

impl Columns {
    /// Columns with the given alignments and maximum widths.
    pub(crate) fn new(columns: impl IntoIterator<Item = (Side, usize)>) -> Self {
        let columns = columns.into_iter().map(|(side, widest)| ColumnWidth { side, width: 0, widest });
        Self { columns: columns.collect(), room: None }
    }

    /// Sets the width of the terminal. A row that does not fit is broken between columns. Each cell is padded to the
    /// width of its column, so rows break at the same columns. Only a row with a cell that is wider than its column may
    /// break elsewhere. Such a cell is not shortened, so that users can copy its text.
    pub(crate) fn within(self, room: Option<usize>) -> Self {
        Self { room, ..self }
    }

    /// Widens the columns so that the cells of a row fit.
    pub(crate) fn fit(&mut self, cells: &[impl AsRef<str>]) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let width = cell.as_ref().width();
            if width <= column.widest {
                column.width = width.max(column.width);
            }
        }
    }

    /// All rows as lines, below their headings.
    pub(crate) fn table<C: AsRef<str>>(
        mut self,
        headings: &[impl AsRef<str>],
        rows: &[impl AsRef<[C]>],
    ) -> String {
        self.fit(headings);
        for row in rows {
            self.fit(row.as_ref());
        }
        let lines: Vec<_> = rows.iter().map(|row| self.line(row.as_ref()) + "\n").collect();
        format!("{BOLD}{}{BOLD:#}\n{}", self.line(headings), lines.concat())
    }

    /// A row, without a line break at its end.
    pub(crate) fn line(&self, cells: &[impl AsRef<str>]) -> String {
        self.line_to(cells, "")
    }

    /// A row with the text `end` after its cells. This text is not aligned.
    pub(crate) fn line_to(&self, cells: &[impl AsRef<str>], end: &str) -> String {
        let (mut row, mut line, mut used) = (String::new(), String::new(), 0);
        let mut add = |text: &str, width: usize| {
            if self.room.is_some_and(|room| used > 0 && used + 2 + width > room) {
                row += line.trim_end();
                row += "\n";
                line = INDENT.into();
                used = INDENT.width();
            } else if used > 0 {
                line += "  ";
                used += 2;
            }
            line += text;
            used += width;
        };
        let is_filled = |cell: &&str| !cell.is_empty();
        let mut left = cells.iter().map(AsRef::as_ref).filter(is_filled).count();
        for (cell, column) in cells.iter().map(AsRef::as_ref).zip(&self.columns) {
            // Empty cells at the end of the row are skipped, unless `end` follows them.
            if left == 0 && end.is_empty() {
                break;
            }
            left -= usize::from(!cell.is_empty());
            // A column in which all cells are empty is skipped.
            if column.width == 0 && cell.is_empty() {
                continue;
            }
            let fill = " ".repeat(column.width.saturating_sub(cell.width()));
            let text = match column.side {
                Side::Left => [cell, &fill].concat(),
                Side::Right => [&fill, cell].concat(),
            };
            add(&text, cell.width().max(column.width));
        }
        if !end.is_empty() {
            add(end, anstream::adapter::strip_str(end).to_string().width());
        }
        row + line.trim_end()
    }
}

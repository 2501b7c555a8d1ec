//! Tables for people: columns as wide as their widest cell, two spaces between, numbers to the right.

use super::Paint;

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// A table of text, built row by row.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a column of words.
    pub(crate) fn text(mut self, name: &'static str) -> Self {
        self.columns.push((name, Align::Left));
        self
    }

    /// Adds a column of numbers.
    pub(crate) fn number(mut self, name: &'static str) -> Self {
        self.columns.push((name, Align::Right));
        self
    }

    /// Adds a row: one cell for each column, in their order.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text, its heading dimmed, a line feed at the end of each row.
    pub(crate) fn render(&self, paint: Paint) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| self.width(index)).collect();
        let heading = self.columns.iter().map(|(name, _)| *name);
        let mut text = paint.dim(&self.line(heading, &widths));
        text.push('\n');
        for row in &self.rows {
            text.push_str(&self.line(row.iter().map(String::as_str), &widths));
            text.push('\n');
        }
        text
    }

    fn width(&self, index: usize) -> usize {
        let heading = self.columns.get(index).map_or(0, |(name, _)| name.chars().count());
        let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
        cells.fold(heading, usize::max)
    }

    fn line<'a>(&self, cells: impl Iterator<Item = &'a str>, widths: &[usize]) -> String {
        let padded = cells.zip(widths).zip(&self.columns).map(|((cell, width), (_, align))| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new().text("topic").number("end").text("leader");
        table.row(["orders".into(), "166,702".into(), "1".into()]);
        table.row(["ä".into(), "0".into(), String::new()]);
        assert_eq!(
            table.render(Paint::OFF),
            "topic       end  leader\norders  166,702  1\nä             0\n"
        );
    }
}

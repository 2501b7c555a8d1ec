//! The table of what grows: each row a figure, what it is compared with, and the limit.

use std::fmt::Write;

use anyhow::{Result, ensure};

/// What a row promises.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// Of the figure over what it is compared with.
    RatioMin(f64),
    /// Of the figure itself.
    Within(f64),
    /// Nothing: it is shown.
    Shown,
}

/// Rows as they are found.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rows: String,
    held: usize,
    missed: usize,
}

impl Sheet {
    /// One figure with its unit, what it is compared with, and the limit.
    pub(super) fn add(&mut self, about: &str, unit: &str, value: f64, beside: Option<f64>, limit: Limit) {
        let ratio = beside.map(|beside| value / beside);
        let holds = match limit {
            Limit::RatioMin(bound) => Some(ratio.is_some_and(|ratio| ratio >= bound)),
            Limit::Within(bound) => Some(value <= bound),
            Limit::Shown => None,
        };
        self.held += usize::from(holds == Some(true));
        self.missed += usize::from(holds == Some(false));
        let verdict = holds.map_or("", |holds| if holds { "holds" } else { "missed" });
        let shown = |value: f64| format!("{value:.2} {unit}");
        let promised = match limit {
            Limit::RatioMin(bound) => format!("≥ {bound} of it"),
            Limit::Within(bound) => format!("≤ {bound} {unit}"),
            Limit::Shown => String::new(),
        };
        let row = format!(
            "| {about} | {} | {} | {} | {promised} | {verdict} |",
            shown(value),
            beside.map_or_else(String::new, shown),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        );
        println!("   {row}");
        // Writing to a string does not fail.
        let _ = writeln!(self.rows, "{row}");
    }

    pub(super) fn text(&self) -> String {
        format!(
            "| what | measured | beside | ratio | promised | |\n|---|---:|---:|---:|---:|---|\n{}",
            self.rows
        )
    }

    /// An error if a promise is missed.
    pub(super) fn judge(&self) -> Result<()> {
        let Self { missed, held, .. } = self;
        ensure!(*missed == 0, "{missed} of {} promises are missed", missed + held);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_its_limit_holds() {
        let mut sheet = Sheet::default();
        sheet.add("speed", "GB/s", 0.9, Some(1.0), Limit::RatioMin(0.9));
        sheet.add("memory", "KiB", 31.0, None, Limit::Within(32.0));
        sheet.add("another", "KiB", 33.0, None, Limit::Shown);
        assert!(sheet.judge().is_ok());
        let text = sheet.text();
        assert!(text.contains("| speed | 0.90 GB/s | 1.00 GB/s | 0.90 | ≥ 0.9 of it | holds |\n"), "{text}");
        assert!(text.contains("| memory | 31.00 KiB |  |  | ≤ 32 KiB | holds |\n"), "{text}");
        sheet.add("opening", "s", 2.5, None, Limit::Within(2.0));
        assert_eq!(sheet.judge().unwrap_err().to_string(), "1 of 3 promises are missed");
    }
}

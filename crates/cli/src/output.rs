//! What commands show: a report is text for people or JSON for programs, and goes to the standard output in one
//! piece. Colours and progress appear only where a person looks.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;

use self::escaped::escaped;
use crate::failure::Outcome;

pub(crate) mod escaped;
pub(crate) mod latency;
pub(crate) mod number;
pub(crate) mod progress;
pub(crate) mod table;

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    #[default]
    Table,
    /// One JSON value for programs
    Json,
}

/// Something that a command found out.
pub(crate) trait Report: Serialize {
    /// The text for people, with a line feed at its end.
    fn text(&self, paint: Paint) -> String;
}

/// Writes a report to the standard output.
pub(crate) fn show(report: &impl Report, format: Format) -> Outcome {
    let text = match format {
        Format::Table => report.text(Paint::for_stdout()),
        Format::Json => json(report)?,
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Something that is said beside the output, or an error: one JSON value in a line, for programs.
pub(crate) fn json_line(told: &impl Serialize) -> String {
    let mut line = serde_json::to_string(told).unwrap_or_default();
    line.push('\n');
    line
}

/// The JSON form of a report, with a line feed at its end.
fn json(report: &impl Serialize) -> Outcome<String> {
    let mut text = serde_json::to_string_pretty(report).map_err(io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// Whether text carries colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    /// No colours: for pipes, files and tests.
    pub(crate) const OFF: Self = Self(false);

    /// Colours if the standard output is a terminal and `NO_COLOR` is not set.
    pub(crate) fn for_stdout() -> Self {
        Self(io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    /// Less bright: headings and what is only context.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Red: what needs somebody's attention.
    pub(crate) fn alarm(self, text: &str) -> String {
        self.with("31", text)
    }

    /// Such lines, each with its line feed.
    pub(crate) fn alarms(self, lines: impl IntoIterator<Item = String>) -> String {
        lines.into_iter().map(|line| self.alarm(&line) + "\n").collect()
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// What is said beside the output.
#[derive(Debug, Serialize)]
struct Note<'a> {
    note: &'a str,
}

/// Says something beside the output: what was decided, what is waited for. A pipe never sees it.
pub(crate) fn say(note: &str, format: Format) {
    let line = match format {
        Format::Table => format!("{}\n", escaped(note)),
        Format::Json => json_line(&Note { note }),
    };
    // If nobody reads it any more, nobody misses it.
    let _ = io::stderr().write_all(line.as_bytes());
}

//! Progress of long work: one line that is written over, on the error output, only while a person looks at it.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::number;

/// Often enough to look alive, seldom enough to cost nothing.
const EVERY: Duration = Duration::from_millis(100);
const BAR_WIDTH: u64 = 24;

/// A progress line. It is gone when the value is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: bool,
    started: Instant,
    last: Option<Instant>,
    /// How many bytes there will be, if that is known.
    bytes_expected: Option<u64>,
}

impl Progress {
    /// Starts now; nothing is drawn if the error output is not a terminal or `wanted` is false.
    pub(crate) fn start(bytes_expected: Option<u64>, wanted: bool) -> Self {
        let shown = wanted && io::stderr().is_terminal();
        Self { shown, started: Instant::now(), last: None, bytes_expected }
    }

    /// Draws the line anew if its time has come.
    pub(crate) fn update(&mut self, records: u64, bytes: u64) {
        let now = Instant::now();
        if !self.shown || self.last.is_some_and(|last| now.duration_since(last) < EVERY) {
            return;
        }
        self.last = Some(now);
        let line = line(records, bytes, self.bytes_expected, now.duration_since(self.started));
        let _ = write!(io::stderr(), "\r{line}\u{1b}[K");
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes the line away before something else is said.
    pub(crate) fn clear(&mut self) {
        if self.last.take().is_some() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(records: u64, bytes: u64, bytes_expected: Option<u64>, took: Duration) -> String {
    let counts = format!(
        "{}, {}, {}",
        number::counted(records, "record"),
        number::bytes(bytes),
        number::rate(records, "records", took)
    );
    let Some(expected) = bytes_expected.filter(|expected| *expected > 0) else { return counts };
    let filled = (bytes.min(expected) * BAR_WIDTH / expected) as usize;
    let bar: String = "#".repeat(filled) + &"-".repeat(BAR_WIDTH as usize - filled);
    format!("[{bar}] {}%  {counts}", bytes.min(expected) * 100 / expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_end_gives_a_bar() {
        assert_eq!(
            line(1_000, 500, Some(1_000), Duration::from_secs(1)),
            "[############------------] 50%  1,000 records, 500 B, 1.0 k records/s"
        );
    }

    #[test]
    fn an_unknown_end_gives_counts_alone() {
        assert_eq!(line(1, 5, None, Duration::from_secs(1)), "1 record, 5 B, 1 records/s");
    }

    #[test]
    fn more_than_expected_is_no_more_than_all() {
        assert!(
            line(1, 2_000, Some(1_000), Duration::from_secs(1))
                .starts_with("[########################] 100%")
        );
    }
}

//! What happened: a hash of everything, and, when a run is told again, the last events in words.

use std::collections::VecDeque;
use std::fmt;

use crate::dice::mix;

/// How many events are kept in words.
const KEPT: usize = 400;

/// See the module.
#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    words: Option<VecDeque<String>>,
    kept: usize,
}

impl Trace {
    /// Only the hash, or also words.
    pub(crate) fn new(in_words: bool) -> Self {
        let kept = std::env::var("SIM_TRACE_LINES").ok().and_then(|lines| lines.parse().ok()).unwrap_or(KEPT);
        Self { hash: 0, words: in_words.then(VecDeque::new), kept }
    }

    /// Takes something that happened into the hash.
    pub(crate) const fn count(&mut self, what: u64) {
        self.hash = mix(self.hash ^ what);
    }

    /// Takes something that happened into the words, if they are wanted.
    pub(crate) fn note(&mut self, now: u64, words: impl FnOnce() -> String) {
        let Some(kept) = &mut self.words else { return };
        if kept.len() == self.kept {
            kept.pop_front();
        }
        kept.push_back(format!("{} {}", Clock(now), words()));
    }

    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn into_words(self) -> Vec<String> {
        self.words.unwrap_or_default().into()
    }
}

/// Simulated time in seconds, to the microsecond.
struct Clock(u64);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0 / 1_000;
        write!(f, "{:>4}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

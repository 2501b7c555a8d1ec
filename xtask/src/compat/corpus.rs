//! The lines that are sent: each begins with its key and a comma. A key's lines must come back as they were, in their
//! order; lines of different keys may be mixed.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::client::Tools;
use super::python;

const GENERATED_LINES: usize = 20_000;
const GENERATED_KEYS: usize = 16;
/// The rows of the data set, and the airlines in it, as its documentation tells.
const FLIGHTS: usize = 336_776;
const CARRIERS: usize = 16;

/// A file of lines and what must come back of it.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) path: PathBuf,
    pub(crate) lines: usize,
    pub(crate) bytes: u64,
    sums: Sums,
}

/// For each key, how many lines it has and a hash of them in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<Vec<u8>, (usize, u64)>);

impl Corpus {
    /// Lines made by a fixed rule: the same everywhere, with values from empty to long.
    pub(crate) fn generated(path: &Path) -> Result<Self> {
        let mut out = BufWriter::new(fs::File::create(path)?);
        let mut state = 1_u64;
        for number in 0..GENERATED_LINES {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (state >> 33) as usize % GENERATED_KEYS;
            let length = (state >> 40) as usize % 200;
            let text = "the quick brown fox, jumps over the lazy dog; ".repeat(5);
            writeln!(out, "K{key:02},{number},{}", text.get(..length).unwrap_or_default())?;
        }
        out.flush()?;
        drop(out);
        Self::of(path)
    }

    /// The flights, each row prefixed with its carrier.
    pub(crate) fn flights(folder: &Path, tools: &Tools) -> Result<Self> {
        let path = folder.join("flights.csv");
        if !path.exists() {
            python::extract_flights(tools.python()?, &path)?;
        }
        let corpus = Self::of(&path)?;
        ensure!(
            corpus.lines == FLIGHTS && corpus.keys() == CARRIERS,
            "{} has {} lines and {} keys; remove it to have it made again",
            path.display(),
            corpus.lines,
            corpus.keys()
        );
        Ok(corpus)
    }

    fn of(path: &Path) -> Result<Self> {
        let file = fs::File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let bytes = file.metadata()?.len();
        let sums = Sums::of(file)?;
        let lines = sums.0.values().map(|(count, _)| count).sum();
        Ok(Self { path: path.to_path_buf(), lines, bytes, sums })
    }

    pub(crate) fn keys(&self) -> usize {
        self.sums.0.len()
    }

    /// An error names the first key whose lines are not what was sent.
    pub(crate) fn check(&self, found: &Sums) -> Result<()> {
        for (key, (lines, hash)) in &self.sums.0 {
            let name = String::from_utf8_lossy(key);
            let (found_lines, found_hash) = found.0.get(key).copied().unwrap_or_default();
            ensure!(*lines == found_lines, "key {name}: {lines} lines were sent, {found_lines} came back");
            ensure!(*hash == found_hash, "key {name}: the lines came back changed or in another order");
        }
        let strange = found.0.keys().find(|key| !self.sums.0.contains_key(*key));
        ensure!(strange.is_none(), "a key came back that was never sent: {strange:?}");
        Ok(())
    }
}

impl Sums {
    /// Reads lines to the end.
    pub(crate) fn of(input: impl Read) -> Result<Self> {
        let mut hashers: BTreeMap<Vec<u8>, (usize, DefaultHasher)> = BTreeMap::new();
        for line in BufReader::new(input).split(b'\n') {
            let line = line?;
            let at = line.iter().position(|byte| *byte == b',').unwrap_or(line.len());
            let key = line.get(..at).unwrap_or_default();
            let (count, hasher) = match hashers.get_mut(key) {
                Some(known) => known,
                None => hashers.entry(key.to_vec()).or_default(),
            };
            *count += 1;
            line.hash(hasher);
        }
        Ok(Self(hashers.into_iter().map(|(key, (count, hasher))| (key, (count, hasher.finish()))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sent: &str, found: &str) -> Result<()> {
        let sums = Sums::of(sent.as_bytes()).unwrap();
        let corpus = Corpus { path: PathBuf::new(), lines: 0, bytes: 0, sums };
        corpus.check(&Sums::of(found.as_bytes()).unwrap())
    }

    #[test]
    fn keys_may_be_mixed_but_not_the_lines_of_one() {
        let sent = "a,1\nb,1\na,2\n";
        assert!(check(sent, "b,1\na,1\na,2\n").is_ok());
        assert!(check(sent, "a,2\nb,1\na,1\n").unwrap_err().to_string().contains("another order"));
    }

    #[test]
    fn lost_doubled_changed_and_strange_lines_are_found() {
        let sent = "a,1\nb,1\na,2\n";
        assert!(check(sent, "a,1\nb,1\n").is_err());
        assert!(check(sent, "a,1\nb,1\na,2\na,2\n").is_err());
        assert!(check(sent, "a,1\nb,2\na,2\n").is_err());
        assert!(check(sent, "a,1\nb,1\na,2\nc,1\n").is_err());
    }
}

//! The process of the load (`crates/cli/examples/soak`): its start, what it says, and its end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cluster::layout::Layout;

/// The load ends itself within its own limits; this is for one that hangs.
const END_LIMIT: Duration = Duration::from_secs(180);

/// What the load has said last, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures(BTreeMap<String, u64>);

/// What the output of the load has said so far.
#[derive(Debug, Default)]
struct Told {
    last: Figures,
    is_done: bool,
    fault: Option<String>,
    has_ended: bool,
}

/// The load, running. It is ended when the value is dropped.
#[derive(Debug)]
pub(super) struct Load {
    process: Child,
    /// Its end is what the load waits for.
    input: Option<ChildStdin>,
    told: Arc<Mutex<Told>>,
    reader: Option<JoinHandle<()>>,
    pub(super) begun: Instant,
}

impl Figures {
    /// A figure by its name; 0 if it was not said.
    pub(super) fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

impl Load {
    /// Starts the program; what it says on its error output goes into the folder.
    pub(super) fn start(
        program: &Path,
        layout: &Layout,
        folder: &Path,
        sizes: &[(&str, u64)],
    ) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["--brokers", &layout.bootstrap(), "--ca"]).arg(&layout.ca);
        let log = File::create(folder.join("load.log"))?;
        command.args(sizes.iter().flat_map(|(flag, bytes)| [(*flag).to_owned(), bytes.to_string()]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut process =
            command.spawn().with_context(|| format!("{} cannot be started", program.display()))?;
        let input = process.stdin.take();
        let output = process.stdout.take().context("the load has no output")?;
        let told = Arc::<Mutex<Told>>::default();
        let noted = Arc::clone(&told);
        let reader = thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                lock(&noted).note(&line);
            }
            lock(&noted).has_ended = true;
        });
        Ok(Self { process, input, told, reader: Some(reader), begun: Instant::now() })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// What it has said last.
    pub(super) fn figures(&self) -> Figures {
        lock(&self.told).last.clone()
    }

    /// An error if the load has found a fault, or has ended.
    pub(super) fn check(&self) -> Result<()> {
        let told = lock(&self.told);
        if let Some(fault) = &told.fault {
            bail!("{fault}");
        }
        ensure!(!told.has_ended || told.is_done, "the load has ended; see load.log beside the brokers' logs");
        Ok(())
    }

    /// Has it send no more, read the rest, and say that everything is there.
    pub(super) fn finish(mut self) -> Result<Figures> {
        drop(self.input.take());
        let deadline = Instant::now() + END_LIMIT;
        while !lock(&self.told).has_ended {
            ensure!(Instant::now() < deadline, "the load does not end");
            thread::sleep(Duration::from_millis(50));
        }
        self.check()?;
        ensure!(lock(&self.told).is_done, "the load has ended without a word");
        Ok(self.figures())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Told {
    fn note(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "fault" => self.fault = Some(rest.to_owned()),
            "progress" | "done" => {
                self.last = figures(rest);
                self.is_done = word == "done";
            }
            _ => self.fault = Some(format!("the load said: {line}")),
        }
    }
}

fn figures(text: &str) -> Figures {
    let pair = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Figures(text.split(' ').filter_map(pair).collect())
}

fn lock(told: &Mutex<Told>) -> std::sync::MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_load_says_is_understood() {
        let mut told = Told::default();
        told.note("progress sent=12 acked=11");
        assert_eq!((told.last.of("sent"), told.last.of("acked"), told.last.of("read")), (12, 11, 0));
        assert!(!told.is_done && told.fault.is_none());
        told.note("fault record 7 is lost");
        assert_eq!(told.fault.as_deref(), Some("record 7 is lost"));
        told.note("done sent=12");
        assert!(told.is_done);
        let mut told = Told::default();
        told.note("thread panicked");
        assert!(told.fault.is_some());
    }
}

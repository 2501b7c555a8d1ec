//! A producer and a consumer of another client library: a script that says on its output what was acknowledged, or is there.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::until;
use super::{Acked, Found, KEYS, Ledger, Read};

/// Names a Python that has `confluent-kafka`; `cargo xtask faults` and `cargo xtask test` make one.
const PYTHON: &str = "HIGHWATER_STORY_PYTHON";
const SCRIPT: &str = include_str!("../confluent.py");

/// The library, where it is installed.
pub(crate) struct Foreign {
    python: PathBuf,
}

/// A producer of it that sends without end, as [`super::Load`] does.
pub(crate) struct ForeignLoad {
    ledger: Arc<Mutex<Ledger>>,
    process: Child,
    reader: JoinHandle<Option<String>>,
}

impl Foreign {
    /// None if it is not installed: then a story about it is not told.
    pub(crate) fn installed() -> Option<Self> {
        let python = std::env::var_os(PYTHON).map(PathBuf::from);
        if python.is_none() {
            eprintln!("skipped: {PYTHON} names no Python that has confluent-kafka");
        }
        python.map(|python| Self { python })
    }

    pub(crate) fn load(&self, bootstrap: &str, topic: &str) -> ForeignLoad {
        let mut process = self.start(&["produce", bootstrap, topic, &KEYS.to_string()]);
        let lines = BufReader::new(process.stdout.take().expect("it is piped"));
        let ledger: Arc<Mutex<Ledger>> = Arc::default();
        let noted = Arc::clone(&ledger);
        let reader = std::thread::spawn(move || {
            lines.lines().map_while(Result::ok).find(|line| lock(&noted).note_line(line).is_none())
        });
        ForeignLoad { ledger, process, reader }
    }

    /// Reads a topic from its beginning to its end.
    pub(crate) fn read_all(&self, bootstrap: &str, topic: &str) -> Read {
        let process = self.start(&["consume", bootstrap, topic]);
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "the foreign consumer ended with {:?}", output.status);
        let text = String::from_utf8(output.stdout).unwrap();
        Read { records: text.lines().map(|line| found(line).expect("a record a line")).collect() }
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(&self.python);
        command.args(["-c", SCRIPT]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("the interpreter can be started")
    }
}

impl ForeignLoad {
    fn acked(&self) -> usize {
        lock(&self.ledger).acked.len()
    }

    /// Waits until so many more records are acknowledged.
    pub(crate) async fn more(&self, records: usize) {
        let wanted = self.acked() + records;
        until("more acknowledgements of the foreign producer", Duration::from_secs(30), async || {
            (self.acked() >= wanted).then_some(())
        })
        .await;
    }

    /// Sends no more and waits for what is on its way.
    pub(crate) fn stop(mut self) -> Ledger {
        drop(self.process.stdin.take());
        let status = self.process.wait().unwrap();
        let odd = self.reader.join().unwrap();
        assert!(status.success() && odd.is_none(), "the foreign producer ended with {status:?} and {odd:?}");
        std::mem::take(&mut *lock(&self.ledger))
    }
}

impl Ledger {
    /// `NUMBER PARTITION OFFSET` of an acknowledged record.
    fn note_line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let partition = words.next()?.parse().ok()?;
        let offset = words.next()?.parse().ok()?;
        self.acked.push(Acked { number, partition, offset, at: Instant::now() });
        Some(())
    }
}

/// `PARTITION OFFSET NUMBER` of a record that is there.
fn found(line: &str) -> Option<Found> {
    let mut words = line.split(' ');
    let partition = words.next()?.parse().ok()?;
    let offset = words.next()?.parse().ok()?;
    let number = words.next()?.parse().ok();
    Some(Found { partition, offset, number })
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

//! On plain TCP the record bytes of a fetch go from the page cache to the socket: every system call of the broker is watched.
//!
//! What is read of a segment file meanwhile are windows of at most 4 KiB in which the headers of batches are looked up.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use highwater_client::NewTopic;

use crate::harness::{Cluster, Door, Load, Setup, read_all, story, until};

const TOPIC: &str = "traced";
const VALUE_BYTES: usize = 20_000;
const RECORDS: usize = 1_000;
const LIMIT: Duration = Duration::from_secs(60);
/// A window in which a batch's header is looked up.
const HEADER_WINDOW_BYTES: u64 = 4_096;
const READS: &str = "read,readv,pread64,preadv,preadv2,sendfile,mmap";

/// Watches a process until it is dropped; the calls of each of its threads go to a file of their own.
struct Tracer(Child);

impl Tracer {
    /// None if there is no `strace`, or it may not watch.
    async fn attach(pid: u32, folder: &Path) -> Option<Self> {
        let mut command = Command::new("strace");
        command.args(["-ff", "-y", "-e", &format!("trace={READS}"), "-p", &pid.to_string(), "-o"]);
        command.arg(folder.join("calls")).stdout(Stdio::null());
        command.stderr(fs::File::create(folder.join("strace.log")).unwrap());
        let mut tracer = Self(command.spawn().ok()?);
        let attached = until("strace to attach", LIMIT, async || {
            let told = fs::read_to_string(folder.join("strace.log")).unwrap_or_default();
            let ended = tracer.0.try_wait().unwrap().is_some();
            (ended || told.contains("attached")).then_some(!ended)
        })
        .await;
        attached.then_some(tracer)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // It lets go of the broker, which runs on.
        let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        let _ = self.0.wait();
    }
}

/// The calls on segment files: which, and what they returned.
fn calls_on_segments(folder: &Path) -> Vec<(String, u64)> {
    let mut calls = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let text = fs::read(entry.path()).unwrap();
        for line in String::from_utf8_lossy(&text).lines().filter(|line| line.contains(".log>")) {
            let name = line.split('(').next().unwrap_or_default().trim();
            let result = line.rsplit(" = ").next().and_then(|value| value.split(' ').next());
            calls.push((name.to_owned(), result.and_then(|value| value.parse().ok()).unwrap_or(0)));
        }
    }
    calls
}

#[test]
fn a_fetch_is_sendfile_without_a_read_of_records() {
    story(async {
        let cluster = Cluster::start(&Setup { nodes: 1, ..Setup::default() }).await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(NewTopic::named(TOPIC).partitions(1).replication(1)).await.unwrap();
        let load = Load::sized(&client, TOPIC, VALUE_BYTES);
        load.more(RECORDS).await;
        let ledger = load.stop().await;
        // The chain reads what is committed, in idle moments: only after it no file is read but for a fetch.
        let node = &cluster.nodes[0];
        let appended = node.metric("highwater_log_bytes_appended_total").unwrap();
        node.metric_until("highwater_log_bytes_hashed_total", LIMIT, |hashed| hashed >= appended).await;

        let traces = tempfile::tempdir().unwrap();
        let Some(tracer) = Tracer::attach(node.pid(), traces.path()).await else {
            return eprintln!("SKIPPED: strace is missing or may not watch; cargo xtask test installs it");
        };
        ledger.check(&read_all(&client, TOPIC).await);
        drop(tracer);

        let calls = calls_on_segments(traces.path());
        let sum = |wanted: fn(&str) -> bool| -> u64 {
            calls.iter().filter(|(name, _)| wanted(name)).map(|(_, bytes)| bytes).sum()
        };
        let (sent, read) = (sum(|name| name == "sendfile"), sum(|name| name != "sendfile"));
        eprintln!("of {appended} bytes {sent} were sent by sendfile, {read} read to find headers");
        // The newest records, at most 1 MiB, are kept in memory.
        assert!(sent + (3 << 19) >= appended, "{sent} of {appended} bytes were sent by sendfile");
        let largest = calls.iter().filter(|(name, _)| name != "sendfile").map(|(_, bytes)| *bytes).max();
        assert!(
            largest.is_none_or(|bytes| bytes <= HEADER_WINDOW_BYTES),
            "{largest:?} bytes were read at once"
        );
        assert!(read < sent / 20, "{read} bytes were read to send {sent}");
        assert!(calls.iter().all(|(name, _)| name != "mmap"), "no segment is mapped");
    });
}

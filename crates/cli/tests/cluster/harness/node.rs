//! One broker as a process: its command line, its start, its end, its HTTP port and its log.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::ports::Ports;
use super::{pause, until};

/// How long a broker may take to be ready.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// How long a graceful stop may take.
const STOP_LIMIT: Duration = Duration::from_secs(20);
const HTTP_LIMIT: Duration = Duration::from_secs(2);
const LAST_LINES: usize = 25;
/// Sets what brokers log (`warn` by default); then a story shows all of it.
const LOG: &str = "HIGHWATER_STORY_LOG";

/// A broker, running or not. Dropping it kills its process.
pub(crate) struct Node {
    pub(crate) id: u16,
    pub(crate) ports: Ports,
    pub(crate) data_dir: PathBuf,
    /// Where to join and with what token; not needed any more once it has joined.
    pub(crate) invitation: Option<(String, String)>,
    /// Further arguments of `serve`.
    pub(crate) flags: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    log: PathBuf,
    process: Option<Child>,
}

/// Whether stories show all that brokers logged.
pub(super) fn shows_all() -> bool {
    std::env::var_os(LOG).is_some()
}

/// The command of this build, without the variables that a person may have set.
pub(crate) fn highwater() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("HIGHWATER_")) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

impl Node {
    pub(crate) fn new(id: u16, ports: Ports, home: &Path) -> Self {
        Self {
            id,
            ports,
            data_dir: home.join(format!("node-{id}")),
            invitation: None,
            flags: Vec::new(),
            environment: Vec::new(),
            log: home.join(format!("node-{id}.log")),
            process: None,
        }
    }

    /// The command that starts it.
    pub(crate) fn command(&self) -> Command {
        let mut command = highwater();
        command.args([
            "serve",
            "--shards",
            "1",
            "--log",
            &std::env::var(LOG).unwrap_or_else(|_| "warn,openraft=off".to_owned()),
            "--node-id",
            &self.id.to_string(),
        ]);
        command.arg("--data-dir").arg(&self.data_dir);
        for (flag, port) in [
            ("--listen", self.ports.kafka),
            ("--replica-listen", self.ports.replica),
            ("--http-listen", self.ports.http),
        ] {
            command.args([flag, &format!("127.0.0.1:{port}")]);
        }
        if let Some((address, token)) = &self.invitation {
            command.args(["--join", address, "--token", token]);
        }
        command.args(&self.flags);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn start(&mut self) {
        assert!(self.process.is_none(), "node {} runs already", self.id);
        let log = File::options().create(true).append(true).open(&self.log).expect("the log can be written");
        let mut command = self.command();
        command.stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        self.process = Some(command.spawn().expect("the broker can be started"));
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|ended| ended.is_none()))
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.as_ref().expect("it was started").id()
    }

    /// Kills the process as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself.
            let _ = process.kill();
            process.wait().expect("a child can be waited for");
        }
    }

    pub(crate) fn send_kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// Asks it to stop.
    pub(crate) fn send_terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Stops its threads: the system still takes connections for it, and nobody answers.
    pub(crate) fn pause(&mut self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub(crate) fn resume(&mut self) {
        self.signal(Signal::CONT);
    }

    fn signal(&mut self, signal: Signal) {
        let Some(process) = &mut self.process else { return };
        if process.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw).expect("a child has a process id");
        kill_process(pid, signal).expect("a child can be signalled");
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let process = self.process.as_mut().expect("it was started");
        let limit = Instant::now() + STOP_LIMIT;
        loop {
            if let Some(status) = process.try_wait().expect("a child can be waited for") {
                self.process = None;
                return status;
            }
            assert!(Instant::now() < limit, "node {} did not end in time", self.id);
            pause().await;
        }
    }

    /// Stops it in good order.
    pub(crate) async fn stop(&mut self) {
        self.send_terminate();
        let status = self.ended().await;
        assert!(status.success(), "node {} ended with {status:?} (signal {:?})", self.id, status.signal());
    }

    /// Waits until it serves clients.
    pub(crate) async fn ready(&mut self) {
        let limit = Instant::now() + READY_LIMIT;
        while self.http("/readyz").is_none_or(|(status, _)| status != 200) {
            assert!(self.is_running(), "node {} has ended:\n{}", self.id, self.last_lines());
            assert!(
                Instant::now() < limit,
                "node {} is not ready in time: {:?}",
                self.id,
                self.http("/readyz")
            );
            pause().await;
        }
    }

    /// Asks its HTTP port: the status and the body.
    pub(crate) fn http(&self, page: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports.http)).ok()?;
        stream.set_read_timeout(Some(HTTP_LIMIT)).ok()?;
        let head = format!("GET {page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// The sum of a metric over all shards and labels; none if the broker does not answer.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let (_, text) = self.http("/metrics").filter(|(status, _)| *status == 200)?;
        let lines = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        lines
            .map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .try_fold(0, |sum, value| Some(sum + value?))
    }

    /// Waits until a metric is as wanted.
    pub(crate) async fn metric_until(
        &self,
        name: &str,
        limit: Duration,
        wanted: impl Fn(u64) -> bool,
    ) -> u64 {
        until(name, limit, async || self.metric(name).filter(|value| wanted(*value))).await
    }

    /// The end of its log.
    pub(crate) fn last_lines(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let shown = if shows_all() { lines.len() } else { LAST_LINES };
        let from = lines.len().saturating_sub(shown);
        lines[from..].join("\n")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

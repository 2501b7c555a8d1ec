//! One broker's process: its command line, its log, its start and its end. Processes are ended by their ids alone.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::net::Ipv4Addr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::Event;
use super::layout::Layout;
use super::ports::Ports;

/// A broker that is asked to stop hands its leaderships over; after this long it is killed.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(20);

/// The number of the signal that no process can take.
const KILLED: i32 = 9;

const LAST_LINES: usize = 12;
const LAST_BYTES: u64 = 8 * 1024;

/// A broker as it is laid out.
#[derive(Debug)]
pub(crate) struct Node {
    /// From 1.
    pub(crate) id: u16,
    pub(crate) ports: Ports,
    pub(crate) data_dir: PathBuf,
    pub(crate) log: PathBuf,
    /// Where to join, and with what token.
    pub(crate) invitation: Option<(String, String)>,
    /// Where clients are told to come, if that is not loopback; the node listens for them on all addresses then.
    pub(crate) told: Option<String>,
}

impl Node {
    pub(crate) fn new(id: u16, ports: Ports, data_dir: &Path, invitation: Option<(String, String)>) -> Self {
        let log = data_dir.join(format!("node-{id}.log"));
        Self { id, ports, data_dir: data_dir.join(format!("node-{id}")), log, invitation, told: None }
    }

    /// The command that starts the node again once it has joined.
    pub(crate) fn command(&self, binary: &Path) -> Vec<String> {
        let Ports { kafka, brokers, http } = self.ports;
        let mut command = vec![binary.display().to_string(), "serve".into()];
        let host = if self.told.is_some() { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
        let mut flags = vec![
            ("--data-dir", self.data_dir.display().to_string()),
            ("--node-id", self.id.to_string()),
            ("--listen", format!("{host}:{kafka}")),
            ("--replica-listen", format!("127.0.0.1:{brokers}")),
            ("--http-listen", format!("{host}:{http}")),
        ];
        if let Some(told) = &self.told {
            flags.push(("--advertise", format!("{told}:{kafka}")));
            flags.push(("--http-advertise", format!("{told}:{http}")));
        }
        for (flag, value) in flags {
            command.extend([flag.to_owned(), value]);
        }
        command
    }

    /// A formatted directory belongs to a cluster; asking to join again would be refused.
    fn has_joined(&self) -> bool {
        self.data_dir.join("format").exists()
    }

    /// What goes with the news that the node's process has ended. One that was killed had no time to say anything: the end of its log
    /// tells of its start.
    pub(crate) fn last_words(&self, how: &How) -> String {
        match how {
            How::Signal(KILLED) => format!("its log is {}", self.log.display()),
            How::Signal(_) | How::Code(_) | How::Unknown(_) => {
                format!("its last lines:\n{}", self.last_lines())
            }
        }
    }

    /// The end of the node's log, each line indented.
    pub(crate) fn last_lines(&self) -> String {
        let text = tail(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(LAST_LINES);
        let shown: Vec<String> =
            lines.get(from..).unwrap_or_default().iter().map(|line| format!("    {line}")).collect();
        if shown.is_empty() { format!("    (nothing in {})", self.log.display()) } else { shown.join("\n") }
    }
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Code(i32),
    Signal(i32),
    Unknown(String),
}

impl From<ExitStatus> for How {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown("ended".to_owned()),
        }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(0) => f.write_str("stopped"),
            Self::Code(code) => write!(f, "ended with code {code}"),
            Self::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Self::Unknown(how) => f.write_str(how),
        }
    }
}

/// A broker's process that this program started.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) node: u16,
    pub(crate) pid: u32,
    ended: Receiver<()>,
}

impl Running {
    /// Starts the process in a group of its own, so that Ctrl-C reaches it only through this program.
    pub(crate) fn start(node: &Node, layout: &Layout, events: Sender<Event>) -> Result<Self> {
        let argv = node.command(&layout.binary);
        let log = File::options().create(true).append(true).open(&node.log);
        let log = log.with_context(|| format!("{} cannot be written", node.log.display()))?;
        let mut command = Command::new(&layout.binary);
        command.args(argv.iter().skip(1)).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        if let Some((address, token)) = node.invitation.as_ref().filter(|_| !node.has_joined()) {
            command.args(["--join", address, "--token", token]);
        }
        // A limit that the caller set for a client must not reach the broker's configuration.
        for variable in
            ["HIGHWATER_BOOTSTRAP", "HIGHWATER_CA", "HIGHWATER_DATA", "HIGHWATER_CLUSTER", "HIGHWATER_QUIC"]
        {
            command.env_remove(variable);
        }
        let child = command.process_group(0).spawn().context("the broker cannot be started")?;
        Ok(Self::watched(node.id, child, events))
    }

    fn watched(node: u16, mut child: Child, events: Sender<Event>) -> Self {
        let pid = child.id();
        let (sender, ended) = channel();
        thread::spawn(move || {
            let how = child.wait().map_or_else(|error| How::Unknown(error.to_string()), How::from);
            // Whoever waited may be gone; then nobody needs to know.
            let _ = events.send(Event::Ended { node, pid, how });
            let _ = sender.send(());
        });
        Self { node, pid, ended }
    }

    /// Asks the process to end; whether it has not ended already.
    pub(crate) fn ask_to_stop(&mut self) -> bool {
        let runs = self.ended.try_recv() == Err(TryRecvError::Empty);
        if runs {
            terminate(self.pid);
        }
        runs
    }

    /// Waits for the end, and forces it at the deadline.
    pub(crate) fn await_end(&mut self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        if matches!(self.ended.recv_timeout(left), Err(std::sync::mpsc::RecvTimeoutError::Timeout)) {
            eprintln!("node {} did not stop within {} s and was killed", self.node, STOP_LIMIT.as_secs());
            kill(self.pid);
            let _ = self.ended.recv();
        }
    }
}

/// Asks a process to end.
pub(crate) fn terminate(pid: u32) {
    signal(pid, Signal::TERM);
}

/// Ends a process at once.
pub(crate) fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Whether there is such a process.
pub(crate) fn is_running(pid: u32) -> bool {
    raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// The processes that have `text` in their command line, this one and its own left out.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    let others = processes().filter(|pid| *pid != std::process::id());
    others
        .filter(|pid| command_line(*pid).is_some_and(|line| line.iter().any(|word| word.contains(text))))
        .collect()
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = raw(pid) {
        // It may have ended by itself meanwhile.
        let _ = kill_process(pid, signal);
    }
}

fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Waits until a process that is not our child is gone, and forces it at the deadline.
pub(crate) fn await_gone(pid: u32, deadline: Instant) {
    while is_running(pid) {
        if Instant::now() > deadline {
            kill(pid);
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The processes that a command started with the `command` of a node. A node's data directory stands in its command
/// line, so nothing else can have the same.
pub(crate) fn started_again(layout: &Layout) -> Vec<u32> {
    let commands: Vec<Vec<String>> = layout.nodes.iter().map(|node| node.command(&layout.binary)).collect();
    let is_ours = |line: Vec<String>| commands.iter().any(|known| is_of(&line, known));
    processes().filter(|pid| command_line(*pid).is_some_and(is_ours)).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a command line ends with the arguments of `command`; before them stands the program, and perhaps what runs it.
fn is_of(line: &[String], command: &[String]) -> bool {
    command.get(1..).is_some_and(|arguments| line.len() > arguments.len() && line.ends_with(arguments))
}

fn command_line(pid: u32) -> Option<Vec<String>> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.split_terminator('\0').map(str::to_owned).collect())
}

#[cfg(test)]
impl Running {
    /// One that no process stands behind.
    pub(crate) fn pretended(node: u16, pid: u32) -> Self {
        Self { node, pid, ended: channel().1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_the_nodes_own_command_line_is_its_own() {
        let ports = Ports::designed(2);
        let node = Node::new(2, ports, Path::new("d"), None);
        let command = node.command(Path::new("b/highwater"));
        assert_eq!(
            command.join(" "),
            "b/highwater serve --data-dir d/node-2 --node-id 2 --listen 127.0.0.1:9102 \
             --replica-listen 127.0.0.1:9103 --http-listen 127.0.0.1:8102"
        );
        assert!(is_of(&words(&format!("valgrind {}", command.join(" "))), &command));
        assert!(!is_of(&words("highwater serve --data-dir d/node-1"), &command));
        assert!(!is_of(&words(""), &command));
    }

    #[test]
    fn the_end_of_a_log_is_shown_indented() {
        let folder = std::env::temp_dir().join(format!("xtask-node-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let node = Node::new(1, Ports::designed(1), &folder, None);
        assert!(node.last_lines().contains("nothing in"));
        fs::write(&node.log, (0..100).map(|number| format!("line {number}\n")).collect::<String>()).unwrap();
        assert!(
            node.last_lines().ends_with("    line 99") && node.last_lines().lines().count() == LAST_LINES
        );
        let [killed, failed] =
            [How::Signal(9), How::Code(3)].map(|how| (node.last_words(&how), how.to_string()));
        assert_eq!(
            killed,
            (format!("its log is {}", node.log.display()), "was killed by signal 9".to_owned())
        );
        assert!(failed.0.starts_with("its last lines:\n") && failed.0.ends_with("    line 99"), "{failed:?}");
        assert_eq!(failed.1, "ended with code 3");
        fs::remove_dir_all(folder).unwrap();
    }
}

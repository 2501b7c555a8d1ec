//! Shows that a command of `--run` may kill a broker and start it again: the outer half runs `cargo xtask cluster --run`
//! with the inner half as its command, which finds everything it needs in its environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::node;
use super::ready;
use crate::{process, workspace};

/// What the inner half ends with, to be passed on.
const CODE: u8 = 42;
const LIMIT: Duration = Duration::from_secs(240);
const STEP_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(25);
const TOPIC: &str = "restarted";
/// Lines sent before the kill, and as many again while the broker is away.
const LINES: usize = 1000;

/// The outer half: a cluster whose command kills a broker and starts it again.
pub(crate) fn check(binary: &Path) -> Result<()> {
    let program = std::env::current_exe()?;
    let data_dir = workspace::target_dir().join("cluster-restart");
    let mut command = Command::new(&program);
    command.args(["cluster", "--fresh", "--binary"]).arg(binary).arg("--data-dir").arg(&data_dir);
    command.args(["--run", &format!("'{}' cluster-restart-task", program.display())]);
    let finished = process::watch(&mut command, LIMIT, |_| {})?;
    let shown = finished.lines.join("\n");
    ensure!(finished.status.code() == Some(i32::from(CODE)), "it ended with {}\n{shown}", finished.status);
    ensure!(shown.contains("was killed by signal 9"), "the killed broker was not reported\n{shown}");
    let left = node::processes_with(&data_dir.display().to_string());
    ensure!(left.is_empty(), "processes {left:?} were left running");
    println!("a broker was killed and started again by a command, and the cluster stopped with its code");
    Ok(())
}

/// The inner half.
pub(crate) fn task() -> Result<ExitCode> {
    let variable = |name| std::env::var(name).with_context(|| format!("{name} is not set"));
    let path = PathBuf::from(variable("HIGHWATER_CLUSTER")?);
    let description: Value = serde_json::from_slice(&fs::read(path)?)?;
    let victim = Victim::of(&description)?;
    highwater(&["topic", "create", TOPIC, "--partitions", "3"])?;
    produce(0)?;
    node::kill(victim.pid);
    until("the killed broker is gone", || Ok(!node::is_running(victim.pid)))?;
    produce(LINES)?;
    victim.start_again()?;
    until("the broker is ready again", || Ok(ready::answers_ok(victim.http, "/readyz")))?;
    until("all replicas are in sync", || {
        let described: Value =
            serde_json::from_str(&highwater(&["topic", "describe", TOPIC, "--output", "json"])?)?;
        let partitions =
            described.get("partition_list").and_then(Value::as_array).context("no partitions")?;
        let in_sync =
            |partition: &Value| partition.get("in_sync").and_then(Value::as_array).map_or(0, Vec::len);
        Ok(partitions.iter().all(|partition| in_sync(partition) == 3))
    })?;
    let from_it = ["consume", TOPIC, "--from", "beginning", "--exit-at-end", "--bootstrap", &victim.kafka];
    let mut read: Vec<usize> = highwater(&from_it)?.lines().map(str::parse).collect::<Result<_, _>>()?;
    read.sort_unstable();
    ensure!(read.into_iter().eq(0..2 * LINES), "what was sent is not what came back");
    Ok(ExitCode::from(CODE))
}

/// The broker that is killed, as the description of the cluster shows it.
struct Victim {
    pid: u32,
    kafka: String,
    http: u16,
    command: Vec<String>,
}

impl Victim {
    fn of(description: &Value) -> Result<Self> {
        let read = || {
            let node = description.get("nodes")?.get(1)?;
            let pid = node.get("pid")?.as_u64().and_then(|pid| u32::try_from(pid).ok())?;
            let kafka = node.get("kafka")?.as_str()?.to_owned();
            let http = node.get("http")?.as_str()?.rsplit(':').next()?.parse().ok()?;
            let words = node.get("command")?.as_array()?.iter();
            let command = words.map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            Some(Self { pid, kafka, http, command })
        };
        read().context("the description of the cluster lacks something of its second node")
    }

    fn start_again(&self) -> Result<()> {
        let (program, arguments) = self.command.split_first().context("the command is empty")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Whoever runs the cluster ends it with the others.
        command.spawn().map(drop).context("the broker could not be started again")
    }
}

/// Sends the numbers from `first` on, a line each.
fn produce(first: usize) -> Result<()> {
    let file = std::env::temp_dir().join(format!("highwater-restart-{}", std::process::id()));
    fs::write(&file, (first..first + LINES).map(|number| format!("{number}\n")).collect::<String>())?;
    let sent = highwater(&["produce", "--quiet", TOPIC, &file.display().to_string()]);
    fs::remove_file(file)?;
    sent.map(drop)
}

/// Runs the binary that `--run` put on the path, and gives what it printed.
fn highwater(arguments: &[&str]) -> Result<String> {
    let output = Command::new("highwater").args(arguments).stdin(Stdio::null()).output();
    let output = output.context("highwater, which --run puts on the path, could not be started")?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.success(),
        "highwater {} ended with {}\n{errors}",
        arguments.join(" "),
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + STEP_LIMIT;
    while Instant::now() < deadline {
        if holds()? {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    bail!("not within {} s: {what}", STEP_LIMIT.as_secs())
}

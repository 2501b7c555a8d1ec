//! Child processes with a time limit: the output passes through line by line, and a child that overstays is ended
//! with everything that it started.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

/// What a finished child left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    /// All lines of both outputs, in the order in which they came.
    pub(crate) lines: Vec<String>,
}

/// Runs `command` to its end and shows its output; an error if it fails or takes longer than `limit`.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Vec<String>> {
    let finished = watch(command, limit, |line| println!("{line}"))?;
    ensure!(finished.status.success(), "{} ended with {}", shown(command), finished.status);
    Ok(finished.lines)
}

/// Runs `command` to its end and keeps its output; an error carries the output's last lines.
pub(crate) fn run_quietly(command: &mut Command, limit: Duration) -> Result<Vec<String>> {
    let finished = watch(command, limit, |_| {})?;
    if !finished.status.success() {
        let from = finished.lines.len().saturating_sub(40);
        let tail = finished.lines.get(from..).unwrap_or_default().join("\n");
        bail!("{} ended with {}\n{tail}", shown(command), finished.status);
    }
    Ok(finished.lines)
}

/// Runs `command` in a process group of its own, handing each line of its output to `on_line`.
pub(crate) fn watch(
    command: &mut Command,
    limit: Duration,
    mut on_line: impl FnMut(&str),
) -> Result<Finished> {
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("{} could not be started", shown(command)))?;
    let incoming = lines_of(&mut child);
    let mut lines = Vec::new();
    loop {
        match incoming.recv_timeout(limit.saturating_sub(started.elapsed())) {
            Ok(line) => {
                on_line(&line);
                lines.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                end_group(&mut child);
                bail!("{} took longer than {} s and was ended", shown(command), limit.as_secs());
            }
        }
    }
    Ok(Finished { status: child.wait()?, lines })
}

/// Longer command lines are cut where they are shown.
const SHOWN_MAX: usize = 300;

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    let words = std::iter::once(command.get_program().to_string_lossy()).chain(arguments);
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{} ...", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        forward(output, sender.clone());
    }
    if let Some(output) = child.stderr.take() {
        forward(output, sender);
    }
    receiver
}

fn forward(output: impl Read + Send + 'static, sender: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
}

fn end_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // The group is the child's own, so nothing of anybody else is in it; it may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_are_kept() {
        let lines =
            run_quietly(Command::new("sh").args(["-c", "echo one; echo two >&2"]), Duration::from_secs(60))
                .unwrap();
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn a_failure_carries_the_last_lines() {
        let error = run_quietly(Command::new("sh").args(["-c", "echo why; exit 3"]), Duration::from_secs(60))
            .unwrap_err();
        assert!(error.to_string().ends_with("\nwhy"), "{error}");
    }

    #[test]
    fn a_child_that_overstays_is_ended_with_its_children() {
        let error =
            run_quietly(Command::new("sh").args(["-c", "sleep 600 & wait"]), Duration::from_millis(50))
                .unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
    }
}

//! The command of `--run`: what it is told about the cluster, and its end.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

use super::Event;
use super::layout::Layout;

/// A running command.
#[derive(Debug)]
pub(crate) struct Task {
    pid: u32,
}

impl Task {
    /// Starts `command` by the shell, in a group of its own, with the cluster's addresses in its environment.
    pub(crate) fn start(command: &str, layout: &Layout, events: Sender<Event>) -> Result<Self> {
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = layout.binary.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let mut child = Command::new("sh")
            .args(["-c", command])
            .env("PATH", format!("{folder}:{path}"))
            .env("HIGHWATER_BOOTSTRAP", layout.bootstrap())
            .env("HIGHWATER_QUIC", layout.addresses(|ports| format!("quic://127.0.0.1:{}", ports.kafka)))
            .env("HIGHWATER_CA", &layout.ca)
            .env("HIGHWATER_DATA", &layout.data_dir)
            .env("HIGHWATER_CLUSTER", layout.description())
            .process_group(0)
            .spawn()
            .context("the shell cannot be started")?;
        let pid = child.id();
        thread::spawn(move || {
            let code = child.wait().map_or(1, code_of);
            // The cluster may be stopping already.
            let _ = events.send(Event::TaskEnded(code));
        });
        Ok(Self { pid })
    }

    /// Asks the command and everything that it started to end.
    pub(crate) fn end(&self) {
        if let Some(group) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // It may have ended by itself meanwhile.
            let _ = kill_process_group(group, Signal::TERM);
        }
    }
}

/// The code that a shell would show.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, code: u8) {
        assert_eq!(code_of(Command::new("sh").args(["-c", script]).status().unwrap()), code, "{script}");
    }

    #[test]
    fn the_commands_code_is_passed_on() {
        check("exit 0", 0);
        check("exit 42", 42);
        check("kill -9 $$", 137);
    }
}

//! `cargo xtask cluster`: a cluster of real processes on this machine, by one command. Builds, starts, waits until
//! everything can be led, shows where it is, and stops all of it again; or runs a command against it, or measures it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::workspace;

pub(crate) mod build;
mod interrupt;
pub(crate) mod layout;
mod measure;
pub(crate) mod node;
mod ports;
pub(crate) mod ready;
pub(crate) mod restart;
mod screen;
mod task;

use layout::Layout;
use node::{How, Node, Running};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many brokers to start
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=99))]
    nodes: u16,

    /// Where the brokers keep their data [default: cluster/ beside the build]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Throw away what an earlier cluster left in the data directory
    #[arg(long)]
    fresh: bool,

    /// Run a shell command against the cluster, then stop it and exit with the command's code
    #[arg(long, value_name = "CMD")]
    run: Option<String>,

    /// Measure instead, in a directory of its own: how soon the cluster is ready, what it costs when idle
    #[arg(long, conflicts_with_all = ["run", "fresh"])]
    measure: bool,

    /// Start this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// What happens while a cluster runs.
#[derive(Debug)]
pub(crate) enum Event {
    /// Ctrl-C, or a request to end.
    Interrupted,
    /// A broker's process ended.
    Ended { node: u16, pid: u32, how: How },
    /// The command of `--run` ended with this code.
    TaskEnded(u8),
}

/// A cluster must be ready by then: it also covers recovery after a crash on a slow disk.
const READY_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let binary = options.binary.clone().map_or_else(build::release, Ok)?;
    let folder = if options.measure { "cluster-measured" } else { "cluster" };
    let data_dir = options.data_dir.clone().unwrap_or_else(|| workspace::target_dir().join(folder));
    let mut cluster = Cluster::prepare(&binary, &data_dir, options.nodes, options.fresh || options.measure)?;
    if options.measure {
        measure::run(&mut cluster)?;
        return Ok(ExitCode::SUCCESS);
    }
    cluster.live(options.run.as_deref())
}

/// A cluster of real processes. It is stopped when the value is dropped, whatever happened.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) layout: Layout,
    running: Vec<Running>,
    events: Receiver<Event>,
    sender: Sender<Event>,
}

impl Cluster {
    /// Lays a cluster out, or takes an earlier one up, and starts nothing yet.
    pub(crate) fn prepare(binary: &Path, data_dir: &Path, nodes: u16, fresh: bool) -> Result<Self> {
        let (sender, events) = channel();
        interrupt::tell(sender.clone())?;
        let layout = Layout::prepare(binary, data_dir, nodes, fresh)?;
        Ok(Self { layout, running: Vec::new(), events, sender })
    }

    /// Starts every node and waits until every partition can be led; `None` if that was interrupted.
    pub(crate) fn start(&mut self) -> Result<Option<ready::Status>> {
        self.launch()?;
        let Some(status) = self.await_ready()? else { return Ok(None) };
        self.layout.write_description(&self.running)?;
        Ok(Some(status))
    }

    /// Starts every node and waits for none.
    pub(crate) fn launch(&mut self) -> Result<()> {
        for node in &self.layout.nodes {
            self.running.push(Running::start(node, &self.layout, self.sender.clone())?);
        }
        Ok(())
    }

    /// The processes of the brokers, in the order of their nodes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.running.iter().map(|running| running.pid).collect()
    }

    /// Ends the process of a node at once, as `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(&mut self, node: u16) -> Result<()> {
        let place = self.running.iter().position(|running| running.node == node);
        let Some(place) = place else { bail!("node {node} does not run") };
        let mut running = self.running.remove(place);
        node::kill(running.pid);
        running.await_end(Instant::now() + node::STOP_LIMIT);
        self.forget_ends(|pid| pid == running.pid);
        Ok(())
    }

    /// Starts the process of a node anew, and waits for nothing.
    pub(crate) fn start_again(&mut self, node: u16) -> Result<()> {
        let Some(known) = self.node(node) else { bail!("there is no node {node}") };
        self.running.push(Running::start(known, &self.layout, self.sender.clone())?);
        Ok(())
    }

    /// The process of a node, if it runs.
    pub(crate) fn pid_of(&self, node: u16) -> Option<u32> {
        self.running.iter().find(|running| running.node == node).map(|running| running.pid)
    }

    fn live(&mut self, task: Option<&str>) -> Result<ExitCode> {
        let started = Instant::now();
        let Some(status) = self.start()? else { return Ok(ExitCode::from(130)) };
        let screen = screen::ready(&self.layout, &self.running, &status, started.elapsed(), task.is_some());
        match task {
            None => println!("{screen}"),
            // The command's own output must stay clean.
            Some(_) => eprintln!("{screen}"),
        }
        let by_hand = task.is_none();
        let task =
            task.map(|command| task::Task::start(command, &self.layout, self.sender.clone())).transpose()?;
        let code = self.await_end(task)?;
        if by_hand {
            let stopped = self.stop();
            println!("{}", screen::stopped(&self.layout, stopped));
        }
        Ok(code)
    }

    /// Waits until every partition can be led; `None` if that was interrupted.
    fn await_ready(&mut self) -> Result<Option<ready::Status>> {
        let deadline = Instant::now() + READY_LIMIT;
        loop {
            match self.events.recv_timeout(ready::POLL_EVERY) {
                Ok(Event::Interrupted) => return Ok(None),
                Ok(Event::Ended { node, how, .. }) => {
                    bail!("node {node} {how} before the cluster was ready\n{}", self.last_lines(node))
                }
                Ok(Event::TaskEnded(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("the events of the brokers have ended"),
            }
            if let Some(status) = ready::status(&self.layout)? {
                return Ok(Some(status));
            }
            let late = Instant::now() > deadline;
            ensure!(
                !late,
                "the cluster was not ready within {} s\n{}",
                READY_LIMIT.as_secs(),
                self.last_lines(1)
            );
        }
    }

    /// Waits for the command's end, or else for Ctrl-C; brokers may die meanwhile and are reported.
    fn await_end(&self, task: Option<task::Task>) -> Result<ExitCode> {
        let mut alive = self.running.len();
        loop {
            match self.events.recv()? {
                Event::TaskEnded(code) => return Ok(ExitCode::from(code)),
                Event::Interrupted => {
                    task.iter().for_each(task::Task::end);
                    return Ok(if task.is_some() { ExitCode::from(130) } else { ExitCode::SUCCESS });
                }
                Event::Ended { node, pid, how } => {
                    eprintln!("node {node} (process {pid}) {how}; {}", self.last_words(node, &how));
                    alive -= 1;
                    ensure!(alive > 0 || task.is_some(), "every broker has ended");
                    if task.is_none() {
                        eprintln!("{}", screen::start_again(&self.layout, node));
                    }
                }
            }
        }
    }

    fn last_lines(&self, node: u16) -> String {
        self.node(node).map(Node::last_lines).unwrap_or_default()
    }

    fn last_words(&self, node: u16, how: &How) -> String {
        self.node(node).map(|node| node.last_words(how)).unwrap_or_default()
    }

    fn node(&self, id: u16) -> Option<&Node> {
        self.layout.nodes.iter().find(|known| known.id == id)
    }

    /// Ctrl-C was typed, or a broker has died: what a caller that does something else meanwhile looks at.
    pub(crate) fn check(&self) -> Result<()> {
        match self.events.try_recv() {
            Ok(Event::Interrupted) => bail!("interrupted"),
            Ok(Event::Ended { node, pid, how }) => {
                bail!("node {node} (process {pid}) {how}; {}", self.last_words(node, &how))
            }
            Ok(Event::TaskEnded(_)) | Err(_) => Ok(()),
        }
    }

    /// Stops every process of this cluster, also those that a command started again; how many there were.
    pub(crate) fn stop(&mut self) -> usize {
        let asked =
            self.running.iter_mut().filter_map(|running| running.ask_to_stop().then_some(running.pid));
        let asked: BTreeSet<u32> = asked.collect();
        let ours = node::started_again(&self.layout);
        ours.iter().for_each(|pid| node::terminate(*pid));
        let deadline = Instant::now() + node::STOP_LIMIT;
        for mut running in self.running.drain(..) {
            running.await_end(deadline);
        }
        ours.iter().for_each(|pid| node::await_gone(*pid, deadline));
        self.forget_ends(|_| true);
        asked.into_iter().chain(ours).collect::<BTreeSet<u32>>().len()
    }

    /// The ends that were asked for are no news to whoever starts the cluster or the node again.
    fn forget_ends(&self, asked_for: impl Fn(u32) -> bool) {
        let left: Vec<Event> = self.events.try_iter().collect();
        let is_news = |event: &Event| !matches!(event, Event::Ended { pid, .. } if asked_for(*pid));
        for event in left.into_iter().filter(is_news) {
            // This value holds the receiver.
            let _ = self.sender.send(event);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

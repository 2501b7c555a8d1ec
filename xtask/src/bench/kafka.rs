//! Apache Kafka as the peer in comparisons: brokers that are controllers as well, with Kafka's own defaults and a heap of one GiB.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::compat::java::Java;
use crate::process;

const FORMAT_LIMIT: Duration = Duration::from_secs(60);
const CLUSTER: &str = "AAAAAAAAAAAAAAAAAAAAAQ";
/// What Kafka's own start script gives a broker.
const MACHINE: [&str; 3] = ["-Xms1G", "-Xmx1G", "-XX:+UseG1GC"];

/// Brokers, ended when the value is dropped.
pub(super) struct Kafka {
    java: Java,
    folder: PathBuf,
    /// For clients, and for controllers.
    ports: Vec<(u16, u16)>,
    running: Vec<Child>,
}

impl Kafka {
    pub(super) fn prepare(java: Java, folder: PathBuf, brokers: u16) -> Result<Self> {
        let held: Vec<TcpListener> =
            (0..2 * brokers).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let ports: Vec<u16> = held.iter().map(|held| Ok(held.local_addr()?.port())).collect::<Result<_>>()?;
        let ports = ports.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect();
        Ok(Self { java, folder, ports, running: Vec::new() })
    }

    /// Formats empty directories.
    pub(super) fn clear(&self) -> Result<()> {
        // It may be the first time.
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder)?;
        for node in 1..=self.ports.len() {
            let settings = self.settings(node);
            fs::write(&settings, self.properties(node)?)?;
            let mut format = self.java.tool("kafka.tools.StorageTool");
            format.args(["format", "--cluster-id", CLUSTER, "--config"]).arg(&settings);
            process::run_quietly(&mut format, FORMAT_LIMIT)?;
        }
        Ok(())
    }

    /// Starts all brokers and waits for none.
    pub(super) fn launch(&mut self) -> Result<()> {
        for node in 1..=self.ports.len() {
            let output = File::create(self.log(node))?;
            let mut command = self.java.program("kafka.Kafka", &MACHINE);
            command.arg(self.settings(node)).stdin(Stdio::null());
            command.stdout(output.try_clone()?).stderr(output);
            self.running.push(command.spawn().context("Kafka's broker could not be started")?);
        }
        Ok(())
    }

    pub(super) fn stop(&mut self) {
        for mut broker in self.running.drain(..) {
            // It is our own child; nothing in its directory is needed any more.
            let _ = broker.kill();
            let _ = broker.wait();
        }
    }

    pub(super) fn check(&mut self) -> Result<()> {
        for (broker, node) in self.running.iter_mut().zip(1..) {
            if let Some(status) = broker.try_wait()? {
                let log = fs::read_to_string(self.folder.join(format!("broker-{node}.log")))?;
                bail!("Kafka's broker {node} ended with {status}\n{log}");
            }
        }
        Ok(())
    }

    pub(super) fn bootstrap(&self) -> Result<String> {
        let (port, _) = self.ports.first().context("there is a first broker")?;
        Ok(format!("127.0.0.1:{port}"))
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.running.iter().map(Child::id).collect()
    }

    fn settings(&self, node: usize) -> PathBuf {
        self.folder.join(format!("broker-{node}.properties"))
    }

    fn log(&self, node: usize) -> PathBuf {
        self.folder.join(format!("broker-{node}.log"))
    }

    fn properties(&self, node: usize) -> Result<String> {
        let (port, controller) = self.ports.get(node - 1).context("every broker has ports")?;
        let voters = self.ports.iter().zip(1..).map(|((_, port), node)| format!("{node}@127.0.0.1:{port}"));
        let brokers = self.ports.len();
        let lines = [
            "process.roles=broker,controller".to_owned(),
            format!("node.id={node}"),
            format!("controller.quorum.voters={}", voters.collect::<Vec<_>>().join(",")),
            format!("listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"),
            format!("advertised.listeners=PLAINTEXT://127.0.0.1:{port}"),
            "controller.listener.names=CONTROLLER".to_owned(),
            format!("log.dirs={}", self.folder.join(format!("broker-{node}")).display()),
            format!("offsets.topic.replication.factor={brokers}"),
            format!("transaction.state.log.replication.factor={brokers}"),
            // So that the memory of a removed topic is there for the next run: see the page on performance.
            "log.segment.delete.delay.ms=100".to_owned(),
        ];
        Ok(lines.join("\n") + "\n")
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.stop();
    }
}

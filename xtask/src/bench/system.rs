//! A system under load: three brokers of Highwater, or of Apache Kafka, seen alike.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::kafka::Kafka;
use crate::cluster::Cluster;
use crate::cluster::layout::Layout;
use crate::compat::java::Java;
use crate::usage;

pub(super) const BROKERS: u16 = 3;

/// Three brokers, started and stopped as often as asked.
pub(super) enum System {
    Highwater(Box<Cluster>),
    Kafka(Kafka),
    /// Brokers that somebody else has started, by the address of one.
    Elsewhere(String),
}

impl System {
    /// Lays three brokers of ours out.
    pub(super) fn highwater(binary: &Path, folder: &Path) -> Result<Self> {
        Ok(Self::Highwater(Box::new(Cluster::prepare(binary, folder, BROKERS, true)?)))
    }

    /// Lays one broker of ours out.
    pub(super) fn alone(binary: &Path, folder: &Path) -> Result<Self> {
        Ok(Self::Highwater(Box::new(Cluster::prepare(binary, folder, 1, true)?)))
    }

    /// Lays three brokers of Kafka's out.
    pub(super) fn kafka(java: Java, folder: PathBuf) -> Result<Self> {
        Ok(Self::Kafka(Kafka::prepare(java, folder, BROKERS)?))
    }

    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Highwater(_) => "Highwater",
            Self::Kafka(_) => "Kafka",
            Self::Elsewhere(_) => "there",
        }
    }

    /// Starts the brokers on empty directories. What is needed to make those directories ready is done before.
    pub(super) fn start_empty(&mut self) -> Result<Instant> {
        self.stop();
        match self {
            Self::Highwater(cluster) => {
                let Layout { binary, data_dir, .. } = &cluster.layout;
                cluster.layout = Layout::prepare(&binary.clone(), &data_dir.clone(), BROKERS, true)?;
                let started = Instant::now();
                cluster.launch()?;
                Ok(started)
            }
            Self::Kafka(kafka) => {
                kafka.clear()?;
                let started = Instant::now();
                kafka.launch()?;
                Ok(started)
            }
            Self::Elsewhere(address) => bail!("what runs at {address} is not started here"),
        }
    }

    /// Starts brokers of ours on what they have, and waits until they say that they are ready.
    pub(super) fn start(&mut self) -> Result<()> {
        let Self::Highwater(cluster) = self else { bail!("{} is started on nothing only", self.name()) };
        ensure!(cluster.start()?.is_some(), "interrupted");
        Ok(())
    }

    /// Starts brokers of ours on what they have, and does not wait.
    pub(super) fn launch(&mut self) -> Result<()> {
        let Self::Highwater(cluster) = self else { bail!("{} is started on nothing only", self.name()) };
        cluster.launch()
    }

    /// The HTTP port of the first broker, if it is ours.
    pub(super) fn http_port(&self) -> Result<u16> {
        let Self::Highwater(cluster) = self else { bail!("{} has no HTTP port", self.name()) };
        Ok(cluster.layout.nodes.first().context("a cluster has a first node")?.ports.http)
    }

    pub(super) fn stop(&mut self) {
        match self {
            Self::Highwater(cluster) => {
                cluster.stop();
            }
            Self::Kafka(kafka) => kafka.stop(),
            Self::Elsewhere(_) => {}
        }
    }

    /// The address of the first broker.
    pub(super) fn bootstrap(&self) -> Result<String> {
        match self {
            Self::Highwater(cluster) => {
                let first = cluster.layout.nodes.first().context("a cluster has a first node")?;
                Ok(format!("127.0.0.1:{}", first.ports.kafka))
            }
            Self::Kafka(kafka) => kafka.bootstrap(),
            Self::Elsewhere(address) => Ok(address.clone()),
        }
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        match self {
            Self::Highwater(cluster) => cluster.pids(),
            Self::Kafka(kafka) => kafka.pids(),
            Self::Elsewhere(_) => Vec::new(),
        }
    }

    pub(super) fn processor_seconds(&self) -> Result<f64> {
        usage::processor_seconds(&self.pids())
    }

    /// A broker has died, or somebody wants this to end.
    pub(super) fn check(&mut self) -> Result<()> {
        match self {
            Self::Highwater(cluster) => cluster.check(),
            Self::Kafka(kafka) => kafka.check(),
            Self::Elsewhere(_) => Ok(()),
        }
    }

    /// Waits until the brokers take less than this many cores together, for at most `limit`; gives the time of the last look at which
    /// they took more.
    pub(super) fn await_quiet(&mut self, cores: f64, limit: Duration) -> Result<Instant> {
        let started = Instant::now();
        let (mut busy_until, mut before, mut looked) = (started, self.processor_seconds()?, started);
        while busy_until.elapsed() < QUIET {
            thread::sleep(LOOK_EVERY);
            let taken = self.processor_seconds()?;
            if (taken - before) / looked.elapsed().as_secs_f64() > cores {
                busy_until = Instant::now();
            }
            (before, looked) = (taken, Instant::now());
            ensure!(started.elapsed() < limit, "{} is not quiet after {limit:?}", self.name());
            self.check()?;
        }
        Ok(busy_until)
    }
}

/// Brokers that did next to nothing for so long are quiet.
const QUIET: Duration = Duration::from_millis(600);
const LOOK_EVERY: Duration = Duration::from_millis(200);

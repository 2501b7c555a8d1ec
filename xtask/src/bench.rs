//! `cargo xtask bench`: three brokers under load on this machine, and beside them, one system after the other, Apache Kafka under the
//! same load. The figures go into `docs/performance.md`. Nothing of this is a test: what a machine reaches depends on the machine.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};

use crate::compat::java::Java;
use crate::workspace;
use crate::{browser, cluster};

mod admin;
mod clients;
mod cores;
mod cursor;
mod frames;
mod growth;
mod kafka;
mod load;
mod measure;
pub(crate) mod page;
mod system;
mod table;
mod wire;
mod work;

use measure::Plan;
use system::System;
use work::Work;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure this system too, and write docs/performance.md
    #[arg(long, value_enum)]
    against: Option<Peer>,

    /// Measure a tab in Chromium beside the native client instead, and write docs/performance.md; with --binary, write nothing
    #[arg(long, conflicts_with_all = ["against", "quick", "row", "at"])]
    browser: bool,

    /// Measure instead what must cost no more when there is more of it, and write docs/performance.md
    #[arg(long, conflicts_with_all = ["against", "browser", "row", "at"])]
    growth: bool,

    /// Measure instead our client beside librdkafka, and write docs/performance.md; may be combined with --growth
    #[arg(long, conflicts_with_all = ["against", "browser", "row", "at"])]
    clients: bool,

    /// Measure instead the hot paths of the cores by themselves, by criterion; starts no broker and writes nothing
    #[arg(long, conflicts_with_all = ["against", "browser", "growth", "clients", "quick", "row", "at", "binary"])]
    cores: bool,

    /// One run of one second for each row, or a small version of --growth and --clients; writes nothing
    #[arg(long)]
    quick: bool,

    /// Only these rows, comma-separated; writes nothing
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    row: Vec<String>,

    /// Put brokers under load that run already, by the address of one; starts and writes nothing
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["against", "binary"])]
    at: Option<String>,

    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// Apache Kafka, three brokers
    Kafka,
}

/// Measures what was asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.cores {
        return cores::run();
    }
    if options.browser {
        return browser::bench::run(options.binary.as_deref());
    }
    if options.growth || options.clients {
        let binary = options.binary.clone().map_or_else(cluster::build::release, Ok)?;
        // Neither is left out because the other has missed a promise.
        let growth = if options.growth { growth::run(&binary, options.quick) } else { Ok(()) };
        let clients = if options.clients { clients::run(&binary, options.quick) } else { Ok(()) };
        return growth.and(clients);
    }
    let works = works(&options.row)?;
    let plan = if options.quick { Plan::QUICK } else { Plan::FULL };
    if let Some(address) = &options.at {
        let works: Vec<Work> = works.into_iter().filter(|work| work.is_anywhere()).collect();
        return measure::all(&mut System::Elsewhere(address.clone()), &works, &plan).map(drop);
    }
    let folder = workspace::target_dir().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let binary = options.binary.clone().map_or_else(cluster::build::release, Ok)?;
    let theirs = match options.against {
        None => None,
        Some(Peer::Kafka) => {
            let java = Java::install(&workspace::target_dir().join("compat"))?;
            let mut kafka = System::kafka(java, folder.join("kafka"))?;
            let works: Vec<Work> = works.iter().copied().filter(|work| work.is_theirs()).collect();
            Some(measure::all(&mut kafka, &works, &plan)?)
        }
    };
    let mut highwater = System::highwater(&binary, &folder.join("highwater"))?;
    let ours: Vec<Work> = works.iter().copied().filter(|work| work.is_ours()).collect();
    let ours = measure::all(&mut highwater, &ours, &plan)?;
    let table = table::of(&ours, theirs.as_ref());
    println!("\n{}", table.text);
    if theirs.is_some() && !options.quick && options.row.is_empty() {
        page::write("comparison", &format!("{}\n\n{}", page::conditions(&plan), table.text))?;
    }
    ensure!(table.missed == 0, "{} of {} promises are missed", table.missed, table.missed + table.held);
    Ok(())
}

fn works(names: &[String]) -> Result<Vec<Work>> {
    if names.is_empty() {
        return Ok(Work::ALL.to_vec());
    }
    for name in names {
        if !Work::ALL.iter().any(|work| work.name() == name) {
            let known: Vec<&str> = Work::ALL.into_iter().map(Work::name).collect();
            bail!("there is no row {name}; there are {}", known.join(", "));
        }
    }
    Ok(Work::ALL.into_iter().filter(|work| names.iter().any(|name| name == work.name())).collect())
}

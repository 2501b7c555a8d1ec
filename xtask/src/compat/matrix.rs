//! Every client produces, every client reads it all back, from another broker than it was sent to.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::client::{Client, Tools};
use super::corpus::Corpus;
use crate::cluster::Cluster;
use crate::process;

/// A codec of record batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl Codec {
    pub(crate) const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// Something that is produced once and read by every client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    producer: Client,
    codec: Codec,
    consumers: Vec<Client>,
}

/// Every client as a producer, with every codec or with one of its own, so that the small matrix has all of them.
pub(crate) fn pairs(clients: &[Client], every_codec: bool) -> Vec<Row> {
    let own = [Codec::Zstd, Codec::Lz4, Codec::Snappy, Codec::Gzip];
    let codecs = |client: &Client| -> Vec<Codec> {
        let place = Client::ALL.iter().position(|known| known == client).unwrap_or(0);
        if every_codec { Codec::ALL.to_vec() } else { own.get(place).copied().into_iter().collect() }
    };
    clients
        .iter()
        .flat_map(|producer| codecs(producer).into_iter().map(|codec| (*producer, codec)))
        .map(|(producer, codec)| Row { producer, codec, consumers: clients.to_vec() })
        .collect()
}

/// Runs the rows; the first that does not hold is an error.
pub(crate) fn run(cluster: &Cluster, tools: &Tools, corpus: &Corpus, rows: &[Row]) -> Result<()> {
    for row in rows {
        cluster.check()?;
        run_row(cluster, tools, corpus, row)?;
    }
    let reads: usize = rows.iter().map(|row| row.consumers.len()).sum();
    println!("{} topics, read back {reads} times: every line of every key in its order", rows.len());
    Ok(())
}

fn run_row(cluster: &Cluster, tools: &Tools, corpus: &Corpus, row: &Row) -> Result<()> {
    let brokers: Vec<String> =
        cluster.layout.nodes.iter().map(|node| format!("127.0.0.1:{}", node.ports.kafka)).collect();
    let (written_to, read_from) =
        brokers.first().zip(brokers.last()).context("a cluster has at least one node")?;
    let topic = format!("compat-{}-{}", row.producer.name(), row.codec.name());
    create_topic(tools, written_to, &topic)?;
    let started = Instant::now();
    let context = |client: Client, verb| format!("{} could not {verb} {topic}", client.name());
    row.producer
        .produce(tools, written_to, &topic, row.codec, corpus)
        .with_context(|| context(row.producer, "produce to"))?;
    println!("{topic:<28} produced in {:>5.1} s", started.elapsed().as_secs_f64());
    check_codec(cluster, tools, &topic, row.codec)?;
    for consumer in &row.consumers {
        cluster.check()?;
        let started = Instant::now();
        let found = consumer.consume(tools, read_from, &topic, corpus);
        let found = found.with_context(|| context(*consumer, "consume"))?;
        corpus.check(&found).with_context(|| context(*consumer, "read back all of"))?;
        println!("{:<28} read by {} in {:.1} s", "", consumer.name(), started.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Small segments, so that the check of the files has sealed ones to look at.
fn create_topic(tools: &Tools, bootstrap: &str, topic: &str) -> Result<()> {
    let mut command = tools.highwater();
    command.args(["topic", "create", topic, "--partitions", "6", "--bootstrap", bootstrap]);
    command.args(["--config", "segment.bytes=1048576"]);
    process::run_quietly(&mut command, std::time::Duration::from_secs(60)).map(drop)
}

/// The batches on disk have the codec that the producer was asked for: nobody has packed them anew.
fn check_codec(cluster: &Cluster, tools: &Tools, topic: &str, codec: Codec) -> Result<()> {
    let first = cluster.layout.nodes.first().context("a cluster has at least one node")?;
    let mut command = tools.highwater();
    command.args(["log", "dump", "--output", "json", "--topic", topic]).arg(&first.data_dir);
    let mut lines = process::run_quietly(&mut command, std::time::Duration::from_secs(60))?;
    // It also notes that the directory is in use.
    lines.retain(|line| line.starts_with('{') && !line.starts_with("{\"note\":"));
    ensure!(!lines.is_empty(), "{topic} has no batch on node {}", first.id);
    for line in &lines {
        let batch: serde_json::Value = serde_json::from_str(line)?;
        let found = batch.get("codec").and_then(serde_json::Value::as_str).unwrap_or_default();
        // A producer sends a batch as it is if packing would only make it longer.
        ensure!(
            found == codec.name() || found == "none" && lines.len() > 1,
            "a batch of {topic} has codec {found}"
        );
    }
    ensure!(
        lines.iter().any(|line| line.contains(&format!("\"codec\":\"{}\"", codec.name()))),
        "no {}",
        codec.name()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_matrix_has_every_pair_and_every_codec() {
        let rows = pairs(&Client::ALL, false);
        assert_eq!(rows.len(), 4);
        assert_eq!(rows.iter().map(|row| row.consumers.len()).sum::<usize>(), 16);
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            assert!(rows.iter().any(|row| row.codec == codec), "{codec:?}");
        }
    }

    #[test]
    fn the_full_matrix_has_every_codec_for_every_pair() {
        assert_eq!(pairs(&Client::ALL, true).len(), 20);
    }
}

//! Kafka's own tool for groups against our brokers: it shows what ours shows, and what the one changes the other sees.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::client::{Client, Tools};
use super::corpus::Corpus;
use super::matrix::Codec;
use crate::cluster::Cluster;
use crate::process;

const TOPIC: &str = "compat-groups";
const GROUP: &str = "compat-group";
const TOOL: &str = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
const LIMIT: Duration = Duration::from_secs(120);

/// Partition, committed position, end, lag.
type Row = (i64, i64, i64, i64);

/// Both tools, each asking another broker.
struct Pair<'a> {
    tools: &'a Tools,
    ours: String,
    kafkas: String,
}

pub(crate) fn check(cluster: &Cluster, tools: &Tools, corpus: &Corpus) -> Result<()> {
    let brokers: Vec<String> =
        cluster.layout.nodes.iter().map(|node| format!("127.0.0.1:{}", node.ports.kafka)).collect();
    let (first, last) = brokers.first().zip(brokers.last()).context("a cluster has at least one node")?;
    let pair = Pair { tools, ours: first.clone(), kafkas: last.clone() };
    pair.highwater(&["topic", "create", TOPIC, "--partitions", "3"])?;
    Client::Highwater.produce(tools, first, TOPIC, Codec::None, corpus)?;
    let count = (corpus.lines / 2).to_string();
    pair.highwater(&["consume", TOPIC, "--group", GROUP, "--from", "beginning", "--count", &count])?;
    let rows = pair.same()?;
    let lag: i64 = rows.iter().map(|(_, _, _, lag)| lag).sum();
    ensure!(lag > 0, "half of the records were read, and the group is not behind: {rows:?}");

    pair.kafka(&["--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute"])?;
    let rows = pair.same()?;
    ensure!(rows.len() == 3 && rows.iter().all(|row| row.1 == 0), "Kafka's tool did not reset: {rows:?}");
    pair.highwater(&["group", "reset", GROUP, "--topic", TOPIC, "--to", "latest", "--yes"])?;
    let rows = pair.same()?;
    ensure!(rows.iter().all(|row| row.3 == 0), "our tool did not reset: {rows:?}");
    pair.kafka(&["--delete-offsets", "--group", GROUP, "--topic", &format!("{TOPIC}:0")])?;
    let rows = pair.same()?;
    ensure!(rows.iter().map(|row| row.0).eq([1, 2]), "Kafka's tool did not delete a position: {rows:?}");
    pair.kafka(&["--delete", "--group", GROUP])?;
    let listed = pair.highwater(&["group", "list"])?;
    ensure!(!listed.iter().any(|line| line.contains(GROUP)), "Kafka's tool did not delete the group");
    println!("Kafka's tool for groups shows what ours shows, and each sees what the other changes");
    Ok(())
}

impl Pair<'_> {
    fn highwater(&self, arguments: &[&str]) -> Result<Vec<String>> {
        let mut command = self.tools.highwater();
        command.args(arguments).args(["--bootstrap", &self.ours]);
        process::run_quietly(&mut command, LIMIT)
    }

    fn kafka(&self, arguments: &[&str]) -> Result<Vec<String>> {
        let mut command = self.tools.java()?.tool(TOOL);
        command.args(["--bootstrap-server", &self.kafkas]).args(arguments);
        process::run_quietly(&mut command, LIMIT)
    }

    /// The group as both tools describe it.
    fn same(&self) -> Result<Vec<Row>> {
        let shown = self.highwater(&["group", "describe", GROUP, "--output", "json"])?.join("\n");
        // It may say something besides, before it prints.
        let json = shown.get(shown.find('{').context("no description")?..).unwrap_or_default();
        let mut ours = our_rows(&serde_json::from_str(json)?);
        let shown = self.kafka(&["--describe", "--group", GROUP])?;
        let mut kafkas: Vec<Row> = shown.iter().filter_map(|line| kafkas_row(line)).collect();
        ours.sort_unstable();
        kafkas.sort_unstable();
        ensure!(
            !ours.is_empty() && ours == kafkas,
            "ours {ours:?}\nKafka's {kafkas:?}\n{}",
            shown.join("\n")
        );
        Ok(ours)
    }
}

fn our_rows(described: &Value) -> Vec<Row> {
    let number = |partition: &Value, name: &str| partition.get(name).and_then(Value::as_i64).unwrap_or(-1);
    let partitions = described.get("partitions").and_then(Value::as_array);
    let row = |partition: &Value| {
        let of = |name| number(partition, name);
        (of("partition"), of("committed"), of("end"), of("lag"))
    };
    partitions.into_iter().flatten().map(row).collect()
}

/// `GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG ...`, a dash for what is not known.
fn kafkas_row(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    if words.next()? != GROUP || words.next()? != TOPIC {
        return None;
    }
    let mut number = || words.next().map(|word| word.parse().unwrap_or(-1));
    Some((number()?, number()?, number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_tools_are_read_alike() {
        let line = "compat-group    compat-groups   2  60  100  40  -  -  -";
        assert_eq!(kafkas_row(line), Some((2, 60, 100, 40)));
        assert_eq!(kafkas_row("GROUP  TOPIC  PARTITION  CURRENT-OFFSET"), None);
        let text =
            r#"{"partitions":[{"partition":2,"committed":60,"end":100,"lag":40},{"partition":0,"end":7}]}"#;
        let described = serde_json::from_str(text).expect("JSON");
        assert_eq!(our_rows(&described), [(2, 60, 100, 40), (0, -1, 7, -1)]);
    }
}

//! `highwater topic describe`.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use highwater_client::{OffsetSpec, PartitionDescription, TopicDescription};
use serde::Serialize;

use super::{Summary, settings_of};
use crate::arguments::Connection;
use crate::failure::Outcome;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, aside, block_on};

/// Show a topic: who leads its partitions, where they begin and end, its settings
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// The topic
    topic: String,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Description {
    #[serde(flatten)]
    summary: Summary,
    id: String,
    partition_list: Vec<Partition>,
}

#[derive(Debug, Serialize)]
struct Partition {
    partition: u32,
    leader: Option<i32>,
    leader_epoch: i32,
    replicas: Vec<i32>,
    in_sync: Vec<i32>,
    offline: Vec<i32>,
    /// The first offset that is kept; null if no broker could say.
    start: Option<i64>,
    /// The offset after the last committed record; null if no broker could say.
    end: Option<i64>,
    /// Bytes of the leader's batches; null if it could not say.
    bytes: Option<u64>,
}

impl Report for Description {
    fn text(&self, paint: Paint) -> String {
        let mut text = format!("{}: {}\n", self.summary.topic, self.summary.line());
        let own = self.summary.settings.iter().filter(|setting| setting.own);
        for setting in own {
            let value = setting.value.as_deref().unwrap_or("(secret)");
            text.push_str(&format!("  {} = {value}\n", setting.name));
        }
        text.push('\n');
        text.push_str(&self.table().render(paint));
        for warning in self.warnings() {
            text.push_str(&format!("{}\n", paint.alarm(&warning)));
        }
        text
    }
}

impl Description {
    fn table(&self) -> Table {
        let columns = Table::new().number("partition").number("leader").text("in sync").text("replicas");
        let mut table = columns.number("start").number("end").number("size");
        for partition in &self.partition_list {
            let leader = partition.leader.map_or_else(|| "none".to_owned(), |leader| leader.to_string());
            table.row([
                partition.partition.to_string(),
                leader,
                ids(&partition.in_sync),
                ids(&partition.replicas),
                number::offset(partition.start.unwrap_or(-1)),
                number::offset(partition.end.unwrap_or(-1)),
                partition.bytes.map_or_else(|| "-".to_owned(), number::bytes),
            ]);
        }
        table
    }

    fn warnings(&self) -> Vec<String> {
        let partitions = &self.partition_list;
        let leaderless = partitions.iter().filter(|partition| partition.leader.is_none()).count();
        let short =
            partitions.iter().filter(|partition| partition.in_sync.len() < partition.replicas.len()).count();
        let line = |count: usize, what: &str| {
            (count > 0).then(|| format!("{} {what}", number::counted(count as u64, "partition")))
        };
        [
            line(leaderless, "without a leader: neither read nor written"),
            line(short, "with replicas out of sync"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn ids(ids: &[i32]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl Describe {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let description = block_on(self.describe())?;
        output::show(&description, format)
    }

    async fn describe(&self) -> Outcome<Description> {
        let session = Session::open(&self.connection).await?;
        let mut described = match session.admin().describe_topic(self.topic.as_str()).await {
            Ok(described) => described,
            Err(error) => return Err(session.topic_failure(&self.topic, &error).await),
        };
        let starts = offsets(&session, &described, OffsetSpec::Earliest).await;
        let ends = offsets(&session, &described, OffsetSpec::Latest).await;
        let mut sizes = sizes(&session, &described).await;
        if sizes.contains(&None) {
            // A leader that does not answer may have been replaced since.
            if let Ok(again) = session.admin().describe_topic(self.topic.as_str()).await {
                described = again;
                sizes = self::sizes(&session, &described).await;
            }
        }
        let known = starts.into_iter().zip(ends).zip(sizes).map(|((start, end), bytes)| (start, end, bytes));
        let partitions = described.partitions.iter().zip(known);
        Ok(Description {
            id: described.id.to_string(),
            summary: Summary {
                topic: self.topic.clone(),
                partitions: described.partitions.len(),
                replication_factor: described.partitions.first().map_or(0, |first| first.replicas.len()),
                settings: settings_of(&session, &self.topic).await?,
            },
            partition_list: partitions
                .map(|(partition, (start, end, bytes))| Partition { start, end, bytes, ..shown(partition) })
                .collect(),
        })
    }
}

fn shown(partition: &PartitionDescription) -> Partition {
    Partition {
        partition: partition.partition,
        leader: partition.leader,
        leader_epoch: partition.leader_epoch,
        replicas: partition.replicas.clone(),
        in_sync: partition.in_sync.clone(),
        offline: partition.offline.clone(),
        start: None,
        end: None,
        bytes: None,
    }
}

/// The size of each partition as its leader has it; none for those whose leader could not say.
async fn sizes(session: &Session, topic: &TopicDescription) -> Vec<Option<u64>> {
    let mut led: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
    for partition in &topic.partitions {
        if let Some(leader) = partition.leader {
            led.entry(leader).or_default().push(partition.partition);
        }
    }
    let mut sizes = BTreeMap::new();
    for (leader, partitions) in led {
        let asked = Some(vec![(Arc::clone(&topic.name), partitions)]);
        let directories = aside(session.admin().describe_log_dirs(leader, asked)).await;
        let replicas = directories.into_iter().flatten().flat_map(|directory| directory.replicas);
        sizes.extend(replicas.map(|replica| (replica.partition, replica.bytes)));
    }
    topic.partitions.iter().map(|partition| sizes.get(&partition.partition).copied()).collect()
}

/// One offset for each partition; none for those without a leader that could tell it, which are not asked for: the
/// rest of the description must not wait for them.
async fn offsets(session: &Session, topic: &TopicDescription, spec: OffsetSpec) -> Vec<Option<i64>> {
    let led = topic.partitions.iter().filter(|partition| partition.leader.is_some());
    let asked: Vec<u32> = led.map(|partition| partition.partition).collect();
    let answers = if asked.is_empty() {
        Vec::new()
    } else {
        session.admin().list_offsets(topic.name.clone(), asked, spec).await.unwrap_or_default()
    };
    let known: Vec<_> = answers.into_iter().flatten().collect();
    let of = |partition: u32| known.iter().find(|answer| answer.partition == partition)?.offset;
    topic.partitions.iter().map(|partition| of(partition.partition)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::topic::SettingShown;

    fn description() -> Description {
        let partition = |partition, leader, in_sync: &[i32], end: Option<i64>| Partition {
            partition,
            leader,
            leader_epoch: 1,
            replicas: vec![1, 2, 3],
            in_sync: in_sync.to_vec(),
            offline: Vec::new(),
            start: end.map(|_| 0),
            end,
            bytes: end.map(|end| end.cast_unsigned() * 9),
        };
        let setting =
            |name: &str, value: &str, own| SettingShown { name: name.into(), value: Some(value.into()), own };
        Description {
            summary: Summary {
                topic: "orders".into(),
                partitions: 3,
                replication_factor: 3,
                settings: vec![
                    setting("min.insync.replicas", "2", false),
                    setting("retention.ms", "3600000", true),
                ],
            },
            id: "00".into(),
            partition_list: vec![
                partition(0, Some(1), &[1, 2, 3], Some(166_702)),
                partition(1, Some(2), &[2, 3], Some(0)),
                partition(2, None, &[1], None),
            ],
        }
    }

    #[test]
    fn a_description_names_what_is_wrong() {
        insta::assert_snapshot!(description().text(Paint::OFF));
    }

    #[test]
    fn a_description_for_programs() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&description()).unwrap());
    }
}

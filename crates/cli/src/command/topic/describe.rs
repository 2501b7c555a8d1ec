//! `highwater topic describe`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clap::Args;
use highwater_client::{OffsetSpec, PartitionDescription, TopicDescription};
use serde::Serialize;
use tokio::task::JoinSet;

use super::{Summary, settings_of};
use crate::arguments::Connection;
use crate::damage;
use crate::failure::Outcome;
use crate::output::escaped::Escaped;
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
    /// Replicas whose nodes are not there, and those that are damaged.
    offline: Vec<i32>,
    /// Of the offline ones those whose nodes are there.
    damaged: Vec<i32>,
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
            let value = setting.value.as_ref().map_or_else(|| "(secret)".to_owned(), ToString::to_string);
            text.push_str(&format!("  {} = {value}\n", setting.name));
        }
        text.push('\n');
        text.push_str(&self.table().render(paint));
        text.push_str(&paint.alarms(self.damages().into_iter().chain(self.warnings())));
        if self.partition_list.iter().any(Partition::is_stuck) {
            text.push_str(&format!("  {}\n", damage::HELP));
        }
        text
    }
}

/// A topic may have thousands of partitions: so many are named one by one.
const DAMAGES_SHOWN: usize = 10;

impl Partition {
    /// Nobody leads, and at least one replica is damaged: no replica is copied anew by itself.
    fn is_stuck(&self) -> bool {
        self.leader.is_none() && !self.damaged.is_empty()
    }

    fn damage(&self) -> Option<String> {
        let replicas = match self.damaged.as_slice() {
            [] => return None,
            [one] if self.replicas.len() == 1 => format!("its only replica, on node {one}, is damaged"),
            [one] => format!("the replica on node {one} is damaged"),
            several => format!("the replicas on nodes {} are damaged", ids(several)),
        };
        let after = if self.leader.is_some() { " and copied anew from the leader" } else { "" };
        Some(format!("partition {}: {replicas}{after}", self.partition))
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

    fn damages(&self) -> Vec<String> {
        let mut all: Vec<String> = self.partition_list.iter().filter_map(Partition::damage).collect();
        let more = all.len().saturating_sub(DAMAGES_SHOWN);
        all.truncate(DAMAGES_SHOWN);
        all.extend(number::partitions(more, "more with damaged replicas"));
        all
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        let partitions = &self.partition_list;
        let leaderless = partitions.iter().filter(|partition| partition.leader.is_none()).count();
        let short =
            partitions.iter().filter(|partition| partition.in_sync.len() < partition.replicas.len()).count();
        let leaderless = number::partitions(leaderless, "without a leader: neither read nor written");
        leaderless.into_iter().chain(number::partitions(short, "with replicas out of sync"))
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
        let live = live_beside(&session, &described).await?;
        let settings = settings_of(&session, &self.topic).await?;
        let mut sizes = Sizes::default();
        let (starts, ends, ()) = tokio::join!(
            offsets(&session, &described, OffsetSpec::Earliest),
            offsets(&session, &described, OffsetSpec::Latest),
            sizes.ask(&session, &described)
        );
        // A leader that does not answer may have been replaced since.
        if sizes.lacks(&described)
            && let Ok(again) = session.admin().describe_topic(self.topic.as_str()).await
        {
            described = again;
            sizes.ask(&session, &described).await;
        }
        let sizes = described.partitions.iter().map(|partition| sizes.of(partition)).collect::<Vec<_>>();
        let known = starts.into_iter().zip(ends).zip(sizes).map(|((start, end), bytes)| (start, end, bytes));
        let partitions = described.partitions.iter().zip(known);
        Ok(Description {
            id: described.id.to_string(),
            summary: Summary {
                topic: Escaped::of(&self.topic),
                partitions: described.partitions.len(),
                replication_factor: described.partitions.first().map_or(0, |first| first.replicas.len()),
                settings,
            },
            partition_list: partitions
                .map(|(partition, (start, end, bytes))| Partition {
                    start,
                    end,
                    bytes,
                    ..shown(partition, &live)
                })
                .collect(),
        })
    }
}

/// The nodes that are there, where that is needed to tell damaged replicas from those of nodes that are away.
async fn live_beside(session: &Session, topic: &TopicDescription) -> Outcome<BTreeSet<i32>> {
    if topic.partitions.iter().all(|partition| partition.offline.is_empty()) {
        return Ok(BTreeSet::new());
    }
    let cluster = session.admin().describe_cluster().await.map_err(|error| session.failure(&error))?;
    Ok(damage::live(&cluster))
}

fn shown(partition: &PartitionDescription, live: &BTreeSet<i32>) -> Partition {
    Partition {
        partition: partition.partition,
        leader: partition.leader,
        leader_epoch: partition.leader_epoch,
        replicas: partition.replicas.clone(),
        in_sync: partition.in_sync.clone(),
        offline: partition.offline.clone(),
        damaged: damage::damaged(partition, live),
        start: None,
        end: None,
        bytes: None,
    }
}

/// What brokers have said of the sizes of a topic's replicas. Each is asked once: one that does not answer takes its time.
#[derive(Debug, Default)]
struct Sizes {
    asked: BTreeSet<i32>,
    /// By broker and partition.
    told: BTreeMap<(i32, u32), u64>,
}

impl Sizes {
    /// Asks the leaders that were not asked yet, all at once, and each for the whole topic: it may lead more of it soon.
    async fn ask(&mut self, session: &Session, topic: &TopicDescription) {
        let mut answers = JoinSet::new();
        let partitions: Vec<u32> = topic.partitions.iter().map(|partition| partition.partition).collect();
        for leader in self.not_yet_asked(topic) {
            let (admin, wanted) = (session.admin(), vec![(Arc::clone(&topic.name), partitions.clone())]);
            answers
                .spawn(async move { (leader, aside(admin.describe_log_dirs(leader, Some(wanted))).await) });
        }
        while let Some(answer) = answers.join_next().await {
            let Ok((broker, directories)) = answer else { continue };
            let replicas = directories.into_iter().flatten().flat_map(|directory| directory.replicas);
            self.told.extend(replicas.map(|replica| ((broker, replica.partition), replica.bytes)));
        }
    }

    /// The leaders that were not asked yet; from now on they were.
    fn not_yet_asked(&mut self, topic: &TopicDescription) -> BTreeSet<i32> {
        let leaders: BTreeSet<i32> =
            topic.partitions.iter().filter_map(|partition| partition.leader).collect();
        let fresh = leaders.difference(&self.asked).copied().collect();
        self.asked.extend(leaders);
        fresh
    }

    /// Whether the size of a partition that is led is not known. That of one without a leader nobody can tell.
    fn lacks(&self, topic: &TopicDescription) -> bool {
        topic.partitions.iter().any(|partition| partition.leader.is_some() && self.of(partition).is_none())
    }

    /// The size of a partition as its leader has it.
    fn of(&self, partition: &PartitionDescription) -> Option<u64> {
        self.told.get(&(partition.leader?, partition.partition)).copied()
    }
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
            damaged: Vec::new(),
            start: end.map(|_| 0),
            end,
            bytes: end.map(|end| end.cast_unsigned() * 9),
        };
        let setting = |name: &str, value: &str, own| SettingShown {
            name: Escaped::of(name),
            value: Some(Escaped::of(value)),
            own,
        };
        Description {
            summary: Summary {
                topic: Escaped::of("orders"),
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
    fn each_leader_is_asked_once_and_nobody_for_partitions_that_none_leads() {
        let topic = |leaders: [Option<i32>; 3]| TopicDescription {
            name: "orders".into(),
            id: highwater_client::TopicId::default(),
            is_internal: false,
            partitions: (0..)
                .zip(leaders)
                .map(|(partition, leader)| PartitionDescription {
                    partition,
                    leader,
                    ..PartitionDescription::default()
                })
                .collect(),
        };
        let before = topic([Some(1), Some(2), None]);
        let mut sizes = Sizes::default();
        assert_eq!(sizes.not_yet_asked(&before), BTreeSet::from([1, 2]));
        // 1 has just died; 2 has replicas of what it does not lead yet.
        sizes.told = BTreeMap::from([((2, 0), 70), ((2, 1), 80), ((2, 2), 90)]);
        assert!(sizes.lacks(&before));
        let after = topic([Some(2), Some(2), None]);
        assert_eq!(sizes.not_yet_asked(&after), BTreeSet::new(), "neither the dead one nor the other again");
        let known: Vec<_> = after.partitions.iter().map(|partition| sizes.of(partition)).collect();
        assert_eq!((known, sizes.lacks(&after)), (vec![Some(70), Some(80), None], false));
    }

    #[test]
    fn a_description_names_what_is_wrong() {
        insta::assert_snapshot!(description().text(Paint::OFF));
    }

    #[test]
    fn damage_is_named_with_what_becomes_of_it() {
        let mut description = description();
        description.partition_list[1].damaged = vec![1];
        let alone = &mut description.partition_list[2];
        (alone.replicas, alone.in_sync, alone.damaged) = (vec![3], Vec::new(), vec![3]);
        insta::assert_snapshot!(description.text(Paint::OFF));
        let stuck = description.partition_list.pop().unwrap();
        assert!(stuck.is_stuck() && !description.partition_list[1].is_stuck());
    }

    #[test]
    fn what_brokers_say_orders_nothing() {
        let mut description = description();
        description.summary.topic = Escaped::of("orders\u{1b}[2J");
        description.summary.settings[1].value = Some(Escaped::of("1\n\u{9b}31m"));
        let text = description.text(Paint::OFF);
        assert!(text.starts_with("orders\\u{1b}[2J: 3 partitions"), "{text}");
        assert!(text.contains("retention 1\\n\\u{9b}31m\n  retention.ms = 1\\n\\u{9b}31m\n"), "{text}");
    }

    #[test]
    fn a_description_for_programs() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&description()).unwrap());
    }
}

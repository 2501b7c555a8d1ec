//! `highwater cluster status`: which nodes are there, what they lead, and what is wrong.

use std::collections::BTreeMap;

use clap::Args;
use futures_util::future::join_all;
use highwater_client::{
    ClientError, ClusterDescription, ConfigResource, PartitionDescription, QuorumDescription,
    TopicDescription,
};
use serde::Serialize;

use crate::arguments::Connection;
use crate::damage;
use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, aside_answered, block_on};

/// Show the nodes, what they lead, and what is wrong
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Shown {
    cluster_id: Option<Escaped>,
    /// The node that leads the metadata quorum; -1 if none does.
    controller: i32,
    nodes: Vec<Node>,
    topics: usize,
    partitions: usize,
    partitions_without_leader: usize,
    partitions_under_replicated: usize,
    /// Of which a replica is damaged, or on a disk that cannot be read.
    partitions_damaged: usize,
    /// Of those the ones that nobody leads.
    partitions_damaged_without_leader: usize,
    /// How many voters of the metadata quorum there are; 0 if the brokers do not say.
    voters: usize,
    /// How many of them answer here.
    voters_answering: usize,
}

#[derive(Debug, Serialize)]
struct Node {
    id: i32,
    address: Escaped,
    rack: Option<Escaped>,
    /// Whether it belongs to the cluster and is not alive, or has not come up yet.
    down: bool,
    /// Whether it has answered a question of this command.
    answers: bool,
    /// Whether it votes in the metadata quorum; null if the brokers do not say.
    voter: Option<bool>,
    /// How many partitions it leads.
    leads: usize,
    /// How many partition replicas it has.
    replicas: usize,
    /// The SHA-256 of its certificates for browsers, the present one first, then the next; none where a certificate of the
    /// user's own serves.
    browser_certificates: Vec<Escaped>,
}

impl Report for Shown {
    fn text(&self, paint: Paint) -> String {
        let mut text = self.table().render(paint);
        text.push('\n');
        text.push_str(&paint.alarms(self.no_majority()));
        text.push_str(&format!(
            "{}, {}; controller is {}\n",
            number::counted(self.topics as u64, "topic"),
            number::counted(self.partitions as u64, "partition"),
            if self.controller < 0 { "none".to_owned() } else { format!("node {}", self.controller) }
        ));
        let down = self.nodes.iter().filter(|node| node.down);
        let lines = down.map(|node| format!("node {} at {} is down", node.id, node.address));
        text.push_str(&paint.alarms(lines));
        let silent = self.nodes.iter().filter(|node| !node.down && !node.answers);
        let lines = silent.map(|node| format!("node {} at {} does not answer", node.id, node.address));
        text.push_str(&paint.alarms(lines));
        for node in &self.nodes {
            if let Some(present) = node.browser_certificates.first() {
                text.push_str(&format!(
                    "certificate of node {} for browsers (SHA-256): {present}\n",
                    node.id
                ));
            }
        }
        for (count, what) in [
            (self.partitions_without_leader, "without a leader: neither read nor written"),
            (self.partitions_under_replicated, "with replicas out of sync"),
            (self.partitions_damaged, "with a damaged replica: highwater topic describe TOPIC shows which"),
        ] {
            text.push_str(&paint.alarms(number::partitions(count, what)));
        }
        if self.partitions_damaged_without_leader > 0 {
            text.push_str(&format!("  {}\n", damage::HELP));
        }
        text
    }
}

impl Shown {
    /// Without a majority nobody notices who has died: the rest is what was last agreed on.
    fn no_majority(&self) -> Option<String> {
        let what = if self.voters_answering < self.voters / 2 + 1 && self.voters > 0 {
            format!("only {} of {} voters of the metadata quorum answer", self.voters_answering, self.voters)
        } else if self.controller < 0 {
            "no node is the controller".to_owned()
        } else {
            return None;
        };
        Some(format!("{what}: nothing can be changed, and what is shown here may be old"))
    }

    fn table(&self) -> Table {
        let columns = Table::new().number("node").text("address").text("rack").text("role");
        let mut table = columns.number("leads").number("replicas");
        for node in &self.nodes {
            table.row([
                node.id.to_string(),
                node.address.to_string(),
                node.rack.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                self.role(node).to_owned(),
                number::count(node.leads as u64),
                number::count(node.replicas as u64),
            ]);
        }
        table
    }

    fn role(&self, node: &Node) -> &'static str {
        match node.voter {
            _ if node.down => "down",
            _ if !node.answers => "no answer",
            _ if node.id == self.controller => "controller",
            Some(true) => "voter",
            Some(false) => "observer",
            None => "-",
        }
    }
}

impl Status {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let shown = block_on(self.look())?;
        output::show(&shown, format)?;
        // For programs too: the table told people.
        shown.no_majority().map_or(Ok(()), |_| Err(Failure::quiet(Code::Unreachable)))
    }

    async fn look(&self) -> Outcome<Shown> {
        let session = Session::open(&self.connection).await?;
        let found = async {
            let cluster = session.admin().describe_cluster().await?;
            let quorum = quorum(&session).await?;
            let topics = topics(&session).await?;
            let certificates = certificates(&session, &cluster).await;
            Ok((cluster, quorum, topics, certificates))
        };
        let (cluster, quorum, topics, certificates) =
            found.await.map_err(|error: ClientError| session.failure(&error))?;
        Ok(summed_up(&cluster, quorum.as_ref(), &topics, &certificates))
    }
}

/// None where the brokers have no metadata quorum to show.
async fn quorum(session: &Session) -> Result<Option<QuorumDescription>, ClientError> {
    match session.admin().describe_quorum().await {
        Ok(quorum) => Ok(Some(quorum)),
        Err(ClientError::Unsupported { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The key under which a broker tells of its certificates for browsers.
const CERTIFICATES: &str = "browser.certificates.sha256";

/// By node. One that does not tell has none, and one that does not answer is left out.
async fn certificates(session: &Session, cluster: &ClusterDescription) -> BTreeMap<i32, Vec<Escaped>> {
    let asked = cluster.brokers.iter().map(|broker| async {
        let admin = session.admin();
        (broker.id, aside_answered(admin.describe_configs(ConfigResource::Broker(broker.id))).await)
    });
    let mut all = BTreeMap::new();
    for (id, entries) in join_all(asked).await {
        let Some(entries) = entries else { continue };
        let told = entries.iter().find(|entry| &*entry.name == CERTIFICATES);
        let hashes = told.and_then(|entry| entry.value.as_deref()).unwrap_or_default();
        let hashes = hashes.split(',').filter(|hash| !hash.is_empty()).map(Escaped::of);
        all.insert(id, hashes.collect());
    }
    all
}

async fn topics(session: &Session) -> Result<Vec<TopicDescription>, ClientError> {
    let listed = session.admin().list_topics().await?;
    let names = listed.into_iter().map(|topic| topic.name).collect();
    let described = session.admin().describe_topics(names).await?;
    // A topic that was deleted meanwhile is no topic.
    Ok(described.into_iter().flatten().collect())
}

fn summed_up(
    cluster: &ClusterDescription,
    quorum: Option<&QuorumDescription>,
    topics: &[TopicDescription],
    certificates: &BTreeMap<i32, Vec<Escaped>>,
) -> Shown {
    let partitions: Vec<_> = topics.iter().flat_map(|topic| &topic.partitions).collect();
    let live_nodes = damage::live(cluster);
    let damaged = |partition: &&&PartitionDescription| !damage::damaged(partition, &live_nodes).is_empty();
    let votes = |id: i32| quorum.map(|quorum| quorum.voters.iter().any(|voter| voter.id == id));
    let node = |broker: &highwater_client::BrokerDescription, down| Node {
        id: broker.id,
        address: Escaped::of(format!("{}:{}", broker.host, broker.port)),
        rack: broker.rack.as_deref().map(Escaped::of),
        down,
        answers: !down && certificates.contains_key(&broker.id),
        voter: votes(broker.id),
        leads: partitions.iter().filter(|partition| partition.leader == Some(broker.id)).count(),
        replicas: partitions.iter().filter(|partition| partition.replicas.contains(&broker.id)).count(),
        browser_certificates: certificates.get(&broker.id).cloned().unwrap_or_default(),
    };
    let live = cluster.brokers.iter().map(|broker| node(broker, false));
    let mut nodes: Vec<Node> = live.chain(cluster.fenced.iter().map(|broker| node(broker, true))).collect();
    nodes.sort_by_key(|node| node.id);
    let controller = quorum.map_or(cluster.controller, |quorum| quorum.leader);
    let voters: Vec<i32> =
        quorum.into_iter().flat_map(|quorum| &quorum.voters).map(|voter| voter.id).collect();
    // A voter that is no broker, as Kafka has them, cannot be asked, so nothing is held against it.
    let is_silent = |id: &i32| nodes.iter().any(|node| node.id == *id && !node.answers);
    let answering = voters.iter().filter(|id| !is_silent(id)).count();
    Shown {
        cluster_id: cluster.cluster_id.as_deref().map(Escaped::of),
        controller: controller.unwrap_or(-1),
        nodes,
        topics: topics.len(),
        partitions: partitions.len(),
        partitions_without_leader: partitions.iter().filter(|partition| partition.leader.is_none()).count(),
        partitions_under_replicated: partitions
            .iter()
            .filter(|partition| partition.in_sync.len() < partition.replicas.len())
            .count(),
        partitions_damaged: partitions.iter().filter(damaged).count(),
        partitions_damaged_without_leader: partitions
            .iter()
            .filter(damaged)
            .filter(|partition| partition.leader.is_none())
            .count(),
        voters: voters.len(),
        voters_answering: answering,
    }
}

#[cfg(test)]
mod tests {
    use highwater_client::{BrokerDescription, QuorumReplica, TopicId};

    use super::*;

    fn shown() -> Shown {
        let broker = |id: i32| BrokerDescription {
            id,
            host: "127.0.0.1".into(),
            port: 9082 + 10 * u16::try_from(id).unwrap(),
            rack: (id == 2).then(|| "b".into()),
        };
        let cluster = ClusterDescription {
            cluster_id: Some("c".into()),
            controller: Some(1),
            brokers: vec![broker(2), broker(1)],
            fenced: vec![broker(3)],
        };
        let voter = |id| QuorumReplica {
            id,
            log_end_offset: 9,
            last_fetch_timestamp: -1,
            last_caught_up_timestamp: -1,
        };
        let quorum = QuorumDescription {
            leader: Some(2),
            leader_epoch: 3,
            high_watermark: 9,
            voters: vec![voter(2)],
            observers: vec![voter(1)],
        };
        let partition = |partition, leader, in_sync: &[i32]| PartitionDescription {
            partition,
            leader,
            replicas: vec![1, 2, 3],
            in_sync: in_sync.to_vec(),
            offline: if leader.is_none() { vec![1, 3] } else { vec![3] },
            ..PartitionDescription::default()
        };
        let topic = TopicDescription {
            name: "orders".into(),
            id: TopicId::default(),
            is_internal: false,
            partitions: vec![partition(0, Some(1), &[1, 2]), partition(1, None, &[2])],
        };
        let certificates = BTreeMap::from([
            (1, vec![Escaped::of("ab".repeat(32)), Escaped::of("cd".repeat(32))]),
            (2, Vec::new()),
        ]);
        summed_up(&cluster, Some(&quorum), &[topic], &certificates)
    }

    #[test]
    fn a_status_names_what_is_wrong() {
        insta::assert_snapshot!(shown().text(Paint::OFF));
    }

    #[test]
    fn a_quorum_without_a_majority_is_an_alarm() {
        let mut shown = shown();
        assert_eq!((shown.voters, shown.voters_answering, shown.no_majority()), (1, 1, None));
        (shown.voters, shown.voters_answering) = (3, 1);
        shown.nodes[0].answers = false;
        insta::assert_snapshot!(shown.text(Paint::OFF));
        (shown.voters_answering, shown.controller) = (2, -1);
        assert!(shown.no_majority().unwrap().starts_with("no node is the controller: nothing can"));
    }

    #[test]
    fn what_brokers_say_orders_nothing() {
        let mut shown = shown();
        shown.nodes[0].rack = Some(Escaped::of("\u{1b}[2J"));
        shown.nodes[2].address = Escaped::of("host\u{9b}2J:9092");
        let text = shown.text(Paint::OFF);
        assert!(
            text.contains("\\u{1b}[2J") && text.contains("node 3 at host\\u{9b}2J:9092 is down\n"),
            "{text}"
        );
        assert!(!text.contains(['\u{1b}', '\u{9b}']), "{text}");
    }

    #[test]
    fn a_status_for_programs() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&shown()).unwrap());
    }
}

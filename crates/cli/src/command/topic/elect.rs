//! `highwater topic elect`: leaders as they should be, or, where nobody can lead any more, as an operator decides.

use std::collections::BTreeMap;

use clap::Args;
use highwater_client::{
    Election, ErrorCode, PartitionDescription, ReplicaEnd, TopicDescription, UncleanChoice,
};
use serde::Serialize;

use crate::arguments::Connection;
use crate::confirm::confirm;
use crate::damage;
use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, aside, block_on};

/// Elect leaders: the preferred ones, or, with --unclean, others where nobody can lead any more
///
/// A partition has no leader when every replica that may have all acknowledged records is gone or damaged. While one of
/// them may come back, wait for it: with it nothing is lost. If none will, --unclean shows what each replica that is
/// there has, and elects the one that has most. What only others had is lost. A damaged replica is read up to the
/// damage; a copy of the rest stays in the folder quarantine of its partition.
#[derive(Debug, Args)]
pub(crate) struct Elect {
    /// The topic
    topic: String,

    /// Only these partitions
    #[arg(long = "partition", allow_negative_numbers = true, value_name = "NUMBER")]
    partitions: Vec<u32>,

    /// Elect a replica that may lack acknowledged records, where nobody leads
    #[arg(long)]
    unclean: bool,

    /// The node that shall lead; the one that has most if none is named
    #[arg(long, requires = "unclean", allow_negative_numbers = true, value_name = "NODE",
        value_parser = clap::value_parser!(i32).range(0..))]
    leader: Option<i32>,

    /// Go on without a question
    #[arg(long, requires = "unclean")]
    yes: bool,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Elected {
    topic: Escaped,
    elections: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    partition: u32,
    /// The leader now; null if there is none.
    leader: Option<i32>,
    /// Why it is not the one that was wanted; null if it is.
    refused: Option<Escaped>,
}

impl Report for Elected {
    fn text(&self, paint: Paint) -> String {
        if self.elections.is_empty() {
            return "every partition has the leader that it should have\n".to_owned();
        }
        let mut table = Table::new().number("partition").number("leader").text("");
        for line in &self.elections {
            let leader = line.leader.map_or_else(|| "none".to_owned(), |leader| leader.to_string());
            table.row([
                line.partition.to_string(),
                leader,
                line.refused.as_ref().map(ToString::to_string).unwrap_or_default(),
            ]);
        }
        table.render(paint)
    }
}

/// A partition that nobody leads, and what its replicas say.
#[derive(Debug)]
struct Leaderless {
    partition: u32,
    leader_epoch: i32,
    /// In the order of preference; none for those that do not answer.
    replicas: Vec<(i32, Option<ReplicaEnd>)>,
}

impl Leaderless {
    /// Of two ends the one with the later epoch has more, and in the same epoch the one that goes further; a sound replica is
    /// better than a damaged one, and of equals the first.
    fn best(&self) -> Option<i32> {
        let rank = |end: &ReplicaEnd| (end.last_epoch, end.end, !end.is_damaged);
        let there = self.replicas.iter().filter_map(|(_, end)| end.as_ref());
        there.rev().max_by_key(|end| rank(end)).map(|end| end.broker)
    }

    fn chosen(&self, asked: Option<i32>) -> Outcome<i32> {
        let partition = self.partition;
        match asked {
            None => self.best().ok_or_else(|| {
                let what =
                    format!("partition {partition}: none of its replicas is there, so none can be elected");
                Failure::new(Code::Failed, what)
                    .or("start one of its nodes: a new one with the same --node-id begins empty")
            }),
            Some(node) if self.replicas.iter().any(|(id, end)| *id == node && end.is_some()) => Ok(node),
            Some(node) => {
                let what =
                    format!("partition {partition}: node {node} has no replica of it, or does not answer");
                Err(Failure::new(Code::Failed, what))
            }
        }
    }

    /// What the operator has to know before he says yes.
    fn risk(&self, topic: &Escaped, leader: i32) -> String {
        let mut table = Table::new().number("node").number("last epoch").number("log end").text("");
        for (node, end) in &self.replicas {
            let shown = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
            let note = match end {
                None => "does not answer: what only it has is lost",
                Some(end) if end.is_damaged && *node == leader => "shall lead, up to the damage found so far",
                Some(end) if end.is_damaged => "damaged: readable up to there at most",
                Some(_) if *node == leader => "shall lead",
                Some(_) => "",
            };
            table.row([
                node.to_string(),
                shown(end.and_then(|end| end.last_epoch).map(|epoch| epoch.to_string())),
                shown(end.and_then(|end| end.end).map(number::offset)),
                note.to_owned(),
            ]);
        }
        let rest = "Records that the new leader does not have are lost for good, acknowledged ones too.";
        format!(
            "partition {} of {topic} has no leader. What its replicas have:\n{}{rest}\n",
            self.partition,
            table.render(Paint::OFF)
        )
    }
}

impl Elect {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let (elected, refused) = block_on(self.elect(format))?;
        output::show(&elected, format)?;
        if refused { Err(Failure::quiet(Code::Failed)) } else { Ok(()) }
    }

    async fn elect(&self, format: Format) -> Outcome<(Elected, bool)> {
        let session = Session::open(&self.connection).await?;
        let described = match session.admin().describe_topic(self.topic.as_str()).await {
            Ok(described) => described,
            Err(error) => return Err(session.topic_failure(&self.topic, &error).await),
        };
        let wanted = self.wanted(&described)?;
        let (expected, election) = if self.unclean {
            let choices = self.choose(&session, &described, &wanted, format).await?;
            let expected = choices.iter().map(|choice| (choice.partition, Some(choice.leader))).collect();
            (expected, Election::Unclean(choices))
        } else {
            (self.displaced(&wanted), Election::Preferred)
        };
        let mut elections = Vec::new();
        if !expected.is_empty() {
            let asked = Some(vec![(described.name.clone(), expected.keys().copied().collect())]);
            // A person may have been asked meanwhile.
            let results = session.anew().admin().elect_leaders(election, asked).await;
            for found in results.map_err(|error| session.failure(&error))? {
                let refused = found.result.err().filter(|error| !self.is_content(error));
                let expected = expected.get(&found.partition).copied().flatten();
                let leader = if refused.is_none() { expected } else { led(&wanted, found.partition) };
                let refused = refused.map(Escaped::of);
                elections.push(Line { partition: found.partition, leader, refused });
            }
        }
        let refused = elections.iter().any(|line| line.refused.is_some());
        Ok((Elected { topic: Escaped::of(&self.topic), elections }, refused))
    }

    /// The partitions that another than the preferred replica leads, with that one; those named in any case.
    fn displaced(&self, wanted: &[&PartitionDescription]) -> BTreeMap<u32, Option<i32>> {
        let preferred = |found: &PartitionDescription| found.replicas.first().copied();
        wanted
            .iter()
            .filter(|found| !self.partitions.is_empty() || found.leader != preferred(found))
            .map(|found| (found.partition, preferred(found)))
            .collect()
    }

    /// A preferred leader that leads already is what was asked for.
    fn is_content(&self, error: &highwater_client::ClientError) -> bool {
        !self.unclean && error.broker_code() == Some(ErrorCode::ElectionNotNeeded)
    }

    fn wanted<'a>(&self, described: &'a TopicDescription) -> Outcome<Vec<&'a PartitionDescription>> {
        let missing = self
            .partitions
            .iter()
            .find(|number| !described.partitions.iter().any(|partition| partition.partition == **number));
        if let Some(missing) = missing {
            let what = format!("topic {} has no partition {missing}", self.topic);
            return Err(Failure::new(Code::NotFound, what));
        }
        let named = |number: &u32| self.partitions.is_empty() || self.partitions.contains(number);
        Ok(described.partitions.iter().filter(|partition| named(&partition.partition)).collect())
    }

    /// Asks every replica of each partition without a leader what it has, shows it, and has the choice confirmed.
    async fn choose(
        &self,
        session: &Session,
        described: &TopicDescription,
        wanted: &[&PartitionDescription],
        format: Format,
    ) -> Outcome<Vec<UncleanChoice>> {
        let leaderless = ends(session, described, wanted).await?;
        if leaderless.is_empty() && self.leader.is_some() {
            let what = format!("no partition of {} is without a leader, so none can be chosen", self.topic);
            return Err(Failure::new(Code::Failed, what).or("--unclean is for partitions that nobody leads"));
        }
        let mut choices = Vec::new();
        let mut risks = String::new();
        for found in &leaderless {
            let leader = found.chosen(self.leader)?;
            risks.push_str(&found.risk(&Escaped::of(&self.topic), leader));
            choices.push(UncleanChoice {
                topic: described.name.clone(),
                partition: found.partition,
                leader_epoch: found.leader_epoch,
                leader,
                shown: found.replicas.iter().filter_map(|(_, end)| *end).collect(),
            });
        }
        if !choices.is_empty() {
            confirm(&risks, self.yes, format)?;
        }
        Ok(choices)
    }
}

/// Who led a partition before the election.
fn led(wanted: &[&PartitionDescription], partition: u32) -> Option<i32> {
    wanted.iter().find(|found| found.partition == partition)?.leader
}

/// What the replicas of the partitions that nobody leads have, each asked at its own broker.
async fn ends(
    session: &Session,
    described: &TopicDescription,
    wanted: &[&PartitionDescription],
) -> Outcome<Vec<Leaderless>> {
    let cluster = session.admin().describe_cluster().await.map_err(|error| session.failure(&error))?;
    let live = damage::live(&cluster);
    let leaderless: Vec<_> = wanted.iter().filter(|partition| partition.leader.is_none()).collect();
    let mut held: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
    for partition in &leaderless {
        // A damaged replica is offline, and can tell what it has.
        for node in partition.replicas.iter().filter(|node| live.contains(node)) {
            held.entry(*node).or_default().push(partition.partition);
        }
    }
    let mut told = BTreeMap::new();
    for (node, partitions) in held {
        let admin = session.admin();
        let answers = aside(admin.replica_ends(node, described.name.clone(), partitions.clone())).await;
        for (partition, answer) in partitions.into_iter().zip(answers) {
            told.extend(answer.ok().map(|end| ((partition, node), end)));
        }
    }
    let of = |partition: &PartitionDescription| Leaderless {
        partition: partition.partition,
        leader_epoch: partition.leader_epoch,
        replicas: partition
            .replicas
            .iter()
            .map(|node| (*node, told.get(&(partition.partition, *node)).copied()))
            .collect(),
    };
    Ok(leaderless.iter().map(|partition| of(partition)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(broker: i32, last_epoch: i32, end: i64, is_damaged: bool) -> (i32, Option<ReplicaEnd>) {
        let (last_epoch, end) = (Some(last_epoch), Some(end));
        (broker, Some(ReplicaEnd { broker, last_epoch, end, is_damaged }))
    }

    fn leaderless(replicas: Vec<(i32, Option<ReplicaEnd>)>) -> Leaderless {
        Leaderless { partition: 4, leader_epoch: 7, replicas }
    }

    #[test]
    fn the_replica_with_the_latest_epoch_and_then_the_greatest_end_is_chosen() {
        let found = leaderless(vec![end(3, 6, 900, false), end(1, 7, 100, false), end(2, 7, 120, false)]);
        assert_eq!(found.chosen(None), Ok(2));
        assert_eq!(found.chosen(Some(3)), Ok(3));
        assert!(found.chosen(Some(4)).is_err());
        let equal = leaderless(vec![end(3, 7, 120, true), end(1, 7, 120, false), end(2, 7, 120, false)]);
        assert_eq!(equal.best(), Some(1), "a sound one, and of those the preferred");
        assert_eq!(leaderless(vec![(1, None)]).best(), None);
    }

    #[test]
    fn what_is_risked_is_shown() {
        let found = leaderless(vec![end(1, 7, 1_200, false), (2, None), end(3, 7, 900, true)]);
        insta::assert_snapshot!(found.risk(&Escaped::of("orders"), 1));
    }

    #[test]
    fn what_became_of_it_is_shown() {
        let line = |partition, leader, refused: Option<&str>| Line {
            partition,
            leader,
            refused: refused.map(Escaped::of),
        };
        let elections = vec![line(0, Some(1), None), line(3, None, Some("PREFERRED_LEADER_NOT_AVAILABLE"))];
        insta::assert_snapshot!(Elected { topic: Escaped::of("orders"), elections }.text(Paint::OFF));
    }
}

//! `highwater group`: show, move and delete groups of consumers, whatever their client is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use clap::Subcommand;
use highwater_client::{ClientError, ErrorCode};

use crate::failure::{Code, Failure, Outcome};
use crate::nearest::nearest;
use crate::output::escaped::Escaped;
use crate::output::{Format, Paint, number};
use crate::session::Session;

mod delete;
mod describe;
mod forget;
mod list;
mod reset;

/// Show groups and how far they are behind, let them read again or skip, delete them
#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    List(list::List),
    Describe(describe::Describe),
    Reset(reset::Reset),
    Forget(forget::Forget),
    Delete(delete::Delete),
}

impl Group {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        match self {
            Self::List(list) => list.run(format),
            Self::Describe(describe) => describe.run(format),
            Self::Reset(reset) => reset.run(format),
            Self::Forget(forget) => forget.run(format),
            Self::Delete(delete) => delete.run(format),
        }
    }
}

/// A topic, or some of its partitions: `orders`, `orders:3`, `orders:0,2`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chosen {
    topic: String,
    /// All if none are named.
    partitions: Vec<u32>,
}

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((topic, numbers)) = text.split_once(':') else {
            return Ok(Self { topic: text.to_owned(), partitions: Vec::new() });
        };
        let numbers = numbers.split(',').map(str::parse);
        let partitions = numbers.collect::<Result<_, _>>();
        let wanted = "behind the topic stand numbers of partitions, as in orders:3 or orders:0,2";
        partitions
            .map(|partitions| Self { topic: topic.to_owned(), partitions })
            .map_err(|_| wanted.to_owned())
    }
}

impl Chosen {
    fn names(&self, topic: &str, partition: u32) -> bool {
        self.topic == topic && (self.partitions.is_empty() || self.partitions.contains(&partition))
    }
}

/// As it is typed.
impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.topic)?;
        let numbers: Vec<String> = self.partitions.iter().map(ToString::to_string).collect();
        if numbers.is_empty() { Ok(()) } else { write!(f, ":{}", numbers.join(",")) }
    }
}

/// A line for each partition that something was not done to, and why.
fn left_out<'a>(
    partitions: impl Iterator<Item = (&'a Escaped, u32, Option<Escaped>)>,
    paint: Paint,
) -> String {
    let line = |(topic, partition, why): (&Escaped, u32, Option<Escaped>)| {
        why.map(|why| format!("{topic} {partition}: {why}"))
    };
    paint.alarms(partitions.filter_map(line))
}

/// The partitions that are chosen, each once, of topics that exist.
async fn partitions_of(session: &Session, chosen: &[Chosen]) -> Outcome<Vec<(Arc<str>, u32)>> {
    let mut all: Vec<(Arc<str>, u32)> = Vec::new();
    for chosen in chosen {
        let described = match session.admin().describe_topic(chosen.topic.as_str()).await {
            Ok(described) => described,
            Err(error) => return Err(session.topic_failure(&chosen.topic, &error).await),
        };
        let there: Vec<u32> = described.partitions.iter().map(|partition| partition.partition).collect();
        if let Some(missing) = chosen.partitions.iter().find(|number| !there.contains(number)) {
            let what = format!("topic {} has no partition {missing}", chosen.topic);
            let next = format!("it has {}", number::counted(there.len() as u64, "partition"));
            return Err(Failure::new(Code::NotFound, what).or(next));
        }
        let named = there.into_iter().filter(|number| chosen.names(&described.name, *number));
        all.extend(named.map(|number| (Arc::clone(&described.name), number)));
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// What an error about a group means: one that does not exist is answered with the one that was meant.
async fn group_failure(session: &Session, group: &str, error: &ClientError) -> Failure {
    match error.broker_code() {
        Some(ErrorCode::GroupIdNotFound) => {
            let groups = session.admin().list_groups().await.unwrap_or_default();
            missing_group(group, groups.iter().map(|listing| &*listing.group)).by(error)
        }
        Some(ErrorCode::NonEmptyGroup) => has_members(group, None).by(error),
        _ => session.failure(error),
    }
}

fn missing_group<'a>(group: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let next = nearest(group, known)
        .map_or_else(|| "highwater group list shows all".to_owned(), |meant| format!("there is {meant}"));
    Failure::new(Code::NotFound, format!("group {group} does not exist")).or(next)
}

fn has_members(group: &str, count: Option<usize>) -> Failure {
    let members = count.map_or_else(|| "members".to_owned(), |count| number::counted(count as u64, "member"));
    let what = format!("group {group} has {members}; nothing was changed");
    Failure::new(Code::Failed, what)
        .or(format!("stop them first: highwater group describe {group} shows them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_topic_with_or_without_partitions() {
        let chosen = |topic: &str, partitions: &[u32]| Chosen {
            topic: topic.to_owned(),
            partitions: partitions.to_vec(),
        };
        assert_eq!("orders".parse(), Ok(chosen("orders", &[])));
        assert_eq!("orders:3".parse(), Ok(chosen("orders", &[3])));
        assert_eq!("orders:0,2".parse(), Ok(chosen("orders", &[0, 2])));
        for text in ["orders:", "orders:x", "orders:1,", "orders:-1"] {
            assert!(text.parse::<Chosen>().unwrap_err().contains("orders:0,2"), "{text}");
        }
    }

    #[test]
    fn a_missing_group_is_answered_with_the_nearest_one() {
        let said = |known: &[&str]| missing_group("biling", known.iter().copied()).to_string();
        assert_eq!(said(&["audit", "billing"]), "error: group biling does not exist\n  there is billing");
        assert_eq!(said(&[]), "error: group biling does not exist\n  highwater group list shows all");
    }
}

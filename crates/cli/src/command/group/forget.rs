//! `highwater group forget`: positions in topics that a group does not read any more.

use std::sync::Arc;

use clap::Args;
use highwater_client::{CommittedOffset, ErrorCode};
use serde::Serialize;

use super::{Chosen, group_failure, left_out};
use crate::arguments::{Connection, group_name};
use crate::confirm::confirm;
use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Delete a group's positions in topics that its members do not read any more
#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The group
    #[arg(value_parser = group_name)]
    group: String,

    /// A topic, or some of its partitions (orders:3, orders:0,2); may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:PARTITIONS]", required = true)]
    chosen: Vec<Chosen>,

    /// Go on without a question
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Forgotten {
    group: Escaped,
    partitions: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    topic: Escaped,
    partition: u32,
    /// The position that was committed.
    before: i64,
    /// Why it is still there; null if it is gone.
    refused: Option<Escaped>,
}

impl Report for Forgotten {
    fn text(&self, paint: Paint) -> String {
        let gone = self.partitions.iter().filter(|line| line.refused.is_none()).count() as u64;
        let lines = self.partitions.iter().map(|line| (&line.topic, line.partition, line.refused.clone()));
        format!("{} has no position any more in {}\n", self.group, number::counted(gone, "partition"))
            + &left_out(lines, paint)
    }
}

impl Forgotten {
    fn risk(&self) -> String {
        let mut table = Table::new().text("topic").number("partition").number("committed");
        for line in &self.partitions {
            table.row([line.topic.to_string(), line.partition.to_string(), number::offset(line.before)]);
        }
        format!("{} shall lose its positions:\n{}", self.group, table.render(Paint::OFF))
    }
}

impl Forget {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let forgotten = block_on(self.forget(format))?;
        output::show(&forgotten, format)?;
        let refused = forgotten.partitions.iter().any(|line| line.refused.is_some());
        if refused { Err(Failure::quiet(Code::Failed)) } else { Ok(()) }
    }

    async fn forget(&self, format: Format) -> Outcome<Forgotten> {
        let session = Session::open(&self.connection).await?;
        let known = async {
            session.admin().describe_group(self.group.as_str()).await?;
            session.admin().group_offsets(self.group.as_str()).await
        };
        let committed = match known.await {
            Ok(committed) => committed,
            Err(error) => return Err(group_failure(&session, &self.group, &error).await),
        };
        for chosen in &self.chosen {
            has_position(&self.group, chosen, &committed)?;
        }
        let lines = committed.into_iter().filter(|at| self.names(at)).map(|at| Line {
            topic: Escaped::of(&at.topic),
            partition: at.partition,
            before: at.offset,
            refused: None,
        });
        let mut forgotten = Forgotten { group: Escaped::of(&self.group), partitions: lines.collect() };
        forgotten.partitions.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
        confirm(&forgotten.risk(), self.yes, format)?;
        let partitions =
            forgotten.partitions.iter().map(|line| (Arc::from(line.topic.as_sent()), line.partition));
        let results = match session
            .anew()
            .admin()
            .delete_group_offsets(self.group.as_str(), partitions.collect())
            .await
        {
            Ok(results) => results,
            Err(error) => return Err(group_failure(&session, &self.group, &error).await),
        };
        for (line, result) in forgotten.partitions.iter_mut().zip(results) {
            line.refused = result.err().map(|error| match error.broker_code() {
                Some(ErrorCode::GroupSubscribedToTopic) => {
                    Escaped::of("a member of the group reads the topic")
                }
                _ => Escaped::of(error),
            });
        }
        Ok(forgotten)
    }

    fn names(&self, at: &CommittedOffset) -> bool {
        self.chosen.iter().any(|chosen| chosen.names(&at.topic, at.partition))
    }
}

/// What has no position cannot lose it: a name was mistyped, or it is another group.
fn has_position(group: &str, chosen: &Chosen, committed: &[CommittedOffset]) -> Outcome {
    let has = |partition: Option<u32>| {
        let mut there = committed.iter().filter(|at| *at.topic == *chosen.topic);
        there.any(|at| partition.is_none_or(|partition| at.partition == partition))
    };
    let missing = chosen.partitions.iter().find(|partition| !has(Some(**partition)));
    let place = match missing {
        _ if !has(None) => format!("topic {}", chosen.topic),
        Some(missing) => format!("partition {missing} of topic {}", chosen.topic),
        None => return Ok(()),
    };
    let what = format!("group {group} has no position in {place}; nothing was changed");
    Err(Failure::new(Code::Failed, what)
        .or(format!("highwater group describe {group} shows where it has positions")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_position_is_named() {
        let at = |topic: &str, partition| CommittedOffset {
            topic: topic.into(),
            partition,
            offset: 7,
            leader_epoch: -1,
        };
        let committed = [at("orders", 0), at("orders", 2)];
        let check = |chosen: &str| has_position("billing", &chosen.parse().unwrap(), &committed);
        assert_eq!((check("orders"), check("orders:0,2")), (Ok(()), Ok(())));
        let refused = check("ordes").unwrap_err();
        assert_eq!(
            (refused.code(), refused.to_string().as_str()),
            (
                Code::Failed,
                "error: group billing has no position in topic ordes; nothing was changed\n  \
                 highwater group describe billing shows where it has positions"
            )
        );
        let refused = check("orders:0,1").unwrap_err().to_string();
        assert!(refused.contains("no position in partition 1 of topic orders;"), "{refused}");
    }

    fn forgotten(refused: Option<&str>) -> Forgotten {
        let line = |partition, before, refused: Option<&str>| Line {
            topic: Escaped::of("orders"),
            partition,
            before,
            refused: refused.map(Escaped::of),
        };
        Forgotten {
            group: Escaped::of("billing"),
            partitions: vec![line(0, 1_200, None), line(2, 7, refused)],
        }
    }

    #[test]
    fn what_will_go_is_shown_before() {
        insta::assert_snapshot!(forgotten(None).risk());
    }

    #[test]
    fn what_is_gone_is_said_and_what_is_not() {
        let text = |refused| forgotten(refused).text(Paint::OFF);
        assert_eq!(text(None), "billing has no position any more in 2 partitions\n");
        assert_eq!(
            text(Some("a member of the group reads the topic")),
            "billing has no position any more in 1 partition\norders 2: a member of the group reads the topic\n"
        );
    }
}

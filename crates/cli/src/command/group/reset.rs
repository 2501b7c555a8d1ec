//! `highwater group reset`: a group goes on somewhere else.

use std::str::FromStr;

use clap::Args;
use highwater_client::{CommittedOffset, ErrorCode, GroupReset, ResetTo};
use serde::Serialize;

use super::{Chosen, group_failure, has_members, left_out, partitions_of};
use crate::arguments::{Connection, group_name};
use crate::confirm::confirm;
use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::position::Position;
use crate::session::{Session, block_on};

/// Let a group read records again, or skip some
///
/// Changes what the group has committed; its members go on there when they start. The group must have no members: those that
/// run keep their positions and commit them again. A group that does not exist is made. Partitions in which the group has
/// committed nothing are left alone by +N and -N.
#[derive(Debug, Args)]
pub(crate) struct Reset {
    /// The group
    #[arg(value_parser = group_name)]
    group: String,

    /// A topic, or some of its partitions (orders:3, orders:0,2); may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:PARTITIONS]", required = true)]
    chosen: Vec<Chosen>,

    /// Where to go on: earliest, latest, an offset, a time (2026-12-01T10:00:00Z, @MILLISECONDS), how long ago (15m), or so many
    /// records on or back (+100, -100)
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    to: To,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Go on without a question
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    #[command(flatten)]
    connection: Connection,
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    At(Position),
    By(i64),
}

/// What `--to` takes, as its help has it.
const WANTED: &str = "earliest, latest, an offset, a time (2026-12-01T10:00:00Z, @MILLISECONDS), how long ago (15m), or so many \
                      records on or back (+100, -100)";

impl FromStr for To {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(['+', '-']) {
            let by = text.parse().map_err(|_| "behind + or - stands a number of records".to_owned());
            return by.map(Self::By);
        }
        Position::parse(text, ["earliest", "latest"], WANTED).map(Self::At)
    }
}

impl To {
    fn resolved(self) -> ResetTo {
        match self {
            Self::By(records) => ResetTo::Shift(records),
            Self::At(position) => match position.resolved() {
                Position::Beginning => ResetTo::Earliest,
                Position::End => ResetTo::Latest,
                Position::Offset(offset) => ResetTo::Offset(offset),
                Position::Timestamp(millis) => ResetTo::Timestamp(millis),
                Position::Ago(_) => unreachable!("a resolved position is no duration"),
            },
        }
    }
}

#[derive(Debug, Serialize)]
struct Done {
    group: Escaped,
    /// Whether anything was committed.
    changed: bool,
    /// How many members have to be stopped before anything can be.
    members: usize,
    partitions: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    topic: Escaped,
    partition: u32,
    /// The offset of the next record to read as it was committed; null if nothing was.
    before: Option<i64>,
    /// The offset to go on at; null if nothing was committed that could be moved.
    after: Option<i64>,
    /// Why it was not committed; null if it was, or nothing was tried.
    refused: Option<Escaped>,
}

impl Report for Done {
    fn text(&self, paint: Paint) -> String {
        if !self.changed && self.lines_that_move().next().is_some() {
            return self.table(paint) + "nothing was changed\n" + &paint.alarms(self.in_the_way());
        }
        let moved = self.lines_that_move().filter(|line| line.refused.is_none()).count() as u64;
        let first = match self.changed {
            true => format!("{} goes on elsewhere in {}\n", self.group, number::counted(moved, "partition")),
            false => format!("{} is there already; nothing was changed\n", self.group),
        };
        let lines = self.partitions.iter().map(|line| (&line.topic, line.partition, line.why_not()));
        first + &left_out(lines, paint)
    }
}

impl Done {
    fn lines_that_move(&self) -> impl Iterator<Item = &Line> {
        self.partitions.iter().filter(|line| line.moves())
    }

    fn table(&self, paint: Paint) -> String {
        let columns = Table::new().text("topic").number("partition").number("before").number("after");
        let mut table = columns.text("");
        for line in &self.partitions {
            table.row([
                line.topic.to_string(),
                line.partition.to_string(),
                number::offset(line.before.unwrap_or(-1)),
                number::offset(line.after.unwrap_or(-1)),
                line.effect(),
            ]);
        }
        table.render(paint)
    }

    fn in_the_way(&self) -> Option<String> {
        let members = number::counted(self.members as u64, "member");
        (self.members > 0).then(|| format!("{} cannot be changed while it has {members}", self.group))
    }

    /// What is shown before it is done.
    fn risk(&self, exists: bool) -> String {
        let made = if exists { "" } else { "There is no such group yet: it is made by this.\n" };
        format!("{} shall go on elsewhere:\n{}{made}", self.group, self.table(Paint::OFF))
    }
}

impl Line {
    fn moves(&self) -> bool {
        self.after.is_some() && self.before != self.after
    }

    /// Why it is left where it is, if that is not since it is there already.
    fn why_not(&self) -> Option<Escaped> {
        self.after.map_or_else(|| Some(Escaped::of(NOTHING_TO_MOVE)), |_| self.refused.clone())
    }

    fn effect(&self) -> String {
        let records = |count: i64| number::counted(count.unsigned_abs(), "record");
        let Some(after) = self.after else { return NOTHING_TO_MOVE.to_owned() };
        match self.before.map(|before| after - before) {
            None => String::new(),
            Some(0) => "stays".to_owned(),
            Some(on @ 1..) => format!("skips {}", records(on)),
            Some(back) => format!("reads {} again", records(back)),
        }
    }
}

impl Reset {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let done = block_on(self.reset(format))?;
        output::show(&done, format)?;
        let refused = done.partitions.iter().any(|line| line.refused.is_some());
        if refused { Err(Failure::quiet(Code::Failed)) } else { Ok(()) }
    }

    async fn reset(&self, format: Format) -> Outcome<Done> {
        let session = Session::open(&self.connection).await?;
        let partitions = partitions_of(&session, &self.chosen).await?;
        let members = self.members(&session).await?;
        let planned =
            session.admin().plan_group_reset(self.group.as_str(), partitions, self.to.resolved()).await;
        let planned = match planned {
            Ok(planned) => planned,
            Err(error) => return Err(group_failure(&session, &self.group, &error).await),
        };
        let lines = lines(&session, &planned)?;
        let (group, stopped_first) = (Escaped::of(&self.group), members.unwrap_or(0));
        let mut done = Done { group, changed: false, members: stopped_first, partitions: lines };
        if self.dry_run || done.lines_that_move().next().is_none() {
            return Ok(done);
        }
        confirm(&done.risk(members.is_some()), self.yes, format)?;
        self.commit(&session, &mut done).await?;
        Ok(done)
    }

    /// How many members the group has, none if it does not exist. One that has any cannot be moved, and can be looked at.
    async fn members(&self, session: &Session) -> Outcome<Option<usize>> {
        match session.admin().describe_group(self.group.as_str()).await {
            Ok(group) if !group.members.is_empty() && !self.dry_run => {
                Err(has_members(&self.group, Some(group.members.len())))
            }
            Ok(group) => Ok(Some(group.members.len())),
            Err(error) if error.broker_code() == Some(ErrorCode::GroupIdNotFound) => Ok(None),
            Err(error) => Err(group_failure(session, &self.group, &error).await),
        }
    }

    async fn commit(&self, session: &Session, done: &mut Done) -> Outcome {
        let moving: Vec<&mut Line> = done.partitions.iter_mut().filter(|line| line.moves()).collect();
        let offsets = moving.iter().filter_map(|line| {
            let (topic, partition) = (line.topic.as_sent().into(), line.partition);
            Some(CommittedOffset { topic, partition, offset: line.after?, leader_epoch: -1 })
        });
        let set = session.anew().admin().set_group_offsets(self.group.as_str(), offsets.collect()).await;
        let results = match set {
            Ok(results) => results,
            Err(error) => return Err(group_failure(session, &self.group, &error).await),
        };
        for (line, result) in moving.into_iter().zip(results) {
            line.refused = result.err().map(Escaped::of);
        }
        done.changed = true;
        Ok(())
    }
}

/// Why a partition stays where it is when positions are moved on or back.
const NOTHING_TO_MOVE: &str = "has no position that could be moved";

/// What becomes of each partition. Those in which there is nothing to move keep none of the others from it.
fn lines(session: &Session, planned: &[GroupReset]) -> Outcome<Vec<Line>> {
    let mut lines = Vec::new();
    let mut nothing = None;
    for reset in planned {
        let after = match &reset.after {
            Ok(after) => Some(*after),
            Err(error) if error.code() == "NOTHING_COMMITTED" => {
                nothing = Some(error);
                None
            }
            Err(error) => return Err(session.failure(error)),
        };
        let (topic, partition) = (Escaped::of(&reset.topic), reset.partition);
        lines.push(Line { topic, partition, before: reset.before, after, refused: None });
    }
    match nothing {
        Some(error) if lines.iter().all(|line| line.after.is_none()) => {
            Err(Failure::new(Code::Failed, "the group has committed nothing there that could be moved")
                .or("--to earliest, latest or an offset gives it a first position")
                .by(error))
        }
        _ => Ok(lines),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn done() -> Done {
        let line = |partition, before, after| Line {
            topic: Escaped::of("orders"),
            partition,
            before,
            after,
            refused: None,
        };
        let partitions = vec![
            line(0, Some(1_200), Some(0)),
            line(1, Some(10), Some(10)),
            line(2, Some(10), Some(11)),
            line(3, None, Some(7)),
            line(4, None, None),
        ];
        Done { group: Escaped::of("billing"), changed: false, members: 0, partitions }
    }

    #[test]
    fn every_place_to_go_on_is_read() {
        let check = |text: &str, expected: To| assert_eq!(text.parse(), Ok(expected), "{text}");
        check("earliest", To::At(Position::Beginning));
        check("latest", To::At(Position::End));
        check("42", To::At(Position::Offset(42)));
        check("15m", To::At(Position::Ago(Duration::from_secs(900))));
        check("2026-12-01T10:59:05.123Z", To::At(Position::Timestamp(1_796_122_745_123)));
        check("+100", To::By(100));
        check("-100", To::By(-100));
        assert!("-x".parse::<To>().unwrap_err().contains("a number of records"));
    }

    #[test]
    fn a_place_that_is_none_is_answered_with_what_the_help_says() {
        let refused = |text: &str| text.parse::<To>().unwrap_err();
        assert_eq!(refused("yesterday"), format!("{WANTED} is wanted"));
        assert_eq!(refused("earlist"), "did you mean earliest?");
        let mut root = Arguments::command();
        let reset = root.find_subcommand_mut("group").unwrap().find_subcommand_mut("reset").unwrap();
        let to = reset.get_arguments().find(|argument| argument.get_id() == "to").unwrap();
        assert_eq!(to.get_help().unwrap().to_string(), format!("Where to go on: {WANTED}"));
    }

    #[test]
    fn a_group_with_members_may_be_looked_at() {
        let done = Done { members: 2, ..done() };
        let text = done.text(Paint::OFF);
        let end = "nothing was changed\nbilling cannot be changed while it has 2 members\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn what_will_change_is_shown_before() {
        insta::assert_snapshot!(done().risk(false));
        assert_eq!(done().text(Paint::OFF), done().table(Paint::OFF) + "nothing was changed\n");
    }

    #[test]
    fn what_was_changed_is_said_and_what_was_refused() {
        let mut done = done();
        done.changed = true;
        let left = "orders 4: has no position that could be moved\n";
        assert_eq!(done.text(Paint::OFF), format!("billing goes on elsewhere in 3 partitions\n{left}"));
        done.partitions[3].refused = Some(Escaped::of("UNKNOWN_TOPIC_OR_PARTITION"));
        let text = "billing goes on elsewhere in 2 partitions\norders 3: UNKNOWN_TOPIC_OR_PARTITION\n";
        assert_eq!(done.text(Paint::OFF), format!("{text}{left}"));
    }

    #[test]
    fn a_group_that_is_there_already_is_left_alone() {
        let mut done = done();
        done.partitions.retain(|line| !line.moves());
        let text =
            "billing is there already; nothing was changed\norders 4: has no position that could be moved\n";
        assert_eq!(done.text(Paint::OFF), text);
    }
}

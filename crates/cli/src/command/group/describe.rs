//! `highwater group describe`.

use std::collections::BTreeMap;

use clap::Args;
use highwater_client::{GroupDescription, GroupLag};
use serde::Serialize;

use super::group_failure;
use crate::arguments::{Connection, group_name};
use crate::failure::Outcome;
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Show a group: its members, its positions and how far they are behind
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// The group
    #[arg(value_parser = group_name)]
    group: String,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Description {
    group: Escaped,
    state: Escaped,
    /// By which its members share partitions: classic or consumer.
    protocol: Escaped,
    /// How partitions are divided; empty while they are not.
    assignor: Escaped,
    /// The node that coordinates it.
    coordinator: i32,
    /// Records behind, over all partitions with a position and an end; null if there is none.
    lag: Option<i64>,
    members: Vec<Member>,
    partitions: Vec<Partition>,
}

#[derive(Debug, Serialize)]
struct Member {
    member_id: Escaped,
    /// Null unless it is static.
    instance_id: Option<Escaped>,
    client_id: Escaped,
    host: Escaped,
    /// How many partitions it has.
    partitions: usize,
}

#[derive(Debug, Serialize)]
struct Partition {
    topic: Escaped,
    partition: u32,
    /// The offset of the next record to read; null if nothing is committed.
    committed: Option<i64>,
    /// The offset after the last committed record; null if no broker could say.
    end: Option<i64>,
    /// Null if one of them is.
    lag: Option<i64>,
    /// The member that reads it; null if none does.
    member_id: Option<Escaped>,
}

impl Report for Description {
    fn text(&self, paint: Paint) -> String {
        let mut text = format!("{}: {}\n", self.group, self.line());
        if self.partitions.is_empty() {
            return text + "nothing is committed\n";
        }
        text.push('\n');
        text.push_str(&self.table().render(paint));
        let idle: Vec<String> =
            self.members.iter().filter(|member| member.partitions == 0).map(Member::name).collect();
        if !idle.is_empty() {
            text.push_str(&format!("without a partition: {}\n", idle.join(", ")));
        }
        let fresh = self.partitions.iter().filter(|partition| partition.committed.is_none()).count() as u64;
        if fresh > 0 {
            text.push_str(&format!("nothing is committed in {}\n", number::counted(fresh, "partition")));
        }
        let unknown = self.partitions.iter().filter(|partition| partition.end.is_none()).count();
        text + &paint.alarms(number::partitions(unknown, "whose end no broker could say"))
    }
}

impl Description {
    /// `Stable, 2 members, range, 1,234 records behind`. Where nothing is committed nobody knows.
    fn line(&self) -> String {
        let mut parts = vec![self.state.to_string(), number::counted(self.members.len() as u64, "member")];
        parts.extend(Some(&self.assignor).filter(|assignor| !assignor.is_empty()).map(ToString::to_string));
        parts.extend(self.lag.map(|lag| format!("{} behind", number::counted(lag.unsigned_abs(), "record"))));
        parts.join(", ")
    }

    fn table(&self) -> Table {
        let columns = Table::new().text("topic").number("partition").number("committed").number("end");
        let mut table = columns.number("lag").text("member");
        for partition in &self.partitions {
            let shown = |offset: Option<i64>| number::offset(offset.unwrap_or(-1));
            let member =
                self.members.iter().find(|member| Some(&member.member_id) == partition.member_id.as_ref());
            table.row([
                partition.topic.to_string(),
                partition.partition.to_string(),
                shown(partition.committed),
                shown(partition.end),
                shown(partition.lag),
                member.map_or_else(|| "-".to_owned(), Member::name),
            ]);
        }
        table
    }

    fn of(group: GroupDescription, lags: Vec<GroupLag>) -> Self {
        let mut readers = BTreeMap::new();
        for member in &group.members {
            readers.extend(member.assigned.iter().cloned().map(|key| (key, Escaped::of(&member.member_id))));
        }
        let lag = lags.iter().filter_map(GroupLag::records).reduce(|sum, lag| sum.saturating_add(lag));
        let partitions = lags.into_iter().map(|lag| Partition {
            topic: Escaped::of(&lag.topic),
            partition: lag.partition,
            committed: lag.committed,
            lag: lag.records(),
            member_id: readers.get(&(lag.topic, lag.partition)).cloned(),
            end: lag.end.ok(),
        });
        let partitions = partitions.collect();
        let members = group.members.iter().map(|member| Member {
            member_id: Escaped::of(&member.member_id),
            instance_id: member.instance_id.as_ref().map(Escaped::of),
            client_id: Escaped::of(&member.client_id),
            host: Escaped::of(&member.host),
            partitions: member.assigned.len(),
        });
        Self {
            group: Escaped::of(&group.group),
            state: Escaped::of(group.state.name()),
            protocol: Escaped::of(group.protocol.name()),
            assignor: Escaped::of(&group.assignor),
            coordinator: group.coordinator,
            lag,
            members: members.collect(),
            partitions,
        }
    }
}

impl Member {
    /// Its own name if it has one, else its id, and from where it is connected.
    fn name(&self) -> String {
        format!("{} ({})", self.instance_id.as_ref().unwrap_or(&self.member_id), self.host)
    }
}

impl Describe {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let description = block_on(self.describe())?;
        output::show(&description, format)
    }

    async fn describe(&self) -> Outcome<Description> {
        let session = Session::open(&self.connection).await?;
        let known = async {
            let group = session.admin().describe_group(self.group.as_str()).await?;
            let lags = session.admin().group_lag(self.group.as_str()).await?;
            Ok((group, lags))
        };
        match known.await {
            Ok((group, lags)) => Ok(Description::of(group, lags)),
            Err(error) => Err(group_failure(&session, &self.group, &error).await),
        }
    }
}

#[cfg(test)]
mod tests {
    use highwater_client::{ClientError, GroupMember, GroupProtocol, GroupState};

    use super::*;

    fn description() -> Description {
        let member = |id: &str, instance: Option<&str>, assigned: &[u32]| GroupMember {
            member_id: id.into(),
            instance_id: instance.map(Into::into),
            client_id: "billing-service".into(),
            host: "10.0.0.7".into(),
            assigned: assigned.iter().map(|partition| ("orders".into(), *partition)).collect(),
        };
        let group = GroupDescription {
            group: "billing".into(),
            protocol: GroupProtocol::Classic,
            protocol_type: "consumer".into(),
            state: GroupState::Stable,
            assignor: "range".into(),
            coordinator: 2,
            members: vec![
                member("billing-service-0a", None, &[0, 1]),
                member("billing-service-1b", Some("reserve"), &[]),
            ],
        };
        let lag = |topic: &str, partition, committed, end| GroupLag {
            topic: topic.into(),
            partition,
            committed,
            end,
        };
        let lags = vec![
            lag("orders", 0, Some(1_200), Ok(166_702)),
            lag("orders", 1, None, Ok(7)),
            lag("refunds", 0, Some(30), Err(ClientError::Closed)),
        ];
        Description::of(group, lags)
    }

    #[test]
    fn a_group_is_shown_with_its_lag_and_its_members() {
        insta::assert_snapshot!(description().text(Paint::OFF));
    }

    #[test]
    fn a_group_for_programs() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&description()).unwrap());
    }

    #[test]
    fn what_clients_call_themselves_orders_nothing() {
        let mut group = description();
        group.group = Escaped::of("billing\u{1b}[2J");
        group.members[1].instance_id = Some(Escaped::of("reserve\nbilling: Stable"));
        let text = group.text(Paint::OFF);
        assert!(text.starts_with("billing\\u{1b}[2J: Stable, 2 members"), "{text}");
        assert!(text.contains("without a partition: reserve\\nbilling: Stable (10.0.0.7)\n"), "{text}");
        assert!(serde_json::to_string(&group).unwrap().contains("\"group\":\"billing\\u001b[2J\""));
    }

    #[test]
    fn a_group_that_has_committed_nothing_says_so() {
        let mut group = description();
        (group.lag, group.partitions) = (None, Vec::new());
        assert_eq!(group.text(Paint::OFF), "billing: Stable, 2 members, range\nnothing is committed\n");
    }
}

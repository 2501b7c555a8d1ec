//! `highwater cluster forget`: a node that will not come back.

use clap::Args;
use highwater_client::ErrorCode;
use serde::Serialize;

use crate::arguments::Connection;
use crate::confirm::confirm;
use crate::failure::{Code, Failure, Outcome};
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Give up a node that will not come back
///
/// The cluster waits for a node that is not there, and takes it back with all that it has, however late it comes. Forget a
/// node only when its disk is lost or wiped: it loses its place in the metadata quorum and in every partition, and what only
/// it had is lost. The node must not be running. A new node may take its id, and begins empty.
#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The node
    #[arg(allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    node: i32,

    /// Go on without a question
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Forgotten {
    forgotten: i32,
}

impl Report for Forgotten {
    fn text(&self, _: Paint) -> String {
        format!("node {} is forgotten\n", self.forgotten)
    }
}

/// What a node holds, as far as the others know.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    replicas: u64,
    /// Of partitions that nobody leads: the node may be the last that has their records.
    leaderless: u64,
}

impl Held {
    fn risk(self, node: i32) -> String {
        let mut text = format!(
            "node {node} has {}; it will count as empty.\n",
            number::counted(self.replicas, "replica")
        );
        if self.leaderless > 0 {
            text.push_str(&format!(
                "{} of them {} of partitions without a leader: if only node {node} has their records, these are lost for \
                 good. highwater topic elect --unclean elects another leader.\n",
                number::count(self.leaderless),
                if self.leaderless == 1 { "is" } else { "are" },
            ));
        }
        text
    }
}

impl Forget {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        block_on(self.forget(format))?;
        output::show(&Forgotten { forgotten: self.node }, format)
    }

    async fn forget(&self, format: Format) -> Outcome {
        let session = Session::open(&self.connection).await?;
        let node = self.node;
        let cluster = session.admin().describe_cluster().await.map_err(|error| session.failure(&error))?;
        if cluster.brokers.iter().any(|broker| broker.id == node) {
            return Err(Failure::new(Code::Failed, format!("node {node} is running"))
                .or("stop it first; a node that runs is not forgotten"));
        }
        confirm(&held(&session, node).await?.risk(node), self.yes, format)?;
        session.anew().admin().unregister_broker(node).await.map_err(|error| match error.broker_code() {
            Some(ErrorCode::BrokerIdNotRegistered) => {
                Failure::new(Code::NotFound, format!("there is no node {node}")).by(&error)
            }
            _ => session.failure(&error),
        })
    }
}

async fn held(session: &Session, node: i32) -> Outcome<Held> {
    let all = async {
        let names = session.admin().list_topics().await?.into_iter().map(|topic| topic.name).collect();
        session.admin().describe_topics(names).await
    };
    let topics = all.await.map_err(|error| session.failure(&error))?;
    let mut held = Held::default();
    for partition in topics.iter().flatten().flat_map(|topic| &topic.partitions) {
        if partition.replicas.contains(&node) {
            held.replicas += 1;
            held.leaderless += u64::from(partition.leader.is_none());
        }
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_risked_is_shown() {
        assert_eq!(
            Held { replicas: 1, leaderless: 0 }.risk(2),
            "node 2 has 1 replica; it will count as empty.\n"
        );
        assert_eq!(
            Held { replicas: 12, leaderless: 2 }.risk(2),
            "node 2 has 12 replicas; it will count as empty.\n2 of them are of partitions without a leader: if only node 2 \
             has their records, these are lost for good. highwater topic elect --unclean elects another leader.\n"
        );
    }
}

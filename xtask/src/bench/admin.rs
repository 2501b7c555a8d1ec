//! Topics made and removed, by the same frames for every system.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::frames;
use super::wire::Connection;

/// A topic must be led, with all replicas in sync, by then.
const LED_LIMIT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(5);
const ALREADY_EXISTS: i16 = 36;
const UNKNOWN: i16 = 3;

/// A topic to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topic<'a> {
    pub(super) name: &'a str,
    pub(super) partitions: i32,
    pub(super) replicas: i16,
    pub(super) settings: &'a [(&'a str, &'a str)],
}

/// Makes a topic and waits until every replica of it is in sync; gives the addresses of its leaders by partition.
pub(super) fn create(bootstrap: &str, topic: &Topic<'_>) -> Result<Vec<String>> {
    let deadline = Instant::now() + LED_LIMIT;
    let frame = frames::create(topic.name, topic.partitions, topic.replicas, topic.settings);
    retry(deadline, || {
        let mut connection = Connection::open(bootstrap)?;
        let error = frames::topic_error(connection.call(&frame)?, true)?;
        ensure!(error == 0 || error == ALREADY_EXISTS, "{} was not made: error {error}", topic.name);
        Ok(())
    })?;
    let leaders: Vec<String> = retry(deadline, || {
        let leaders = frames::leaders(Connection::open(bootstrap)?.call(&frames::metadata(topic.name))?)?;
        let all = leaders.filter(|leaders| leaders.len() == usize::try_from(topic.partitions).unwrap_or(0));
        all.ok_or_else(|| anyhow::anyhow!("{} has not all its leaders and replicas", topic.name))
    })?;
    // The metadata of one broker are ahead of what another one serves.
    let asks = (0..)
        .zip(&leaders)
        .map(|(partition, address)| (address, frames::fetch(topic.name, partition, 0, 1, 0)));
    for (address, ask) in asks {
        retry(deadline, || frames::fetched(Connection::open(address)?.call(&ask)?).map(drop))?;
    }
    Ok(leaders)
}

/// Removes a topic and waits until it is gone from the metadata.
pub(super) fn delete(bootstrap: &str, name: &str) -> Result<()> {
    let deadline = Instant::now() + LED_LIMIT;
    retry(deadline, || {
        let mut connection = Connection::open(bootstrap)?;
        let error = frames::topic_error(connection.call(&frames::delete(name))?, true)?;
        ensure!(error == 0 || error == UNKNOWN, "{name} was not removed: error {error}");
        let left = frames::leaders(connection.call(&frames::metadata(name))?)?;
        ensure!(left.is_none(), "{name} is still there");
        Ok(())
    })
}

fn retry<T>(deadline: Instant, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match attempt() {
            Err(_) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
            result => return result,
        }
    }
}

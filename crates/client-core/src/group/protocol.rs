//! What members of a consumer group tell each other through the coordinator, which does not look inside: subscriptions,
//! assignments (Kafka's `ConsumerProtocol`, version 0), and the range assignor.
//!
//! ```text
//! subscription  version i16 | topics i32 count, each i16 length + name | user data i32 length + bytes (-1: none)
//! assignment    version i16 | topics i32 count, each i16 length + name, partitions i32 count + i32 each | user data
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the one assignor that this client knows; every consumer of Kafka knows it too.
pub(super) const RANGE: &str = "range";

/// What kind of group it is.
pub(crate) const CONSUMER: &str = "consumer";

/// Bytes that do not say what they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(super) fn encode_subscription(topics: &[Arc<str>]) -> Vec<u8> {
    let mut out = vec![0, 0];
    put_count(&mut out, topics.len());
    topics.iter().for_each(|topic| put_string(&mut out, topic));
    out.extend((-1_i32).to_be_bytes());
    out
}

pub(super) fn decode_subscription(mut bytes: &[u8]) -> Result<Vec<Arc<str>>, Malformed> {
    let bytes = &mut bytes;
    // Later versions only add fields behind.
    take::<2>(bytes)?;
    let count = take_count(bytes, 2)?;
    (0..count).map(|_| take_string(bytes)).collect()
}

pub(super) fn encode_assignment(partitions: &BTreeMap<Arc<str>, Vec<u32>>) -> Vec<u8> {
    let mut out = vec![0, 0];
    put_count(&mut out, partitions.len());
    for (topic, partitions) in partitions {
        put_string(&mut out, topic);
        put_count(&mut out, partitions.len());
        partitions.iter().for_each(|partition| out.extend(partition.to_be_bytes()));
    }
    out.extend((-1_i32).to_be_bytes());
    out
}

pub(crate) fn decode_assignment(mut bytes: &[u8]) -> Result<Vec<(Arc<str>, u32)>, Malformed> {
    // A member that gets nothing may be sent no bytes at all.
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = &mut bytes;
    take::<2>(bytes)?;
    let mut all = Vec::new();
    for _ in 0..take_count(bytes, 6)? {
        let topic = take_string(bytes)?;
        for _ in 0..take_count(bytes, 4)? {
            let partition = i32::from_be_bytes(take(bytes)?);
            all.push((Arc::clone(&topic), u32::try_from(partition).map_err(|_| Malformed)?));
        }
    }
    Ok(all)
}

/// Kafka's range assignor: the partitions of each topic go to its subscribers, ordered by member id, in runs of equal
/// length, the first members getting one more where it does not come out even.
pub(super) fn assign_range(
    members: &[(String, Vec<Arc<str>>)],
    partitions_of: impl Fn(&Arc<str>) -> u32,
) -> BTreeMap<String, BTreeMap<Arc<str>, Vec<u32>>> {
    let mut assignments: BTreeMap<String, BTreeMap<Arc<str>, Vec<u32>>> =
        members.iter().map(|(member, _)| (member.clone(), BTreeMap::new())).collect();
    let mut subscribers: BTreeMap<&Arc<str>, Vec<&String>> = BTreeMap::new();
    for (member, topics) in members {
        for topic in topics {
            subscribers.entry(topic).or_default().push(member);
        }
    }
    for (topic, mut members) in subscribers {
        members.sort();
        members.dedup();
        let (partitions, count) = (partitions_of(topic), u32::try_from(members.len()).unwrap_or(u32::MAX));
        let (each, more) = (partitions / count, partitions % count);
        let mut next = 0;
        for (index, member) in (0..).zip(members) {
            let length = each + u32::from(index < more);
            if let Some(assignment) = assignments.get_mut(member)
                && length > 0
            {
                assignment.insert(Arc::clone(topic), (next..next + length).collect());
            }
            next += length;
        }
    }
    assignments
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend(i32::try_from(count).expect("topics and partitions are counted with 31 bits").to_be_bytes());
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend(i16::try_from(text.len()).expect("a topic's name has at most 249 bytes").to_be_bytes());
    out.extend(text.as_bytes());
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or(Malformed)?;
    *bytes = rest;
    Ok(*taken)
}

/// A count that the rest can hold, given the least size of an element.
fn take_count(bytes: &mut &[u8], element_bytes_min: usize) -> Result<usize, Malformed> {
    let count = usize::try_from(i32::from_be_bytes(take(bytes)?)).map_err(|_| Malformed)?;
    if count <= bytes.len() / element_bytes_min { Ok(count) } else { Err(Malformed) }
}

fn take_string(bytes: &mut &[u8]) -> Result<Arc<str>, Malformed> {
    let length = usize::try_from(i16::from_be_bytes(take(bytes)?)).map_err(|_| Malformed)?;
    let (text, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
    *bytes = rest;
    std::str::from_utf8(text).map(Arc::from).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn subscriptions_and_assignments_go_there_and_back() {
        let topics: Vec<Arc<str>> = vec!["a".into(), "orders".into()];
        assert_eq!(decode_subscription(&encode_subscription(&topics)), Ok(topics));
        let assigned = BTreeMap::from([("a".into(), vec![0, 2]), ("b".into(), vec![1])]);
        let flat = vec![("a".into(), 0), ("a".into(), 2), ("b".into(), 1)];
        assert_eq!(decode_assignment(&encode_assignment(&assigned)), Ok(flat));
        assert_eq!(decode_assignment(&[]), Ok(Vec::new()));
    }

    #[test]
    fn range_gives_runs_and_the_rest_to_the_first() {
        let both: Vec<Arc<str>> = vec!["t".into(), "u".into()];
        let members =
            [("m2".to_owned(), both.clone()), ("m1".to_owned(), both), ("m3".to_owned(), vec!["t".into()])];
        let assigned = assign_range(&members, |topic| if &**topic == "t" { 7 } else { 1 });
        let of = |member: &str, topic: &str| {
            assigned.get(member).and_then(|topics| topics.get(topic)).cloned().unwrap_or_default()
        };
        assert_eq!((of("m1", "t"), of("m2", "t"), of("m3", "t")), (vec![0, 1, 2], vec![3, 4], vec![5, 6]));
        assert_eq!((of("m1", "u"), of("m2", "u"), of("m3", "u")), (vec![0], vec![], vec![]));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_refused_or_read(bytes: Vec<u8>) {
            let _ = decode_subscription(&bytes);
            let _ = decode_assignment(&bytes);
        }
    }
}

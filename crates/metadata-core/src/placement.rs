//! Where replicas go: a pure function of the topic's id and the live brokers.
//!
//! Leaders rotate through the brokers, so their numbers differ by at most one within a topic. Each further replica goes to
//! a broker on a rack that the partition does not use yet, among those to the one with the fewest replicas of the topic,
//! and among equals to the one that a hash of topic, partition and broker picks, so that the load of a lost leader spreads
//! over all others. The result is agreed by being computed when the record is applied: another algorithm is another
//! version of the record.

use std::collections::BTreeMap;

use log_core::{BrokerId, TopicId};

/// A broker that can take replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site<'a> {
    /// The broker.
    pub broker: BrokerId,
    /// Its rack; brokers without one stand each on a rack of their own.
    pub rack: Option<&'a str>,
}

/// The replicas of `count` further partitions of a topic, in the order of preference, given those of its `present`
/// partitions.
///
/// Each list is `replication_factor` long, or as long as there are sites if those are fewer.
#[must_use]
pub fn place(
    topic_id: TopicId,
    sites: &[Site<'_>],
    present: &[Vec<BrokerId>],
    count: usize,
    replication_factor: usize,
) -> Vec<Vec<BrokerId>> {
    let order = rotation(topic_id, sites);
    let mut loads: BTreeMap<BrokerId, usize> = order.iter().map(|site| (site.broker, 0)).collect();
    present.iter().flatten().for_each(|broker| add(&mut loads, *broker));
    let leaders = order.iter().cycle().skip(present.len() % order.len().max(1));
    let numbers = present.len()..present.len() + count;
    numbers
        .zip(leaders)
        .map(|(number, leader)| {
            let replicas =
                replicas_of(seed(topic_id, number as u64), *leader, &order, &loads, replication_factor);
            replicas.iter().for_each(|broker| add(&mut loads, *broker));
            replicas
        })
        .collect()
}

fn replicas_of(
    seed: u64,
    leader: Site<'_>,
    sites: &[Site<'_>],
    loads: &BTreeMap<BrokerId, usize>,
    replication_factor: usize,
) -> Vec<BrokerId> {
    let mut taken = vec![leader];
    while taken.len() < replication_factor {
        let free = sites.iter().filter(|site| taken.iter().all(|other| other.broker != site.broker));
        let shared = |site: &Site<'_>| {
            taken.iter().filter(|other| other.rack.is_some() && other.rack == site.rack).count()
        };
        let load = |site: &Site<'_>| loads.get(&site.broker).copied().unwrap_or_default();
        let best = free.min_by_key(|site| (shared(site), load(site), mix(seed ^ broker_bits(site.broker))));
        match best {
            Some(site) => taken.push(*site),
            None => break,
        }
    }
    taken.iter().map(|site| site.broker).collect()
}

/// The brokers in the order in which they lead: a shuffle by the topic's id, with neighbours on different racks as far as
/// the racks allow.
fn rotation<'a>(topic_id: TopicId, sites: &[Site<'a>]) -> Vec<Site<'a>> {
    let mut shuffled = sites.to_vec();
    shuffled.sort_by_key(|site| (mix(seed(topic_id, u64::MAX) ^ broker_bits(site.broker)), site.broker));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, Site<'a>)> = Vec::with_capacity(shuffled.len());
    for site in shuffled {
        let turn = site.rack.map_or(0, |rack| {
            let uses = seen.entry(rack).or_default();
            *uses += 1;
            *uses - 1
        });
        turns.push((turn, site));
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, site)| site).collect()
}

fn add(loads: &mut BTreeMap<BrokerId, usize>, broker: BrokerId) {
    *loads.entry(broker).or_default() += 1;
}

fn seed(topic_id: TopicId, number: u64) -> u64 {
    let id = u128::from_le_bytes(topic_id.0);
    let (low, high) = (id as u64, (id >> 64) as u64);
    mix(low ^ mix(high ^ mix(number)))
}

const fn broker_bits(broker: BrokerId) -> u64 {
    broker.0 as u32 as u64
}

/// A bijection that spreads bits (the finaliser of splitmix64).
const fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn sites(brokers: i32, racks: i32) -> Vec<Site<'static>> {
        let names = ["a", "b", "c", "d", "e"];
        let rack = |broker: i32| (racks > 0).then(|| names[usize::try_from(broker % racks).unwrap()]);
        (1..=brokers).map(|broker| Site { broker: BrokerId(broker), rack: rack(broker) }).collect()
    }

    fn spread(counts: &BTreeMap<BrokerId, usize>, sites: &[Site<'_>]) -> usize {
        let of = |site: &Site<'_>| counts.get(&site.broker).copied().unwrap_or_default();
        sites.iter().map(of).max().unwrap() - sites.iter().map(of).min().unwrap()
    }

    #[test]
    fn replicas_stand_on_different_racks_when_there_are_as_many() {
        let sites = sites(6, 3);
        for replicas in place(TopicId([7; 16]), &sites, &[], 50, 3) {
            let racks: BTreeSet<_> =
                sites.iter().filter(|site| replicas.contains(&site.broker)).map(|site| site.rack).collect();
            assert_eq!(racks.len(), 3);
        }
    }

    #[test]
    fn further_partitions_go_on_where_the_present_ones_ended() {
        let sites = sites(3, 0);
        let all = place(TopicId([9; 16]), &sites, &[], 6, 2);
        let more = place(TopicId([9; 16]), &sites, &all[..2], 4, 2);
        assert_eq!(more, all[2..]);
    }

    #[test]
    fn nothing_is_placed_without_brokers() {
        assert!(place(TopicId([1; 16]), &[], &[], 3, 1).is_empty());
    }

    proptest! {
        #[test]
        fn leaders_and_replicas_are_evenly_spread(
            id in any::<[u8; 16]>(), brokers in 1..9i32, count in 1..60usize, factor in 1..5usize,
        ) {
            let sites = sites(brokers, 0);
            let placed = place(TopicId(id), &sites, &[], count, factor);
            let (mut leaders, mut replicas) = (BTreeMap::new(), BTreeMap::new());
            for list in &placed {
                prop_assert_eq!(list.len(), factor.min(sites.len()));
                prop_assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len());
                add(&mut leaders, list[0]);
                list.iter().for_each(|broker| add(&mut replicas, *broker));
            }
            prop_assert!(spread(&leaders, &sites) <= 1);
            prop_assert!(spread(&replicas, &sites) <= 2, "{:?}", replicas);
        }
    }
}

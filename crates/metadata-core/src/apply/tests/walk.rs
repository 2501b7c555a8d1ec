//! Random histories: whatever is proposed in whatever order, the laws of the image hold and epochs never go back.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Act {
    Register { broker: i32, directory: u8, found: u8, end: i64 },
    Unfence(i32),
    Fence(Vec<i32>),
    ShutDown(i32),
    Unregister(i32),
    Isr { members: Vec<i32>, proven: bool, behind: bool, stale: bool },
    Faulty(i32),
    Reset(i32),
    MinIsr(i32),
    Preferred,
    Unclean(Option<i32>),
}

fn act() -> impl Strategy<Value = Act> {
    let broker = 1..=4i32;
    let some = || proptest::collection::vec(1..=4i32, 1..4);
    prop_oneof![
        4 => (broker.clone(), 0..3u8, 0..6u8, 0..9i64).prop_map(|(broker, wiped, found, end)| Act::Register {
            broker,
            directory: u8::try_from(broker).unwrap() + if wiped == 0 { 10 } else { 0 },
            found,
            end,
        }),
        6 => broker.clone().prop_map(Act::Unfence),
        3 => some().prop_map(Act::Fence),
        1 => broker.clone().prop_map(Act::ShutDown),
        1 => broker.clone().prop_map(Act::Unregister),
        6 => (some(), any::<bool>(), any::<bool>(), 0..5u8).prop_map(|(members, proven, behind, stale)| Act::Isr {
            members, proven, behind, stale: stale == 0,
        }),
        1 => broker.clone().prop_map(Act::Faulty),
        1 => broker.clone().prop_map(Act::Reset),
        1 => (1..4i32).prop_map(Act::MinIsr),
        1 => Just(Act::Preferred),
        1 => proptest::option::of(broker).prop_map(Act::Unclean),
    ]
}

impl World {
    fn record(&mut self, act: Act) -> Option<MetadataRecord> {
        let epoch = |world: &Self, broker: i32| world.image.broker(b(broker)).map(|found| found.epoch);
        Some(match act {
            Act::Register { broker, directory, found, end } => {
                let mut fields = registration(broker, directory, self.next_incarnation());
                match found {
                    0 => fields.report.faulty = vec![p0()],
                    1 | 2 => {
                        let last_epoch = LeaderEpoch(i32::from(found));
                        let suspect = SuspectReport { partition: p0(), last_epoch, end: Offset(end) };
                        fields.report.suspect = vec![suspect];
                    }
                    _ => {}
                }
                MetadataRecord::RegisterBroker(Box::new(fields))
            }
            Act::Unfence(broker) => {
                let broker_epoch = epoch(self, broker)?;
                MetadataRecord::UnfenceBroker(UnfenceBroker { broker: b(broker), broker_epoch })
            }
            Act::Fence(brokers) => {
                let brokers =
                    brokers.into_iter().filter_map(|broker| Some((b(broker), epoch(self, broker)?)));
                MetadataRecord::FenceBrokers(FenceBrokers { brokers: brokers.collect() })
            }
            Act::ShutDown(broker) => {
                let broker_epoch = epoch(self, broker)?;
                MetadataRecord::BrokerShuttingDown(BrokerShuttingDown { broker: b(broker), broker_epoch })
            }
            Act::Unregister(broker) => {
                MetadataRecord::UnregisterBroker(UnregisterBroker { broker: b(broker), broker_epoch: None })
            }
            Act::Isr { members, proven, behind, stale } => {
                self.random_isr(&members, proven, behind, stale)?
            }
            Act::Faulty(broker) => {
                epoch(self, broker)?;
                MetadataRecord::ReportFaulty(self.faulty_report(broker))
            }
            Act::Reset(broker) => MetadataRecord::ResetReplica(ResetReplica {
                broker: b(broker),
                broker_epoch: epoch(self, broker)?,
                partition: p0(),
                partition_epoch: self.state().partition_epoch,
            }),
            Act::MinIsr(min) => MetadataRecord::SetConfigs(SetConfigs {
                resource: Resource::Topic(TOPIC),
                replace: false,
                changes: vec![("min.insync.replicas".into(), ConfigOp::Set(min.to_string()))],
            }),
            Act::Preferred => MetadataRecord::ElectPreferred(ElectPreferred {
                partitions: vec![(p0(), self.state().partition_epoch)],
            }),
            Act::Unclean(broker) => MetadataRecord::ElectUnclean(ElectUnclean {
                partition: p0(),
                partition_epoch: self.state().partition_epoch,
                broker: broker.map(b),
                shown: vec![],
            }),
        })
    }

    fn random_isr(&self, members: &[i32], proven: bool, behind: bool, stale: bool) -> Option<MetadataRecord> {
        let leader = self.state().leader?;
        let mut isr: Vec<i32> = members.to_vec();
        isr.push(leader.0);
        isr.sort_unstable();
        isr.dedup();
        let mut change = self.isr_change(&isr);
        if proven {
            change.proven = isr.iter().map(|broker| b(*broker)).collect();
        }
        if behind {
            change.behind = vec![b(1), b(2)];
        }
        if stale {
            change.partition_epoch.0 -= 1;
        }
        Some(MetadataRecord::ChangeIsr(change))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn laws_hold_and_epochs_grow_in_every_history(acts in proptest::collection::vec(act(), 1..60)) {
        let mut world = World::partition(&[1, 2, 3], 2);
        let mut twin = world.image.clone();
        for act in acts {
            let before = world.state().clone();
            let Some(record) = world.record(act) else { continue };
            let outcome = world.apply(record.clone());
            let after = world.state();
            prop_assert!(after.leader_epoch >= before.leader_epoch);
            prop_assert!(after.partition_epoch >= before.partition_epoch);
            let led_anew = after.leader.is_some() && after.leader != before.leader;
            prop_assert!(!led_anew || after.leader_epoch > before.leader_epoch);
            prop_assert!(*after == before || after.partition_epoch > before.partition_epoch);
            let offset = world.image.applied().unwrap();
            let entry = Entry { offset, proposal: ProposalId::default(), time: Timestamp(world.now_ms), record };
            let entry = Entry::decode(offset, &entry.encode()).unwrap();
            prop_assert_eq!(twin.apply(&entry), outcome);
            prop_assert_eq!(&twin, &world.image);
            twin = ClusterImage::decode(&twin.encode()).unwrap();
        }
    }
}

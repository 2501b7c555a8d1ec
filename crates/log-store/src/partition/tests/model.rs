//! Random use of a log, judged by the model of the same name.

use proptest::prelude::*;

use super::*;
use crate::testing::model::{Step, walk};

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1..4_usize, 1..20_usize, 1..900_usize)
            .prop_map(|(batches, records, bytes)| Step::Append { batches, records, bytes }),
        1 => Just(Step::NewEpoch),
        6 => Just(Step::Sync),
        2 => Just(Step::SyncLazily),
        2 => Just(Step::FiftyMilliseconds),
        8 => (1..4_usize).prop_map(Step::Release),
        3 => Just(Step::FiveSeconds),
        3 => any::<u8>().prop_map(Step::HighWatermark),
        1 => any::<u8>().prop_map(Step::LogStart),
        2 => any::<u8>().prop_map(Step::Cut),
        1 => any::<u8>().prop_map(Step::DropAll),
        1 => Just(Step::Chain),
        4 => any::<u8>().prop_map(Step::Read),
        3 => any::<u64>().prop_map(Step::WriteBack),
        1 => any::<bool>().prop_map(Step::FailSync),
        1 => Just(Step::Kill),
        3 => any::<u64>().prop_map(Step::PowerCut),
        1 => Just(Step::CleanRestart),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_log_keeps_its_promises(steps in steps(), small in any::<bool>(), tail in any::<bool>()) {
        walk(&steps, small, tail, CRC);
    }
}

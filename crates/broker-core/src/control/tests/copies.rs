//! The copy by itself: images, what survives at each step of writing one, and images from the quorum.

use bytes::Bytes;
use log_core::MetadataOffset;
use log_store::{Disk, DiskError, DiskFault, DiskOperation, RecordLogOptions};
use metadata_core::record::FormCluster;
use metadata_core::{CommittedEntry, Entry, MetadataRecord, ProposalId};

use super::super::copy::{MetadataCopy, SNAPSHOT_ENTRIES};
use super::super::error::ControlError;
use super::*;

/// Files so small that a few entries fill one.
const OPTIONS: RecordLogOptions = RecordLogOptions { crc: crc32c::crc32c_append, file_bytes_max: 40 };

type Copy = MetadataCopy<MemoryDisk>;

struct Bench {
    disk: MemoryDisk,
    copy: Copy,
    image: ClusterImage,
}

fn forming() -> Bytes {
    let record = MetadataRecord::FormCluster(FormCluster {
        cluster_id: ClusterId([1; 16]),
        feature_level: 1,
        configs: vec![],
    });
    let (offset, proposal, time) = (MetadataOffset(0), ProposalId::default(), Timestamp(0));
    Entry { offset, proposal, time, record }.encode().into()
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self::open(MemoryDisk::new());
        bench.append(&forming());
        bench
    }

    fn open(mut disk: MemoryDisk) -> Self {
        let (copy, image) = Copy::open(&mut disk, OPTIONS).unwrap();
        let mut bench = Self { disk, copy, image };
        bench.settle();
        bench
    }

    /// Power is lost, and the copy is opened again.
    fn power_cut(&self, seed: u64) -> Self {
        self.disk.power_cut(seed);
        self.disk.hold(false);
        Self::open(self.disk.another_handle())
    }

    fn append(&mut self, bytes: &Bytes) {
        let offset = MetadataOffset(i64::try_from(self.copy.end()).unwrap());
        let bytes = (!bytes.is_empty()).then(|| bytes.clone());
        self.copy.append(&mut self.disk, CommittedEntry { offset, bytes }).unwrap();
        self.copy.sync(&mut self.disk);
        self.settle();
    }

    fn fill(&mut self, count: usize) {
        for _ in 0..count {
            self.append(&Bytes::new());
        }
    }

    fn settle(&mut self) {
        while let Some(completion) = self.disk.poll() {
            self.copy.handle_completion(&mut self.disk, &completion).unwrap();
        }
        if let Some(image) = self.copy.take_installed() {
            self.image = image;
        }
        while let Some((offset, bytes)) = self.copy.next_durable() {
            match bytes.is_empty() {
                true => self.image.skip(offset),
                false => drop(self.image.apply(&Entry::decode(offset, &bytes).unwrap())),
            }
        }
    }

    fn snapshot(&mut self) {
        let bytes = self.image.encode().into();
        self.copy.snapshot(&mut self.disk, self.image.applied().unwrap(), bytes).unwrap();
    }

    fn files(&mut self) -> Vec<String> {
        let entries = self.disk.list("metadata").unwrap();
        entries.into_iter().filter(|entry| !entry.is_dir).map(|entry| entry.name).collect()
    }
}

#[test]
fn an_image_is_due_after_so_many_entries_and_shortens_the_start() {
    let mut bench = Bench::new();
    bench.fill(10);
    assert!(!bench.copy.snapshot_is_due(MetadataOffset(SNAPSHOT_ENTRIES - 2)));
    assert!(bench.copy.snapshot_is_due(MetadataOffset(SNAPSHOT_ENTRIES - 1)));
    bench.snapshot();
    bench.settle();
    assert_eq!(bench.copy.take_durable_snapshot().map(|(upto, _)| upto), Some(MetadataOffset(10)));
    bench.fill(5);
    let again = bench.power_cut(1);
    assert_eq!(again.image, bench.image);
}

#[test]
fn an_image_for_which_no_file_descriptor_is_free_is_still_due() {
    let mut bench = Bench::new();
    bench.fill(10);
    bench.disk.fail_next(DiskOperation::Open, DiskFault::NoDescriptor);
    bench.snapshot();
    bench.settle();
    assert_eq!(bench.copy.take_durable_snapshot(), None);
    assert!(bench.copy.snapshot_is_due(MetadataOffset(SNAPSHOT_ENTRIES - 1)));
    bench.snapshot();
    bench.settle();
    assert_eq!(bench.copy.take_durable_snapshot().map(|(upto, _)| upto), Some(MetadataOffset(10)));
}

#[test]
fn a_power_cut_at_any_step_of_writing_an_image_loses_nothing() {
    for (seed, released) in (0..60).zip([0, 1, 2, 3].into_iter().cycle()) {
        let mut bench = Bench::new();
        bench.fill(6);
        bench.snapshot();
        bench.settle();
        bench.fill(6);
        bench.disk.hold(true);
        bench.snapshot();
        for _ in 0..released {
            bench.disk.release_one();
            bench.settle();
        }
        let mut again = bench.power_cut(seed);
        assert_eq!(again.image, bench.image);
        assert!(!again.files().contains(&"image.new".to_owned()));
    }
}

/// Two images, and entries after each; the newest image's name.
fn with_two_images() -> (Bench, String) {
    let mut bench = Bench::new();
    for _ in 0..2 {
        bench.fill(4);
        bench.snapshot();
        bench.settle();
    }
    bench.fill(4);
    assert_eq!(bench.files().len(), 2);
    let newest = bench.files().pop().unwrap();
    (bench, format!("metadata/{newest}"))
}

#[test]
fn the_image_before_and_the_entries_since_replace_one_that_cannot_be_read() {
    for starts in 0..3 {
        let (mut bench, newest) = with_two_images();
        for seed in 0..starts {
            bench = bench.power_cut(seed);
        }
        bench.disk.rot(&newest, 30, 1);
        let again = bench.power_cut(3);
        assert_eq!(again.image, bench.image, "it rots after {starts} starts");
    }
}

#[test]
fn the_image_before_replaces_one_that_the_medium_does_not_give_back() {
    let (bench, _) = with_two_images();
    let restart = |unreadable: usize| {
        bench.disk.power_cut(3);
        for _ in 0..unreadable {
            bench.disk.fail_next(DiskOperation::Read, DiskFault::Medium);
        }
        bench.disk.another_handle()
    };
    assert_eq!(Bench::open(restart(1)).image, bench.image);
    let failed = Copy::open(&mut restart(2), OPTIONS).err();
    let medium = DiskError::new(DiskOperation::Read, DiskFault::Medium);
    assert_eq!(failed, Some(ControlError::Disk(medium)), "none can be read");
}

#[test]
fn an_image_that_cannot_be_read_does_not_count_as_the_one_before() {
    let (bench, newest) = with_two_images();
    bench.disk.rot(&newest, 30, 1);
    let mut bench = bench.power_cut(3);
    bench.snapshot();
    bench.settle();
    bench.fill(4);
    let third = bench.files().pop().unwrap();
    bench.disk.rot(&format!("metadata/{third}"), 30, 1);
    let again = bench.power_cut(4);
    assert_eq!(again.image, bench.image, "made again from the first image");
}

#[test]
fn old_images_are_removed() {
    let mut bench = Bench::new();
    for _ in 0..5 {
        bench.fill(3);
        bench.snapshot();
        bench.settle();
    }
    assert_eq!(bench.files().len(), 2);
}

#[test]
fn an_image_from_the_quorum_replaces_the_copy_and_entries_behind_it_follow() {
    for (seed, released) in (0..40).zip([0, 1, 2, 3, 4, 9].into_iter().cycle()) {
        let mut ahead = Bench::new();
        ahead.fill(50);
        let mut bench = Bench::new();
        bench.fill(2);
        let behind = bench.image.clone();
        bench.disk.hold(true);
        let (upto, bytes) = (MetadataOffset(50), ahead.image.encode().into());
        bench.copy.install(&mut bench.disk, upto, bytes).unwrap();
        let next = CommittedEntry { offset: MetadataOffset(51), bytes: None };
        bench.copy.append(&mut bench.disk, next).unwrap();
        for _ in 0..released {
            bench.disk.release_one();
            bench.settle();
        }
        let again = bench.power_cut(seed);
        let found = again.image.applied().unwrap();
        assert!([2, 50, 51].contains(&found.0), "{found}");
        assert!(again.image.applied() >= bench.image.applied(), "what was applied is not lost");
        assert!(found.0 > 2 || again.image == behind);
        if released == 9 {
            assert_eq!(bench.image.applied(), Some(MetadataOffset(51)));
        }
    }
}

#[test]
fn what_a_start_does_for_an_image_that_only_the_page_cache_names_loses_nothing_with_the_power() {
    let (mut kept, mut lost) = (0, 0);
    for seed in 0..60 {
        let mut ahead = Bench::new();
        ahead.fill(50);
        let mut bench = Bench::new();
        bench.fill(2);
        let behind = bench.image.clone();
        bench.disk.hold(true);
        let bytes = ahead.image.encode().into();
        bench.copy.install(&mut bench.disk, MetadataOffset(50), bytes).unwrap();
        while !bench.files().contains(&"00000000000000000050.image".to_owned()) {
            assert!(bench.disk.release_one());
            bench.settle();
        }
        bench.disk.kill_process();
        bench.disk.hold(true);
        let mut bench = Bench::open(bench.disk);
        assert_eq!(bench.image, ahead.image, "the page cache names it");
        assert!(!bench.copy.is_recovered(), "nobody is shown what may be lost");
        let next = CommittedEntry { offset: MetadataOffset(51), bytes: None };
        bench.copy.append(&mut bench.disk, next).unwrap();
        let again = bench.power_cut(seed);
        assert!([&behind, &ahead.image].contains(&&again.image), "seed {seed}");
        assert!(again.copy.is_recovered());
        kept += u32::from(again.image == ahead.image);
        lost += u32::from(again.image == behind);
    }
    assert!(kept > 0 && lost > 0);
}

#[test]
fn entries_shown_again_are_passed_over() {
    let mut bench = Bench::new();
    bench.fill(3);
    let again = CommittedEntry { offset: MetadataOffset(0), bytes: Some(forming()) };
    bench.copy.append(&mut bench.disk, again).unwrap();
    bench.settle();
    assert_eq!((bench.copy.end(), bench.image.applied()), (4, Some(MetadataOffset(3))));
    bench.copy.install(&mut bench.disk, MetadataOffset(2), Bytes::new()).unwrap();
    bench.settle();
    assert_eq!(bench.image.applied(), Some(MetadataOffset(3)));
}

#[test]
fn a_node_that_is_too_far_behind_gets_the_image_of_another() {
    let mut net = Net::of(2);
    let bytes: Bytes = net.image(1).encode().into();
    let upto = net.image(1).applied().unwrap();
    metadata_core::MetadataQuorum::offer_snapshot(&mut net.cluster.node(dir(1), None), upto, bytes);
    net.cluster.purge();
    net.start(3, false);
    net.join(3, 3);
    net.run(3_000);
    assert_eq!(net.phase(3), ControlPhase::Active);
    net.assert_agreed();
    net.kill(3);
    net.restart(3);
    net.run(2_000);
    assert_eq!(net.phase(3), ControlPhase::Active);
    net.assert_agreed();
}

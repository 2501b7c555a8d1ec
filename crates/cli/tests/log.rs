//! `highwater log` on data directories made here: what it shows, what it finds, and that it changes nothing.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use log_core::batch::{BatchBuilder, BatchSpec, NewRecord, RecordHeader};
use log_core::chain::{Chain, ChainEntry, Link};
use log_core::directory::parse_topic_dir;
use log_core::segment::RollPolicy;
use log_core::{
    BrokerEpoch, BrokerId, ClusterId, Compression, DirectoryId, Incarnation, LeaderEpoch, MetadataOffset,
    Offset, Timestamp,
};
use log_store::testing::{self, Bench};
use log_store::{Disk, LogId, LogOptions, MemoryDisk, OpenMode, RecordLog, RecordLogOptions};
use metadata_core::record::{CreateTopic, DirectoryReport, FormCluster, RegisterBroker, UnfenceBroker};
use metadata_core::{ClusterImage, Endpoint, Entry, Listener, MetadataRecord, ProposalId};

const TOPIC: &str = "0123456789abcdef0123456789abcdef";

fn crc(so_far: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(so_far, bytes)
}

/// A batch of three records.
fn batch(base_offset: i64, epoch: i32, compression: Compression) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for number in 0..3 {
        let value = format!("value {}", base_offset + number);
        let header = RecordHeader { key: b"trace", value: Some(b"1") };
        let record = NewRecord {
            timestamp: Timestamp(1_796_122_745_000 + number),
            key: Some(b"k"),
            value: Some(value.as_bytes()),
            headers: &[header],
        };
        builder.push(&record).unwrap();
    }
    let spec = BatchSpec {
        base_offset: Offset(base_offset),
        leader_epoch: LeaderEpoch(epoch),
        compression,
        ..BatchSpec::default()
    };
    builder.build(&spec, compression::CODECS, crc).unwrap()
}

/// A directory with one partition of two segments: offsets 0 to 8 and 9 to 14, then preallocated zeros.
fn data_dir() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let partition = partition(directory.path());
    fs::create_dir_all(&partition).unwrap();
    let batches = [
        batch(0, 0, Compression::None),
        batch(3, 0, Compression::Lz4),
        batch(6, 1, Compression::Zstd),
        batch(9, 1, Compression::Gzip),
        batch(12, 1, Compression::Snappy),
    ];
    fs::write(partition.join("00000000000000000000.log"), batches[..3].concat()).unwrap();
    let last = [&batches[3..].concat()[..], &[0; 4096]].concat();
    fs::write(partition.join("00000000000000000009.log"), last).unwrap();
    write_chains(&partition, &batches);
    directory
}

fn write_chains(partition: &Path, batches: &[Vec<u8>]) {
    let mut link = Link::START;
    for (base, range) in [(0, 0..3), (9, 3..5)] {
        let mut file = Chain::header(Offset(base), link, crc);
        for index in range {
            link = link.after(&batches[index]);
            let entry = ChainEntry { end: Offset(3 * (index as i64 + 1)), link };
            file.extend_from_slice(&Chain::entry(Offset(base), &entry, crc));
        }
        fs::write(partition.join(format!("{base:020}.chain")), file).unwrap();
    }
}

fn partition(directory: &Path) -> PathBuf {
    directory.join("topics").join(TOPIC).join("0")
}

fn log(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.arg("log").args(arguments).arg(directory).output().unwrap()
}

/// The command's code and what it printed, with the directory's own path taken out.
fn run(directory: &Path, arguments: &[&str]) -> (i32, String) {
    let output = log(directory, arguments);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap().replace(directory.to_str().unwrap(), "DIR");
    (output.status.code().unwrap(), text)
}

fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push((path.clone(), Vec::new()));
            all.extend(contents(&path));
        } else {
            all.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    all.sort();
    all
}

/// Changes one byte of a file of the partition.
fn flip(directory: &Path, file: &str, at: usize) {
    let path = partition(directory).join(file);
    let mut bytes = fs::read(&path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn list_shows_partitions_with_their_ends_and_sizes() {
    let directory = data_dir();
    insta::assert_debug_snapshot!(run(directory.path(), &["list", "--output", "json"]));
}

#[test]
fn dump_shows_batches_and_records_from_an_offset_on() {
    let directory = data_dir();
    let (code, text) = run(directory.path(), &["dump"]);
    insta::assert_snapshot!(text);
    assert_eq!(code, 0);
    let (code, text) = run(directory.path(), &["dump", "--records", "--from", "7"]);
    assert_eq!((code, text.lines().count()), (0, 8));
    insta::assert_snapshot!(text.lines().next().unwrap());
}

#[test]
fn a_sound_directory_has_no_fault_and_nothing_is_changed() {
    let directory = data_dir();
    let before = contents(directory.path());
    for command in ["list", "dump", "verify"] {
        assert_eq!(run(directory.path(), &[command]).0, 0, "{command}");
    }
    assert_eq!(contents(directory.path()), before);
    insta::assert_snapshot!(run(directory.path(), &["verify"]).1);
}

#[test]
fn a_flipped_byte_of_a_sealed_segment_is_damage() {
    let directory = data_dir();
    flip(directory.path(), "00000000000000000000.log", 80);
    let (code, text) = run(directory.path(), &["verify"]);
    insta::assert_snapshot!(text);
    assert_eq!(code, 5);
    assert_eq!(run(directory.path(), &["dump"]).0, 5);
}

#[test]
fn a_missing_segment_is_damage() {
    let directory = data_dir();
    let partition = partition(directory.path());
    fs::rename(partition.join("00000000000000000009.log"), partition.join("00000000000000000010.log"))
        .unwrap();
    assert_eq!(run(directory.path(), &["verify"]).0, 5);
}

/// A partition as a broker leaves it at a clean stop: three segments, 60 records, all durable.
fn stopped() -> tempfile::TempDir {
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..LogOptions::new(crc) });
    bench.append_many(6, 10, 450);
    bench.commit();
    let mut disk = bench.close();
    let directory = tempfile::tempdir().unwrap();
    let partition = partition(directory.path());
    fs::create_dir_all(&partition).unwrap();
    for entry in disk.list(testing::DIR).unwrap().into_iter().filter(|entry| !entry.is_dir) {
        let file = disk.open(&format!("{}/{}", testing::DIR, entry.name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; entry.len as usize];
        disk.read_at(&file, 0, &mut bytes).unwrap();
        fs::write(partition.join(entry.name), bytes).unwrap();
    }
    directory
}

#[test]
fn what_the_bound_vouches_for_and_is_not_there_is_damage() {
    let sound = stopped();
    assert_eq!(run(sound.path(), &["verify"]).0, 0, "{}", run(sound.path(), &["verify"]).1);
    let without = |files: &[i64], words: &str| {
        let directory = stopped();
        for base in files {
            fs::remove_file(partition(directory.path()).join(format!("{base:020}.log"))).unwrap();
        }
        let (code, text) = run(directory.path(), &["verify"]);
        assert!(code == 5 && text.contains(words), "{files:?}: {code} {text}");
    };
    without(&[0], "segments before it are missing: the log begins at offset 0");
    without(&[40], "the log ends at offset 40, and was durable up to 60");
    without(&[0, 20, 40], "the log ends at offset 0, and was durable up to 60");
    // Cut between two batches.
    let directory = stopped();
    let path = partition(directory.path()).join(format!("{:020}.log", 40));
    let half = fs::metadata(&path).unwrap().len() / 2;
    fs::File::options().write(true).open(&path).unwrap().set_len(half).unwrap();
    let (code, text) = run(directory.path(), &["verify"]);
    assert!(code == 5 && text.contains("the log ends at offset 50, and was durable up to 60"), "{text}");
}

#[test]
fn a_batch_that_the_chain_does_not_know_is_damage() {
    let directory = data_dir();
    let others: Vec<Vec<u8>> = (0..5).map(|index| batch(3 * index, 2, Compression::None)).collect();
    write_chains(&partition(directory.path()), &others);
    let (code, text) = run(directory.path(), &["verify"]);
    assert!(code == 5 && text.contains("the chain does not fit the batch"), "{code} {text}");
}

#[test]
fn what_is_no_data_directory_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    let (code, text) = run(empty.path(), &["list"]);
    assert_eq!(code, 3);
    assert!(text.starts_with("error: DIR is not a data directory of highwater\n  "), "{text}");
    let (code, text) = run(&empty.path().join("gone"), &["verify"]);
    assert_eq!((code, text.as_str()), (3, "error: DIR does not exist\n"));
}

#[test]
fn a_node_without_a_replica_has_no_partitions() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("format"), "").unwrap();
    assert_eq!(run(directory.path(), &["list"]), (0, "no partitions\n".to_owned()));
    assert_eq!(run(directory.path(), &["verify"]).0, 0);
}

#[test]
fn a_topic_that_is_not_there_is_refused() {
    let directory = data_dir();
    let (code, text) = run(directory.path(), &["dump", "--topic", "orders"]);
    assert_eq!(code, 3);
    insta::assert_snapshot!(text);
}

#[test]
fn a_reader_that_has_gone_ends_the_command_quietly() {
    let directory = data_dir();
    let command = format!(
        "{} log dump --records {} | true",
        env!("CARGO_BIN_EXE_highwater"),
        directory.path().display()
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_directory_in_use_is_shown_but_not_verified() {
    let directory = data_dir();
    let lock = disk::DirectoryLock::acquire(directory.path(), "highwater serve, node 1").unwrap();
    let (code, text) = run(directory.path(), &["verify"]);
    let holder = format!("process {} (highwater serve, node 1)", std::process::id());
    assert_eq!(code, 1);
    assert!(text.starts_with(&format!("error: DIR is in use by {holder}\n  ")), "{text}");
    let (code, text) = run(directory.path(), &["list"]);
    assert!(code == 0 && text.contains(&holder), "{text}");
    drop(lock);
    assert_eq!(run(directory.path(), &["verify"]).0, 0);
}

#[test]
fn topics_are_shown_by_the_names_in_the_metadata() {
    let directory = data_dir();
    let name = write_metadata(directory.path());
    let (code, text) = run(directory.path(), &["dump", "--topic", &name]);
    assert!(code == 0 && text.starts_with(&format!("{name}, partition 0\n")), "{text}");
    let (code, text) = run(directory.path(), &["dump", "--topic", "odrers"]);
    assert_eq!((code, text.lines().last()), (3, Some("  there is orders")));
}

/// A cluster of one broker with the topic, its first entries also as an image.
fn write_metadata(directory: &Path) -> String {
    let (broker, replica) = (BrokerId(1), DirectoryId([1; 16]));
    let name = "orders".to_owned();
    let register = RegisterBroker {
        broker,
        directory: replica,
        incarnation: Incarnation(1),
        rack: None,
        endpoints: vec![Endpoint { listener: Listener::Kafka, host: "127.0.0.1".into(), port: 9092 }],
        shards: 1,
        feature_level_max: 1,
        report: DirectoryReport::default(),
    };
    let create = CreateTopic {
        topic_id: parse_topic_dir(TOPIC).unwrap(),
        name: name.clone(),
        partitions: None,
        replication_factor: None,
        assignment: vec![vec![broker]],
        configs: Vec::new(),
    };
    let form = FormCluster { cluster_id: ClusterId([9; 16]), feature_level: 1, configs: Vec::new() };
    let records = [
        MetadataRecord::FormCluster(form),
        MetadataRecord::RegisterBroker(Box::new(register)),
        MetadataRecord::UnfenceBroker(UnfenceBroker { broker, broker_epoch: BrokerEpoch(1) }),
        MetadataRecord::CreateTopic(create),
    ];
    let mut image = ClusterImage::new();
    let mut disk = MemoryDisk::new();
    let options = RecordLogOptions::new(crc);
    let (mut log, _) = RecordLog::open(&mut disk, LogId(1), "log", options, 0).unwrap();
    let metadata = directory.join("metadata");
    fs::create_dir_all(metadata.join("log")).unwrap();
    for (offset, record) in (0..).map(MetadataOffset).zip(records) {
        let entry = Entry { offset, proposal: ProposalId::default(), time: Timestamp(0), record };
        log.append(&mut disk, entry.encode().into()).unwrap();
        image.apply(&entry).result.unwrap();
        if offset == MetadataOffset(1) {
            fs::write(metadata.join(format!("{:020}.image", offset.0)), image.encode()).unwrap();
        }
    }
    let file = "log/00000000000000000000.records";
    let opened = disk.open(file, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(disk.file_len(&opened).unwrap()).unwrap()];
    disk.read_at(&opened, 0, &mut bytes).unwrap();
    fs::write(metadata.join(file), bytes).unwrap();
    name
}

//! A broker's machine: its disk, and the process on it while there is one.

use std::collections::{BTreeMap, BTreeSet};

use broker_core::control::{Control, ControlConfig, Recovered};
use broker_core::{Limits, Shard, ShardConfig, ShardId};
use log_core::{
    BrokerId, ClusterId, DirectoryId, Incarnation, MetadataOffset, MonoTime, Now, Timestamp, TopicPartition,
};
use log_store::MemoryDisk;
use log_store::directory::{DirectoryFormat, read_format, take_clean_mark, write_format};
use metadata_core::{Endpoint, Listener, QuorumMember};

use super::queue::ProcessId;
use crate::plan::Plan;
use crate::quorum::{Agreement, NodeQuorum};

/// When simulated time begins, in milliseconds since 1970.
pub(crate) const START_MS: i64 = 1_700_000_000_000;

const CLUSTER: ClusterId = ClusterId([7; 16]);

/// Bytes that appends leave free for what has to go on when a disk is full.
const RESERVE_BYTES: u64 = 32 << 10;

pub(crate) fn crc(so_far: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(so_far, bytes)
}

/// Both clocks at a simulated time.
pub(crate) fn clocks(now: u64) -> Now {
    let millis = i64::try_from(now / 1_000_000).expect("a run lasts minutes");
    Now { mono: MonoTime(1_000_000_000 + now), wall: Timestamp(START_MS + millis) }
}

/// A machine with its disk.
pub(crate) struct Machine {
    pub(crate) index: usize,
    pub(crate) id: BrokerId,
    pub(crate) directory: DirectoryId,
    pub(crate) disk: MemoryDisk,
    pub(crate) forms: bool,
    pub(crate) process: Option<Process>,
    pub(crate) starts: u64,
    /// A start is planned, or waits for the operator to let a new directory join.
    pub(crate) starting: bool,
    /// The directory is new and has not joined yet.
    pub(crate) joining: bool,
    /// Until when the process stands still.
    pub(crate) paused_until: u64,
    pub(crate) disk_factor: u64,
    pub(crate) slow_metadata: bool,
    /// Until when it is shown no metadata at all.
    pub(crate) no_metadata_until: u64,
    /// How many entries of the metadata log it is shown at most.
    pub(crate) metadata_upto: Option<usize>,
    /// Replicas whose disk was damaged, until they are seen whole again.
    pub(crate) damaged: BTreeMap<TopicPartition, ()>,
    /// Replicas of which a byte rotted; what nobody has read since may be rotten still.
    pub(crate) rotten: BTreeSet<TopicPartition>,
    /// The newest metadata that a process of this broker has shown to have applied. Not forgotten with a disk: what its
    /// process asked for before may be agreed after.
    pub(crate) applied: Option<MetadataOffset>,
    /// A sync of this disk may have failed: the cache may show what is not on the platter and never will be.
    pub(crate) doubtful_cache: bool,
    wipes: u8,
}

/// A running broker.
pub(crate) struct Process {
    pub(crate) id: ProcessId,
    /// What it registers as.
    pub(crate) incarnation: Incarnation,
    pub(crate) control: Control<MemoryDisk, NodeQuorum>,
    pub(crate) shards: Vec<Shard<MemoryDisk>>,
    /// The deadline that an event is planned for.
    pub(crate) wake_at: Option<u64>,
    /// How many disk operations have an end planned.
    pub(crate) disk_planned: usize,
    /// Whether an idle moment is planned.
    pub(crate) idle_planned: bool,
    /// When the last word on each way between Control and shards arrives.
    pub(crate) ways: BTreeMap<(Option<u16>, Option<u16>), u64>,
    /// Whether folders of unknown topics were looked for.
    pub(crate) looked_aside: bool,
}

/// Why a process could not begin.
pub(crate) type BootFault = String;

impl Machine {
    pub(crate) fn new(index: usize) -> Self {
        let mut machine = Self {
            index,
            id: broker_id(index),
            directory: directory(index, 0),
            disk: MemoryDisk::new(),
            forms: index == 0,
            process: None,
            starts: 0,
            starting: false,
            joining: false,
            paused_until: 0,
            disk_factor: 1,
            slow_metadata: false,
            no_metadata_until: 0,
            metadata_upto: None,
            damaged: BTreeMap::new(),
            rotten: BTreeSet::new(),
            applied: None,
            doubtful_cache: false,
            wipes: 0,
        };
        machine.format();
        machine
    }

    /// The disk is lost; an empty one with a new directory takes its place.
    pub(crate) fn wipe(&mut self) {
        self.wipes += 1;
        self.rotten.clear();
        self.directory = directory(self.index, self.wipes);
        self.disk = MemoryDisk::new();
        self.forms = false;
        self.joining = true;
        self.format();
    }

    fn format(&mut self) {
        let format = DirectoryFormat {
            cluster_id: CLUSTER,
            directory_id: self.directory,
            broker: self.id,
            forms: self.forms,
        };
        let mut disk = self.disk.another_handle();
        write_format(&mut disk, &format, crc, log_store::Disk::poll).expect("a new disk takes its format");
    }

    /// A process begins, as the driver of a real one begins it.
    pub(crate) fn start(&mut self, plan: &Plan, agreement: &Agreement, now: u64) -> Result<(), BootFault> {
        self.starts += 1;
        self.starting = false;
        let id = ProcessId { broker: self.index, number: self.starts };
        let mut disk = self.disk.another_handle();
        let format = read_format(&mut disk, &[], crc).map_err(|error| format!("the format: {error}"))?;
        let format = format.ok_or("the format of the directory is gone")?;
        let clean =
            take_clean_mark(&mut disk, log_store::Disk::poll).map_err(|e| format!("the mark: {e}"))?;
        self.disk.hold(true);
        let config = self.control_config(plan, &format, clean, now);
        let incarnation = config.incarnation;
        let recovered = Recovered::open(&config, self.disk.another_handle())
            .map_err(|error| format!("the copy of the metadata log: {error}"))?;
        let quorum = agreement.node(self.directory, recovered.last());
        let control = Control::start(clocks(now), config, recovered, quorum);
        let shard = |shard| {
            Shard::new(clocks(now), self.shard_config(plan, shard, clean), self.disk.another_handle())
        };
        self.process = Some(Process {
            id,
            incarnation,
            control,
            shards: (0..plan.shards).map(shard).collect(),
            wake_at: None,
            disk_planned: 0,
            idle_planned: false,
            ways: BTreeMap::new(),
            looked_aside: false,
        });
        Ok(())
    }

    fn control_config(&self, plan: &Plan, format: &DirectoryFormat, clean: bool, now: u64) -> ControlConfig {
        let micros = clocks(now).wall.0.unsigned_abs().saturating_mul(1_000);
        let mut seed = [0; 16];
        seed.iter_mut().zip(plan.seed.to_be_bytes()).for_each(|(byte, of_seed)| *byte = of_seed);
        let [.., broker, start] = &mut seed;
        (*broker, *start) = (self.index as u8, self.starts as u8);
        ControlConfig {
            broker: self.id,
            directory: format.directory_id,
            cluster_id: format.cluster_id,
            forms: format.forms,
            incarnation: Incarnation(micros),
            clean,
            rack: None,
            endpoints: endpoints(self.index),
            shards: plan.shards,
            feature_level_max: plan.upgrade.level_of(self.index, self.starts),
            feature_level_calm: plan.upgrade.calm,
            cluster_configs: Vec::new(),
            seed,
            crc,
        }
    }

    fn shard_config(&self, plan: &Plan, shard: u16, clean_start: bool) -> ShardConfig {
        ShardConfig {
            broker: self.id,
            shard: ShardId(shard),
            shards: plan.shards,
            crc,
            codecs: compression::CODECS,
            seed: plan.seed ^ self.starts,
            limits: Limits::default(),
            groups: coordinator_core::GroupConfig::default(),
            replication: replica_core::Settings {
                lag_max: std::time::Duration::from_millis(plan.lag_max_ms),
                window_bytes: plan.window_bytes,
                push_bytes_max: plan.push_bytes,
                ..replica_core::Settings::default()
            },
            clean_start,
            log_dir: "/data".into(),
            reserve_bytes: RESERVE_BYTES,
        }
    }

    /// The process is gone; what it had open on the disk with it.
    pub(crate) fn end(&mut self, power: Option<u64>) {
        self.process = None;
        self.paused_until = 0;
        match power {
            Some(seed) => self.disk.power_cut(seed),
            None => self.disk.kill_process(),
        }
    }

    /// How its process stands, in words.
    pub(crate) fn describe(&self) -> String {
        let Some(running) = &self.process else { return "no process".to_owned() };
        let shard = |shard: &Shard<MemoryDisk>| {
            let metrics = shard.metrics();
            format!("{} logs recovering, {} not opened", metrics.logs_recovering, metrics.logs_not_opened)
        };
        let shards: Vec<String> = running.shards.iter().map(shard).collect();
        format!("{:?}, {shards:?}, {} operations held", running.control.status(), self.disk.held())
    }

    pub(crate) fn member(&self) -> QuorumMember {
        QuorumMember { directory: self.directory, broker: self.id, addresses: Vec::new() }
    }

    pub(crate) const fn is_paused(&self, now: u64) -> bool {
        now < self.paused_until
    }

    /// Whether it runs and does not stand still.
    pub(crate) const fn is_up(&self, now: u64) -> bool {
        self.process.is_some() && !self.is_paused(now)
    }
}

pub(crate) fn broker_id(index: usize) -> BrokerId {
    BrokerId(i32::try_from(index).expect("there are few brokers") + 1)
}

pub(crate) fn index_of(broker: BrokerId) -> usize {
    usize::try_from(broker.0 - 1).expect("broker ids begin at 1")
}

pub(crate) fn endpoints(index: usize) -> Vec<Endpoint> {
    let port = 9_092 + 10 * index as u16;
    let endpoint = |listener, port| Endpoint { listener, host: format!("broker{index}"), port };
    vec![
        endpoint(Listener::Kafka, port),
        endpoint(Listener::Quic, port),
        endpoint(Listener::Replica, port + 1),
    ]
}

fn directory(index: usize, wipes: u8) -> DirectoryId {
    let mut bytes = [0; 16];
    let [first, second, ..] = &mut bytes;
    (*first, *second) = (index as u8 + 1, wipes);
    DirectoryId(bytes)
}

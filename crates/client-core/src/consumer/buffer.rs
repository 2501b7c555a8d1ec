//! Where fetched batches wait to be read: the part of a consumer that the caller's own task works on.
//!
//! As the accumulator, it is a value apart from the brain: checksums, decompression and decoding are done where the
//! records are used, not on the driving task. Bytes that were read are given back with [`FetchBuffer::take_freed`];
//! the brain fetches more only while there is room.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use log_core::batch::{self, BatchHeader, Headers, Records};
use log_core::{Codecs, Compression, Crc32c};

use crate::action::ConsumerEvent;
use crate::consumer::Fetched;
use crate::error::{ClientError, Damage, Place};
use crate::options::ConsumerOptions;
use crate::record::{ConsumedRecord, Header};

/// Fetched batches of one consumer, in the order in which they came.
#[derive(Debug)]
pub struct FetchBuffer {
    codecs: Codecs,
    crc: Crc32c,
    check_crc: bool,
    decompressed_bytes_max: usize,
    partitions: BTreeMap<(Arc<str>, u32), Front>,
    fetched: VecDeque<Fetched>,
    /// Decoded records of the batch being read.
    records: VecDeque<ConsumedRecord>,
    /// Paused partitions, each with the records that were decoded before.
    paused: BTreeMap<(Arc<str>, u32), VecDeque<ConsumedRecord>>,
    freed_bytes: usize,
    failures: VecDeque<ClientError>,
}

/// What is known here of one partition.
#[derive(Clone, Copy, Debug, Default)]
struct Front {
    /// Batches of older generations are dropped.
    generation: u32,
    /// The offset of the next record.
    position: Option<i64>,
    high_watermark: Option<i64>,
    is_assigned: bool,
}

/// One batch, checked and decompressed, for those who do without a value per record.
#[derive(Clone, Debug)]
pub struct RecordBatch {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    header: BatchHeader,
    /// Records before it were not asked for.
    from: i64,
    records: Bytes,
}

impl FetchBuffer {
    /// An empty one for a consumer with these options.
    #[must_use]
    pub fn new(options: &ConsumerOptions, codecs: Codecs, crc: Crc32c) -> Self {
        Self {
            codecs,
            crc,
            check_crc: options.check_crc,
            decompressed_bytes_max: options.decompressed_bytes_max,
            partitions: BTreeMap::new(),
            fetched: VecDeque::new(),
            records: VecDeque::new(),
            paused: BTreeMap::new(),
            freed_bytes: 0,
            failures: VecDeque::new(),
        }
    }

    /// Takes in what happened to the consumer.
    pub fn handle_event(&mut self, event: ConsumerEvent) {
        match event {
            ConsumerEvent::Fetched(fetched) => self.on_fetched(fetched),
            ConsumerEvent::Assigned(partitions) => self.on_assigned(partitions),
            ConsumerEvent::Positioned { topic, partition, generation, offset } => {
                self.on_positioned(topic, partition, generation, offset);
            }
            ConsumerEvent::Failed(error) => self.failures.push_back(error),
        }
    }

    /// The next record, if one is here. After an error of a partition nothing more of it comes before a seek.
    pub fn next_record(&mut self) -> Option<Result<ConsumedRecord, ClientError>> {
        loop {
            if let Some(record) = self.records.pop_front() {
                self.advance(&record.topic, record.partition, record.offset + 1);
                return Some(Ok(record));
            }
            match self.next_batch()? {
                Ok(batch) => {
                    if let Err(error) = self.decode(&batch) {
                        return Some(Err(error));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The next batch, if one is here: whole, also when records of it were read one by one before.
    pub fn next_batch(&mut self) -> Option<Result<RecordBatch, ClientError>> {
        loop {
            if let Some(error) = self.failures.pop_front() {
                return Some(Err(error));
            }
            let paused = &self.paused;
            let is_paused =
                |fetched: &Fetched| paused.contains_key(&(Arc::clone(&fetched.topic), fetched.partition));
            let index = match paused.is_empty() {
                true => 0,
                false => self.fetched.iter().position(|fetched| !is_paused(fetched))?,
            };
            let fetched = self.fetched.get(index)?;
            if fetched.records.is_empty() {
                let (topic, partition, next) = (Arc::clone(&fetched.topic), fetched.partition, fetched.next);
                self.fetched.remove(index);
                // Behind the last record there may be offsets without one, taken by markers or by compaction.
                if self.records.is_empty() {
                    self.advance(&topic, partition, next);
                }
                continue;
            }
            match self.take_batch(index) {
                Ok(None) => {}
                Ok(Some(batch)) => return Some(Ok(batch)),
                Err(error) => {
                    self.drop_partition(&error);
                    return Some(Err(error));
                }
            }
        }
    }

    /// Bytes of fetched batches that were read (or dropped) since the last call.
    pub fn take_freed(&mut self) -> usize {
        std::mem::take(&mut self.freed_bytes)
    }

    /// Everything before this batch's last offset was read by someone who reads batches.
    pub fn batch_read(&mut self, batch: &RecordBatch) {
        self.advance(&batch.topic, batch.partition, batch.next_offset());
    }

    /// The one who reads batches has found that this one's records do not decode: what is here of its partition is dropped.
    /// The brain has to be told to stop it.
    pub fn batch_refused(&mut self, batch: &RecordBatch) {
        self.drop_fetched(&batch.topic, batch.partition);
    }

    /// The caller seeks: drops what is here of the partition and names the generation that the brain must be told.
    /// `None` if the consumer does not read the partition.
    pub fn seek(&mut self, topic: &Arc<str>, partition: u32) -> Option<u32> {
        let front =
            self.partitions.get_mut(&(Arc::clone(topic), partition)).filter(|front| front.is_assigned)?;
        front.generation += 1;
        front.position = None;
        let generation = front.generation;
        self.drop_fetched(topic, partition);
        Some(generation)
    }

    /// Gives nothing of a partition until it is resumed; what is here of it stays. The brain has to be told as well.
    /// `None` if the consumer does not read the partition.
    pub fn set_paused(&mut self, topic: &Arc<str>, partition: u32, paused: bool) -> Option<()> {
        let key = (Arc::clone(topic), partition);
        self.partitions.get(&key).filter(|front| front.is_assigned)?;
        let is_its = |record: &ConsumedRecord| record.topic == *topic && record.partition == partition;
        if paused {
            let (its, others) = std::mem::take(&mut self.records).into_iter().partition(is_its);
            self.records = others;
            self.paused.entry(key).or_default().extend::<VecDeque<_>>(its);
        } else if let Some(mut its) = self.paused.remove(&key) {
            its.append(&mut self.records);
            self.records = its;
        }
        Some(())
    }

    /// The offset of the next record of a partition, once it is known.
    #[must_use]
    pub fn position(&self, topic: &str, partition: u32) -> Option<i64> {
        self.position_of(&(topic.into(), partition))
    }

    /// As [`position`](Self::position), for who has the key: nothing is allocated.
    #[must_use]
    pub fn position_of(&self, key: &(Arc<str>, u32)) -> Option<i64> {
        self.partitions.get(key).and_then(|front| front.position)
    }

    /// Every partition that the consumer reads, with its position and its high watermark as far as known.
    pub fn assignment(&self) -> impl Iterator<Item = (&Arc<str>, u32, Option<i64>, Option<i64>)> {
        let assigned = self.partitions.iter().filter(|(_, front)| front.is_assigned);
        assigned.map(|((topic, partition), front)| (topic, *partition, front.position, front.high_watermark))
    }

    fn on_fetched(&mut self, fetched: Fetched) {
        let front = self.partitions.get_mut(&(Arc::clone(&fetched.topic), fetched.partition));
        match front {
            Some(front) if front.is_assigned && fetched.generation >= front.generation => {
                front.high_watermark = Some(fetched.high_watermark);
                self.fetched.push_back(fetched);
            }
            _ => self.freed_bytes += fetched.records.len(),
        }
    }

    fn on_assigned(&mut self, partitions: Vec<(Arc<str>, u32, u32)>) {
        self.partitions.values_mut().for_each(|front| front.is_assigned = false);
        for (topic, partition, generation) in partitions {
            let front = self.partitions.entry((topic, partition)).or_default();
            if generation > front.generation {
                *front = Front { generation, position: None, high_watermark: None, is_assigned: true };
            }
            front.is_assigned = true;
        }
        let gone: Vec<(Arc<str>, u32)> = self
            .partitions
            .iter()
            .filter(|(_, front)| !front.is_assigned || front.position.is_none())
            .map(|(key, _)| key.clone())
            .collect();
        for (topic, partition) in gone {
            self.drop_fetched(&topic, partition);
        }
        let partitions = &self.partitions;
        self.paused.retain(|key, _| partitions.get(key).is_some_and(|front| front.is_assigned));
    }

    fn on_positioned(&mut self, topic: Arc<str>, partition: u32, generation: u32, offset: i64) {
        if let Some(front) = self.partitions.get_mut(&(topic, partition))
            && generation >= front.generation
        {
            front.generation = generation;
            front.position = Some(offset);
        }
    }

    fn advance(&mut self, topic: &Arc<str>, partition: u32, next: i64) {
        if let Some(front) = self.partitions.get_mut(&(Arc::clone(topic), partition))
            && front.position.is_none_or(|position| position < next)
        {
            front.position = Some(next);
        }
    }

    /// Takes the first batch off an answer; `None` for one that holds nothing for the caller.
    fn take_batch(&mut self, index: usize) -> Result<Option<RecordBatch>, ClientError> {
        let fetched = self.fetched.get_mut(index).expect("the caller has seen this answer");
        let (topic, partition, from) = (Arc::clone(&fetched.topic), fetched.partition, fetched.from);
        let place = |offset| Place::offset(&topic, partition, offset);
        let header = BatchHeader::parse(&fetched.records).map_err(|error| ClientError::Damaged {
            damage: Damage::Batch(error),
            place: place(from),
            resume_at: None,
        })?;
        let resume_at = Some(header.next_offset().0);
        let at = header.base_offset.0.max(from);
        let damaged = |damage| ClientError::Damaged { damage, place: place(at), resume_at };
        let whole = fetched.records.len() >= header.batch_bytes;
        let bytes = fetched.records.split_to(header.batch_bytes.min(fetched.records.len()));
        self.freed_bytes += bytes.len();
        if !whole {
            return Err(damaged(Damage::Rule("a batch ends before its length")));
        }
        if self.check_crc {
            batch::check_stored(&bytes, self.crc).map_err(|error| damaged(Damage::Batch(error)))?;
        }
        if header.attributes.is_control() || header.next_offset().0 <= from || header.record_count == 0 {
            self.advance(&topic, partition, header.next_offset().0);
            return Ok(None);
        }
        let records = bytes.slice(batch::HEADER_BYTES..);
        let records = if header.compression() == Compression::None {
            records
        } else {
            let mut plain = Vec::new();
            (self.codecs.decompress)(header.compression(), &records, self.decompressed_bytes_max, &mut plain)
                .map_err(|error| damaged(Damage::Codec(error)))?;
            plain.into()
        };
        Ok(Some(RecordBatch { topic, partition, header, from, records }))
    }

    fn decode(&mut self, batch: &RecordBatch) -> Result<(), ClientError> {
        let count = usize::try_from(batch.header.record_count).unwrap_or(0);
        // A record takes seven bytes at least: the count is not trusted for more room than that.
        self.records.reserve(count.min(batch.records.len() / 7));
        let mut last = batch.header.base_offset.0;
        for record in batch.records() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    let place = Place::offset(&batch.topic, batch.partition, last.max(batch.from));
                    let resume_at = Some(batch.next_offset());
                    let error = ClientError::Damaged { damage: Damage::Record(error), place, resume_at };
                    self.drop_partition(&error);
                    return Err(error);
                }
            };
            last = record.offset.0 + 1;
            if record.offset.0 >= batch.from {
                self.records.push_back(batch.consumed(&record));
            }
        }
        Ok(())
    }

    /// What is here of a partition after an error of it is of no use.
    fn drop_partition(&mut self, error: &ClientError) {
        let (Some(topic), Some(partition)) = (error.topic(), error.partition()) else { return };
        let topic: Arc<str> = topic.into();
        self.drop_fetched(&topic, partition);
    }

    fn drop_fetched(&mut self, topic: &Arc<str>, partition: u32) {
        let freed = &mut self.freed_bytes;
        self.fetched.retain(|fetched| {
            let other = fetched.topic != *topic || fetched.partition != partition;
            *freed += if other { 0 } else { fetched.records.len() };
            other
        });
        self.records.retain(|record| record.topic != *topic || record.partition != partition);
        if let Some(records) = self.paused.get_mut(&(Arc::clone(topic), partition)) {
            records.clear();
        }
    }
}

impl RecordBatch {
    /// The first offset that the batch takes. Records before the consumer's position are in it too.
    #[must_use]
    pub const fn base_offset(&self) -> i64 {
        self.header.base_offset.0
    }

    /// The offset after the batch.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.header.next_offset().0
    }

    /// The leader epoch in which it was appended; −1 if the broker did not say.
    #[must_use]
    pub const fn leader_epoch(&self) -> i32 {
        self.header.leader_epoch.0
    }

    /// The consumer's position when the batch was asked for: records before it should be skipped.
    #[must_use]
    pub const fn from(&self) -> i64 {
        self.from
    }

    /// How many records are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.header.record_count).unwrap_or(0)
    }

    /// Whether there is no record in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The codec that it came with.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        self.header.compression()
    }

    /// Bytes of the records, decompressed.
    #[must_use]
    pub const fn records_bytes(&self) -> usize {
        self.records.len()
    }

    /// The records, borrowed: nothing is allocated or copied for them.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        Records::new(&self.header, &self.records)
    }

    fn consumed(&self, record: &batch::Record<'_>) -> ConsumedRecord {
        ConsumedRecord {
            topic: Arc::clone(&self.topic),
            partition: self.partition,
            offset: record.offset.0,
            timestamp: record.timestamp.0,
            key: record.key.map(|key| self.records.slice_ref(key)),
            value: record.value.map(|value| self.records.slice_ref(value)),
            headers: self.headers(record.headers),
            leader_epoch: self.header.leader_epoch.0,
        }
    }

    fn headers(&self, headers: Headers<'_>) -> Vec<Header> {
        let owned = |header: batch::RecordHeader<'_>| Header {
            name: self.records.slice_ref(header.key),
            value: header.value.map(|value| self.records.slice_ref(value)),
        };
        headers.map(owned).collect()
    }
}

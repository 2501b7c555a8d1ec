//! Clients: simple ones that speak Kafka frames, and write down what they were told. They know the cluster as some broker
//! describes it, which may be old.

mod consumer;
mod deletions;
mod producer;
mod wire;

use broker_core::{ConnectionId, ShardId};
use bytes::{Buf, Bytes};
use log_core::{LeaderEpoch, TopicId, TopicPartition};

pub(crate) use consumer::Consumer;
pub(crate) use deletions::Deletions;
pub(crate) use producer::Producer;

use crate::plan::{MS, Plan};
use crate::world::{End, Event, Parcel, Stream, World, index_of};

/// A client of the run.
#[derive(Debug)]
pub(crate) enum Client {
    /// It writes.
    Producer(Producer),
    /// It reads.
    Consumer(Consumer),
}

/// A partition as a client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) key: TopicPartition,
    pub(crate) leader: usize,
    pub(crate) epoch: LeaderEpoch,
}

/// What a client does now.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Send a frame to a broker.
    Send { broker: usize, frame: Bytes },
    /// Close the connections to a broker.
    Drop { broker: usize },
}

pub(crate) fn of_plan(plan: &Plan) -> Vec<Client> {
    let asks = &plan.workload;
    let idempotent = asks.acks.iter().take(plan.producers).map(|acks| (true, *acks));
    let plain = asks.plain_acks.iter().take(plan.plain_producers).map(|acks| (false, *acks));
    let producers = idempotent
        .chain(plain)
        .zip(0..)
        .map(|((idempotent, acks), number)| Client::Producer(Producer::new(plan, number, idempotent, acks)));
    let consumers = (0..plan.consumers as u64).map(|number| Client::Consumer(Consumer::new(plan, number)));
    // Reads nothing: a connection for what the operator asks of leaders.
    let operator = asks.deletes_anywhere.then(|| Client::Consumer(Consumer::default()));
    producers.chain(consumers).chain(operator).collect()
}

impl Client {
    /// What is left to do before the end.
    pub(crate) fn unfinished(&self, world: &World) -> Option<String> {
        match self {
            Self::Producer(producer) => producer.unfinished(),
            Self::Consumer(consumer) => consumer.unfinished(world),
        }
    }
}

impl World {
    /// A client's own time has come.
    pub(crate) fn client_time(&mut self, client: usize) {
        self.with_client(client, |found, world| match found {
            Client::Producer(producer) => producer.handle_time(world),
            Client::Consumer(consumer) => consumer.handle_time(world),
        });
        let next = match self.clients.get(client) {
            Some(Client::Producer(_)) if !self.is_healing() => self.plan.produce_every,
            _ => (20 * MS, 120 * MS),
        };
        self.plan_within(next, Event::Client(client));
    }

    /// Takes a client out of the world, lets it act on the world, and carries out what it wishes.
    fn with_client(&mut self, client: usize, act: impl FnOnce(&mut Client, &mut Self) -> Vec<Wish>) {
        let Some(slot) = self.clients.get_mut(client) else { return };
        let mut found = std::mem::replace(slot, Client::Consumer(Consumer::default()));
        let wishes = act(&mut found, self);
        if let Some(slot) = self.clients.get_mut(client) {
            *slot = found;
        }
        for wish in wishes {
            match wish {
                Wish::Send { broker, frame } => self.client_send(client, broker, frame),
                Wish::Drop { broker } => self.drop_connections(client, Some(broker)),
            }
        }
    }

    /// Sends a client's frame on its connection to a broker, which is opened if there is none.
    fn client_send(&mut self, client: usize, broker: usize, frame: Bytes) {
        let open = self.net.streams.iter().find(|(_, stream)| {
            let [near, far] = &stream.ends;
            let to = far.process().map(|process| process.broker);
            matches!(near, End::Client { client: of, .. } if *of == client)
                && to == Some(broker)
                && stream.lanes.iter().all(|lane| !lane.deaf && !lane.has_fin())
        });
        let number = open.map(|(number, _)| *number).or_else(|| self.client_connect(client, broker));
        match number {
            Some(number) => self.send_parcel(number, 0, Parcel::Bytes(frame)),
            None => self.with_client(client, |found, world| {
                match found {
                    Client::Producer(producer) => producer.handle_closed(world, broker),
                    Client::Consumer(consumer) => consumer.handle_closed(broker),
                }
                Vec::new()
            }),
        }
    }

    fn client_connect(&mut self, client: usize, broker: usize) -> Option<u64> {
        let shards = self.plan.shards;
        let shard = ShardId(u16::try_from(self.dice.index(usize::from(shards))).unwrap_or_default());
        let process = self.machine(broker).process.as_ref()?.id;
        let number = self.net.number();
        let connection = ConnectionId(number);
        let ends = [End::Client { client, connection, broker }, End::Served { process, shard, connection }];
        self.net.open(number, ends);
        self.open_connection(process, shard, connection);
        Some(number)
    }

    /// Bytes arrive at a client.
    pub(crate) fn client_bytes(&mut self, number: u64, lane: usize, client: usize, bytes: &[u8]) {
        let Some(stream) = self.net.streams.get_mut(&number) else { return };
        let broker = stream.ends.iter().find_map(End::process).map_or(0, |process| process.broker);
        let Some(found) = stream.lanes.get_mut(lane) else { return };
        found.received.extend_from_slice(bytes);
        let mut frames = Vec::new();
        while let Some(length) = found.received.first_chunk::<4>().map(|length| i32::from_be_bytes(*length)) {
            let whole = 4 + usize::try_from(length).unwrap_or_default();
            if found.received.len() < whole {
                break;
            }
            let mut frame = found.received.split_to(whole).freeze();
            frame.advance(4);
            frames.push(frame);
        }
        for frame in frames {
            if self.take_deleted(&frame) {
                continue;
            }
            self.with_client(client, |found, world| match found {
                Client::Producer(producer) => producer.handle_frame(world, broker, &frame),
                Client::Consumer(consumer) => consumer.handle_frame(world, broker, &frame),
            });
        }
    }

    /// A client's connection is gone.
    pub(crate) fn client_closed(&mut self, client: usize, broker: usize) {
        self.with_client(client, |found, world| {
            match found {
                Client::Producer(producer) => producer.handle_closed(world, broker),
                Client::Consumer(consumer) => consumer.handle_closed(broker),
            }
            Vec::new()
        });
    }

    /// Breaks a client's connections, all or those to one broker.
    fn drop_connections(&mut self, client: usize, broker: Option<usize>) {
        let of = |stream: &Stream| {
            let [near, far] = &stream.ends;
            let to = far.process().map(|process| process.broker);
            matches!(near, End::Client { client: of, .. } if *of == client)
                && (broker.is_none() || broker == to)
        };
        let numbers: Vec<u64> =
            self.net.streams.iter().filter(|(_, stream)| of(stream)).map(|(number, _)| *number).collect();
        numbers.into_iter().for_each(|number| self.break_stream(number));
    }

    pub(crate) fn drop_clients(&mut self) {
        self.coverage.count("all client connections broken");
        (0..self.clients.len()).for_each(|client| self.drop_connections(client, None));
    }

    /// A topic's partition as some broker that runs describes it; the newest that the client has been told stays.
    pub(crate) fn describe(&mut self, name: &str, partition: i32, known: Option<Known>) -> Option<Known> {
        let running: Vec<usize> =
            self.machines.iter().filter(|machine| machine.is_up(self.now)).map(|found| found.index).collect();
        if running.is_empty() {
            return known;
        }
        let broker = self.dice.pick(&running);
        let image = self.machine(broker).process.as_ref()?.control.image();
        let told = image.topic_by_name(name).and_then(|topic| {
            let found = topic.partition(log_core::PartitionIndex(partition))?;
            let key = TopicPartition { topic_id: topic.id, partition: log_core::PartitionIndex(partition) };
            Some(Known { key, leader: index_of(found.leader?), epoch: found.leader_epoch })
        });
        match (told, known) {
            (Some(told), Some(known)) if told.epoch < known.epoch => Some(known),
            (Some(told), _) => Some(told),
            (None, known) => known,
        }
    }

    /// Whether that broker leads the partition in that epoch, as everything that is agreed says.
    pub(crate) fn leads(&self, known: Known) -> bool {
        self.head.partition(known.key).is_some_and(|found| {
            found.leader_epoch == known.epoch && found.leader.map(index_of) == Some(known.leader)
        })
    }

    /// The topic of a name now, as everything that is agreed says.
    pub(crate) fn topic_now(&self, name: &str) -> Option<TopicId> {
        self.head.topic_by_name(name).map(|topic| topic.id)
    }
}

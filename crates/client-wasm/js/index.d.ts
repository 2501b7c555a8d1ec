/// <reference lib="esnext.disposable" />

/**
 * A browser tab as a client of Highwater.
 *
 * ```js
 * import { connect } from '@highwater/client'
 * const client = await connect('http://localhost:8092')
 * const producer = client.producer()
 * const { partition, offset } = await producer.send({ topic: 'orders', key: 'k-1', value: 'hello' })
 * const consumer = await client.consumer({ topics: 'orders', start: 'earliest' })
 * for await (const record of consumer) console.log(record.offset, record.text())
 * ```
 *
 * Works in pages and in workers. Everything that waits takes an `AbortSignal` and rejects with the signal's reason.
 * @packageDocumentation
 */

/** For whatever waits: who aborts waits no longer. What that means for the thing waited for is said at each method. */
export interface Waiting {
  signal?: AbortSignal;
}

/** How a client reaches its cluster. */
export interface ClientOptions extends Waiting {
  /** What the client calls itself; brokers show it in logs. Default `highwater`. */
  clientId?: string;
  /**
   * `'auto'` takes WebTransport, and WebSocket while that is refused; the others take only what they name.
   * Default `'auto'`.
   */
  transport?: 'auto' | 'webtransport' | 'websocket';
  /** How long a connection may take to be made and to agree on versions. Default 10 s. */
  connectTimeoutMs?: number;
  /** How long the answer to a request may take before its connection is given up. Default 30 s. */
  requestTimeoutMs?: number;
  /** How long calls of the admin and questions for offsets are tried again before they fail. Default 60 s. */
  callTimeoutMs?: number;
  /** When WebTransport is first tried again after falling back to WebSocket; the delay doubles up to 5 min. Default 15 s. */
  webtransportRetryMs?: number;
}

/**
 * Connects to a cluster: resolves when one of its brokers has answered.
 *
 * @param urls HTTP addresses of one or more brokers (an array, or separated by commas): they name all others, their
 * doors and their certificates. Default: the server of this page.
 * @throws {HighwaterError} `NETWORK`, `TIMED_OUT`, `ORIGIN_REFUSED`, `UNSUPPORTED_BY_BROWSER`, `INVALID_OPTION`
 */
export function connect(urls?: string | URL | ReadonlyArray<string | URL>, options?: ClientOptions): Promise<Client>;

/**
 * Loads the WebAssembly module from somewhere else than beside this file. Only needed where a bundler or a runtime
 * cannot do that by itself, and then before `connect`.
 */
export function load(source?: BufferSource | WebAssembly.Module | Response | Promise<Response> | URL | string): Promise<void>;

/** How the brokers are reached at a moment. */
export interface ConnectionState {
  transport: 'webtransport' | 'websocket' | 'offline';
  /** The round trip of the newest connection's first request, in milliseconds. */
  rtt: number | undefined;
  /** Why it is not better, if that is known. */
  reason: string | undefined;
}

/** A client of one cluster: one set of connections, shared by everything made from it. */
export class Client {
  private constructor();
  /** A producer; each has its own buffer, batches and sequence numbers. */
  producer(options?: ProducerOptions): Producer;
  /**
   * A consumer; resolves when each of its partitions has a position (with a group: when it has its share), so that
   * whatever is produced afterwards is read even with `start: 'latest'`. Aborting ends the attempt.
   */
  consumer(options: ConsumerOptions): Promise<Consumer>;
  /** The administrator's calls. */
  admin(): Admin;
  /** How the brokers are reached now. */
  readonly state: ConnectionState;
  /** Calls `listener` with the state of now, soon, and with each new one. Returns a function that ends that. */
  on(event: 'state', listener: (state: ConnectionState) => void): () => void;
  off(event: 'state', listener: (state: ConnectionState) => void): void;
  /** What the client has counted so far. */
  metrics(): Metrics;
  /**
   * Delivers what producers hold, lets consumers leave their groups, closes all connections. Rejects with the first
   * failure of a record. Aborting closes at once.
   */
  close(options?: Waiting): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Bytes, or text that is sent as UTF-8; `null` is Kafka's null. */
export type Payload = string | Uint8Array | ArrayBuffer | ArrayBufferView | null;

/** A record to be produced. */
export interface NewRecord {
  topic: string;
  /** Equal keys go to the same partition and keep their order. */
  key?: Payload;
  /** None is a tombstone in a compacted topic. */
  value?: Payload;
  /** An object, or pairs if names repeat. */
  headers?: Record<string, Payload> | Iterable<readonly [string, Payload]>;
  /** Default: chosen by the key, or evenly if there is none. */
  partition?: number;
  /** Milliseconds since 1970, or a date. Default: now. */
  timestamp?: number | Date;
}

/** Where a record was put. */
export interface Ack {
  partition: number;
  /** −1 with `acks: 'none'`, and for a batch that the broker had already and could not place. */
  offset: number;
  /** Milliseconds since 1970: the broker's time if the topic uses it, else the record's own. */
  timestamp: number;
}

/** A record that was accepted and is on its way. */
export interface Pending {
  partition: number;
  /** Ignoring it is fine: `flush` tells as well if a record has failed. */
  ack: Promise<Ack>;
}

export interface ProducerOptions {
  /** When a record counts as delivered: when it is committed, when the leader has it, when it was sent. Default `'all'`. */
  acks?: 'all' | 'leader' | 'none';
  /** Whether brokers drop what is sent twice, which also keeps the order. Default true with `acks: 'all'`. */
  idempotent?: boolean;
  /** How batches are compressed. zstd can be read, but not written. Default `'none'`. */
  compression?: 'none' | 'gzip' | 'snappy' | 'lz4';
  /** How long a batch waits for more records. Even with 0, the default, what is produced while a connection is busy shares a batch. */
  lingerMs?: number;
  /** The most bytes in one batch before compression; a larger record is refused. Default 1,000,000. */
  batchBytesMax?: number;
  /** The most bytes of accepted records that are not yet acknowledged; then `send` and `enqueue` wait. Default 32 MiB. */
  bufferBytesMax?: number;
  /** How long a record may take from being accepted to being acknowledged, with all retries. Default 2 min. */
  deliveryTimeoutMs?: number;
  /** The most requests on their way to one broker: 1 to 5. Default 5. */
  inFlightMax?: number;
  /** Whether brokers may create a topic that does not exist. Default true. */
  autoCreateTopics?: boolean;
}

/**
 * Produces records. With the default options it is idempotent: nothing is lost or doubled by retries, and records of one
 * partition keep the order in which they were given.
 */
export class Producer {
  private constructor();
  /**
   * Produces a record; resolves when it is acknowledged. Aborting before the record is accepted means that it is never
   * sent; afterwards it is delivered, or fails, all the same.
   */
  send(record: NewRecord, options?: Waiting): Promise<Ack>;
  /**
   * Accepts a record; resolves as soon as there is room for it. To produce much, await this instead of `send`: the
   * buffer's bound then holds the page back. Aborting means that the record is not sent.
   */
  enqueue(record: NewRecord, options?: Waiting): Promise<Pending>;
  /**
   * Sends what is there without lingering; resolves when every record given before is acknowledged. Rejects with the
   * first failure since the last flush. Aborting changes nothing about the records.
   */
  flush(options?: Waiting): Promise<void>;
  /** Flushes; takes no records from then on. */
  close(options?: Waiting): Promise<void>;
  /** Bytes of records that are accepted and not yet acknowledged. */
  readonly bufferedBytes: number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A place in a partition. A number is an offset, a date a time. A time is milliseconds since 1970. */
export type Start = 'earliest' | 'latest' | number | Date | { offset: number } | { timestamp: number | Date };

export interface ConsumerOptions extends Waiting {
  /** What to read: one topic or several. */
  topics: string | readonly string[];
  /** Only these partitions of the topics, all topics alike. Not with a group. Default: all. */
  partitions?: readonly number[];
  /** Where to begin; with a group, only where the group has committed nothing. Default `'latest'`. */
  start?: Start;
  /** Shares the partitions with the other members of this group and commits positions to it. */
  group?: string;
  /** How long the group keeps the place of a member that is not heard of. Default 45 s. */
  sessionTimeoutMs?: number;
  /** How often marked positions are committed in the background; 0 leaves it to `commit` and `close`. Default 5 s. */
  autoCommitMs?: number;
  /** Whether asking for the next record marks the one before as dealt with. Default true with a group. */
  autoMark?: boolean;
  /** What to do when retention has passed the position. Default `'earliest'`. */
  onLostPosition?: 'earliest' | 'latest' | 'fail';
  /** Ends reading where every partition ended when the consumer was made. Not with a group. Default false. */
  untilEnd?: boolean;
  /** The most bytes of fetched batches that wait to be read; then nothing more is fetched. Default 16 MiB. */
  prefetchBytesMax?: number;
  /** The most bytes of one answer. Default 4 MiB. */
  fetchBytesMax?: number;
  /** The most bytes of one partition in one answer. Default 1 MiB. */
  partitionBytesMax?: number;
  /** How many bytes a broker should have before it answers. Default 1. */
  fetchBytesMin?: number;
  /** How long a broker waits for that many bytes. Default 500 ms. */
  fetchWaitMs?: number;
  /** Whether the checksum of each batch is checked. Default true. */
  checkCrc?: boolean;
  /** The most bytes that one batch may decompress to. Default 64 MiB. */
  decompressedBytesMax?: number;
}

/** A record that was read. */
export class ConsumedRecord {
  private constructor();
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since 1970: when it was produced, or appended if the topic says so; −1 if there is none. */
  readonly timestamp: number;
  /** The leader epoch in which it was appended; −1 if the broker did not say. */
  readonly leaderEpoch: number;
  /** The bytes of the key: a copy of the record's own. */
  readonly key: Uint8Array<ArrayBuffer> | null;
  /** The bytes of the value: a copy of the record's own. */
  readonly value: Uint8Array<ArrayBuffer> | null;
  /** Names and values in the producer's order; names may repeat. */
  readonly headers: ReadonlyArray<readonly [string, Uint8Array<ArrayBuffer> | null]>;
  /** The last header of this name as text. */
  header(name: string): string | null | undefined;
  /** The key as text. */
  keyText(): string | null;
  /** The value as text. */
  text(): string | null;
  /** The value as JSON. @throws {HighwaterError} `NOT_JSON`, with topic, partition and offset */
  json<T = unknown>(): T;
}

export interface TopicPartition {
  topic: string;
  partition: number;
}

export interface PartitionLag extends TopicPartition {
  /** The offset of the next record to be read. */
  position: number;
  /** The offset of the next record to be committed in the log. */
  end: number;
  /** Offsets between the two. */
  records: number;
}

/**
 * Reads records. Fetching, heartbeats and commits go on while the page is busy; what is fetched ahead is bounded, and a
 * page that does not read stops its fetches.
 *
 * An error of one partition (damage, a lost position) rejects one read; the others go on with the next one, and the
 * partition itself goes on after `seek`.
 */
export class Consumer implements AsyncIterable<ConsumedRecord>, AsyncDisposable {
  private constructor();
  /** Records as they come, and as long as they come: leaving the loop, or its end, closes the consumer. */
  [Symbol.asyncIterator](): AsyncIterableIterator<ConsumedRecord>;
  /** The same with a signal. */
  records(options?: Waiting): AsyncIterableIterator<ConsumedRecord>;
  /** The same in arrays of what is here, `max` records at most: for those who handle many records. Default 1,000. */
  batches(max?: number, options?: Waiting): AsyncIterableIterator<ConsumedRecord[]>;
  /** The next record; `undefined` where `untilEnd` ends the reading. Aborting loses nothing. */
  read(options?: Waiting): Promise<ConsumedRecord | undefined>;
  /** All records that are here, at least one and at most `max`; `undefined` at the end. Aborting loses nothing. */
  readMany(max?: number, options?: Waiting): Promise<ConsumedRecord[] | undefined>;
  /** This record and all before it in its partition are dealt with: the group goes on behind it. */
  mark(record: Pick<ConsumedRecord, 'topic' | 'partition' | 'offset' | 'leaderEpoch'>): void;
  /** Commits what is marked. @throws {HighwaterError} `NO_GROUP`, `REBALANCE_IN_PROGRESS` and others */
  commit(options?: Waiting): Promise<void>;
  /** Goes on reading a partition somewhere else. @throws {HighwaterError} `NOT_ASSIGNED` */
  seek(topic: string, partition: number, start: Start): void;
  /** Gives and fetches nothing of a partition until `resume`. @throws {HighwaterError} `NOT_ASSIGNED` */
  pause(topic: string, partition: number): void;
  /** Goes on with a paused partition. @throws {HighwaterError} `NOT_ASSIGNED` */
  resume(topic: string, partition: number): void;
  /** The partitions that the consumer reads now. */
  assignment(): TopicPartition[];
  /** The offset of the next record of a partition; `undefined` while it is not known. */
  position(topic: string, partition: number): number | undefined;
  /** Where each of its partitions ends, asked for now. */
  endOffsets(options?: Waiting): Promise<Array<TopicPartition & { offset: number }>>;
  /** How far the consumer is behind in each of its partitions, asked for now. */
  lag(options?: Waiting): Promise<PartitionLag[]>;
  /** Commits what is marked and leaves the group. */
  close(options?: Waiting): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A topic to be created; what is left out is left to the brokers. */
export interface NewTopic {
  name: string;
  partitions?: number;
  replication?: number;
  /** Settings by Kafka's names: `retention.ms`, `min.insync.replicas` and others. */
  configs?: Record<string, string | number | boolean>;
}

export interface CreatedTopic {
  name: string;
  id: string;
  partitions?: number;
  replication?: number;
}

export interface TopicListing {
  name: string;
  id: string;
  /** Whether brokers made it for themselves. */
  isInternal: boolean;
  partitions: number;
  replication: number;
}

export interface TopicDescription {
  name: string;
  id: string;
  isInternal: boolean;
  partitions: PartitionDescription[];
}

export interface PartitionDescription {
  partition: number;
  /** The leader's id, if there is one. */
  leader?: number;
  leaderEpoch: number;
  /** All replicas; the first one is the preferred leader. */
  replicas: number[];
  inSync: number[];
  /** The replicas whose brokers are not there, and those that are damaged or on a disk that has failed. */
  offline: number[];
}

/** What a setting belongs to. */
export type ConfigResource = { topic: string } | { broker: number };

export interface ConfigEntry {
  name: string;
  /** None if it is secret or not set. */
  value?: string;
  source: 'topic' | 'dynamic-broker' | 'static-broker' | 'default' | 'other';
  isReadOnly: boolean;
  isSensitive: boolean;
  documentation?: string;
}

export interface ClusterDescription {
  clusterId?: string;
  /** A broker that takes the administrator's requests. */
  controller?: number;
  brokers: Array<{ id: number; host: string; port: number; rack?: string }>;
  /** Brokers that belong to the cluster and are not alive; none where the broker asked does not tell. */
  fenced: Array<{ id: number; host: string; port: number; rack?: string }>;
}

export interface QuorumReplica {
  id: number;
  /** Up to where it has the metadata log; −1 if unknown. */
  logEndOffset: number;
  lastFetchTimestamp: number;
  lastCaughtUpTimestamp: number;
}

export interface QuorumDescription {
  leader?: number;
  leaderEpoch: number;
  highWatermark: number;
  voters: QuorumReplica[];
  observers: QuorumReplica[];
}

export interface PartitionOffset extends TopicPartition {
  /** None if no record has such a timestamp. */
  offset?: number;
  timestamp?: number;
  leaderEpoch: number;
}

export interface CommittedOffset extends TopicPartition {
  offset: number;
  leaderEpoch: number;
}

/**
 * The administrator's calls. Each is tried again while that can help, until the client's call timeout. Aborting does
 * not take back what was sent.
 */
export class Admin {
  private constructor();
  createTopic(topic: NewTopic | string, options?: Waiting): Promise<CreatedTopic>;
  /** Only checks whether the topic could be created. */
  validateTopic(topic: NewTopic | string, options?: Waiting): Promise<CreatedTopic>;
  /** Deletes a topic and all its records. */
  deleteTopic(name: string, options?: Waiting): Promise<void>;
  /** Gives a topic more partitions: `total` in all. Keys move to other partitions by that. */
  createPartitions(topic: string, total: number, options?: Waiting): Promise<void>;
  /** All topics by name, internal ones included. */
  listTopics(options?: Waiting): Promise<TopicListing[]>;
  describeTopic(name: string, options?: Waiting): Promise<TopicDescription>;
  describeConfigs(resource: ConfigResource, options?: Waiting): Promise<ConfigEntry[]>;
  /** Changes some settings and leaves the others; `null` takes one back to its default. */
  alterConfigs(resource: ConfigResource, changes: Record<string, string | number | boolean | null>, options?: Waiting): Promise<void>;
  describeCluster(options?: Waiting): Promise<ClusterDescription>;
  describeQuorum(options?: Waiting): Promise<QuorumDescription>;
  /** One offset of each partition, in the order asked. Default: where they end. */
  listOffsets(
    topic: string,
    partitions: readonly number[],
    spec?: 'earliest' | 'latest' | 'max-timestamp' | Date | { timestamp: number | Date },
    options?: Waiting,
  ): Promise<PartitionOffset[]>;
  /** What a group has committed, over all topics. */
  groupOffsets(group: string, options?: Waiting): Promise<CommittedOffset[]>;
}

/** Counters since the client began, and gauges of this moment. */
export interface Metrics {
  connections: number;
  connectionFailures: number;
  requests: number;
  requestsInFlight: number;
  bytesSent: number;
  bytesReceived: number;
  metadataUpdates: number;
  batchesSent: number;
  batchBytesSent: number;
  batchesResent: number;
  batchesSplit: number;
  batchesDelivered: number;
  recordsDelivered: number;
  recordsFailed: number;
  /** Bytes in the buffers of producers. */
  producerBufferBytes: number;
  /** The time from a batch's first record to its acknowledgement, summed over all delivered batches. */
  deliveryTimeMs: number;
  fetches: number;
  fetchedBytes: number;
  /** Bytes fetched and not yet read. */
  consumerBufferBytes: number;
  throttleTimeMs: number;
}

/**
 * Whatever goes wrong, but for aborting. `code` is stable, and the same as in Rust: Kafka's name for what a broker
 * answered (`TOPIC_ALREADY_EXISTS`, ...); else `NETWORK`, `TIMED_OUT`, `UNKNOWN_OUTCOME`, `DAMAGED`, `POSITION_LOST`,
 * `UNSUPPORTED_BY_BROKER`, `CLOSED`, `CODEC`, `INVALID_OPTION`, `INVALID_TOPIC_NAME`, `NO_SUCH_PARTITION`,
 * `RECORD_TOO_LARGE`, `NOT_ASSIGNED`, `NO_GROUP`; and in browsers `ORIGIN_REFUSED`, `UNSUPPORTED_BY_BROWSER`, `MODULE`,
 * `NOT_JSON`, `OFFSET_TOO_LARGE`, `INTERNAL`.
 */
export class HighwaterError extends Error {
  constructor(code: string, message: string, details?: {
    retriable?: boolean;
    topic?: string;
    partition?: number;
    offset?: number;
    resumeAt?: number;
    cause?: unknown;
  });
  readonly code: string;
  /** The same call may succeed later without anybody changing anything. An unknown outcome is not retriable. */
  readonly retriable: boolean;
  readonly topic: string | undefined;
  readonly partition: number | undefined;
  readonly offset: number | undefined;
  /** Where a consumer can seek to, to go on behind what is damaged. */
  readonly resumeAt: number | undefined;
}

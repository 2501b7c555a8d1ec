// The administrator's calls.

import * as known from './options.js';

export class Admin {
  #core;

  constructor(core) {
    this.#core = core;
  }

  // Creates a topic. If the connection is lost on the way and the topic is there at the next try, it counts as created.
  createTopic(topic, options) {
    return this.#createTopic(topic, false, options);
  }

  // Only checks whether the topic could be created.
  validateTopic(topic, options) {
    return this.#createTopic(topic, true, options);
  }

  deleteTopic(name, options) {
    return this.#ask(options, (engine, call) => engine.delete_topic(call, known.topicName(name)));
  }

  // Gives a topic more partitions: `total` in all.
  createPartitions(topic, total, options) {
    return this.#ask(options, (engine, call) => engine.create_partitions(call, known.topicName(topic), known.partitionNumber(total)));
  }

  listTopics(options) {
    return this.#ask(options, (engine, call) => engine.list_topics(call));
  }

  describeTopic(name, options) {
    return this.#ask(options, (engine, call) => engine.describe_topic(call, known.topicName(name)));
  }

  // Settings of `{ topic }` or `{ broker }`.
  describeConfigs(resource, options) {
    return this.#ask(options, (engine, call) => engine.describe_configs(call, ...resourceOf(resource)));
  }

  // Changes settings; null takes one back to its default.
  alterConfigs(resource, changes, options) {
    const all = Object.entries(changes);
    const set = all.filter(([, value]) => value !== null).flatMap(([name, value]) => [name, String(value)]);
    const deleted = all.filter(([, value]) => value === null).map(([name]) => name);
    return this.#ask(options, (engine, call) => engine.alter_configs(call, ...resourceOf(resource), set, deleted));
  }

  describeCluster(options) {
    return this.#ask(options, (engine, call) => engine.describe_cluster(call));
  }

  describeQuorum(options) {
    return this.#ask(options, (engine, call) => engine.describe_quorum(call));
  }

  // One offset of each partition: 'earliest', 'latest', 'max-timestamp', a Date or { timestamp }.
  listOffsets(topic, partitions, spec = 'latest', options) {
    const [kind, value] = spec === 'max-timestamp' ? [spec, 0] : known.place(spec);
    if (kind === 'offset') return Promise.reject(known.invalid('spec', 'name no offset'));
    const numbers = Uint32Array.from(partitions, known.partitionNumber);
    const topics = Array.from(numbers, () => known.topicName(topic));
    return this.#ask(options, (engine, call) => engine.list_offsets(call, topics, numbers, kind, value));
  }

  groupOffsets(group, options) {
    return this.#ask(options, (engine, call) => engine.group_offsets(call, String(group)));
  }

  async #createTopic(topic, validateOnly, options) {
    const { name, partitions, replication, configs = {} } = known.checked(typeof topic === 'string' ? { name: topic } : topic, known.NEW_TOPIC);
    known.topicName(name);
    const pairs = Object.entries(configs).flatMap(([key, value]) => [key, String(value)]);
    return this.#ask(options, (engine, call) => engine.create_topic(call, name, partitions, replication, pairs, validateOnly));
  }

  async #ask(options, call) {
    const { signal } = known.checked(options, known.SIGNAL);
    signal?.throwIfAborted();
    return this.#core.ask(call, signal);
  }
}

function resourceOf(resource) {
  if (typeof resource?.topic === 'string') return [resource.topic, 0];
  if (Number.isInteger(resource?.broker)) return [undefined, resource.broker];
  throw known.invalid('a resource', 'be { topic } or { broker }');
}

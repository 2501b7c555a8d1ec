import { connect, HighwaterError, type Ack, type ConsumedRecord } from '@highwater/client';

const broker = new URLSearchParams(location.search).get('broker') ?? location.origin;

async function run(): Promise<string> {
  const client = await connect(broker, { clientId: 'fresh-project', signal: AbortSignal.timeout(30_000) });
  client.on('state', ({ transport, rtt }) => console.log(transport, rtt?.toFixed(1)));
  const topic = `fresh-project-${Date.now()}`;
  const { partitions } = await client.admin().createTopic({ name: topic, partitions: 2, configs: { 'retention.ms': 60_000 } });
  const producer = client.producer({ compression: 'lz4', lingerMs: 1 });
  const ack: Ack = await producer.send({ topic, key: 'k', value: new TextEncoder().encode('built'), headers: { by: 'vite' } });
  const consumer = await client.consumer({ topics: topic, start: 'earliest', untilEnd: true });
  const records: ConsumedRecord[] = [];
  for await (const record of consumer) records.push(record);
  const [record] = records;
  const refusal = await client.admin().createTopic(topic).catch((error: unknown) => error);
  const code = refusal instanceof HighwaterError ? refusal.code : undefined;
  await client.close();
  return [partitions, ack.offset, record?.text(), record?.header('by'), code].join(' ');
}

run().then((text) => (document.title = text), (error: unknown) => (document.title = `failed: ${error}`));

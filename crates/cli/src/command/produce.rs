//! `highwater produce`: lines become records.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::{Args, ValueEnum};
use futures_util::FutureExt;
use highwater_client::{Acks, ClientError, Compression, Header, Pending, Producer, Record};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::arguments::{Connection, Setting, timeout_of_records};
use crate::failure::{Code, Failure, Outcome};
use crate::lines::{LineFault, LineReader, LineShape};
use crate::output::escaped::Escaped;
use crate::output::progress::Progress;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Send lines as records
///
/// Reads lines from files, or from the standard input, and sends each as a record. The last one is answered for when
/// the command ends.
#[derive(Debug, Args)]
#[command(mut_arg(
    "timeout",
    timeout_of_records("they are connected to, and then for each record until it is acknowledged")
))]
pub(crate) struct Produce {
    /// The topic
    topic: String,

    /// Files to read instead of the standard input; - is the standard input
    files: Vec<PathBuf>,

    /// What stands between key and value; a line without it has no key
    #[arg(short = 'K', long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    key_separator: Option<String>,

    /// Lines begin with headers: name:value,name:value and a tab
    #[arg(long)]
    headers: bool,

    /// A header for every record; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = Setting::header)]
    every_header: Vec<Setting>,

    /// Send all to this partition instead of choosing by key
    #[arg(short, long, allow_negative_numbers = true, value_name = "N")]
    partition: Option<u32>,

    /// How batches are compressed
    #[arg(short = 'z', long, value_enum, default_value_t, value_name = "CODEC")]
    compression: Codec,

    /// When a record counts as stored
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    acks: AcksChoice,

    /// The most bytes of one batch
    #[arg(long, default_value = "1MB", allow_negative_numbers = true, value_parser = number::parse_batch_bytes, value_name = "SIZE")]
    batch_bytes: u64,

    /// How long a batch waits for more lines
    #[arg(long, default_value = "5ms", value_parser = number::parse_duration, value_name = "DURATION")]
    linger: Duration,

    /// Let the brokers make the topic if it does not exist
    #[arg(long)]
    create: bool,

    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    connection: Connection,
}

/// A codec by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Codec {
    #[default]
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::None => Self::None,
            Codec::Gzip => Self::Gzip,
            Codec::Snappy => Self::Snappy,
            Codec::Lz4 => Self::Lz4,
            Codec::Zstd => Self::Zstd,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AcksChoice {
    /// Every in-sync replica has it on disk
    #[default]
    All,
    /// The leader has it
    Leader,
    /// Nobody was asked
    None,
}

impl AcksChoice {
    pub(crate) const fn said(self) -> &'static str {
        match self {
            Self::All => "acknowledged by all in-sync replicas",
            Self::Leader => "acknowledged by the leaders",
            Self::None => "not acknowledged",
        }
    }
}

impl From<AcksChoice> for Acks {
    fn from(choice: AcksChoice) -> Self {
        match choice {
            AcksChoice::All => Self::All,
            AcksChoice::Leader => Self::Leader,
            AcksChoice::None => Self::None,
        }
    }
}

#[derive(Debug, Serialize)]
struct Produced {
    topic: Escaped,
    records: u64,
    /// Of keys, values and headers.
    bytes: u64,
    seconds: f64,
    records_per_second: f64,
    #[serde(skip)]
    said: &'static str,
}

impl Report for Produced {
    fn text(&self, _: Paint) -> String {
        let took = Duration::from_secs_f64(self.seconds);
        format!(
            "{}, {} in {} ({}), {}\n",
            number::counted(self.records, "record"),
            number::bytes(self.bytes),
            number::duration(took),
            number::rate(self.records, "records", took),
            self.said
        )
    }
}

/// Lines that were read together, and where the first of them stands.
#[derive(Debug)]
struct Chunk {
    source: Arc<str>,
    first_line: u64,
    lines: Vec<Bytes>,
    bytes_read: u64,
}

/// A chunk is sent when it has so many lines, or when reading on would wait.
const CHUNK_LINES: usize = 1_024;
/// Chunks that are read ahead of the sending.
const CHUNKS_AHEAD: usize = 16;

impl Produce {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let produced = block_on(self.produce(format))?;
        if self.quiet && format == Format::Table { Ok(()) } else { output::show(&produced, format) }
    }

    async fn produce(&self, format: Format) -> Outcome<Produced> {
        let inputs = self.inputs()?;
        let bytes_expected = inputs.iter().map(|input| input.bytes).sum();
        let session = Session::open(&self.connection).await?;
        self.look_for_topic(&session).await?;
        let producer = self.producer(&session)?;
        self.say_what_is_read(format);
        let mut sending = Sending {
            command: self,
            session: &session,
            producer,
            progress: Progress::start(bytes_expected, !self.quiet),
            topic: self.topic.as_str().into(),
            records: 0,
            bytes: 0,
            unanswered: VecDeque::new(),
        };
        let interrupted = sending.send_all(inputs).await?;
        let produced = sending.finish().await?;
        if interrupted {
            output::show(&produced, format)?;
            return Err(Failure::quiet(Code::Interrupted));
        }
        Ok(produced)
    }

    /// Says at once that a topic is missing, and does not wait for brokers that might be about to make it.
    async fn look_for_topic(&self, session: &Session) -> Outcome {
        if self.create {
            return Ok(());
        }
        match session.admin().describe_topic(self.topic.as_str()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(session.topic_failure(&self.topic, &error).await),
        }
    }

    fn producer(&self, session: &Session) -> Outcome<Producer> {
        let batch_bytes = usize::try_from(self.batch_bytes).unwrap_or(usize::MAX);
        let builder = session.client.producer();
        let built = builder
            .acks(self.acks.into())
            .compression(self.compression.into())
            .batch_bytes_max(batch_bytes)
            .linger(self.linger)
            .delivery_timeout(self.connection.timeout)
            .auto_create_topics(self.create)
            .build();
        built.map_err(|error| session.failure(&error))
    }

    fn say_what_is_read(&self, format: Format) {
        if self.files.is_empty() && io::stdin().is_terminal() && !self.quiet {
            output::say("reading lines from the keyboard; Ctrl-D ends, each line is a record ...", format);
        }
    }

    fn inputs(&self) -> Outcome<Vec<Input>> {
        if self.files.is_empty() {
            return Ok(vec![Input::stdin()]);
        }
        self.files.iter().map(Input::open).collect()
    }

    fn shape(&self) -> LineShape {
        LineShape { key_separator: self.key_separator.clone(), headers: self.headers }
    }
}

/// Something to read lines from.
struct Input {
    name: Arc<str>,
    reader: Box<dyn Read + Send>,
    /// How long it is, if that is known.
    bytes: Option<u64>,
}

impl Input {
    fn stdin() -> Self {
        Self { name: "standard input".into(), reader: Box::new(io::stdin()), bytes: None }
    }

    fn open(path: &PathBuf) -> Outcome<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::stdin());
        }
        let opened = File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (file, metadata) = opened.map_err(|error| Failure::file(path, &error))?;
        if metadata.is_dir() {
            return Err(Failure::new(Code::Usage, format!("{} is a directory", path.display())));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Self { name: path.display().to_string().into(), reader: Box::new(file), bytes })
    }
}

/// Reads all inputs on a thread of its own, so that waiting for a pipe stops nothing else.
fn read_ahead(inputs: Vec<Input>) -> mpsc::Receiver<Outcome<Chunk>> {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    std::thread::spawn(move || {
        for input in inputs {
            if read_input(input, &sender).is_none() {
                break;
            }
        }
    });
    receiver
}

/// `None` if nobody takes the chunks any more, or the input failed.
fn read_input(input: Input, sender: &mpsc::Sender<Outcome<Chunk>>) -> Option<()> {
    let mut reader = LineReader::new(input.reader);
    let mut first_line = 1;
    loop {
        match read_chunk(&mut reader, &input.name, first_line) {
            Ok(chunk) if chunk.lines.is_empty() => return Some(()),
            Ok(chunk) => {
                first_line += chunk.lines.len() as u64;
                sender.blocking_send(Ok(chunk)).ok()?;
            }
            Err(error) => {
                let failure =
                    Failure::new(Code::Failed, format!("{}, line {first_line}: {error}", input.name));
                let _ = sender.blocking_send(Err(failure));
                return None;
            }
        }
    }
}

fn read_chunk<R: Read>(reader: &mut LineReader<R>, source: &Arc<str>, first_line: u64) -> io::Result<Chunk> {
    let mut chunk = Chunk { source: Arc::clone(source), first_line, lines: Vec::new(), bytes_read: 0 };
    while let Some(line) = reader.next_line()? {
        chunk.bytes_read += line.len() as u64 + 1;
        chunk.lines.push(line);
        if chunk.lines.len() == CHUNK_LINES || !reader.has_buffered_line() {
            break;
        }
    }
    Ok(chunk)
}

/// Records on their way.
struct Sending<'a> {
    command: &'a Produce,
    session: &'a Session,
    producer: Producer,
    progress: Progress,
    topic: Arc<str>,
    records: u64,
    bytes: u64,
    /// The last record of each chunk that is not answered: enough to notice a failure while more is read.
    unanswered: VecDeque<(Instant, Pending)>,
}

/// Why a record has no acknowledgement.
enum Unsent {
    Error(ClientError),
    /// A broker has it and does not answer.
    Overdue,
}

/// Waits for a failure of what was sent; for ever if there is none.
async fn first_failure(unanswered: &mut VecDeque<(Instant, Pending)>, session: &Session) -> Unsent {
    while let Some((sent, oldest)) = unanswered.front_mut() {
        match session.since(*sent, oldest).await {
            Some(Ok(_)) => drop(unanswered.pop_front()),
            Some(Err(error)) => return Unsent::Error(error),
            None => return Unsent::Overdue,
        }
    }
    std::future::pending().await
}

impl Sending<'_> {
    /// Sends every line; true if that was interrupted.
    async fn send_all(&mut self, inputs: Vec<Input>) -> Outcome<bool> {
        let mut chunks = read_ahead(inputs);
        let shape = self.command.shape();
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let mut bytes_read = 0;
        loop {
            let chunk = tokio::select! {
                chunk = chunks.recv() => chunk,
                failed = first_failure(&mut self.unanswered, self.session) => return Err(self.failed(failed).await),
                _ = &mut interrupt => return Ok(true),
            };
            let Some(chunk) = chunk else { return Ok(false) };
            let chunk = chunk?;
            bytes_read += chunk.bytes_read;
            tokio::select! {
                sent = self.send_chunk(chunk, &shape) => sent?,
                _ = &mut interrupt => return Ok(true),
            }
            self.progress.update(self.records, bytes_read);
        }
    }

    async fn send_chunk(&mut self, chunk: Chunk, shape: &LineShape) -> Outcome {
        let mut last = None;
        for (number, line) in (chunk.first_line..).zip(chunk.lines) {
            let record =
                self.record(line, shape).map_err(|fault| unreadable(&chunk.source, number, &fault))?;
            let bytes = record.payload_bytes() as u64;
            match self.producer.enqueue(record).await {
                Ok(pending) => last = Some(pending),
                Err(error) => return Err(self.failed(Unsent::Error(error)).await),
            }
            self.records += 1;
            self.bytes += bytes;
        }
        self.unanswered.extend(last.map(|last| (Instant::now(), last)));
        self.check_answers().await
    }

    fn record(&self, line: Bytes, shape: &LineShape) -> Result<Record, LineFault> {
        let parts = shape.parse(line)?;
        let every = self.command.every_header.iter();
        let every = every.map(|header| (header.key.clone(), Bytes::copy_from_slice(header.value.as_bytes())));
        let mut record = Record::to(Arc::clone(&self.topic)).value(parts.value);
        record.key = parts.key;
        record.partition = self.command.partition;
        let headers = parts.headers.into_iter().chain(every);
        record.headers =
            headers.map(|(name, value)| Header { name: name.into(), value: Some(value) }).collect();
        Ok(record)
    }

    /// Ends the command at the first failure that is known, and not only after the last line.
    async fn check_answers(&mut self) -> Outcome {
        while let Some((_, oldest)) = self.unanswered.front_mut() {
            match oldest.now_or_never() {
                None => break,
                Some(Ok(_)) => drop(self.unanswered.pop_front()),
                Some(Err(error)) => return Err(self.failed(Unsent::Error(error)).await),
            }
        }
        Ok(())
    }

    /// Waits for the answers to all records that were sent; Ctrl-C, or another one, ends that as well.
    async fn finish(mut self) -> Outcome<Produced> {
        let flushed = tokio::select! {
            flushed = self.session.patiently("acknowledgement", self.producer.flush()) => flushed,
            _ = tokio::signal::ctrl_c() => return Err(self.given_up("interrupted")),
        };
        match flushed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(self.failed(Unsent::Error(error)).await),
            Err(_) => return Err(self.failed(Unsent::Overdue).await),
        }
        self.progress.clear();
        let seconds = self.progress.elapsed().as_secs_f64();
        Ok(Produced {
            topic: Escaped::of(self.topic),
            records: self.records,
            bytes: self.bytes,
            seconds,
            records_per_second: self.records as f64 / seconds.max(1e-9),
            said: self.command.acks.said(),
        })
    }

    fn given_up(&mut self, why: &str) -> Failure {
        self.progress.clear();
        let records = number::counted(self.records, "record");
        let what = format!("{why} before all of {records} were acknowledged");
        Failure::new(Code::Unknown, what)
            .or("the last ones may be stored or not; look before sending them again")
    }

    async fn failed(&mut self, unsent: Unsent) -> Failure {
        self.progress.clear();
        match unsent {
            Unsent::Error(error) => self.session.topic_failure(&self.topic, &error).await,
            Unsent::Overdue => {
                self.given_up(&format!("given up after {}", number::duration(self.session.timeout)))
            }
        }
    }
}

fn unreadable(source: &str, line: u64, fault: &LineFault) -> Failure {
    let what = format!("{source}, line {}: {fault}", number::count(line));
    Failure::new(Code::Failed, what)
        .or("the lines before it were sent; --headers wants name:value,name:value and a tab")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &'static [u8]) -> Vec<Chunk> {
        let input = Input { name: "file".into(), reader: Box::new(text), bytes: None };
        let mut receiver = read_ahead(vec![input]);
        std::iter::from_fn(|| receiver.blocking_recv()).map(Result::unwrap).collect()
    }

    #[test]
    fn every_line_is_in_a_chunk_with_its_number() {
        let chunks = chunks(b"a\nb\nc");
        let lines: usize = chunks.iter().map(|chunk| chunk.lines.len()).sum();
        assert_eq!(lines, 3);
        assert_eq!(chunks[0].first_line, 1);
        assert_eq!(chunks.last().unwrap().lines.last().unwrap(), "c");
    }

    #[test]
    fn a_report_has_separators_units_and_a_rate() {
        let produced = Produced {
            topic: Escaped::of("orders"),
            records: 1_000_000,
            bytes: 6_888_896,
            seconds: 0.9,
            records_per_second: 1_111_111.1,
            said: AcksChoice::All.said(),
        };
        assert_eq!(
            produced.text(Paint::OFF),
            "1,000,000 records, 6.9 MB in 0.9 s (1.1 M records/s), acknowledged by all in-sync replicas\n"
        );
    }

    #[test]
    fn a_missing_file_is_refused_before_anything_is_sent() {
        let failure = Input::open(&PathBuf::from("no/such/file")).map(|_| ()).unwrap_err();
        assert_eq!(failure.code(), Code::NotFound);
    }
}

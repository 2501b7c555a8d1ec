//! The load of `cargo xtask soak`: an idempotent producer, a consumer of everything, a member of a group that commits, and
//! visitors that come by every door and leave again. Runs until its input ends, checks each record on the way, and says on
//! its output how far it is: `progress NAME=NUMBER ...`, at last `done NAME=NUMBER ...`, or `fault TEXT` and code 1.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use highwater_client::{Client, ClientError, NewTopic};
use tokio::sync::mpsc;

mod book;
mod grouped;
mod produced;
mod read;
mod visits;

use book::{Book, Fault};

/// How often the load says how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// Longer than anything may stand still when one of three brokers is killed, on a slow machine too.
const STANDSTILL_MAX: Duration = Duration::from_secs(60);
/// At the end everything must have been read within this time.
const END_LIMIT: Duration = Duration::from_secs(90);

/// Put a cluster under a load that checks what it reads
#[derive(Debug, Parser)]
struct Arguments {
    /// The brokers, comma-separated, without a scheme: they are reached by TCP, TLS and QUIC
    #[arg(long)]
    brokers: String,

    /// The authority of the brokers' certificates
    #[arg(long)]
    ca: PathBuf,

    /// How many topics
    #[arg(long, default_value_t = 3)]
    topics: usize,

    /// How many partitions each has
    #[arg(long, default_value_t = 3)]
    partitions: u32,

    /// Records of 1 KiB a second, over all topics
    #[arg(long, default_value_t = 1_500)]
    rate: u64,

    /// What a partition keeps
    #[arg(long, default_value_t = 4 << 20)]
    retention_bytes: u64,

    /// How long a segment becomes
    #[arg(long, default_value_t = 1 << 20)]
    segment_bytes: u64,
}

/// A way to the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Tcp,
    Tls,
    Quic,
}

impl Door {
    const ALL: [Self; 3] = [Self::Tcp, Self::Tls, Self::Quic];

    const fn scheme(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => "quic",
        }
    }
}

/// What all parts of the load share.
struct Load {
    arguments: Arguments,
    books: Vec<Mutex<Book>>,
    stopped: AtomicBool,
    /// Producers that have not ended.
    producing: AtomicU64,
    commits: AtomicU64,
    commits_failed: AtomicU64,
    redelivered: AtomicU64,
    visits: AtomicU64,
    connections: AtomicU64,
}

impl Load {
    fn new(arguments: Arguments) -> Arc<Self> {
        let books = (0..arguments.topics).map(|_| Mutex::default()).collect();
        let count = AtomicU64::default;
        Arc::new(Self {
            books,
            stopped: AtomicBool::new(false),
            producing: AtomicU64::new(arguments.topics as u64),
            arguments,
            commits: count(),
            commits_failed: count(),
            redelivered: count(),
            visits: count(),
            connections: count(),
        })
    }

    async fn client(&self, door: Door) -> Result<Client, ClientError> {
        let brokers: Vec<String> =
            self.arguments.brokers.split(',').map(str::trim).map(str::to_owned).collect();
        let addresses = brokers.iter().map(|broker| format!("{}://{broker}", door.scheme()));
        let addresses = addresses.collect::<Vec<_>>().join(",");
        Client::builder(addresses).client_id("soak").ca_file(&self.arguments.ca).connect().await
    }

    fn topics(&self) -> Vec<Arc<str>> {
        (0..self.arguments.topics).map(|index| format!("soak-{index}").into()).collect()
    }

    /// The book of a topic, by its name.
    fn book(&self, topic: &str) -> Result<MutexGuard<'_, Book>, Fault> {
        let index = topic.strip_prefix("soak-").and_then(|index| index.parse::<usize>().ok());
        let book = index.and_then(|index| self.books.get(index));
        book.map(lock).ok_or_else(|| Fault::new(format!("a record of topic {topic}")))
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Nothing more is sent, and everything that was is acknowledged. That the load is stopped is not enough: a producer that was
    /// about to send does so once more.
    fn is_all_sent(&self) -> bool {
        self.producing.load(Ordering::Relaxed) == 0
    }

    /// Sums over all topics: sent, acknowledged, read, read by the group.
    fn sums(&self) -> [u64; 4] {
        let mut sums = [0; 4];
        for book in &self.books {
            for (sum, value) in sums.iter_mut().zip(lock(book).counts()) {
                *sum += value;
            }
        }
        sums
    }

    fn line(&self, word: &str) -> String {
        let [sent, acked, read, grouped] = self.sums();
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        format!(
            "{word} sent={sent} acked={acked} read={read} grouped={grouped} commits={} commits_failed={} \
             redelivered={} visits={} tasks={tasks} connections={}",
            count(&self.commits),
            count(&self.commits_failed),
            count(&self.redelivered),
            count(&self.visits),
            count(&self.connections),
        )
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line for whoever reads the output. One that is not read is not worth going on for.
fn tell(line: &str) {
    let mut output = std::io::stdout().lock();
    if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
        std::process::exit(1);
    }
}

fn main() -> std::process::ExitCode {
    let load = Load::new(Arguments::parse());
    let outcome = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(run(load)),
        Err(error) => Err(Fault::new(error.to_string())),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(fault) => {
            tell(&format!("fault {fault}"));
            std::process::ExitCode::FAILURE
        }
    }
}

async fn run(load: Arc<Load>) -> Result<(), Fault> {
    // The producer comes by QUIC, the consumer by TCP, the member by TLS: each door has someone who stays.
    let clients =
        [load.client(Door::Quic).await?, load.client(Door::Tcp).await?, load.client(Door::Tls).await?];
    let [by_quic, by_tcp, by_tls] = &clients;
    make_topics(&load, by_tcp).await?;
    let (ended, mut ends) = mpsc::unbounded_channel();
    for topic in load.topics() {
        start(
            &ended,
            produced::run(load.clone(), by_quic.producer().auto_create_topics(false).build()?, topic),
        );
    }
    let consumer = by_tcp.consumer(load.topics()).start(highwater_client::Start::Earliest).build().await?;
    start(&ended, read::run(load.clone(), consumer));
    start(&ended, grouped::run(load.clone(), by_tls.clone()));
    start(&ended, visits::run(load.clone()));
    drop(ended);
    watch_input(load.clone());
    attend(&load, &clients, &mut ends).await?;
    for client in clients {
        client.close().await?;
    }
    check(&load)?;
    let earliest = visits::earliest(&load).await?;
    tell(&format!("{} earliest={earliest}", load.line("done")));
    Ok(())
}

fn start<F>(ended: &mpsc::UnboundedSender<Result<(), Fault>>, part: F)
where
    F: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let ended = ended.clone();
    tokio::spawn(async move {
        // Whoever listens is gone after a first fault.
        let _ = ended.send(part.await);
    });
}

/// The end of the input ends the load.
fn watch_input(load: Arc<Load>) {
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        load.stopped.store(true, Ordering::Relaxed);
    });
}

/// Tells how far the load is until every part has ended, or one has found a fault, or nothing moves any more.
async fn attend(
    load: &Load,
    clients: &[Client],
    ends: &mut mpsc::UnboundedReceiver<Result<(), Fault>>,
) -> Result<(), Fault> {
    let mut every = tokio::time::interval(TOLD_EVERY);
    let mut moved = (load.sums(), Instant::now());
    let mut stopped_at = None;
    loop {
        tokio::select! {
            end = ends.recv() => match end {
                Some(end) => end?,
                None => return Ok(()),
            },
            _ = every.tick() => {
                let connections = clients.iter().map(|client| client.metrics().connections).sum();
                load.connections.store(connections, Ordering::Relaxed);
                tell(&load.line("progress"));
                if load.sums() != moved.0 {
                    moved = (load.sums(), Instant::now());
                }
                if moved.1.elapsed() > STANDSTILL_MAX && !load.is_stopped() {
                    return Err(Fault::new(format!("nothing has moved for {} s", STANDSTILL_MAX.as_secs())));
                }
                if load.is_stopped() && stopped_at.get_or_insert_with(Instant::now).elapsed() > END_LIMIT {
                    let [sent, acked, read, grouped] = load.sums();
                    return Err(Fault::new(format!(
                        "{} s after the end of {sent} records {acked} are acknowledged, {read} are read, {grouped} by the group",
                        END_LIMIT.as_secs()
                    )));
                }
            }
        }
    }
}

async fn make_topics(load: &Load, client: &Client) -> Result<(), Fault> {
    let arguments = &load.arguments;
    for topic in load.topics() {
        let new = NewTopic::named(topic)
            .partitions(arguments.partitions)
            .replication(3)
            .config("min.insync.replicas", "2")
            .config("segment.bytes", arguments.segment_bytes.to_string())
            .config("retention.bytes", arguments.retention_bytes.to_string());
        client.admin().create_topic(new).await?;
    }
    Ok(())
}

/// Everything that was sent was acknowledged and read, by both consumers.
fn check(load: &Load) -> Result<(), Fault> {
    load.books.iter().try_for_each(|book| lock(book).check_end())
}

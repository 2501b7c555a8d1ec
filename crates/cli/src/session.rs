//! A connection to a cluster for one command, and what its errors mean to the person who typed the command.

use std::future::Future;
use std::time::{Duration, Instant};

use highwater_client::{Admin, CallerProblem, Client, ClientError, Damage, ErrorCode, NetworkCause, Waiting};

use crate::arguments::Connection;
use crate::failure::{Code, Failure, Outcome};
use crate::nearest::nearest;
use crate::output::number;

/// How long a topic may be unknown: longer than a broker lags behind the one that made it, and no longer, since a person waits.
const UNKNOWN_TOPIC_WAIT: Duration = Duration::from_millis(700);

/// How long one broker may take to tell what only completes a table: it may just have died, and a person waits.
const ASIDE_WAIT: Duration = Duration::from_secs(3);

/// How long the answer to one request may take however long the command may: another broker may have it.
const REQUEST_WAIT_MAX: Duration = Duration::from_secs(30);

/// How much later than the client a command gives up by itself: the client's own error names the cause.
const AFTER_THE_CLIENT: Duration = Duration::from_millis(250);

/// A connected client, and how long its command may still wait for brokers.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    bootstrap: String,
    /// As `--timeout` has it.
    pub(crate) timeout: Duration,
    deadline: Instant,
}

impl Session {
    pub(crate) async fn open(connection: &Connection) -> Outcome<Self> {
        let timeout = connection.timeout;
        let deadline = deadline(timeout);
        let mut builder = Client::builder(connection.bootstrap.clone())
            .client_id("highwater-cli")
            .call_timeout(timeout)
            .request_timeout(timeout.min(REQUEST_WAIT_MAX))
            .unknown_topic_wait(UNKNOWN_TOPIC_WAIT);
        if let Some(ca) = &connection.ca {
            builder = builder.ca_file(ca);
        }
        let client = builder.connect().await.map_err(|error| unreached(&connection.bootstrap, &error))?;
        Ok(Self { client, bootstrap: connection.bootstrap.clone(), timeout, deadline })
    }

    /// The administrator's calls. To be asked for before each: a call takes no longer than what those before it left of the
    /// command's time.
    pub(crate) fn admin(&self) -> Admin {
        self.client.admin().call_timeout(self.remaining())
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The same with all of the time again: a person was asked meanwhile.
    pub(crate) fn anew(&self) -> Self {
        Self { deadline: deadline(self.timeout), ..self.clone() }
    }

    /// What has to happen in the rest of the command's time.
    pub(crate) async fn in_time<T>(&self, waiting: &str, work: impl Future<Output = T>) -> Outcome<T> {
        let happened = tokio::time::timeout(self.remaining() + AFTER_THE_CLIENT, work).await;
        happened.map_err(|_| self.overdue(waiting))
    }

    /// What may take as long as the whole command, such as each of many records.
    pub(crate) async fn patiently<T>(&self, waiting: &str, work: impl Future<Output = T>) -> Outcome<T> {
        self.anew().in_time(waiting, work).await
    }

    /// What may take as long as the whole command, from `began` on; nothing if it takes longer.
    pub(crate) async fn since<T>(&self, began: Instant, work: impl Future<Output = T>) -> Option<T> {
        let rest = (self.timeout + AFTER_THE_CLIENT).saturating_sub(began.elapsed());
        tokio::time::timeout(rest, work).await.ok()
    }

    fn overdue(&self, waiting: &str) -> Failure {
        let what = format!("{waiting} did not happen within {}", number::duration(self.timeout));
        Failure::new(Code::Unreachable, what).or("highwater cluster status shows which nodes are there")
    }

    /// What an error of the client means for the command.
    pub(crate) fn failure(&self, error: &ClientError) -> Failure {
        if matches!(error, ClientError::Network(_)) {
            return unreached(&self.bootstrap, error);
        }
        match error.clone() {
            // What the calls before it took is part of the command's time.
            ClientError::TimedOut { waiting: waiting @ Waiting::Answer, cause, place, .. } => {
                explained(&ClientError::TimedOut { waiting, after: self.timeout, cause, place })
            }
            error => explained(&error),
        }
    }

    /// The same for an error that is about a topic: one that does not exist is answered with the one that was meant.
    pub(crate) async fn topic_failure(&self, topic: &str, error: &ClientError) -> Failure {
        if error.broker_code() != Some(ErrorCode::UnknownTopicOrPartition) || error.partition().is_some() {
            return self.failure(error);
        }
        let topics = self.admin().list_topics().await.unwrap_or_default();
        let shown = topics.iter().filter(|listed| !listed.is_internal);
        missing_topic(topic, shown.map(|listed| &*listed.name)).by(error)
    }
}

const NAME_CA: &str =
    "--ca names the authority of the brokers' certificates: tls/ca.pem in a node's data directory";

/// Runs a command that waits for a cluster.
pub(crate) fn block_on<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    // One thread for the client's task, one for the command's own work.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(Code::Failed, format!("no thread can be started: {error}")))?;
    let outcome = runtime.block_on(work);
    // The system may still be looking up a name that nobody waits for any more.
    runtime.shutdown_background();
    outcome
}

/// A time limit that no clock can show is none: a day later is as good.
fn deadline(timeout: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(timeout).unwrap_or(now + Duration::from_secs(86_400))
}

/// What one broker tells to complete a table; nothing if it refuses or does not answer soon.
pub(crate) async fn aside<T: Default>(asked: impl Future<Output = Result<T, ClientError>>) -> T {
    let told = tokio::time::timeout(ASIDE_WAIT, asked).await;
    told.ok().and_then(Result::ok).unwrap_or_default()
}

/// What one broker tells, as [`aside`]; none only if nothing came from it: a refusal is an answer too.
pub(crate) async fn aside_answered<T: Default>(
    asked: impl Future<Output = Result<T, ClientError>>,
) -> Option<T> {
    match tokio::time::timeout(ASIDE_WAIT, asked).await.ok()? {
        Ok(told) => Some(told),
        Err(ClientError::Broker { .. } | ClientError::Unsupported { .. }) => Some(T::default()),
        Err(_) => None,
    }
}

fn missing_topic<'a>(topic: &str, known: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let create = format!("highwater topic create {topic}");
    let next = nearest(topic, known.clone()).map_or_else(
        || {
            if known.clone().next().is_none() {
                create.clone()
            } else {
                format!("highwater topic list shows all; {create}")
            }
        },
        |meant| format!("there is {meant}; or create it: {create}"),
    );
    Failure::new(Code::NotFound, format!("topic {topic} does not exist")).or(next)
}

fn unreached(bootstrap: &str, error: &ClientError) -> Failure {
    if let ClientError::Caller { .. } = error {
        return explained(error);
    }
    let next = if is_about_certificates(error) {
        NAME_CA.to_owned()
    } else if is_http(error) {
        "--bootstrap names the Kafka port of a broker; its HTTP port is for browsers, probes and metrics"
            .to_owned()
    } else {
        "is a broker running there? --bootstrap names another address, highwater serve starts a broker"
            .to_owned()
    };
    Failure::new(Code::Unreachable, format!("no broker at {bootstrap}: {error}")).or(next).by(error)
}

fn is_about_certificates(error: &ClientError) -> bool {
    match error {
        ClientError::Network(network) => matches!(network.cause, NetworkCause::Tls(_)),
        ClientError::TimedOut { cause: Some(cause), .. } => is_about_certificates(cause),
        _ => false,
    }
}

fn is_http(error: &ClientError) -> bool {
    match error {
        ClientError::Network(network) => matches!(network.cause, NetworkCause::Protocol(Damage::Http)),
        ClientError::TimedOut { cause: Some(cause), .. } => is_http(cause),
        _ => false,
    }
}

fn explained(error: &ClientError) -> Failure {
    let text = match error {
        ClientError::Caller { problem: CallerProblem::Option { option, must }, .. } => {
            format!("{} {must}", flag_of(option))
        }
        error => error.to_string(),
    };
    let failure = Failure::new(code_of(error), text).by(error);
    match next_step(error) {
        Some(next) => failure.or(next),
        None => failure,
    }
}

/// The flag by which a person sets an option of the client.
fn flag_of(option: &str) -> &str {
    match option {
        "batch_bytes_max" | "buffer_bytes_max" => "--batch-bytes",
        "ca_file" => "--ca",
        "delivery_timeout" => "--timeout",
        "partitions" => "--partition",
        "until_end" => "--exit-at-end",
        option => option,
    }
}

/// The table of exit codes for what a client fails with: [`Code`] says what each means.
const fn code_of(error: &ClientError) -> Code {
    match error {
        ClientError::Caller { problem: CallerProblem::NoSuchPartition { .. }, .. } => Code::NotFound,
        // Of one record: others may be stored.
        ClientError::Caller { problem: CallerProblem::RecordTooLarge { .. }, .. } => Code::Failed,
        ClientError::Caller { .. } => Code::Usage,
        ClientError::Broker {
            code:
                ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId | ErrorCode::BrokerIdNotRegistered,
            ..
        } => Code::NotFound,
        ClientError::Network(_) | ClientError::TimedOut { .. } => Code::Unreachable,
        ClientError::UnknownOutcome { .. } => Code::Unknown,
        ClientError::Damaged { .. } => Code::Damaged,
        _ => Code::Failed,
    }
}

fn next_step(error: &ClientError) -> Option<String> {
    let why =
        leaderless(error).map(|topic| format!("highwater topic describe {topic} shows why nobody leads"));
    match error {
        ClientError::UnknownOutcome { .. } => {
            let look = why.unwrap_or_else(|| "look before doing it again".to_owned());
            return Some(format!("it may have been done or not; {look}"));
        }
        ClientError::TimedOut { .. } if why.is_some() => return why,
        ClientError::Caller { problem: CallerProblem::RecordTooLarge { .. }, .. } => {
            return Some("--batch-bytes is the limit, beside max.message.bytes of the topic".to_owned());
        }
        ClientError::Caller { problem: CallerProblem::NoSuchPartition { .. }, .. } => {
            return error
                .topic()
                .map(|topic| format!("highwater topic describe {topic} shows its partitions"));
        }
        ClientError::Caller { problem: CallerProblem::Option { option: "ca_file", .. }, .. } => {
            return Some(NAME_CA.to_owned());
        }
        _ => {}
    }
    next_step_for(error.broker_code()?).map(str::to_owned)
}

/// The topic of a partition that was waited for in vain since it has no leader, or one that can do nothing.
fn leaderless(error: &ClientError) -> Option<&str> {
    match error {
        ClientError::TimedOut { cause: Some(cause), .. }
        | ClientError::UnknownOutcome { cause: Some(cause), .. } => leaderless(cause),
        ClientError::Broker {
            code: ErrorCode::LeaderNotAvailable | ErrorCode::KafkaStorageError, ..
        } => error.topic(),
        _ => None,
    }
}

const fn next_step_for(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::TopicAlreadyExists => {
            "highwater topic describe shows it; --if-not-exists accepts it as it is"
        }
        ErrorCode::InvalidReplicationFactor => "highwater cluster status shows how many brokers are there",
        ErrorCode::NotEnoughReplicas | ErrorCode::NotEnoughReplicasAfterAppend => {
            "too few replicas are in sync: highwater cluster status shows who is missing"
        }
        ErrorCode::OffsetOutOfRange => "highwater topic describe shows the first and last offsets",
        ErrorCode::MessageTooLarge => "max.message.bytes of the topic is the limit",
        ErrorCode::InvalidConfig => "highwater topic describe shows the settings of a topic",
        ErrorCode::KafkaStorageError => "the broker's log and its disk tell why",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use highwater_client::Place;

    use super::*;

    fn check(topic: &str, known: &[&str], expected: &str) {
        assert_eq!(missing_topic(topic, known.iter().copied()).to_string(), expected);
    }

    #[test]
    fn a_missing_topic_is_answered_with_the_nearest_one() {
        check(
            "ordes",
            &["orders", "refunds"],
            "error: topic ordes does not exist\n  there is orders; or create it: highwater topic create ordes",
        );
        check(
            "shipments",
            &["orders"],
            "error: topic shipments does not exist\n  highwater topic list shows all; highwater topic create shipments",
        );
        check("orders", &[], "error: topic orders does not exist\n  highwater topic create orders");
    }

    #[test]
    fn options_are_named_as_flags_and_what_is_missing_has_one_code() {
        let caller = |problem| explained(&ClientError::caller(problem, Place::partition(&"t".into(), 9)));
        let failure =
            caller(CallerProblem::Option { option: "batch_bytes_max", must: "must be at least 256" });
        assert_eq!(
            (failure.code(), failure.to_string().as_str()),
            (Code::Usage, "error: --batch-bytes must be at least 256")
        );
        let failure = caller(CallerProblem::NoSuchPartition { partitions: 3 });
        assert_eq!(failure.code(), Code::NotFound);
        assert!(
            failure.to_string().ends_with("\n  highwater topic describe t shows its partitions"),
            "{failure}"
        );
        let failure = caller(CallerProblem::RecordTooLarge { bytes: 9, limit: 8 });
        assert_eq!(failure.code(), Code::Failed);
        for code in
            [ErrorCode::UnknownTopicOrPartition, ErrorCode::UnknownTopicId, ErrorCode::BrokerIdNotRegistered]
        {
            assert_eq!(explained(&ClientError::broker(code, None, Place::NOWHERE)).code(), Code::NotFound);
        }
    }

    #[test]
    fn an_http_port_is_called_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 256]);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let connection =
            Connection { bootstrap: format!("127.0.0.1:{port}"), ca: None, timeout: Duration::from_secs(20) };
        let text = block_on(Session::open(&connection)).unwrap_err().to_string();
        assert!(text.contains("this is an HTTP port; the Kafka port is another one"), "{text}");
        assert!(text.contains("\n  --bootstrap names the Kafka port"), "{text}");
    }

    #[test]
    fn nobody_there_is_code_4_and_says_where() {
        let connection =
            Connection { bootstrap: "127.0.0.1:1".into(), ca: None, timeout: Duration::from_millis(200) };
        let failure = block_on(Session::open(&connection)).unwrap_err();
        let text = failure.to_string();
        assert!(text.starts_with("error: no broker at 127.0.0.1:1: "), "{text}");
        assert_eq!(failure.code(), Code::Unreachable);
    }
}

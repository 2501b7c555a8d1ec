//! The four clients, each as a command that produces a file and one that prints a topic. All of them speak to the
//! cluster as their users make them speak: with all replicas' acknowledgement and in order.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use super::corpus::{Corpus, Sums};
use super::java::Java;
use super::matrix::Codec;
use super::python;
use crate::{process, tools};

/// One client takes this long at most for one file.
const LIMIT: Duration = Duration::from_secs(300);

/// Who produces and consumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Our own binary
    Highwater,
    /// kcat, with the librdkafka of the distribution
    Kcat,
    /// Python's confluent-kafka, with a newer librdkafka
    Confluent,
    /// The console tools of Apache Kafka
    Java,
}

/// Where the clients are.
#[derive(Debug)]
pub(crate) struct Tools {
    highwater: PathBuf,
    folder: PathBuf,
    python: Option<PathBuf>,
    java: Option<Java>,
}

impl Tools {
    /// Installs what the chosen clients need.
    pub(crate) fn install(folder: &Path, highwater: &Path, clients: &[Client]) -> Result<Self> {
        if clients.contains(&Client::Kcat) {
            tools::program("kcat", "kcat")?;
        }
        let python = clients.contains(&Client::Confluent).then(|| python::install(folder)).transpose()?;
        let java = clients.contains(&Client::Java).then(|| Java::install(folder)).transpose()?;
        Ok(Self { highwater: highwater.to_path_buf(), folder: folder.to_path_buf(), python, java })
    }

    pub(crate) fn has_java(&self) -> bool {
        self.java.is_some()
    }

    pub(crate) fn java(&self) -> Result<&Java> {
        self.java.as_ref().context("the Java tools were not asked for (--clients java)")
    }

    pub(crate) fn python(&self) -> Result<&Path> {
        self.python.as_deref().context("Python was not asked for (--clients confluent)")
    }

    pub(crate) fn highwater(&self) -> Command {
        Command::new(&self.highwater)
    }
}

impl Client {
    pub(crate) const ALL: [Self; 4] = [Self::Highwater, Self::Kcat, Self::Confluent, Self::Java];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Highwater => "highwater",
            Self::Kcat => "kcat",
            Self::Confluent => "confluent",
            Self::Java => "java",
        }
    }

    /// Sends every line of the corpus, its key being what stands before the first comma.
    pub(crate) fn produce(
        self,
        tools: &Tools,
        bootstrap: &str,
        topic: &str,
        codec: Codec,
        corpus: &Corpus,
    ) -> Result<()> {
        let mut command = self.producer(tools, bootstrap, topic, codec, &corpus.path)?;
        if self == Self::Java {
            command.stdin(File::open(&corpus.path)?);
            let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return Ok(());
        }
        process::run_quietly(&mut command, LIMIT).map(drop)
    }

    /// Reads a topic from its beginning and sums up what came.
    pub(crate) fn consume(
        self,
        tools: &Tools,
        bootstrap: &str,
        topic: &str,
        corpus: &Corpus,
    ) -> Result<Sums> {
        let mut command = self.consumer(tools, bootstrap, topic, corpus.lines)?;
        let errors = tools.folder.join(format!("{}.err", self.name()));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors)?)
            .spawn()
            .with_context(|| format!("{} could not be started", self.name()))?;
        let output = child.stdout.take().context("the output is piped")?;
        let sums = Sums::of(output)?;
        let status = child.wait()?;
        if !status.success() {
            bail!("{} ended with {status}\n{}", process::shown(&command), std::fs::read_to_string(errors)?);
        }
        Ok(sums)
    }

    fn producer(
        self,
        tools: &Tools,
        bootstrap: &str,
        topic: &str,
        codec: Codec,
        file: &Path,
    ) -> Result<Command> {
        let codec = codec.name();
        Ok(match self {
            Self::Highwater => {
                let mut command = tools.highwater();
                command.args(["produce", "--quiet", "--key-separator", ",", "--bootstrap", bootstrap]);
                command.args(["--compression", codec, topic]).arg(file);
                command
            }
            Self::Kcat => {
                let mut command = Command::new("kcat");
                command.args(["-P", "-b", bootstrap, "-t", topic, "-K", ",", "-z", codec, "-l"]).arg(file);
                command.args(["-X", "enable.idempotence=true"]);
                command
            }
            Self::Confluent => {
                let mut command = python::script(tools.python()?, "produce");
                command.args([bootstrap, topic, codec]).arg(file);
                command
            }
            Self::Java => {
                let mut command = tools.java()?.tool("org.apache.kafka.tools.ConsoleProducer");
                command.args([
                    "--bootstrap-server",
                    bootstrap,
                    "--topic",
                    topic,
                    "--compression-codec",
                    codec,
                ]);
                command.args(["--reader-property", "parse.key=true", "--reader-property", "key.separator=,"]);
                command
            }
        })
    }

    fn consumer(self, tools: &Tools, bootstrap: &str, topic: &str, lines: usize) -> Result<Command> {
        Ok(match self {
            Self::Highwater => {
                let mut command = tools.highwater();
                command.args(["consume", "--quiet", "--from", "beginning", "--exit-at-end"]);
                command.args(["--key-separator", ",", "--bootstrap", bootstrap, topic]);
                command
            }
            Self::Kcat => {
                let mut command = Command::new("kcat");
                command.args(["-C", "-b", bootstrap, "-t", topic, "-o", "beginning", "-e", "-q", "-K", ","]);
                command
            }
            Self::Confluent => {
                let mut command = python::script(tools.python()?, "consume");
                command.args([bootstrap, topic, &lines.to_string()]);
                command
            }
            Self::Java => {
                let mut command = tools.java()?.tool("org.apache.kafka.tools.consumer.ConsoleConsumer");
                command.args(["--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning"]);
                command.args(["--max-messages", &lines.to_string(), "--timeout-ms", "60000"]);
                command.args(["--formatter-property", "print.key=true"]);
                command.args(["--formatter-property", "key.separator=,"]);
                command
            }
        })
    }
}

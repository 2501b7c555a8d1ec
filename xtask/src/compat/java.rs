//! Apache Kafka's own classes: its console tools, its reader of segment files, its broker. Fetched by Maven once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::{process, tools};

/// The version that everything is tested against.
pub(crate) const VERSION: &str = "4.4.0";

const FETCH_LIMIT: Duration = Duration::from_secs(600);

const LOGGING: &str = r#"<Configuration status="ERROR"><Appenders><Console name="out" target="SYSTEM_ERR">
<PatternLayout pattern="%d %p %c %m%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"#;

/// Kafka's jars in a folder.
#[derive(Debug)]
pub(crate) struct Java {
    folder: PathBuf,
}

impl Java {
    /// Fetches the jars unless they are there.
    pub(crate) fn install(folder: &Path) -> Result<Self> {
        tools::program("java", "openjdk-17-jre-headless")?;
        let java = Self { folder: folder.join(format!("kafka-{VERSION}")) };
        let complete = java.folder.join(".complete");
        if complete.exists() {
            return Ok(java);
        }
        tools::program("mvn", "maven")?;
        fs::create_dir_all(&java.folder)?;
        fs::write(java.folder.join("pom.xml"), project())?;
        fs::write(java.logging(), LOGGING)?;
        let mut maven = Command::new("mvn");
        maven.args(["--quiet", "--batch-mode", "--file"]).arg(java.folder.join("pom.xml"));
        maven.arg("dependency:copy-dependencies").arg(format!("-DoutputDirectory={}", java.folder.display()));
        println!("fetching Apache Kafka {VERSION}");
        process::run(&mut maven, FETCH_LIMIT)?;
        fs::write(complete, "")?;
        Ok(java)
    }

    /// A Java program of Kafka's, to be given its arguments.
    pub(crate) fn tool(&self, class: &str) -> Command {
        self.program(class, &["-Xmx512M", "-XX:TieredStopAtLevel=1"])
    }

    /// A Java program of Kafka's with settings for the virtual machine.
    pub(crate) fn program(&self, class: &str, machine: &[&str]) -> Command {
        let mut command = Command::new("java");
        command.args(machine);
        command.arg(format!("-Dlog4j2.configurationFile={}", self.logging().display()));
        command.arg("-cp").arg(format!("{}/*", self.folder.display())).arg(class);
        command
    }

    fn logging(&self) -> PathBuf {
        self.folder.join("log4j2.xml")
    }
}

fn project() -> String {
    let dependency = |artifact: &str| {
        format!(
            "<dependency><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId>\
             <version>{VERSION}</version></dependency>"
        )
    };
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>highwater</groupId><artifactId>compat</artifactId><version>1</version>\
         <dependencies>{}{}</dependencies></project>\n",
        dependency("kafka_2.13"),
        dependency("kafka-tools")
    )
}

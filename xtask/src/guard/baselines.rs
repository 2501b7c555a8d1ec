//! Numbers of instructions as a small text, and what may be said against new ones beside kept ones.

use anyhow::{Context, Result, ensure};

/// More than this above the kept number is a fault: less is the compiler's mood after a change elsewhere in a crate.
const MORE_PERCENT_MAX: u64 = 5;

const HEAD: &str = "\
# Instructions that each work of bench-cores takes, by callgrind. `cargo xtask guard` compares, `cargo xtask guard --accept` writes this.
";
const TOOLCHAIN: &str = "toolchain: ";

/// What one work took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) name: String,
    pub(super) instructions: u64,
}

/// What all works took, built by one compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Baselines {
    pub(super) toolchain: String,
    pub(super) counts: Vec<Count>,
}

/// New numbers beside kept ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) table: String,
    /// Each with the name of its work.
    pub(super) faults: Vec<String>,
}

impl Baselines {
    /// As a file.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{HEAD}{TOOLCHAIN}{}\n", self.toolchain);
        for Count { name, instructions } in &self.counts {
            text += &format!("{name:<16}{instructions:>10}\n");
        }
        text
    }

    /// Reads the file.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let toolchain = lines.next().and_then(|line| line.strip_prefix(TOOLCHAIN));
        let toolchain =
            toolchain.context("the kept numbers do not say of which toolchain they are")?.to_owned();
        let counts = lines.map(parse_count).collect::<Result<_>>()?;
        Ok(Self { toolchain, counts })
    }

    /// Everything that is to be said about `now`, these being kept.
    pub(super) fn compare(&self, now: &Self) -> Compared {
        let mut compared = Compared { table: String::new(), faults: Vec::new() };
        if self.toolchain != now.toolchain {
            let (kept, now) = (&self.toolchain, &now.toolchain);
            compared.faults.push(format!("the kept numbers are of {kept}, this is {now}"));
        }
        for count in &now.counts {
            self.compare_one(count, &mut compared);
        }
        let gone = |kept: &&Count| now.counts.iter().all(|count| count.name != kept.name);
        compared.faults.extend(self.counts.iter().filter(gone).map(|kept| format!("{} is gone", kept.name)));
        compared
    }

    fn compare_one(&self, count: &Count, compared: &mut Compared) {
        let Count { name, instructions: now } = count;
        let Some(kept) = self.counts.iter().find(|kept| kept.name == *name) else {
            compared.faults.push(format!("no number is kept for {name}, which takes {now} instructions"));
            return;
        };
        let kept = kept.instructions;
        let change = (*now as f64 / kept as f64 - 1.0) * 100.0;
        compared.table += &format!("{name:<16}{now:>10} instructions, {kept:>10} kept, {change:>+6.1} %\n");
        if now * 100 > kept * (100 + MORE_PERCENT_MAX) {
            let fault = format!("{name} takes {now} instructions instead of {kept}, {change:+.1} %");
            compared.faults.push(format!("{fault} (at most +{MORE_PERCENT_MAX} %)"));
        }
    }
}

fn parse_count(line: &str) -> Result<Count> {
    let mut words = line.split_whitespace();
    let count = words.next().zip(words.next().and_then(|number| number.parse().ok()));
    let (name, instructions) = count.with_context(|| format!("no name and number: {line}"))?;
    ensure!(instructions > 0, "{name} cannot take no instruction");
    Ok(Count { name: name.to_owned(), instructions })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baselines(toolchain: &str, counts: &[(&str, u64)]) -> Baselines {
        let count = |&(name, instructions): &(&str, u64)| Count { name: name.to_owned(), instructions };
        Baselines { toolchain: toolchain.to_owned(), counts: counts.iter().map(count).collect() }
    }

    /// What is said against these numbers where 1,000 and 2,000 are kept.
    fn check(counts: &[(&str, u64)]) -> Vec<String> {
        let kept = baselines("rustc 1", &[("parse", 1_000), ("build", 2_000)]);
        kept.compare(&baselines("rustc 1", counts)).faults
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let kept =
            baselines("rustc 1.95.0 (abc 2026-01-01), x86_64", &[("batch-parse", 85_177), ("fetch", 7)]);
        assert_eq!(Baselines::parse(&kept.text()).unwrap(), kept);
    }

    #[test]
    fn five_percent_more_is_no_fault_and_a_little_above_is_one_with_its_name() {
        assert!(check(&[("parse", 1_050), ("build", 2_100)]).is_empty());
        let faults = check(&[("parse", 1_051), ("build", 2_000)]);
        assert_eq!(faults, ["parse takes 1051 instructions instead of 1000, +5.1 % (at most +5 %)"]);
    }

    #[test]
    fn a_second_pass_over_the_bytes_is_a_fault_with_its_name() {
        let faults = check(&[("parse", 1_000), ("build", 4_000)]);
        assert!(faults.len() == 1 && faults[0].starts_with("build takes 4000 instructions"), "{faults:?}");
    }

    #[test]
    fn less_is_no_fault() {
        assert!(check(&[("parse", 500), ("build", 1)]).is_empty());
    }

    #[test]
    fn every_work_has_a_number_and_every_number_a_work() {
        let faults = check(&[("parse", 1_000), ("other", 3)]);
        assert_eq!(faults, ["no number is kept for other, which takes 3 instructions", "build is gone"]);
    }

    #[test]
    fn numbers_of_another_toolchain_are_compared_with_nothing() {
        let kept = baselines("rustc 1", &[("parse", 1_000)]);
        let faults = kept.compare(&baselines("rustc 2", &[("parse", 1_000)])).faults;
        assert_eq!(faults, ["the kept numbers are of rustc 1, this is rustc 2"]);
    }

    #[test]
    fn a_text_without_toolchain_or_with_half_a_line_is_refused() {
        assert!(Baselines::parse("parse 1000\n").is_err());
        assert!(Baselines::parse("toolchain: rustc 1\nparse\n").is_err());
        assert!(Baselines::parse("toolchain: rustc 1\nparse 0\n").is_err());
    }
}

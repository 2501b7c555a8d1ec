//! Breaking each rule in turn, to see which oracle notices, and after how many seeds. A breach that a neighbouring
//! defence hides runs with that defence off; one that all faults at once reach too rarely gets a mix of its own.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use log_core::mutation::{Mutation, switch_on};

use crate::plan::Mix;
use crate::run::{Options, run_many};

/// A breach, what else is off meanwhile, and the faults that reach it.
struct Breach {
    name: &'static str,
    on: &'static [Mutation],
    mix: Mix,
    /// The only oracle that counts, where what is off besides would be noticed first.
    by: Option<&'static str>,
    /// Other code hides it from every run: the test that notices.
    hidden: Option<&'static str>,
}

const fn of(name: &'static str, on: &'static [Mutation], mix: Mix) -> Breach {
    Breach { name, on, mix, by: None, hidden: None }
}

/// A breach that no run shows, for a reason that the page's foot tells.
const fn hidden(name: &'static str, on: &'static [Mutation], test: &'static str) -> Breach {
    Breach { name, on, mix: Mix::Any, by: None, hidden: Some(test) }
}

const fn by(oracle: &'static str, breach: Breach) -> Breach {
    Breach { by: Some(oracle), ..breach }
}

/// How many seeds a breach gets.
const SEEDS_MAX: u64 = 50_000;

/// Seeds that run between two looks at the clock.
const ROUND: u64 = 40;

const BREACHES: &[Breach] = &[
    of("T1", &[Mutation::T1], Mix::Any),
    of("T2", &[Mutation::T2], Mix::Any),
    of("T3", &[Mutation::T3], Mix::Any),
    of("T6', with L10' off", &[Mutation::T6, Mutation::L10], Mix::Deposed),
    of("T10", &[Mutation::T10], Mix::Cuts),
    of("T11", &[Mutation::T11], Mix::Any),
    of("T13'", &[Mutation::T13Ack, Mutation::T13Push], Mix::Network),
    of("H1", &[Mutation::H1], Mix::Metadata),
    of("H2", &[Mutation::H2], Mix::Any),
    of("H3", &[Mutation::H3], Mix::Any),
    of("H4", &[Mutation::H4], Mix::Any),
    of("H5", &[Mutation::H5], Mix::Any),
    of("H6", &[Mutation::H6], Mix::Any),
    of("H7", &[Mutation::H7], Mix::Any),
    of("H8, with H10 off", &[Mutation::H8, Mutation::H10], Mix::Remembered),
    of("H10, with H8 off", &[Mutation::H10, Mutation::H8], Mix::Remembered),
    of("H12", &[Mutation::H12], Mix::Entrants),
    of("H15", &[Mutation::H15], Mix::Any),
    hidden("H16", &[Mutation::H16], "l6_a_refused_addition_counts_until_a_higher_partition_epoch_is_applied"),
    of("C1", &[Mutation::C1], Mix::Repeats),
    of("C2", &[Mutation::C2], Mix::Metadata),
    of("C3", &[Mutation::C3], Mix::Remembered),
    of("C4", &[Mutation::C4], Mix::Any),
    of("C5", &[Mutation::C5], Mix::Damage),
    of("C6", &[Mutation::C6], Mix::Any),
    of("C7", &[Mutation::C7], Mix::Damage),
    of("C8", &[Mutation::C8], Mix::Any),
    of("C13", &[Mutation::C13], Mix::Topics),
    of("C15", &[Mutation::C15], Mix::Metadata),
    of("C16", &[Mutation::C16], Mix::Damage),
    of("C17", &[Mutation::C17], Mix::Losses),
    of("C18", &[Mutation::C18], Mix::Damage),
    of("C19", &[Mutation::C19], Mix::Tails),
    hidden("C20", &[Mutation::C20], "c20_a_member_removed_as_behind_does_not_enter_the_elr"),
    of("B1", &[Mutation::B1], Mix::Restarts),
    of("B2", &[Mutation::B2], Mix::Metadata),
    of("B3, with D8 off", &[Mutation::B3, Mutation::D8], Mix::Storm),
    hidden("L1b", &[Mutation::L1b], "l1_nobody_leads_while_a_cut_is_running"),
    of("L4", &[Mutation::L4], Mix::Deletes),
    of("L9'", &[Mutation::L9], Mix::Any),
    of("L10', with T6' off", &[Mutation::L10, Mutation::T6], Mix::Deposed),
    of("L11", &[Mutation::L11], Mix::Deletes),
    of("D3b", &[Mutation::D3b], Mix::Restarts),
    hidden("D3c", &[Mutation::D3c], "d3c_the_only_readable_slot_is_never_overwritten"),
    of("D4b", &[Mutation::D4b], Mix::Cuts),
    by("false damage", of("D4c, with S4 off", &[Mutation::D4c, Mutation::S4], Mix::Ends)),
    of("S1", &[Mutation::S1], Mix::Disks),
    of("S2", &[Mutation::S2], Mix::Any),
    of("S3", &[Mutation::S3], Mix::Moments),
    of("S4", &[Mutation::S4], Mix::Ends),
    of("S6", &[Mutation::S6], Mix::Restarts),
    of("S8", &[Mutation::S8], Mix::Disks),
    of("S14", &[Mutation::S14], Mix::Restarts),
    of("S15", &[Mutation::S15], Mix::Restarts),
    of("S16", &[Mutation::S16], Mix::Restarts),
    of("S17", &[Mutation::S17], Mix::Restarts),
    of("S18", &[Mutation::S18], Mix::Restarts),
    of("S19", &[Mutation::S19], Mix::Tails),
    of("S20", &[Mutation::S20], Mix::Tails),
    of("S21", &[Mutation::S21], Mix::Disks),
    of("S22", &[Mutation::S22], Mix::Lazy),
    of("Q1'", &[Mutation::Q1], Mix::Moments),
    of("P1", &[Mutation::P1], Mix::Any),
    of("P2", &[Mutation::P2], Mix::Any),
    of("P3", &[Mutation::P3], Mix::Any),
    of("P6", &[Mutation::P6], Mix::Any),
    of("P7", &[Mutation::P7], Mix::Any),
    of("R1", &[Mutation::R1], Mix::Any),
];

/// Breaks each rule that one of `names` names, or all, at most so long each, and writes the table. Rows of rules that are
/// not named stay as they were written last.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_table(
    to: &Path,
    names: &[String],
    threads: usize,
    patience: Duration,
) -> std::io::Result<()> {
    let before = std::fs::read_to_string(to).unwrap_or_default();
    let mut rows: Vec<String> = BREACHES.iter().map(|breach| breach.row_in(&before)).collect();
    for (breach, slot) in BREACHES.iter().zip(0..) {
        if breach.hidden.is_some() || !names.is_empty() && !breach.is_one_of(names) {
            continue;
        }
        *ONLY.lock().unwrap_or_else(PoisonError::into_inner) = breach.by;
        let row = row_of(breach, threads, patience);
        print!("{row}");
        std::io::stdout().flush()?;
        rows.splice(slot..=slot, [row]);
        std::fs::write(to, [HEAD, &rows.concat(), FOOT].concat())?;
    }
    Ok(())
}

/// Breaks some rules from now on.
pub(crate) fn break_rules(names: &[String]) {
    let named = BREACHES.iter().filter(|breach| breach.is_one_of(names));
    switch_on(&named.flat_map(|breach| breach.on.iter().copied()).collect::<Vec<_>>());
}

impl Breach {
    /// The columns that say what was run.
    fn title(&self) -> String {
        format!("| {} | {} |", self.name, format!("{:?}", self.mix).to_lowercase())
    }

    /// Its row in a table written before, if it was run with the same faults.
    fn row_in(&self, table: &str) -> String {
        if let Some(test) = self.hidden {
            return format!("| {} | | | unit test `{test}` | | |\n", self.name);
        }
        let title = self.title();
        let row = table.lines().find(|line| line.starts_with(&title));
        row.map_or_else(|| format!("{title} not run | | | |\n"), |row| format!("{row}\n"))
    }

    fn is_one_of(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.name == name || self.name.starts_with(&format!("{name},")))
    }
}

/// The only oracle that counts now, if not all.
static ONLY: Mutex<Option<&'static str>> = Mutex::new(None);

/// Whether a run goes on although an oracle noticed something: it does not count now, and the run can go on.
pub(crate) fn is_passed_over(oracle: &str) -> bool {
    let ends = matches!(oracle, "healing" | "rest" | "start" | "exit" | "forming");
    let only = *ONLY.lock().unwrap_or_else(PoisonError::into_inner);
    !ends && only.is_some_and(|only| only != oracle)
}

const HEAD: &str = "# Broken rules and who notices

Written by `cargo xtask sim --mutations`: each rule of replication is broken in turn by one wrong expression, and seeds run
until one goes wrong that goes well with the rule kept. What each name means stands in `crates/log-core/src/mutation.rs`;
faults and oracles are told in [simulator.md](simulator.md). Where assertions of the code itself notice first, the last two
columns tell who notices without them. `none in N` says how many seeds went well in the time that there was, `not run` that
none were run; neither says that nobody would notice. `unit test NAME` stands where other code hides a breach from every run.
`-- --only NAMES` runs some, and leaves the other rows as they are.

| broken rule | faults | seeds | oracle | seeds without assertions | oracle |
|---|---|---|---|---|---|
";

const FOOT: &str = "
Four of them other code hides, whatever the faults; the test that is named notices. **H16**: a refusal is the outcome of a record
in the leader's own copy of the metadata log (C1), and the record that it may answer a duplicate of was applied there before.
**C20**: who has less than it acknowledged found that out when it started and is suspect (S19, S20), and one of those is elected from
the ELR as from the ISR only when nobody else could be, and then the one whose log reaches farthest (C5, C18).
**L1b**: while a cut is running the log takes no batch and asks for no sync, so a leader has nothing to lose. **D3c**: a slot of the
bound is smaller than a sector, and a disk here, as we believe of real ones, writes a sector or leaves it, but tears none; so a slot
that is overwritten holds what it held or what is new.
";

fn row_of(breach: &Breach, threads: usize, patience: Duration) -> String {
    let found = first_kill(breach, breach.on, threads, patience);
    // What only the machines' own assertions notice is looked for again without them.
    let asserted = found.as_ref().is_ok_and(|kill| kill.oracle == "panic");
    let silent: Vec<Mutation> = breach.on.iter().copied().chain([Mutation::Unasserted]).collect();
    let again = asserted.then(|| first_kill(breach, &silent, threads, patience));
    let told = |found: Result<Kill, u64>| match found {
        Ok(Kill { seed, oracle: "panic" }) => format!("{seed} | assertion"),
        Ok(Kill { seed, oracle }) => format!("{seed} | {oracle}"),
        Err(seeds) => format!("none in {seeds} |"),
    };
    let again = again.map_or_else(|| "|".to_owned(), told);
    format!("{} {} | {again} |\n", breach.title(), told(found))
}

/// The first seed that goes wrong, and who noticed.
struct Kill {
    seed: u64,
    oracle: &'static str,
}

/// Errors: how many seeds went well.
fn first_kill(breach: &Breach, on: &[Mutation], threads: usize, patience: Duration) -> Result<Kill, u64> {
    let started = Instant::now();
    let mut first = 1;
    while first <= SEEDS_MAX && started.elapsed() < patience {
        switch_on(on);
        let (seeds, repeat_every, stop_after) = (ROUND, 0, usize::MAX);
        let options = Options { first, seeds, repeat_every, mix: breach.mix, threads, stop_after };
        let summary = run_many(&options);
        switch_on(&[]);
        let violations = summary.violations.iter().filter_map(|o| Some((o.seed, o.violation.as_ref()?)));
        let violations = violations.filter(|(_, found)| breach.by.is_none_or(|only| only == found.oracle));
        for (seed, found) in violations {
            // What goes wrong without the breach as well is not its doing.
            if run_many(&Options { first: seed, seeds: 1, ..options }).violations.is_empty() {
                println!("{}: {}: {}", breach.name, found.oracle, found.text.replace('\n', " "));
                return Ok(Kill { seed, oracle: found.oracle });
            }
            println!("seed {seed} ({:?}) goes wrong without a breach", breach.mix);
        }
        first += ROUND;
    }
    Err(first - 1)
}

//! Deliberate breaches of single rules, to see that tests and the simulator find them.
//!
//! A breach is one expression: `mutated(Mutation::X, right, wrong)`, or `on(Mutation::X)` inside one. Only in a build
//! with `--cfg highwater_mutations` can one be switched on; in every other build both are constants, and the compiler
//! keeps the right value alone.

/// A breach, named for the rule that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Mutation {
    /// HW over the committed ISR instead of the maximal one.
    H1,
    /// A pending removal is used for the HW already.
    H2,
    /// The HW moves although the ISR is below min ISR.
    H3,
    /// `acks=all` is accepted below min ISR.
    H4,
    /// The follower acknowledges its appended end as durable.
    H5,
    /// The leader counts its own unsynced end.
    H6,
    /// ISR entry without the epoch start.
    H7,
    /// Ends of an earlier session or epoch are kept.
    H8,
    /// State of a replica is kept when it was removed and added again.
    H9,
    /// An Open of any broker epoch is accepted and counted.
    H10,
    /// Eligibility and request are built from two reads of the state.
    H11,
    /// A timed-out proposal is forgotten.
    H12,
    /// The leader shrinks its own ISR without the controller.
    H13,
    /// The latest offset is answered before the HW reached the epoch start.
    H14,
    /// ISR entry by the appended end.
    H15,
    /// A pending addition is forgotten on a refusal.
    H16,
    /// The follower cuts to its HW.
    T1,
    /// The leader answers its own end for an epoch that it does not know.
    T2,
    /// The follower cuts at the leader's end, not at the smaller of both.
    T3,
    /// A cut is skipped although the logs part.
    T4,
    /// The HW is taken before the cut.
    T5,
    /// A batch of an epoch above the stream's is appended.
    T6,
    /// The last epoch is not that of the log.
    T7,
    /// A stream of an older or newer epoch is accepted.
    T8,
    /// A cut is over before it is durable.
    T10,
    /// Producer state is not cut with the log.
    T11,
    /// A follower below the leader's log start keeps its log.
    T12,
    /// An ack of an older session is applied.
    T13Ack,
    /// A push of an older session is applied: its stream is not closed, nor looked at.
    T13Push,
    /// Leading while a cut is running.
    L1b,
    /// Whoever enters the ISR need not have deleted what clients were told to be gone.
    L4,
    /// A new incarnation's old ends are kept.
    L7,
    /// A moved HW waits for the next batches.
    L8,
    /// The follower deletes on its own account.
    L9,
    /// A stream of an epoch that was left still pushes.
    L10,
    /// Records are told to be deleted as soon as the leader has raised its log start.
    L11,
    /// A restarted broker leads from stale metadata.
    B1,
    /// A broker is let in before it has applied its own registration.
    B2,
    /// The clean mark is taken away without a sync.
    B3,
    /// A start that finds the clean mark does not look whether files end where the bound says.
    D8,
    /// An ISR change without comparing partition epochs.
    C1,
    /// A fenced or stopping member is accepted.
    C2,
    /// An ISR change without comparing broker epochs.
    C3,
    /// The last ISR member never leaves.
    C4,
    /// A wiped disk keeps its place in the ELR.
    C5,
    /// The ELR is kept at min ISR.
    C6,
    /// Min ISR changes without recomputing the ELR.
    C7,
    /// An election without a new epoch.
    C8,
    /// Destruction by name instead of by id.
    C13,
    /// An ISR change is not checked when it is applied.
    C15,
    /// A registration keeps the seats for a new directory.
    C16,
    /// The last seat is kept for a wiped directory.
    C17,
    /// A suspect is elected although a sound member may return.
    C18,
    /// A suspect counts for min ISR.
    C19,
    /// A member removed as behind enters the ELR.
    C20,
    /// The HW of the bound is above its durable end.
    D3b,
    /// The newest slot of the bound is overwritten.
    D3c,
    /// A cut writes a bound above the own durable end.
    D4b,
    /// A refused cut is taken for damage of the own log.
    D4c,
    /// A failed fsync is believed.
    S1,
    /// A new segment's directory is not synced.
    S2,
    /// The bound is ahead of the sync.
    S3,
    /// Damage below the bound is taken for a torn tail.
    S4,
    /// What was recovered counts as durable before its fsync.
    S6,
    /// A write that found no room half-way is gone on behind.
    S8,
    /// A sync asked for before a cut raises the durable end.
    S14,
    /// A cut writes one slot only.
    S15,
    /// A bound is written for what is not synced.
    S16,
    /// A broker registers before what it recovered is durable.
    S17,
    /// The cut suffix is left in the preallocated tail.
    S18,
    /// A rotten last batch is taken for a torn one.
    S19,
    /// The suspect mark is not stored.
    S20,
    /// The page cache is believed after an unclean stop.
    S21,
    /// What nobody waits for is never synced.
    S22,
    /// Metadata is applied before its fsync.
    Q1,
    /// Only the last batch of a producer is remembered.
    P1,
    /// A duplicate is answered with a new offset.
    P2,
    /// An unknown outcome is reported as a failure.
    P3,
    /// A duplicate is answered before its original is committed.
    P6,
    /// A first sequence other than 0 is accepted.
    P7,
    /// One batch beyond the HW is served.
    R1,
    /// The laws that the machines assert of themselves are not looked at, so that others have to notice.
    Unasserted,
}

#[cfg(not(highwater_mutations))]
pub use self::never::{mutated, on};
#[cfg(highwater_mutations)]
pub use self::switch::{mutated, on, switch_on};

#[cfg(not(highwater_mutations))]
mod never {
    use super::Mutation;

    /// Whether a breach is switched on: never.
    #[inline(always)]
    #[must_use]
    pub const fn on(_: Mutation) -> bool {
        false
    }

    /// The right value.
    #[inline(always)]
    #[must_use]
    pub const fn mutated<T: Copy>(_: Mutation, right: T, _: T) -> T {
        right
    }

    // The build itself proves it: both are constants here.
    const _: () = assert!(!on(Mutation::H1) && mutated(Mutation::H1, true, false));
}

#[cfg(highwater_mutations)]
mod switch {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::Mutation;

    static ON: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

    /// The right value, or the wrong one while the breach is switched on.
    #[must_use]
    pub fn mutated<T: Copy>(mutation: Mutation, right: T, wrong: T) -> T {
        if on(mutation) { wrong } else { right }
    }

    /// Whether a breach is switched on.
    #[must_use]
    pub fn on(mutation: Mutation) -> bool {
        let bit = mutation as usize;
        ON.get(bit / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (bit % 64) & 1 == 1)
    }

    /// Switches these breaches on, and all others off.
    pub fn switch_on(mutations: &[Mutation]) {
        for (index, word) in ON.iter().enumerate() {
            let bits = mutations.iter().map(|mutation| *mutation as usize).filter(|bit| bit / 64 == index);
            word.store(bits.fold(0, |all, bit| all | 1 << (bit % 64)), Ordering::Relaxed);
        }
    }
}

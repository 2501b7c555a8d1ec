//! Deliberate breaches of single rules. Tests switch one on and see it found out; in any other build all are off and
//! the compiler removes them.

/// A breach, named as in the list of mutations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
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
    /// A follower below the leader's log start keeps its log.
    T12,
    /// An ack of an older session is applied.
    T13Ack,
    /// A push of an older session is applied.
    T13Push,
    /// Leading while a cut is running.
    L1b,
    /// A new incarnation's old ends are kept.
    L7,
    /// A moved HW waits for the next batches.
    L8,
    /// A stream of an epoch that was left still pushes.
    L10,
    /// A restarted broker leads from stale metadata.
    B1,
    /// The follower deletes on its own account.
    L9,
}

#[cfg(not(test))]
pub(crate) const fn on(_: Mutation) -> bool {
    false
}

#[cfg(test)]
pub(crate) use self::switch::{on, with};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod switch {
    use core::cell::Cell;

    use super::Mutation;

    std::thread_local! {
        static ON: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    pub(crate) fn on(mutation: Mutation) -> bool {
        ON.get() == Some(mutation)
    }

    /// Runs `body` with `mutation` on.
    pub(crate) fn with<T>(mutation: Option<Mutation>, body: impl FnOnce() -> T) -> T {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                ON.set(None);
            }
        }
        let _off = Off;
        ON.set(mutation);
        body()
    }
}

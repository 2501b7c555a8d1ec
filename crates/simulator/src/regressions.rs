//! Seeds that once found something, each with the mix it was found under. What a seed means changes with the plans that
//! are drawn from it; the fault itself has a test where it was mended.

use crate::plan::Mix;

/// See the module.
pub(crate) const REGRESSIONS: &[(u64, Mix)] = &[
    // A crash in the middle of a drop: the next start ended the drop, and the broker never registered.
    (296, Mix::Any),
    // A process that died before the names above a new log were synced: the next one never synced them.
    (1598, Mix::Any),
    // A new directory whose first registration told of a damaged replica: it was never emptied, and never followed again.
    (39, Mix::Damage),
    // A leader that had been replaced unknown to it told a consumer that what its successor had served was out of range.
    (1052, Mix::Restarts),
    // The oracle looked for what a leader commits on a disk that had been lost since.
    (584, Mix::Damage),
    (661, Mix::Damage),
    // A broker without room for one metadata record took the next one all the same.
    (103_847, Mix::Any),
    // A header that rotted: nothing was served from there on, and nobody was told.
    (103_490, Mix::Any),
    // The same where a log had to be cut: a conflict with the leader, for ever.
    (107_184, Mix::Any),
    // What a follower acknowledged before its removal as behind was applied was forgotten, and said by nobody again.
    (109_426, Mix::Any),
    // Our own producers sent so many batches past one without an answer that the broker had to forget it.
    (101_844, Mix::Any),
    // A header that rotted had a broker forget what a producer had sent, and take it twice.
    (19, Mix::Tails),
    // The oracle judged deletions in topics that were deleted, and what is known of batches whose records are.
    (102_366, Mix::Any),
    (109_222, Mix::Any),
    // An empty record of the metadata log whose first bytes were lost with their sector: the broker did not start any more.
    (208_472, Mix::Any),
    // A failed sync while a log was made lost the length of its bound, and writing over the file did not bring it back.
    (214_282, Mix::Any),
    // Records deleted below the midst of a batch: a replica that had to begin anew there took the whole batch for damage.
    (2, Mix::Deletes),
    // The oracle took what was committed in a step for what retention deleted in it unasked.
    (159, Mix::Deletes),
    // The oracles took a batch for doubled whose first copy was deleted, sent again to a replica that was copied anew since.
    (902_268, Mix::Deletes),
    (2_599, Mix::Deletes),
    // A start removed segments for a bound that was in the page cache alone.
    (1_841, Mix::Deletes),
    // A batch whose leader epoch rotted was taken for sound when producers were read again, and served.
    (700_505, Mix::Lazy),
    // Two power cuts, one while a start wrote in the place of records that it had dropped: the broker did not start any more.
    (606_152, Mix::Any),
    // A suspect member of the ELR below its leader's log start was never copied anew.
    (715_644, Mix::Any),
    (716_854, Mix::Any),
    // A broker that stopped before it was registered had a deadline that had passed.
    (716_548, Mix::Any),
    // A broker that was killed, started again and stopped before it had opened its logs wrote the mark of a clean stop.
    (1_076, Mix::Losses),
];

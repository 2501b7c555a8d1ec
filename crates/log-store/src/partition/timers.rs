//! When the log wants to be woken, and how much became durable since its bound was written.

use core::time::Duration;

use log_core::mutation::{Mutation, on};
use log_core::{MonoTime, Now, Timestamp};

/// A changed bound is written after this time at the latest (D3).
const BOUND_EVERY: Duration = Duration::from_secs(5);

/// Recent appends leave memory after this time (guess: a follower or consumer that is this far behind reads files).
const TAIL_KEPT: Duration = Duration::from_secs(10);

/// Appends that nobody waits for are synced after this time at the latest (ADR 0014).
const LAZY_SYNC_AFTER: Duration = Duration::from_millis(50);

/// Appended bytes that nobody waits for, after which they are synced (ADR 0014).
const LAZY_SYNC_BYTES: u64 = 8 * 1024 * 1024;

/// How often idle producers are looked for (guess: expiry is a matter of hours).
const PRODUCERS_EVERY: Duration = Duration::from_secs(600);

/// What found no file descriptor free is tried again after this time (a guess: clients that have too many come and go).
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Deadlines and counters.
#[derive(Debug, Default)]
pub(super) struct Timers {
    now: MonoTime,
    wall: Timestamp,
    bound_at: Option<MonoTime>,
    /// A roll happened or the log start moved: the bound does not wait for the time or the bytes.
    bound_wanted: bool,
    durable_bytes: u64,
    /// What was appended since the last sync was asked for.
    unsynced_bytes: u64,
    sync_at: Option<MonoTime>,
    pub(super) tail_at: Option<MonoTime>,
    pub(super) producers_at: Option<MonoTime>,
    pub(super) roll_at: Option<MonoTime>,
    /// When a job goes on that was put off.
    pub(super) job_at: Option<MonoTime>,
}

impl Timers {
    pub(super) fn see(&mut self, now: Now) {
        self.now = self.now.max(now.mono);
        self.wall = now.wall;
    }

    pub(super) const fn now(&self) -> Now {
        Now { mono: self.now, wall: self.wall }
    }

    pub(super) fn on_bound_changed(&mut self) {
        if self.bound_at.is_none() {
            self.bound_at = Some(self.now.after(BOUND_EVERY));
        }
    }

    pub(super) fn on_durable(&mut self, bytes: u64) {
        self.durable_bytes += bytes;
        self.on_bound_changed();
    }

    pub(super) fn want_bound(&mut self) {
        self.bound_wanted = true;
        self.on_bound_changed();
    }

    pub(super) fn bound_due(&self, bytes_max: u64) -> bool {
        let late = self.bound_at.is_some_and(|at| at <= self.now);
        self.bound_wanted || late || self.durable_bytes >= bytes_max
    }

    pub(super) fn on_bound_started(&mut self) {
        self.bound_at = None;
        self.bound_wanted = false;
        self.durable_bytes = 0;
    }

    /// The bound could not be written yet.
    pub(super) fn put_bound_off(&mut self) {
        self.bound_wanted = true;
        self.bound_at = Some(self.now.after(AGAIN_AFTER));
    }

    pub(super) fn put_job_off(&mut self) {
        self.job_at = Some(self.now.after(AGAIN_AFTER));
    }

    pub(super) fn on_append(&mut self, bytes: u64) {
        self.unsynced_bytes += bytes;
        self.tail_at = Some(self.now.after(TAIL_KEPT));
    }

    pub(super) const fn unsynced_bytes(&self) -> u64 {
        self.unsynced_bytes
    }

    /// There is something to sync, and nobody waits for it.
    pub(super) fn want_sync(&mut self) {
        if self.sync_at.is_none() && !on(Mutation::S22) {
            self.sync_at = Some(self.now.after(LAZY_SYNC_AFTER));
        }
    }

    pub(super) fn sync_due(&self) -> bool {
        self.sync_at.is_some_and(|at| at <= self.now) || self.unsynced_bytes >= LAZY_SYNC_BYTES
    }

    pub(super) fn on_sync_started(&mut self) {
        self.sync_at = None;
        self.unsynced_bytes = 0;
    }

    pub(super) fn on_producer_used(&mut self) {
        if self.producers_at.is_none() {
            self.producers_at = Some(self.now.after(PRODUCERS_EVERY));
        }
    }

    /// The next deadline; that of the bound only where it can be written, that of a sync where it can be asked for.
    pub(super) fn next(&self, bound_idle: bool, sync_idle: bool) -> Option<MonoTime> {
        let bound_at = self.bound_at.filter(|_| bound_idle);
        let sync_at = self.sync_at.filter(|_| sync_idle);
        let others = [self.tail_at, self.producers_at, self.roll_at, self.job_at];
        [bound_at, sync_at].into_iter().chain(others).flatten().min()
    }
}

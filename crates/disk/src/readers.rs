//! The threads for cold reads: two, so that one slow read does not hold up all others; started by the first read.
//!
//! Two reads at once keep a device busier than one; more would only take the sync thread's turn (a guess).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bytes::Bytes;
use log_store::{Completed, DiskError, DiskOperation, Ticket};

use crate::completions::Answers;
use crate::directory::Directory;
use crate::error::failed;
use crate::file::File;

/// How many threads read.
const THREADS: usize = 2;

/// A read to be done and whom to tell.
#[derive(Debug)]
pub(crate) struct ReadRequest {
    pub(crate) ticket: Ticket,
    pub(crate) file: File,
    pub(crate) position: u64,
    pub(crate) len: u32,
    pub(crate) answers: Answers,
}

/// The threads' queues. Each thread has one of its own: a shared one would need a lock to take from.
#[derive(Debug)]
pub(crate) struct Readers {
    queues: Vec<Queue>,
}

#[derive(Debug)]
struct Queue {
    requests: Sender<ReadRequest>,
    /// Requests sent and not answered.
    waiting: Arc<AtomicUsize>,
}

impl Readers {
    pub(crate) fn start(directory: &Arc<Directory>) -> io::Result<Self> {
        let queues = (0..THREADS).map(|number| Queue::start(directory, number)).collect::<io::Result<_>>()?;
        Ok(Self { queues })
    }

    /// Gives the read to the thread with the fewest; gives it back if there is no thread.
    pub(crate) fn submit(&self, request: ReadRequest) -> Result<(), ReadRequest> {
        let shortest = self.queues.iter().min_by_key(|queue| queue.waiting.load(Ordering::Relaxed));
        let Some(queue) = shortest else { return Err(request) };
        queue.waiting.fetch_add(1, Ordering::Relaxed);
        queue.requests.send(request).map_err(|refused| refused.0)
    }
}

impl Queue {
    fn start(directory: &Arc<Directory>, number: usize) -> io::Result<Self> {
        let (requests, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (directory, counted) = (Arc::clone(directory), Arc::clone(&waiting));
        thread::Builder::new()
            .name(format!("disk-read-{number}"))
            .spawn(move || run(&directory, &receiver, &counted))?;
        Ok(Self { requests, waiting })
    }
}

/// Ends when the last handle of the directory, and so the last sender, is gone.
fn run(directory: &Directory, requests: &Receiver<ReadRequest>, waiting: &AtomicUsize) {
    while let Ok(request) = requests.recv() {
        let result = read(directory, &request);
        waiting.fetch_sub(1, Ordering::Relaxed);
        request.answers.send(request.ticket, result.map(Completed::Read));
    }
}

fn read(directory: &Directory, request: &ReadRequest) -> Result<Bytes, DiskError> {
    let bytes = read_range(&request.file, request.position, request.len);
    let bytes = bytes.map_err(|error| failed(DiskOperation::Read, &error))?;
    directory.counters.bytes_read.add(bytes.len() as u64);
    Ok(bytes)
}

/// Up to `len` bytes; no more memory is taken than the file has bytes there.
fn read_range(file: &File, position: u64, len: u32) -> io::Result<Bytes> {
    let there = file.len()?.saturating_sub(position);
    let mut bytes = vec![0; usize::try_from(there.min(u64::from(len))).unwrap_or_default()];
    let count = file.read_up_to(position, &mut bytes)?;
    bytes.truncate(count);
    Ok(Bytes::from(bytes))
}

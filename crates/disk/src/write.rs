//! Writing: one `pwritev` for a list of slices, and what follows when it fails half-way.

use std::io::IoSlice;

use log_store::{DiskError, DiskFault, DiskOperation};
use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::{fault_of_errno, refused};
use crate::file::{File, retried};

/// The most slices that the system takes in one call (`IOV_MAX` of Linux).
const SLICES_MAX: usize = 1024;

/// A write that ended early, with the bytes that were out by then.
struct Broken {
    written: u64,
    errno: Errno,
}

impl Directory {
    /// Writes the slices at `position`.
    ///
    /// A failing write poisons the directory if bytes may be out (D5), with one exception: the disk became full
    /// while the file was growing. Then the file is cut to its former length, which undoes the write, and the
    /// error is `Full`; that state is designed for, and bytes that nobody has read are no reason to leave. The
    /// exception does not hold where the write began inside the former length (what stood there is lost) or
    /// where the cut fails: then the error is `Poisoned`. A file is written through one open file at a time,
    /// else the former length is not known.
    pub(crate) fn write(&self, file: &File, position: u64, slices: &[&[u8]]) -> Result<(), DiskError> {
        self.healthy(DiskOperation::Write)?;
        match write_all(file, position, slices) {
            Ok(written) => {
                file.grew_to(position + written);
                self.counters.writes.add(1);
                self.counters.bytes_written.add(written);
                Ok(())
            }
            Err(broken) => Err(self.write_failed(file, position, &broken)),
        }
    }

    fn write_failed(&self, file: &File, position: u64, broken: &Broken) -> DiskError {
        let error = refused(DiskOperation::Write, broken.errno);
        if broken.written == 0 && is_refusal(broken.errno) {
            return error;
        }
        let len = file.known_len();
        if error.is_full() && len <= position && retried(|| rustix::fs::ftruncate(file.raw(), len)).is_ok() {
            return error;
        }
        self.poison(error, file.path());
        if error.is_full() { DiskError::new(DiskOperation::Write, DiskFault::Poisoned) } else { error }
    }
}

/// Whether the system says by this number that it did not begin.
fn is_refusal(errno: Errno) -> bool {
    let by_fault = matches!(fault_of_errno(errno), DiskFault::Full | DiskFault::Denied | DiskFault::ReadOnly);
    by_fault || matches!(errno, Errno::BADF | Errno::INVAL | Errno::FBIG | Errno::NOMEM)
}

/// Writes all slices, by one call unless it is cut short or there are too many for one.
fn write_all(file: &File, position: u64, slices: &[&[u8]]) -> Result<u64, Broken> {
    let filled = slices.iter().filter(|slice| !slice.is_empty());
    let mut vectors: Vec<IoSlice<'_>> = filled.map(|slice| IoSlice::new(slice)).collect();
    let mut rest = vectors.as_mut_slice();
    let mut written = 0;
    while !rest.is_empty() {
        let some = rest.get(..SLICES_MAX).unwrap_or(rest);
        match retried(|| rustix::io::pwritev(file.raw(), some, position + written)) {
            // A regular file takes at least a byte or says why not.
            Ok(0) => return Err(Broken { written, errno: Errno::IO }),
            Ok(count) => {
                written += count as u64;
                IoSlice::advance_slices(&mut rest, count);
            }
            Err(errno) => return Err(Broken { written, errno }),
        }
    }
    Ok(written)
}

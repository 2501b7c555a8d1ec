//! How the bytes of a disk's open file reach a carrier: by `sendfile` from a descriptor, or read into memory.

use std::io;
use std::os::fd::BorrowedFd;

/// A file of the log that can be served to clients.
pub(crate) trait Served: Clone + 'static {
    /// The descriptor for `sendfile`; none for a file in memory.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Fills `into` from `position`.
    fn read_exact_at(&self, position: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Served for disk::File {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Self::descriptor(self)
    }

    fn read_exact_at(&self, position: u64, into: &mut [u8]) -> io::Result<()> {
        Self::read_exact_at(self, position, into)
    }
}

impl Served for log_store::MemoryFile {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn read_exact_at(&self, position: u64, into: &mut [u8]) -> io::Result<()> {
        match self.read_at(position, into) {
            Ok(read) if read == into.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(e) => Err(io::Error::other(e)),
        }
    }
}

//! How the bytes of a disk's open file reach a carrier: by `sendfile` from a descriptor, or read into memory.

use std::io;
use std::os::fd::BorrowedFd;

use bytes::Bytes;
use kafka_wire::FileRange;

/// Bytes of a file range that are held in memory at once.
const CHUNK_BYTES: u64 = 256 << 10;

/// A file of the log that can be served to clients.
pub(crate) trait Served: Clone + 'static {
    /// The descriptor for `sendfile`; none for a file in memory.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Fills `into` from `position`.
    fn read_exact_at(&self, position: u64, into: &mut [u8]) -> io::Result<()>;
}

/// The bytes of a range, read piece by piece as they are asked for.
pub(crate) fn chunks<F: Served>(range: FileRange<F>) -> impl Iterator<Item = io::Result<Bytes>> {
    let end = range.position + u64::from(range.len);
    let starts = (range.position..end).step_by(usize::try_from(CHUNK_BYTES).expect("a chunk fits in memory"));
    starts.map(move |start| {
        let len = usize::try_from((end - start).min(CHUNK_BYTES)).expect("a chunk fits in memory");
        let mut chunk = vec![0; len];
        range.file.read_exact_at(start, &mut chunk)?;
        Ok(chunk.into())
    })
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

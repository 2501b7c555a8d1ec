//! How the bytes of a disk's open file reach a carrier: by `sendfile` from a descriptor, or read into memory.

use std::io;
use std::os::fd::BorrowedFd;

use broker_core::DoorKind;
use bytes::Bytes;
use kafka_wire::FileRange;

/// Bytes of a file range that are held in memory at once.
pub(crate) const CHUNK_BYTES: u64 = 256 << 10;

/// The same for a stream of a session over WebTransport, of which a page may leave sixteen unread.
const SESSION_CHUNK_BYTES: u64 = 32 << 10;

/// Bytes of a file range that a connection by this door holds in memory while its client does not take them.
pub(crate) const fn chunk_bytes(door: DoorKind) -> u64 {
    match door {
        DoorKind::WebTransport => SESSION_CHUNK_BYTES,
        _ => CHUNK_BYTES,
    }
}

/// A file of the log that can be served to clients.
pub(crate) trait Served: Clone + 'static {
    /// The descriptor for `sendfile`; none for a file in memory.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Fills `into` from `position`.
    fn read_exact_at(&self, position: u64, into: &mut [u8]) -> io::Result<()>;
}

/// The bytes of a range, read in pieces of so many bytes as they are asked for.
pub(crate) fn chunks<F: Served>(
    range: FileRange<F>,
    chunk_bytes: u64,
) -> impl Iterator<Item = io::Result<Bytes>> {
    let end = range.position + u64::from(range.len);
    let starts = (range.position..end).step_by(usize::try_from(chunk_bytes).expect("a chunk fits in memory"));
    starts.map(move |start| {
        let len = usize::try_from((end - start).min(chunk_bytes)).expect("a chunk fits in memory");
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

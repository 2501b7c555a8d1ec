//! Reading what is on the medium, not what the page cache says: `O_DIRECT`, or reading and writing again.

use std::os::fd::{AsRawFd, OwnedFd};

use log_store::{DiskError, DiskOperation};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::{failed, refused};
use crate::file::{File, retried};

/// Buffer, position and length of a direct read are multiples of this: what every device asks for at most.
const ALIGNMENT: usize = 4096;

/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// The aligned buffer, kept from read to read.
#[derive(Debug, Default)]
pub(crate) struct DirectBuffer {
    bytes: Vec<u8>,
}

impl DirectBuffer {
    /// At least `len` bytes, which is a multiple of [`ALIGNMENT`], at an aligned address.
    fn take(&mut self, len: usize) -> &mut [u8] {
        if self.bytes.len() < len + ALIGNMENT {
            self.bytes.resize(len + ALIGNMENT, 0);
        }
        let start = self.bytes.as_ptr().align_offset(ALIGNMENT);
        self.bytes.get_mut(start..start + len).expect("the buffer has an alignment more than asked for")
    }
}

impl Directory {
    /// Reads so that the next sync of the file makes durable what was read.
    ///
    /// The kernel writes dirty pages of the range out before it reads around them. After a failed sync they are
    /// clean and the medium lacks them: then this gives what the medium has. File systems that refuse
    /// `O_DIRECT`, or say that they would serve it from the cache, get the bytes written once more instead, so
    /// that they are dirty again.
    pub(crate) fn read_around_cache(
        &self,
        buffer: &mut DirectBuffer,
        file: &File,
        position: u64,
        into: &mut [u8],
    ) -> Result<usize, DiskError> {
        let direct = match open_direct(file) {
            Some(descriptor) => read_direct(&descriptor, buffer, file, position, into),
            None => Err(Errno::OPNOTSUPP),
        };
        let count = match direct {
            Ok(count) => count,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => self.read_and_write_again(file, position, into)?,
            Err(errno) => return Err(refused(DiskOperation::Read, errno)),
        };
        self.counters.bytes_read.add(count as u64);
        self.counters.bytes_read_around_cache.add(count as u64);
        Ok(count)
    }

    pub(crate) fn read_and_write_again(
        &self,
        file: &File,
        position: u64,
        into: &mut [u8],
    ) -> Result<usize, DiskError> {
        let count = file.read_up_to(position, into).map_err(|error| failed(DiskOperation::Read, &error))?;
        let read = into.get(..count).unwrap_or_default();
        if count > 0 {
            self.write(file, position, &[read])?;
        }
        Ok(count)
    }
}

/// Opens the file once more, past the cache; its name may be gone by now, so it is opened through its descriptor.
/// `None` where that is refused, or the file system says that direct reads would not be direct.
fn open_direct(file: &File) -> Option<OwnedFd> {
    let path = format!("/proc/self/fd/{}", file.raw().as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let descriptor = retried(|| rustix::fs::open(&path, flags, Mode::empty())).ok()?;
    let found = rustix::fs::statx(&descriptor, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let serves_from_cache = found.is_some_and(|found| {
        StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN)
            && found.stx_dio_mem_align == 0
    });
    (!serves_from_cache).then_some(descriptor)
}

fn read_direct(
    descriptor: &OwnedFd,
    buffer: &mut DirectBuffer,
    file: &File,
    position: u64,
    into: &mut [u8],
) -> Result<usize, Errno> {
    let len = file.len().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let wanted = usize::try_from(len.saturating_sub(position)).unwrap_or(usize::MAX).min(into.len());
    let mut done = 0;
    while done < wanted {
        let from = position + done as u64;
        let lead = (from % ALIGNMENT as u64) as usize;
        let span = (lead + wanted - done).next_multiple_of(ALIGNMENT).min(CHUNK_BYTES);
        let place = buffer.take(span);
        let count = retried(|| rustix::io::pread(descriptor, &mut *place, from - lead as u64))?;
        let fresh = place.get(lead..count).unwrap_or_default();
        let fresh = fresh.get(..wanted - done).unwrap_or(fresh);
        if fresh.is_empty() {
            break;
        }
        let end = done + fresh.len();
        into.get_mut(done..end).expect("no more is read than is wanted").copy_from_slice(fresh);
        done = end;
    }
    Ok(done)
}

//! What can go wrong: with the directory as a whole (here), and how the system's numbers become [`DiskFault`]s.

use std::io;
use std::path::PathBuf;

use log_store::{DiskError, DiskFault, DiskOperation};
use rustix::io::Errno;

/// Why a log directory could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// It could not be created or opened.
    #[error("log directory {} cannot be opened: {source}", directory.display())]
    Unusable {
        /// The directory.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The thread that syncs it could not be started.
    #[error("the sync thread of log directory {} cannot be started: {source}", directory.display())]
    NoThread {
        /// The directory.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Why a directory could not be locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process has it.
    #[error("{} is in use by {holder}", directory.display())]
    HeldBy {
        /// The directory.
        directory: PathBuf,
        /// Who has it.
        holder: crate::LockHolder,
    },
    /// The lock file could not be made or locked.
    #[error("the lock file {} cannot be used: {source}", path.display())]
    Unusable {
        /// The lock file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// The error of an operation that the system refused.
pub(crate) fn failed(operation: DiskOperation, error: &io::Error) -> DiskError {
    DiskError::new(operation, fault_of(error))
}

/// The error of an operation, by the system's number.
pub(crate) fn refused(operation: DiskOperation, errno: Errno) -> DiskError {
    DiskError::new(operation, fault_of_errno(errno))
}

fn fault_of(error: &io::Error) -> DiskFault {
    match error.raw_os_error() {
        Some(code) => fault_of_errno(Errno::from_raw_os_error(code)),
        None => match error.kind() {
            io::ErrorKind::NotFound => DiskFault::NotFound,
            io::ErrorKind::AlreadyExists => DiskFault::AlreadyExists,
            io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied => DiskFault::Denied,
            _ => DiskFault::Os(0),
        },
    }
}

/// Beside `EIO`, a medium answers with the numbers that block devices and checksumming file systems use.
pub(crate) fn fault_of_errno(errno: Errno) -> DiskFault {
    match errno {
        Errno::NOENT => DiskFault::NotFound,
        Errno::EXIST | Errno::NOTEMPTY => DiskFault::AlreadyExists,
        Errno::ACCESS | Errno::PERM => DiskFault::Denied,
        Errno::NOSPC | Errno::DQUOT => DiskFault::Full,
        Errno::MFILE | Errno::NFILE => DiskFault::NoDescriptor,
        Errno::ROFS => DiskFault::ReadOnly,
        Errno::IO | Errno::NODATA | Errno::REMOTEIO | Errno::ILSEQ | Errno::BADMSG | Errno::UCLEAN => {
            DiskFault::Medium
        }
        other => DiskFault::Os(other.raw_os_error()),
    }
}

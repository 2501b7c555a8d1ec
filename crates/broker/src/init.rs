//! Forming a cluster's first node before it runs: its directory, its authority, and tokens for the others.

use std::path::Path;

use disk::{DirectoryHandle, DirectoryLock, FileDisk, LOCK_FILE_NAME};
use log_core::{BrokerId, ClusterId};
use log_store::directory::{DirectoryRefusal, read_format, write_format};
use replica::JoinToken;

use crate::boot::{CRC, at, form, quiet_disk};
use crate::error::BootError;
use crate::joining::FIRST_TOKENS_FILE;
use crate::random;

/// What was made.
#[derive(Clone, Debug)]
pub struct Formed {
    /// The cluster.
    pub cluster_id: ClusterId,
    /// The first node.
    pub broker: BrokerId,
    /// Single-use tokens for other nodes, good for a day from the first start on.
    pub tokens: Vec<String>,
}

/// Formats an empty directory as the first node of a new cluster and makes `tokens` join tokens.
///
/// # Errors
/// A directory that is in use, formatted already, or not empty.
pub fn init(data_dir: &Path, broker: BrokerId, tokens: usize) -> Result<Formed, BootError> {
    let _lock = DirectoryLock::acquire(data_dir, "highwater cluster init")?;
    let handle = DirectoryHandle::open(data_dir)?;
    let mut disk = quiet_disk(&handle);
    let refused = |refusal| BootError::Refused { path: data_dir.to_owned(), refusal };
    if read_format(&mut disk, &[LOCK_FILE_NAME, "tls", FIRST_TOKENS_FILE], CRC).map_err(refused)?.is_some() {
        return Err(BootError::JoinedAlready { path: data_dir.to_owned() });
    }
    let (format, identity) = form(data_dir, broker)?;
    let tokens: Vec<String> =
        (0..tokens).map(|_| JoinToken::new(&identity.ca, random::bytes()).to_string()).collect();
    let path = data_dir.join(FIRST_TOKENS_FILE);
    std::fs::write(&path, tokens.join("\n")).map_err(|_| refused(DirectoryRefusal::Unknown))?;
    write_format(&mut disk, &format, CRC, FileDisk::wait).map_err(|cause| at(data_dir, cause))?;
    Ok(Formed { cluster_id: format.cluster_id, broker, tokens })
}

//! A log directory: what its threads share, above all whether it is poisoned.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use log_store::{DiskError, DiskFault, DiskOperation};

use crate::counters::Counters;

/// From this kernel on, `syncfs` reports what could not be written.
const SYNCFS_REPORTS_SINCE: (u32, u32) = (5, 8);

/// `f_type` of file systems that live in memory: their bytes are always in the cache.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// What the threads of a directory share. It has no way to the threads: they end when the last
/// [`crate::DirectoryHandle`] is gone.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    /// Opened at the start, so that its `syncfs` reports every failure since then.
    pub(crate) root: fs::File,
    pub(crate) device: u64,
    pub(crate) may_sync_file_system: bool,
    pub(crate) in_memory: bool,
    pub(crate) counters: Counters,
    poison: OnceLock<DiskError>,
}

impl Directory {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        create_durably(path)?;
        let path = path.canonicalize()?;
        let root = fs::File::open(&path)?;
        let device = root.metadata()?.dev();
        let in_memory = rustix::fs::fstatfs(&root)
            .is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|kind| IN_MEMORY.contains(&kind)));
        Ok(Self {
            path,
            root,
            device,
            may_sync_file_system: kernel_release().is_some_and(|release| release >= SYNCFS_REPORTS_SINCE),
            in_memory,
            counters: Counters::default(),
            poison: OnceLock::new(),
        })
    }

    /// An error if the directory is poisoned: asked before everything that changes it.
    pub(crate) fn healthy(&self, operation: DiskOperation) -> Result<(), DiskError> {
        match self.poison.get() {
            Some(_) => Err(DiskError::new(operation, DiskFault::Poisoned)),
            None => Ok(()),
        }
    }

    /// What poisoned the directory.
    pub(crate) fn poisoned(&self) -> Option<DiskError> {
        self.poison.get().copied()
    }

    /// From now on nothing more is written or synced (D5); the first reason is kept.
    pub(crate) fn poison(&self, error: DiskError, path: &str) {
        if self.poison.set(error).is_ok() {
            tracing::error!(directory = %self.path.display(), path, %error, "the log directory takes no more writes");
        }
    }
}

/// Creates a directory and those above it, each synced into the one above it.
pub(crate) fn create_durably(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty()).ok_or(error)?;
            create_durably(above)?;
            fs::create_dir(path)?;
        }
        Err(error) => return Err(error),
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(above)?.sync_all()
}

/// Major and minor number of the running kernel.
fn kernel_release() -> Option<(u32, u32)> {
    release_of(&fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
}

fn release_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_release_is_read_by_its_first_two_numbers() {
        assert_eq!(release_of("6.18.44-custom\n"), Some((6, 18)));
        assert_eq!(release_of("5.8-rc1"), Some((5, 8)));
        assert_eq!(release_of("unknown"), None);
        assert!(release_of("4.18.0-553.el8") < Some(SYNCFS_REPORTS_SINCE));
    }

    #[test]
    fn a_missing_directory_is_created_with_those_above_it() {
        let dir = tempfile::tempdir().unwrap();
        create_durably(&dir.path().join("a/b/c")).unwrap();
        create_durably(&dir.path().join("a/b/c")).unwrap();
        assert!(dir.path().join("a/b/c").is_dir());
        fs::write(dir.path().join("file"), b"x").unwrap();
        assert!(create_durably(&dir.path().join("file")).is_err());
        assert!(create_durably(&dir.path().join("file/below")).is_err());
    }
}

//! One process per directory: a lock that the kernel releases when its holder dies, however it dies.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::directory::create_durably;
use crate::error::LockError;

/// The lock file's name within the directory. It stays when the lock is released; what it says counts only while
/// it is locked: the holder's process id, a line break, what the holder is, a line break.
pub const LOCK_FILE_NAME: &str = "lock";

/// No more of a lock file is read than this: others may have written it.
const LOCK_FILE_BYTES_MAX: u64 = 4096;

/// Keeps other processes out of a directory until it is dropped or the process ends.
#[derive(Debug)]
pub struct DirectoryLock {
    file: fs::File,
}

impl Drop for DirectoryLock {
    /// Closing alone is not enough: a child that this process is just starting has the same open file until it becomes
    /// another program.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Who has a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id; `None` if it has not written it yet.
    pub pid: Option<u32>,
    /// What it is, such as `highwater serve, node 1`; empty if not known.
    pub what: String,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => write!(f, "another process")?,
        }
        if self.what.is_empty() { Ok(()) } else { write!(f, " ({})", self.what) }
    }
}

impl LockHolder {
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let pid = lines.next().and_then(|line| line.trim().parse().ok());
        let what = lines.next().unwrap_or_default();
        Self { pid, what: what.chars().filter(|c| !c.is_control()).collect() }
    }
}

impl DirectoryLock {
    /// Locks a directory, which is created if it is missing. `what` says to others what this process is.
    ///
    /// # Errors
    /// Another process (or another lock of this one) has it, or the lock file cannot be made.
    pub fn acquire(directory: &Path, what: &str) -> Result<Self, LockError> {
        let path = directory.join(LOCK_FILE_NAME);
        let unusable = |source| LockError::Unusable { path: path.clone(), source };
        create_durably(directory).map_err(unusable)?;
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(unusable)?;
        if !try_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(unusable)? {
            let holder = read_holder(&file).map_err(unusable)?;
            return Err(LockError::HeldBy { directory: directory.to_owned(), holder });
        }
        write_holder(&file, what);
        Ok(Self { file })
    }

    /// Who has the directory at this moment; `None` if nobody has. Changes nothing.
    ///
    /// # Errors
    /// The lock file cannot be read.
    pub fn holder(directory: &Path) -> Result<Option<LockHolder>, LockError> {
        let path = directory.join(LOCK_FILE_NAME);
        let unusable = |source| LockError::Unusable { path: path.clone(), source };
        let file = match fs::File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(unusable)?,
        };
        if try_lock(&file, FlockOperation::NonBlockingLockShared).map_err(unusable)? {
            return Ok(None);
        }
        read_holder(&file).map(Some).map_err(unusable)
    }
}

/// Whether the lock was got.
fn try_lock(file: &fs::File, how: FlockOperation) -> io::Result<bool> {
    match rustix::fs::flock(file, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn read_holder(file: &fs::File) -> io::Result<LockHolder> {
    let mut text = Vec::new();
    file.take(LOCK_FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(LockHolder::parse(&String::from_utf8_lossy(&text)))
}

/// Best effort: on a full disk the lock still holds, and others are told of an unknown process. The bytes of the
/// last holder are overwritten before the file is cut, since that needs no space.
fn write_holder(file: &fs::File, what: &str) {
    let what = what.replace(['\n', '\r'], " ");
    let text = format!("{}\n{what}\n", process::id());
    let written = file.write_all_at(text.as_bytes(), 0).and_then(|()| file.set_len(text.len() as u64));
    if written.is_err() {
        let _ = file.set_len(0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// Tells the child process which directory to lock.
    const CHILD: &str = "HIGHWATER_TEST_LOCK";

    fn refusal(directory: &Path) -> String {
        DirectoryLock::acquire(directory, "second").unwrap_err().to_string()
    }

    #[test]
    fn a_dropped_lock_is_free_although_a_child_has_the_file_still() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirectoryLock::acquire(dir.path(), "first").unwrap();
        let as_a_child_has_it = lock.file.try_clone().unwrap();
        drop(lock);
        DirectoryLock::acquire(dir.path(), "second").unwrap();
        drop(as_a_child_has_it);
    }

    #[test]
    fn a_directory_has_one_lock_and_says_whose_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node-1");
        assert_eq!(DirectoryLock::holder(&path).unwrap(), None);
        let lock = DirectoryLock::acquire(&path, "highwater serve,\nnode 1").unwrap();
        let me = process::id();
        let expected = format!("{} is in use by process {me} (highwater serve, node 1)", path.display());
        assert_eq!(refusal(&path), expected);
        assert_eq!(DirectoryLock::holder(&path).unwrap().and_then(|holder| holder.pid), Some(me));
        drop(lock);
        assert_eq!(DirectoryLock::holder(&path).unwrap(), None);
        DirectoryLock::acquire(&path, "x").unwrap();
        assert_eq!(fs::read_to_string(path.join(LOCK_FILE_NAME)).unwrap(), format!("{me}\nx\n"));
    }

    #[test]
    fn the_lock_of_a_process_that_was_killed_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "lock::tests::child_that_holds_a_lock", "--nocapture"])
            .env(CHILD, dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.contains("locked")));
        let said = refusal(dir.path());
        assert!(said.ends_with(&format!("is in use by process {} (a child)", child.id())), "{said}");
        child.kill().unwrap();
        child.wait().unwrap();
        DirectoryLock::acquire(dir.path(), "next").unwrap();
    }

    #[test]
    fn child_that_holds_a_lock() {
        let Some(directory) = std::env::var_os(CHILD) else { return };
        let _lock = DirectoryLock::acquire(Path::new(&directory), "a child").unwrap();
        println!("locked");
        // Until it is killed, or its parent is gone.
        let _ = io::stdin().read_line(&mut String::new());
    }

    #[test]
    fn whatever_stands_in_the_lock_file_makes_a_line() {
        let check = |text: &str, expected: &str| assert_eq!(LockHolder::parse(text).to_string(), expected);
        check("", "another process");
        check("12", "process 12");
        check("12\nbroker\nmore", "process 12 (broker)");
        check("no number\nbro\u{7}ker", "another process (broker)");
        check("99999999999999999999\n", "another process");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), b"").unwrap();
        let error = DirectoryLock::acquire(&dir.path().join("file"), "x").unwrap_err();
        assert!(error.to_string().contains("file/lock cannot be used"), "{error}");
    }
}

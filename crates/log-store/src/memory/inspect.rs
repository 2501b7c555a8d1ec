//! Looking at a simulated medium from outside, without a trace: what a power cut could not take, and what the page cache
//! shows. For oracles, which must neither warm a cache nor meet an error that was ordered for the log.

use super::MemoryDisk;
use super::tree::{NodeId, ROOT, Side};

impl MemoryDisk {
    /// The names in a directory that a power cut could not take, in order; none if the directory itself could be taken.
    #[must_use]
    pub fn durable_names(&self, dir: &str) -> Option<Vec<String>> {
        self.names(dir, Side::Durable, |names| names.cloned().collect())
    }

    /// The names in a directory as a process sees them, in order; none if there is no such directory.
    #[must_use]
    pub fn cached_names(&self, dir: &str) -> Option<Vec<String>> {
        self.names(dir, Side::Cached, |names| names.cloned().collect())
    }

    /// The numbers that names in a directory are before a suffix, in order, from the last one on that is at most `from`: of
    /// those names that a power cut could not take, or of those that a process sees. All have as many digits.
    #[must_use]
    pub fn numbers(&self, dir: &str, suffix: &str, from: i64, durable: bool) -> Vec<i64> {
        let side = if durable { Side::Durable } else { Side::Cached };
        let number = |name: &String| name.strip_suffix(suffix)?.parse().ok();
        let mut numbers = Vec::new();
        self.names(dir, side, |names| {
            for found in names.rev().filter_map(number) {
                numbers.push(found);
                if found <= from {
                    break;
                }
            }
        });
        numbers.reverse();
        numbers
    }

    /// Shows the bytes of a file on the platter; none if the file's name could be taken by a power cut.
    pub fn with_durable<T>(&self, path: &str, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let medium = &mut *self.medium.borrow_mut();
        let node = medium.tree.find_on(path, Side::Durable)?;
        medium.tree.file(node).map(|file| look(file.durable()))
    }

    /// Shows the bytes of a file as a process sees them; none if there is no such file.
    pub fn with_cached<T>(&self, path: &str, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let medium = &mut *self.medium.borrow_mut();
        let node = medium.tree.find_on(path, Side::Cached)?;
        medium.tree.file(node).map(|file| look(file.cached()))
    }

    /// Bytes of all files that have a name.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        self.medium.borrow().tree.bytes_used()
    }

    /// Lets one operation that is held back happen, counted from the oldest; `false` if there are not so many.
    pub fn release_nth(&self, nth: usize) -> bool {
        self.medium.borrow_mut().release_nth(nth)
    }

    fn names<T>(
        &self,
        dir: &str,
        side: Side,
        look: impl FnOnce(&mut dyn DoubleEndedIterator<Item = &String>) -> T,
    ) -> Option<T> {
        let medium = &*self.medium.borrow();
        let node: NodeId = if dir.is_empty() { ROOT } else { medium.tree.find_on(dir, side)? };
        let mut names = medium.tree.names(node, side)?;
        Some(look(&mut names))
    }
}

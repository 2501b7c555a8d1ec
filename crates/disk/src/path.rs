//! Paths of the log: relative to the directory, never out of it.

use std::path::{Component, Path, PathBuf};

use log_store::{DiskError, DiskFault, DiskOperation};

/// The path below `root`, or `Denied` if it is absolute or has a `.` or `..` in it.
///
/// Symbolic links are followed: an operator may put a topic on another disk.
pub(crate) fn below(root: &Path, path: &str, operation: DiskOperation) -> Result<PathBuf, DiskError> {
    let stays = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    // `components` drops a `.` that is not in front.
    let dotted = path.split('/').any(|part| part == ".");
    if stays && !dotted && !path.contains('\0') {
        Ok(root.join(path))
    } else {
        Err(DiskError::new(operation, DiskFault::Denied))
    }
}

/// Like [`below`], but `Denied` for the directory itself: its name is not the log's to change.
pub(crate) fn inside(root: &Path, path: &str, operation: DiskOperation) -> Result<PathBuf, DiskError> {
    if path.is_empty() {
        return Err(DiskError::new(operation, DiskFault::Denied));
    }
    below(root, path, operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<&str>) {
        let found = below(Path::new("/logs"), path, DiskOperation::Open).ok();
        assert_eq!(found.as_deref(), expected.map(Path::new), "{path}");
    }

    #[test]
    fn a_path_never_leaves_the_directory() {
        check("", Some("/logs"));
        check("topics/a/0/00000000000000000000.log", Some("/logs/topics/a/0/00000000000000000000.log"));
        check("a..b/...", Some("/logs/a..b/..."));
        for bad in ["..", "../x", "a/../b", "a/..", "/", "/etc/passwd", ".", "./a", "a/.", "a/./b", "a\0b"] {
            check(bad, None);
        }
    }

    #[test]
    fn the_directory_itself_is_neither_renamed_nor_removed() {
        assert!(inside(Path::new("/logs"), "", DiskOperation::Remove).is_err());
        assert!(inside(Path::new("/logs"), "a", DiskOperation::Remove).is_ok());
    }
}

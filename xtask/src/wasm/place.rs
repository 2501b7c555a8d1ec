//! Putting files in their place without touching those that are right already.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Where files shall be, relative to a folder, and where they come from.
pub(super) type Contents = BTreeMap<PathBuf, PathBuf>;

/// All files below a folder, to be put below `to`.
pub(super) fn below(folder: &Path, to: &Path) -> Result<Contents> {
    let mut found = Contents::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(next) = left.pop() {
        let entries = fs::read_dir(&next).with_context(|| format!("{} cannot be read", next.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else if let Ok(relative) = path.strip_prefix(folder) {
                found.insert(to.join(relative), path);
            }
        }
    }
    Ok(found)
}

/// Makes a folder hold these files and nothing else.
pub(super) fn mirror(contents: &Contents, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (there, path) in below(folder, Path::new(""))? {
        if !contents.contains_key(&there) {
            fs::remove_file(path)?;
        }
    }
    contents.iter().try_for_each(|(to, from)| copy(from, &folder.join(to)))
}

/// Copies a file if its copy differs.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("{} cannot be read", from.display()))?;
    write(to, &bytes)
}

/// Writes a file if it differs.
pub(super) fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(to, bytes).with_context(|| format!("{} cannot be written", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_takes_what_is_there_and_drops_what_is_gone() {
        let folder = std::env::temp_dir().join(format!("xtask-place-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        write(&from.join("a/b.txt"), b"one").unwrap();
        write(&to.join("gone.txt"), b"old").unwrap();
        let contents = below(&from, Path::new("sub")).unwrap();
        mirror(&contents, &to).unwrap();
        let there = to.join("sub/a/b.txt");
        assert!(below(&to, Path::new("")).unwrap().into_values().eq([there.clone()]));
        let before = fs::metadata(&there).unwrap().modified().unwrap();
        mirror(&contents, &to).unwrap();
        assert_eq!(fs::metadata(&there).unwrap().modified().unwrap(), before);
        fs::remove_dir_all(folder).unwrap();
    }
}

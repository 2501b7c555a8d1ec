//! Carrying the names of a synced directory to the real one, each by one step that a kill does or does not undo.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD};

use super::tree::{Kind, NodeId, Tree};

impl Tree {
    /// Makes the entries of a directory what the process sees; `false` if the directory is gone.
    ///
    /// Without a real name of its own the directory only notes them: they appear with that name.
    pub(super) fn sync_directory(&mut self, id: NodeId) -> io::Result<bool> {
        let Some(node) = self.nodes.get(&id) else { return Ok(false) };
        let Some(dir) = node.dir() else { return Ok(false) };
        let (seen, synced) = (dir.seen.clone(), dir.synced.clone());
        if let Some(real) = node.real.clone() {
            for (name, node) in seen.iter().filter(|(name, node)| synced.get(*name) != Some(*node)) {
                if let Some(old) = synced.get(name) {
                    self.make_way(*old, *node, &real.join(name))?;
                }
                self.place(*node, &real.join(name))?;
            }
            for (name, node) in synced.iter().filter(|(name, _)| !seen.contains_key(*name)) {
                self.drop_entry(*node, &real.join(name))?;
            }
        }
        if let Some(dir) = self.dir_mut(id) {
            dir.synced = seen;
        }
        Ok(true)
    }

    /// Before `new` takes the place of `old`: what the process still sees elsewhere keeps its bytes.
    fn make_way(&mut self, old: NodeId, new: NodeId, path: &Path) -> io::Result<()> {
        if self.is_dir(old) | self.is_dir(new) {
            // A directory is not replaced by the step that puts another thing in its place.
            return self.drop_entry(old, path);
        }
        let Some(node) = self.nodes.get(&old) else { return Ok(()) };
        if node.real.as_deref() != Some(path) {
            return Ok(());
        }
        if node.linked {
            let nameless = self.new_nameless();
            fs::hard_link(path, &nameless)?;
            self.set_real(old, &nameless);
        } else {
            self.nodes.remove(&old);
        }
        Ok(())
    }

    fn is_dir(&self, id: NodeId) -> bool {
        self.dir(id).is_some()
    }

    /// Gives a node a real name; what has it already, if anything, is replaced at the same moment.
    fn place(&mut self, id: NodeId, to: &Path) -> io::Result<()> {
        let Some(node) = self.nodes.get(&id) else { return Ok(()) };
        match (&node.kind, node.real.clone()) {
            (Kind::Dir(_), Some(from)) => self.move_node(id, &from, to),
            (Kind::Dir(dir), None) => {
                let stay = |name: &String, below: &NodeId| {
                    dir.seen.get(name) == Some(below) || !self.is_placed_dir(*below)
                };
                let mut entries = dir.synced.clone();
                entries.retain(|name, below| stay(name, below));
                let nameless = self.new_nameless();
                fs::create_dir(&nameless)?;
                for (name, below) in entries {
                    self.place(below, &nameless.join(name))?;
                }
                self.set_real(id, &nameless);
                self.move_node(id, &nameless, to)
            }
            (Kind::File(_), Some(from)) if from.starts_with(&self.nameless) => self.move_node(id, &from, to),
            // The old name goes when its own directory is synced; until then there are two.
            (Kind::File(_), Some(from)) => {
                let nameless = self.new_nameless();
                fs::hard_link(&from, &nameless)?;
                self.move_node(id, &nameless, to)
            }
            (Kind::File(Some(file)), None) => {
                let from = format!("/proc/self/fd/{}", file.descriptor().as_raw_fd());
                let nameless = self.new_nameless();
                rustix::fs::linkat(CWD, from, CWD, &nameless, AtFlags::SYMLINK_FOLLOW)?;
                self.move_node(id, &nameless, to)
            }
            (Kind::File(None), None) => Ok(()),
        }
    }

    /// Whether it is a directory that has a real name already: it cannot have a second one.
    fn is_placed_dir(&self, id: NodeId) -> bool {
        let Some(node) = self.nodes.get(&id) else { return false };
        let named = node.real.as_ref().is_some_and(|real| !real.starts_with(&self.nameless));
        named && node.dir().is_some()
    }

    fn move_node(&mut self, id: NodeId, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        self.set_real(id, to);
        Ok(())
    }

    /// Notes where a node is now, and with it what lies in it and not elsewhere.
    fn set_real(&mut self, id: NodeId, path: &Path) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let before = node.real.replace(path.to_owned());
        let (Some(before), Some(dir)) = (before, node.dir()) else { return };
        for (name, below) in dir.synced.clone() {
            if self.nodes.get(&below).is_some_and(|node| node.real.as_ref() == Some(&before.join(&name))) {
                self.set_real(below, &path.join(name));
            }
        }
    }

    /// Removes a real name. A node that the process still sees elsewhere keeps its place, without a name.
    fn drop_entry(&mut self, id: NodeId, path: &Path) -> io::Result<()> {
        // A file that lost its other name before is forgotten already.
        let Some(node) = self.nodes.get(&id) else { return remove_if_there(path) };
        let is_here = node.real.as_deref() == Some(path);
        if !is_here {
            // It was given another name meanwhile; a file has both until now.
            return if node.dir().is_some() { Ok(()) } else { remove_if_there(path) };
        }
        let nameless = self.new_nameless();
        self.move_node(id, path, &nameless)?;
        self.forget_unlinked(id, &nameless)
    }

    /// Deletes a nameless node and what lies in it, except what the process still sees elsewhere.
    fn forget_unlinked(&mut self, id: NodeId, path: &Path) -> io::Result<()> {
        let Some(node) = self.nodes.get(&id) else { return Ok(()) };
        if node.linked {
            return Ok(());
        }
        let Some(dir) = node.dir() else {
            self.nodes.remove(&id);
            return remove_if_there(path);
        };
        for (name, below) in dir.synced.clone() {
            let inside: PathBuf = path.join(name);
            if self.nodes.get(&below).is_some_and(|node| node.real.as_ref() == Some(&inside)) {
                self.drop_entry(below, &inside)?;
            }
        }
        self.nodes.remove(&id);
        fs::remove_dir_all(path)
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

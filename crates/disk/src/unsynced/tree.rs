//! The names of a directory as the process sees them, and as its real directory has them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log_store::DirEntry;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::file::UnsyncedFile;

/// Names a file or directory whatever its path.
pub(crate) type NodeId = u64;

/// The directory itself.
const ROOT: NodeId = 0;

/// All names. Paths were checked before they come here.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) nodes: BTreeMap<NodeId, Node>,
    next: NodeId,
    root: PathBuf,
    /// Where things lie that have a place on the medium but no name, as inodes do; emptied at the start.
    pub(super) nameless: PathBuf,
    moved: u64,
}

#[derive(Debug)]
pub(super) struct Node {
    /// Some directory has it, as the process sees it.
    pub(super) linked: bool,
    /// Where the real directory has it.
    pub(super) real: Option<PathBuf>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// With what was opened of it and may not be closed yet.
    File(Option<Arc<UnsyncedFile>>),
    Dir(Dir),
}

#[derive(Debug, Default)]
pub(super) struct Dir {
    /// The entries as the process sees them.
    pub(super) seen: BTreeMap<String, NodeId>,
    /// The entries as of the last sync: those of the real directory, once the directory has a real name itself.
    pub(super) synced: BTreeMap<String, NodeId>,
}

impl Node {
    fn new(kind: Kind) -> Self {
        Self { linked: true, real: None, kind }
    }

    pub(super) fn dir(&self) -> Option<&Dir> {
        if let Kind::Dir(dir) = &self.kind { Some(dir) } else { None }
    }

    pub(super) fn dir_mut(&mut self) -> Option<&mut Dir> {
        if let Kind::Dir(dir) = &mut self.kind { Some(dir) } else { None }
    }
}

impl Tree {
    /// Reads the names below `root`.
    pub(super) fn load(root: &Path) -> io::Result<Self> {
        let nameless = beside(root);
        if nameless.exists() {
            fs::remove_dir_all(&nameless)?;
        }
        let mut tree = Self { nodes: BTreeMap::new(), next: ROOT, root: root.to_owned(), nameless, moved: 0 };
        tree.load_node(root, true)?;
        fs::create_dir(&tree.nameless)?;
        Ok(tree)
    }

    fn load_node(&mut self, path: &Path, is_dir: bool) -> io::Result<NodeId> {
        let kind = if is_dir { Kind::Dir(Dir::default()) } else { Kind::File(None) };
        let id = self.add(Node { real: Some(path.to_owned()), ..Node::new(kind) });
        if is_dir {
            let mut entries = BTreeMap::new();
            for entry in fs::read_dir(path)? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                entries.insert(name, self.load_node(&path, path.is_dir())?);
            }
            if let Some(dir) = self.dir_mut(id) {
                *dir = Dir { seen: entries.clone(), synced: entries };
            }
        }
        Ok(id)
    }

    fn add(&mut self, node: Node) -> NodeId {
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, node);
        id
    }

    /// A new place without a name on the medium.
    pub(super) fn new_nameless(&mut self) -> PathBuf {
        self.moved += 1;
        self.nameless.join(self.moved.to_string())
    }

    pub(super) fn dir(&self, id: NodeId) -> Option<&Dir> {
        self.nodes.get(&id)?.dir()
    }

    pub(super) fn dir_mut(&mut self, id: NodeId) -> Option<&mut Dir> {
        self.nodes.get_mut(&id)?.dir_mut()
    }

    pub(super) fn find(&self, path: &str) -> Result<NodeId, Errno> {
        path.split('/').filter(|name| !name.is_empty()).try_fold(ROOT, |id, name| {
            self.dir(id).ok_or(Errno::NOTDIR)?.seen.get(name).copied().ok_or(Errno::NOENT)
        })
    }

    /// The directory that a path ends in, and the last name.
    fn parent<'a>(&self, path: &'a str) -> Result<(NodeId, &'a str), Errno> {
        let (above, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
        let above = self.find(above)?;
        self.dir(above).ok_or(Errno::NOTDIR)?;
        Ok((above, name))
    }

    fn link(&mut self, above: NodeId, name: &str, id: NodeId) {
        if let Some(dir) = self.dir_mut(above) {
            dir.seen.insert(name.to_owned(), id);
        }
    }

    pub(super) fn create_dir(&mut self, path: &str) -> Result<(), Errno> {
        let mut at = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let found = self.dir(at).ok_or(Errno::EXIST)?.seen.get(name).copied();
            at = match found {
                Some(id) => id,
                None => {
                    let id = self.add(Node::new(Kind::Dir(Dir::default())));
                    self.link(at, name, id);
                    id
                }
            };
        }
        self.dir(at).map(|_| ()).ok_or(Errno::EXIST)
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<DirEntry>, Errno> {
        let dir = self.dir(self.find(path)?).ok_or(Errno::NOTDIR)?;
        Ok(dir.seen.iter().filter_map(|(name, id)| Some(entry_of(name, self.nodes.get(id)?))).collect())
    }

    /// The file at `path`, made if it is missing and `create` is set.
    pub(super) fn open(&mut self, path: &str, create: bool, new: bool) -> Result<Arc<UnsyncedFile>, Errno> {
        self.close_unused();
        let id = match self.find(path) {
            Ok(_) if new => return Err(Errno::EXIST),
            Err(Errno::NOENT) if create => {
                let (above, name) = self.parent(path)?;
                let file = Arc::new(nameless_file(&self.root).map_err(errno_of)?);
                let id = self.add(Node::new(Kind::File(Some(file))));
                self.link(above, name, id);
                id
            }
            found => found?,
        };
        let node = self.nodes.get_mut(&id).ok_or(Errno::NOENT)?;
        let Kind::File(opened) = &mut node.kind else { return Err(Errno::ISDIR) };
        if let Some(file) = opened {
            return Ok(Arc::clone(file));
        }
        let path = node.real.as_ref().ok_or(Errno::NOENT)?;
        let file = fs::OpenOptions::new().read(true).write(true).open(path);
        let file = Arc::new(file.and_then(UnsyncedFile::new).map_err(errno_of)?);
        *opened = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Closes files that nobody has open and that have nothing unsynced.
    fn close_unused(&mut self) {
        for node in self.nodes.values_mut().filter(|node| node.real.is_some()) {
            if let Kind::File(opened) = &mut node.kind
                && opened.as_ref().is_some_and(|file| Arc::strong_count(file) == 1 && !file.is_dirty())
            {
                *opened = None;
            }
        }
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let id = self.find(from)?;
        let (below, name) = self.parent(from)?;
        let (above, new_name) = self.parent(to)?;
        if self.holds(id, above) {
            return Err(Errno::INVAL);
        }
        let replaced = self.dir(above).and_then(|dir| dir.seen.get(new_name).copied());
        if replaced == Some(id) {
            return Ok(());
        }
        if let Some(replaced) = replaced {
            match (self.dir(id).is_some(), self.dir(replaced)) {
                (false, Some(_)) => return Err(Errno::ISDIR),
                (true, None) => return Err(Errno::NOTDIR),
                (true, Some(dir)) if !dir.seen.is_empty() => return Err(Errno::NOTEMPTY),
                _ => self.unlink(replaced),
            }
        }
        if let Some(dir) = self.dir_mut(below) {
            dir.seen.remove(name);
        }
        self.link(above, new_name, id);
        Ok(())
    }

    /// Whether `inner` is `id` or lies in it.
    fn holds(&self, id: NodeId, inner: NodeId) -> bool {
        let Some(dir) = self.dir(id) else { return false };
        id == inner || dir.seen.values().any(|below| self.holds(*below, inner))
    }

    pub(super) fn remove_file(&mut self, path: &str) -> Result<(), Errno> {
        let id = self.find(path)?;
        if self.dir(id).is_some() { Err(Errno::ISDIR) } else { self.remove(path, id) }
    }

    pub(super) fn remove_dir_all(&mut self, path: &str) -> Result<(), Errno> {
        let id = self.find(path)?;
        if self.dir(id).is_some() { self.remove(path, id) } else { Err(Errno::NOTDIR) }
    }

    fn remove(&mut self, path: &str, id: NodeId) -> Result<(), Errno> {
        let (above, name) = self.parent(path)?;
        if let Some(dir) = self.dir_mut(above) {
            dir.seen.remove(name);
        }
        self.unlink(id);
        Ok(())
    }

    /// It and all below it have no name any more, as the process sees it.
    fn unlink(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.linked = false;
        let below = node.dir_mut().map(|dir| std::mem::take(&mut dir.seen)).unwrap_or_default();
        below.into_values().for_each(|id| self.unlink(id));
    }
}

/// `.NAME.unsynced` next to the directory: on the same file system, and not in the way of its contents.
fn beside(root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    root.with_file_name(format!(".{name}.unsynced"))
}

/// A new file that has no name: it is gone with the process unless it gets one.
fn nameless_file(root: &Path) -> io::Result<UnsyncedFile> {
    let flag = i32::try_from(OFlags::TMPFILE.bits()).expect("the system's flags are an int");
    let file = fs::OpenOptions::new().read(true).write(true).custom_flags(flag).mode(0o644).open(root)?;
    UnsyncedFile::new(file)
}

fn entry_of(name: &str, node: &Node) -> DirEntry {
    let len = match &node.kind {
        Kind::Dir(_) => 0,
        Kind::File(Some(file)) => file.len(),
        Kind::File(None) => {
            node.real.as_ref().and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len())
        }
    };
    DirEntry { name: name.to_owned(), is_dir: node.dir().is_some(), len }
}

pub(super) fn errno_of(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

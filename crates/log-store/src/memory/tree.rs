//! The names of the simulated medium: directories whose changes wait for the sync of the directory.

use std::collections::BTreeMap;

use super::Dice;
use super::file::FileNode;
use crate::disk::DirEntry;
use crate::error::{DiskError, DiskFault, DiskOperation};

/// The number of a file or directory; its name may change or go.
pub(super) type NodeId = u64;

pub(super) const ROOT: NodeId = 0;

#[derive(Debug)]
pub(super) enum Node {
    File(FileNode),
    Dir(DirNode),
}

#[derive(Debug, Default)]
pub(super) struct DirNode {
    cached: BTreeMap<String, NodeId>,
    durable: BTreeMap<String, NodeId>,
    pending: Vec<(u64, Change)>,
    changes: u64,
}

#[derive(Clone, Debug)]
enum Change {
    Link(String, NodeId),
    Unlink(String),
    Rename(String, String, NodeId),
}

/// Which of the two trees: the one that a process sees, or the one that a power cut could not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Cached,
    Durable,
}

impl DirNode {
    fn entries(&self, side: Side) -> &BTreeMap<String, NodeId> {
        match side {
            Side::Cached => &self.cached,
            Side::Durable => &self.durable,
        }
    }

    fn change(&mut self, change: Change) {
        self.changes += 1;
        apply(&mut self.cached, &change);
        self.pending.push((self.changes, change));
    }

    /// How many changes there have been so far: what a sync asked for now will carry.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn settle(&mut self, changes: u64) {
        for (_, change) in self.pending.iter().filter(|(number, _)| *number <= changes) {
            apply(&mut self.durable, change);
        }
        self.pending.retain(|(number, _)| *number > changes);
    }

    pub(super) fn lose_power(&mut self, dice: &mut Dice) {
        for (_, change) in self.pending.drain(..) {
            if dice.coin() {
                apply(&mut self.durable, &change);
            }
        }
        self.cached.clone_from(&self.durable);
    }
}

fn apply(entries: &mut BTreeMap<String, NodeId>, change: &Change) {
    match change {
        Change::Link(name, node) => {
            entries.insert(name.clone(), *node);
        }
        Change::Unlink(name) => {
            entries.remove(name);
        }
        Change::Rename(from, to, node) => {
            entries.remove(from);
            entries.insert(to.clone(), *node);
        }
    }
}

/// All files and directories.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<NodeId, Node>,
    next: NodeId,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { nodes: BTreeMap::from([(ROOT, Node::Dir(DirNode::default()))]), next: ROOT + 1 }
    }

    pub(super) fn file(&mut self, id: NodeId) -> Option<&mut FileNode> {
        match self.nodes.get_mut(&id)? {
            Node::File(file) => Some(file),
            Node::Dir(_) => None,
        }
    }

    pub(super) fn dir(&mut self, id: NodeId) -> Option<&mut DirNode> {
        match self.nodes.get_mut(&id)? {
            Node::Dir(dir) => Some(dir),
            Node::File(_) => None,
        }
    }

    pub(super) fn files(&mut self) -> impl Iterator<Item = &mut FileNode> {
        self.nodes.values_mut().filter_map(|node| match node {
            Node::File(file) => Some(file),
            Node::Dir(_) => None,
        })
    }

    pub(super) fn find(&self, path: &str) -> Option<NodeId> {
        self.find_on(path, Side::Cached)
    }

    pub(super) fn find_on(&self, path: &str, side: Side) -> Option<NodeId> {
        path.split('/').filter(|part| !part.is_empty()).try_fold(ROOT, |at, part| {
            match self.nodes.get(&at)? {
                Node::Dir(dir) => dir.entries(side).get(part).copied(),
                Node::File(_) => None,
            }
        })
    }

    pub(super) fn names(&self, id: NodeId, side: Side) -> Option<impl DoubleEndedIterator<Item = &String>> {
        match self.nodes.get(&id)? {
            Node::Dir(dir) => Some(dir.entries(side).keys()),
            Node::File(_) => None,
        }
    }

    pub(super) fn create_dir(&mut self, path: &str) -> Result<(), DiskFault> {
        let mut at = ROOT;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let next = self.next;
            let dir = self.dir(at).ok_or(DiskFault::AlreadyExists)?;
            match dir.cached.get(part) {
                Some(&found) => at = found,
                None => {
                    dir.change(Change::Link(part.to_owned(), next));
                    self.nodes.insert(next, Node::Dir(DirNode::default()));
                    self.next += 1;
                    at = next;
                }
            }
        }
        self.dir(at).map(|_| ()).ok_or(DiskFault::AlreadyExists)
    }

    pub(super) fn create_file(&mut self, path: &str) -> Result<NodeId, DiskFault> {
        let (parent, name) = self.parent(path)?;
        let id = self.next;
        self.dir(parent).ok_or(DiskFault::NotFound)?.change(Change::Link(name, id));
        self.nodes.insert(id, Node::File(FileNode::default()));
        self.next += 1;
        Ok(id)
    }

    pub(super) fn list(&mut self, path: &str) -> Result<Vec<DirEntry>, DiskError> {
        let not_found = DiskError::new(DiskOperation::List, DiskFault::NotFound);
        let id = self.find(path).ok_or(not_found)?;
        let entries: Vec<_> = self.dir(id).ok_or(not_found)?.cached.clone().into_iter().collect();
        let entries = entries.into_iter().map(|(name, node)| match self.nodes.get(&node) {
            Some(Node::File(file)) => DirEntry { name, is_dir: false, len: file.len() as u64 },
            _ => DirEntry { name, is_dir: true, len: 0 },
        });
        Ok(entries.collect())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskFault> {
        let node = self.find(from).ok_or(DiskFault::NotFound)?;
        let (old_parent, old_name) = self.parent(from)?;
        let (new_parent, new_name) = self.parent(to)?;
        if old_parent == new_parent {
            let dir = self.dir(old_parent).ok_or(DiskFault::NotFound)?;
            dir.change(Change::Rename(old_name, new_name, node));
            return Ok(());
        }
        self.dir(new_parent).ok_or(DiskFault::NotFound)?.change(Change::Link(new_name, node));
        self.dir(old_parent).ok_or(DiskFault::NotFound)?.change(Change::Unlink(old_name));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &str) -> Result<(), DiskFault> {
        self.find(path).ok_or(DiskFault::NotFound)?;
        let (parent, name) = self.parent(path)?;
        self.dir(parent).ok_or(DiskFault::NotFound)?.change(Change::Unlink(name));
        Ok(())
    }

    /// Bytes of all files that still have a name.
    pub(super) fn bytes_used(&self) -> u64 {
        self.bytes_below(ROOT)
    }

    fn bytes_below(&self, id: NodeId) -> u64 {
        match self.nodes.get(&id) {
            Some(Node::File(file)) => file.len() as u64,
            Some(Node::Dir(dir)) => dir.cached.values().map(|&child| self.bytes_below(child)).sum(),
            None => 0,
        }
    }

    pub(super) fn lose_power(&mut self, dice: &mut Dice) {
        for node in self.nodes.values_mut() {
            match node {
                Node::File(file) => file.lose_power(dice),
                Node::Dir(dir) => dir.lose_power(dice),
            }
        }
    }

    fn parent(&self, path: &str) -> Result<(NodeId, String), DiskFault> {
        let path = path.trim_end_matches('/');
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(DiskFault::NotFound);
        }
        Ok((self.find(parent).ok_or(DiskFault::NotFound)?, name.to_owned()))
    }
}

//! The names of topics, from the copy of the metadata that every data directory has: an image, and the entries that
//! came after it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use log_core::{MetadataOffset, TopicId};
use log_store::records_of;
use metadata_core::{ClusterImage, Entry};

use crate::data_dir::walk::crc32c;
use crate::failure::{Failure, Outcome};

const METADATA_DIR: &str = "metadata";
const ENTRIES_DIR: &str = "log";

/// The names of all topics that the directory's metadata knows; none where there is no metadata. What cannot be read is
/// left out: ids stand in for names then.
pub(crate) fn read(data_dir: &Path) -> Outcome<BTreeMap<TopicId, String>> {
    let directory = data_dir.join(METADATA_DIR);
    let mut image = newest_image(&directory)?;
    for file in files(&directory.join(ENTRIES_DIR), "records")? {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        for (index, bytes) in records_of(name, &read_file(&file)?.into(), crc32c) {
            apply(&mut image, index, &bytes);
        }
    }
    Ok(image.topics().map(|topic| (topic.id, topic.name.to_string())).collect())
}

fn newest_image(directory: &Path) -> Outcome<ClusterImage> {
    for file in files(directory, "image")?.iter().rev() {
        if let Ok(image) = ClusterImage::decode(&read_file(file)?) {
            return Ok(image);
        }
    }
    Ok(ClusterImage::new())
}

/// Applies the entry if it is the next one; an empty entry is the quorum's own.
fn apply(image: &mut ClusterImage, index: u64, bytes: &Bytes) {
    let offset = MetadataOffset(i64::try_from(index).unwrap_or(i64::MAX));
    if image.applied().is_some_and(|applied| offset <= applied) {
        return;
    }
    match Entry::decode(offset, bytes) {
        Ok(entry) => drop(image.apply(&entry)),
        Err(_) => image.skip(offset),
    }
}

/// The files of a directory with this extension, by name; none if there is no such directory.
fn files(directory: &Path, extension: &str) -> Outcome<Vec<PathBuf>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory).map_err(|error| Failure::file(directory, &error))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    paths.sort();
    Ok(paths)
}

fn read_file(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|error| Failure::file(path, &error))
}

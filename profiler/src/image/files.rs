//! The files that were loaded into an image.

mod allocators;
mod build_id;

use super::elf::Read;
use super::maps::{self, Mapping};
use super::word_at;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(super) use allocators::of_file as allocator;

/// The entry of the auxiliary vector with the address of the executable's program headers.
const PROGRAM_HEADERS: u64 = 3;

/// A file that was loaded into an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LoadedFile {
    /// The path in the file system of the program.
    pub(super) path: String,
    /// The path at which this process can open it.
    pub(super) place: String,
    /// Its build-id in memory; empty if it has none, or if the image does not contain it.
    pub(super) build_id: Vec<u8>,
    /// The address that it was loaded at, less the address that the file gives.
    pub(super) bias: u64,
}

/// Opens a regular file. A pipe or a device is an error and never blocks.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits();
    let mut options = File::options();
    let file = options
        .read(true)
        .custom_flags(nonblocking.cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Returns the loaded files, that with the program headers at an address first.
pub(super) fn loaded(mappings: &[Mapping], headers: u64, read: Read<'_>) -> Vec<LoadedFile> {
    let images = maps::images(mappings, read);
    let bases = maps::bases(mappings);
    let mut files = Vec::new();
    for (path, bias) in images.files {
        let base = bases.get(path.as_str()).copied().unwrap_or(0);
        let build_id = build_id::in_memory(base, read).unwrap_or_default();
        files.push(LoadedFile {
            place: path.clone(),
            path,
            build_id,
            bias,
        });
    }
    let mut at = mappings.iter();
    let executable = at.find(|mapping| mapping.range.contains(&headers));
    let executable = executable.map(Mapping::path);
    if let Some(at) = files
        .iter()
        .position(|file| Some(file.path.as_str()) == executable)
    {
        files[..=at].rotate_right(1);
    }
    files
}

/// Opens a file that has the build-id of a loaded file. Returns a sentence if it does not.
pub(super) fn same_build(path: &Path, loaded: &LoadedFile) -> Result<File, String> {
    let file = open_regular(path).map_err(|error| error.to_string())?;
    let found = build_id::of_file(&file);
    match found {
        _ if loaded.build_id.is_empty() => Err("the build-id of what ran is not known".to_owned()),
        Some(found) if found == loaded.build_id => Ok(file),
        Some(_) => Err("the file there is of another build (its build-id differs)".to_owned()),
        None => Err("the file there has no build-id".to_owned()),
    }
}

/// Returns the address of the executable's program headers by the auxiliary vector; 0 if it is not
/// there.
pub(super) fn program_headers(vector: &[u8]) -> u64 {
    let mut pairs = vector.chunks_exact(16);
    let found = pairs.find(|pair| word_at(pair, 0) == PROGRAM_HEADERS);
    found.map_or(0, |pair| word_at(pair, 8))
}

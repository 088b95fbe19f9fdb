//! Symbols on disk, one file per build-id, so that no address is resolved twice.
//!
//! The cache must never be trusted: its files have a checksum, limits and a version, and a file
//! that does not fit is ignored. It must never matter either: every failure here is silent, and
//! only costs time.
//!
//! A file is `HGSYMBOL`, the CRC-32 of the rest (u32, little-endian), and JSON.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::AddressFrames;
use super::image::open_regular;
use super::locate::hex_all;
use super::stored::{Shared, StoredFrame, Strings};
use crate::profile::SymbolSource;
use serde::{Deserialize, Serialize};

/// The end of the names of files that are being written.
const UNFINISHED: &str = ".new";
const MAGIC: &[u8; 8] = b"HGSYMBOL";
/// The format of the files. Increase it when the contents, or the way names are made, change.
const FORMAT: u32 = 6;
/// The version that made the names. Another one may make better names.
const WRITER: &str = env!("CARGO_PKG_VERSION");
/// The largest file that is read, bytes. A larger one is not ours.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The folder is kept below this size, bytes, as every build of a program leaves a file.
const MAX_FOLDER_BYTES: u64 = 512 << 20;

/// The symbols known of one build.
#[derive(Default)]
pub(super) struct Cached {
    /// The fingerprint of the files that they came from.
    pub(super) fingerprint: u64,
    /// Their source. For names from the cache, this is always a file.
    pub(super) source: SymbolSource,
    pub(super) addresses: BTreeMap<u64, AddressFrames>,
}

/// Reads what is known of a build; `None` when there is nothing that can be used.
pub(super) fn read(folder: &Path, build_id: &[u8]) -> Option<Cached> {
    let (file, metadata) = open_regular(&path(folder, build_id)).ok()?;
    if metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    decode(&bytes, build_id)
}

fn path(folder: &Path, build_id: &[u8]) -> PathBuf {
    folder.join(format!("{}.symbols", hex_all(build_id)))
}

/// Keeps what is known of a build.
pub(super) fn write(folder: &Path, build_id: &[u8], cached: &Cached) -> std::io::Result<()> {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    let Some(bytes) = encode(build_id, cached) else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(folder)?;
    let unique = UNIQUE.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(
        ".{}.{}.{unique}{UNFINISHED}",
        hex_all(build_id),
        std::process::id()
    ));
    let written = options
        .open(&temporary)
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&temporary, path(folder, build_id)));
    if written.is_err() {
        let _already_gone = fs::remove_file(&temporary);
    }
    written?;
    forget_oldest(folder, MAX_FOLDER_BYTES)
}

/// Removes the files that this process has not finished, because a signal ends it.
pub(super) fn forget_unfinished(folder: &Path) {
    let ending = format!(".{}.", std::process::id());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(UNFINISHED) && name.contains(&ending) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the files written longest ago until the rest fits.
pub(super) fn forget_oldest(folder: &Path, most_bytes: u64) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "symbols")
            && let Ok(metadata) = entry.metadata()
            && metadata.is_file()
        {
            files.push((metadata.modified()?, metadata.len(), path));
        }
    }
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, len, _)| len).sum();
    for (_, len, path) in files {
        if bytes <= most_bytes {
            break;
        }
        fs::remove_file(path)?;
        bytes = bytes.saturating_sub(len);
    }
    Ok(())
}

/// The contents of a file.
#[derive(Serialize, Deserialize)]
struct CacheFile {
    format: u32,
    writer: String,
    build_id: String,
    fingerprint: u64,
    source: SymbolSource,
    strings: Vec<String>,
    /// Address, whether the debug information names it, its frames.
    addresses: Vec<(u64, bool, Vec<StoredFrame>)>,
}

/// Returns `true` if names came from a file: nothing else is kept.
fn is_of_file(source: &SymbolSource) -> bool {
    matches!(source, SymbolSource::Debug(_) | SymbolSource::Table(_))
}

fn encode(build_id: &[u8], cached: &Cached) -> Option<Vec<u8>> {
    if !is_of_file(&cached.source) {
        return None;
    }
    let mut strings = Strings::default();
    let addresses = cached.addresses.iter();
    let addresses = addresses.map(|(address, resolved)| {
        let frames = strings.store(&resolved.frames);
        (*address, resolved.from_debug, frames)
    });
    let addresses = addresses.collect();
    let kept = CacheFile {
        format: FORMAT,
        writer: WRITER.to_owned(),
        build_id: hex_all(build_id),
        fingerprint: cached.fingerprint,
        source: cached.source.clone(),
        strings: strings.into_values(),
        addresses,
    };
    let body = serde_json::to_vec(&kept).ok()?;
    Some([&MAGIC[..], &crc32fast::hash(&body).to_le_bytes(), &body].concat())
}

fn decode(bytes: &[u8], build_id: &[u8]) -> Option<Cached> {
    let (checksum, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
    if u32::from_le_bytes(*checksum) != crc32fast::hash(body) {
        return None;
    }
    let kept: CacheFile = serde_json::from_slice(body).ok()?;
    let is_ours = kept.format == FORMAT && kept.writer == WRITER && is_of_file(&kept.source);
    if !is_ours || kept.build_id != hex_all(build_id) {
        return None;
    }
    let shared = Shared::new(&kept.strings);
    let addresses = kept.addresses.iter();
    let addresses = addresses.map(|&(address, from_debug, ref frames)| {
        let frames = shared.frames(frames);
        (address, AddressFrames { from_debug, frames })
    });
    Some(Cached {
        fingerprint: kept.fingerprint,
        addresses: addresses.collect(),
        source: kept.source,
    })
}

//! Symbols on disk, one file per build-id: what was resolved once is not resolved again.
//!
//! It must never be trusted (checksummed, bounded, versioned: what does not fit is as if it were not there) and
//! never matter: every failure here is silent and costs time only.
//!
//! Layout, little-endian: `HGSYMBOL`, format u32, CRC-32 of the rest u32; then writer, build-id, source path as
//! strings (u32 length and bytes), fingerprint u64, source kind u8; then the count of strings u32 and the strings;
//! then the count of addresses u32 and for each: address u64, how u8, frames u16, and for each frame: function,
//! linkage name + 1, file + 1 (u32 indices into the strings), line (0 = none), inlined u8, the count of aliases u16 and
//! their names.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::image::open_regular;
use super::locate::hex_all;
use super::{How, Resolved, SourceFrame};
use crate::profile::SymbolSource;

const MAGIC: &[u8; 8] = b"HGSYMBOL";
/// Change the layout or the way names are made: change this.
const FORMAT: u32 = 2;
/// Names are made by this version; another may make better ones.
const WRITER: &str = env!("CARGO_PKG_VERSION");
/// A larger file is not ours.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The folder is kept below this: every build of a program leaves a file.
const MAX_FOLDER_BYTES: u64 = 512 << 20;

/// The symbols known of one build.
pub(super) struct Cached {
    /// Of the files they came from.
    pub(super) fingerprint: u64,
    pub(super) source: SymbolSource,
    pub(super) addresses: BTreeMap<u64, Resolved>,
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

/// Keeps what is known of a build.
pub(super) fn write(folder: &Path, build_id: &[u8], cached: &Cached) {
    // A full disk or a folder we may not write to: the next run resolves again.
    let _unimportant = try_write(folder, build_id, cached);
}

fn path(folder: &Path, build_id: &[u8]) -> PathBuf {
    folder.join(format!("{}.symbols", hex_all(build_id)))
}

fn try_write(folder: &Path, build_id: &[u8], cached: &Cached) -> std::io::Result<()> {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    let bytes = encode(build_id, cached);
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
        ".{}.{}.{unique}.new",
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

/// Removes the files written longest ago until the rest fits.
pub(super) fn forget_oldest(folder: &Path, most_bytes: u64) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let ours = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "symbols");
        if let Ok(metadata) = entry.metadata()
            && ours
            && metadata.is_file()
        {
            files.push((metadata.modified()?, metadata.len(), entry.path()));
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

fn encode(build_id: &[u8], cached: &Cached) -> Vec<u8> {
    let mut strings: Vec<&str> = Vec::new();
    let mut indices: HashMap<&str, u32> = HashMap::new();
    let mut index = |text| {
        *indices.entry(text).or_insert_with(|| {
            strings.push(text);
            (strings.len() - 1) as u32
        })
    };
    let mut entries = Vec::new();
    for (address, resolved) in &cached.addresses {
        entries.extend(address.to_le_bytes());
        entries.push(resolved.how as u8);
        let frames = &resolved.frames[..resolved.frames.len().min(usize::from(u16::MAX))];
        entries.extend((frames.len() as u16).to_le_bytes());
        for frame in frames {
            entries.extend(index(&frame.function).to_le_bytes());
            entries.extend(
                frame
                    .raw
                    .as_deref()
                    .map_or(0, |raw| index(raw) + 1)
                    .to_le_bytes(),
            );
            entries.extend(
                frame
                    .file
                    .as_deref()
                    .map_or(0, |file| index(file) + 1)
                    .to_le_bytes(),
            );
            entries.extend(frame.line.unwrap_or(0).to_le_bytes());
            entries.push(u8::from(frame.inlined));
            let aliases = &frame.aliases[..frame.aliases.len().min(usize::from(u16::MAX))];
            entries.extend((aliases.len() as u16).to_le_bytes());
            for alias in aliases {
                entries.extend(index(alias).to_le_bytes());
            }
        }
    }
    let (kind, source) = match &cached.source {
        SymbolSource::Debug(path) => (1, path.as_path()),
        SymbolSource::Table(path) => (2, path.as_path()),
        _ => (0, Path::new("")),
    };
    let mut body = Vec::with_capacity(entries.len() + 4096);
    let string = |body: &mut Vec<u8>, bytes: &[u8]| {
        body.extend((bytes.len() as u32).to_le_bytes());
        body.extend(bytes);
    };
    string(&mut body, WRITER.as_bytes());
    string(&mut body, build_id);
    string(&mut body, source.to_string_lossy().as_bytes());
    body.extend(cached.fingerprint.to_le_bytes());
    body.push(kind);
    body.extend((strings.len() as u32).to_le_bytes());
    for text in strings {
        string(&mut body, text.as_bytes());
    }
    body.extend((cached.addresses.len() as u32).to_le_bytes());
    body.extend(entries);

    let mut bytes = Vec::with_capacity(body.len() + 16);
    bytes.extend(MAGIC);
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend(crc32fast::hash(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Takes values off the front of a slice; `None` once it is too short.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.u32()?).ok()?;
        self.bytes(len)
    }
}

fn decode(bytes: &[u8], build_id: &[u8]) -> Option<Cached> {
    let mut reader = Reader(bytes);
    let header = (reader.bytes(8)?, reader.u32()?, reader.u32()?);
    if header != (MAGIC.as_slice(), FORMAT, crc32fast::hash(reader.0)) {
        return None;
    }
    if reader.string()? != WRITER.as_bytes() || reader.string()? != build_id {
        return None;
    }
    let source = PathBuf::from(std::str::from_utf8(reader.string()?).ok()?);
    let fingerprint = reader.u64()?;
    let source = match reader.u8()? {
        1 => SymbolSource::Debug(source),
        2 => SymbolSource::Table(source),
        _ => return None,
    };
    let mut strings: Vec<Arc<str>> = Vec::new();
    for _ in 0..reader.u32()? {
        strings.push(std::str::from_utf8(reader.string()?).ok()?.into());
    }
    let string = |index: u32| strings.get(usize::try_from(index).ok()?).cloned();
    let optional = |index: u32| match index.checked_sub(1) {
        None => Some(None),
        Some(index) => string(index).map(Some),
    };
    let mut addresses = BTreeMap::new();
    for _ in 0..reader.u32()? {
        let address = reader.u64()?;
        let how = How::from_byte(reader.u8()?)?;
        let mut frames = Vec::new();
        for _ in 0..reader.u16()? {
            frames.push(SourceFrame {
                function: string(reader.u32()?)?,
                raw: optional(reader.u32()?)?,
                file: optional(reader.u32()?)?,
                line: Some(reader.u32()?).filter(|&line| line > 0),
                inlined: reader.u8()? != 0,
                aliases: (0..reader.u16()?)
                    .map(|_| string(reader.u32()?))
                    .collect::<Option<_>>()?,
            });
        }
        addresses.insert(address, Resolved { how, frames });
    }
    reader.0.is_empty().then_some(Cached {
        fingerprint,
        source,
        addresses,
    })
}

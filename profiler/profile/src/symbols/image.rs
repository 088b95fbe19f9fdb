//! A binary or debug file, opened as hostile input.
//!
//! Only regular files are opened, they are never mapped (a file cut short under us must be an error
//! value, not a SIGBUS), identity checks read only the headers, and a compressed section may not
//! grow beyond fixed bounds.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use gimli::RunTimeEndian;
use object::{CompressionFormat, Object, ObjectSection, ReadCache, ReadRef};

/// The largest file that is read, bytes. Browsers with full debug information stay below.
const MAX_FILE_BYTES: u64 = 8 << 30;
/// The largest total size of the decompressed sections of one file, bytes.
const MAX_DECOMPRESSED_BYTES: u64 = 8 << 30;
/// A section, and all of a file together, may not decompress to more than this many times the
/// compressed size: debug information packs to a third or a tenth, deflate's own limit is 1032.
const MAX_EXPANSION: u64 = 100;
/// Small sections may expand beyond the ratio up to this size, bytes: a few KiB of zeros are no
/// attack.
const ALWAYS_ALLOWED_BYTES: u64 = 1 << 20;
/// Zeros that any file may have, bytes. A file with more must also have other contents.
const MOST_ZEROS: usize = 64 << 20;
const ZEROS: [u8; 4096] = [0; 4096];
/// Build-ids are 20 bytes (SHA-1) or 16; anything far longer is not one.
const MAX_BUILD_ID_BYTES: usize = 64;

/// An open file, with the length and time that tell whether it was replaced.
pub(super) struct Image {
    pub(super) path: PathBuf,
    pub(super) len: u64,
    pub(super) mtime_ns: u64,
    file: File,
}

/// The facts in the headers of a file, read without its contents.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers {
    pub(super) build_id: Option<Vec<u8>>,
    /// `true` if there is debug information inside (skeletons of split debug information
    /// included).
    pub(super) has_debug_info: bool,
    /// `true` if there is a full symbol table (`.symtab`), not only the dynamic one.
    pub(super) has_symbol_table: bool,
    /// `.gnu_debuglink`: file name and CRC-32 of the file with the debug information.
    pub(super) debug_link: Option<(Vec<u8>, u32)>,
}

impl Image {
    /// Opens `path`; the error is the reason alone, without the path.
    pub(super) fn open(path: &Path) -> Result<Image, String> {
        let (file, metadata) = open_regular(path)?;
        if metadata.len() == 0 {
            return Err("the file is empty".to_owned());
        }
        Ok(Image {
            path: path.to_path_buf(),
            len: metadata.len(),
            mtime_ns: mtime_ns(&metadata),
            file,
        })
    }

    /// Reads the headers; the error is the reason alone.
    pub(super) fn headers(&self) -> Result<Headers, String> {
        let cache = ReadCache::new(&self.file);
        let object = parse(&cache)?;
        Ok(Headers {
            build_id: build_id(&object),
            has_debug_info: has_section(&object, ".debug_info"),
            has_symbol_table: has_section(&object, ".symtab"),
            debug_link: object
                .gnu_debuglink()
                .ok()
                .flatten()
                .map(|(name, crc)| (name.to_vec(), crc)),
        })
    }

    /// The whole contents; the error is the reason alone. Refuses a file that is mostly zeros: it
    /// claims gigabytes and has none of them on disk.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, String> {
        if self.len > MAX_FILE_BYTES {
            return Err(format!("{} bytes are more than heapglass reads", self.len));
        }
        let mut file = &self.file;
        file.rewind().map_err(|error| error.to_string())?;
        let mut file = file.take(self.len);
        let mut bytes = Vec::new();
        let mut buffer = vec![0; 1 << 18];
        let (mut zeros, mut others) = (0, 0);
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => return Ok(bytes),
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.to_string()),
            };
            let piece = &buffer[..read];
            for page in piece.chunks(ZEROS.len()) {
                if ZEROS.starts_with(page) {
                    zeros += page.len()
                } else {
                    others += page.len()
                }
            }
            if zeros > MOST_ZEROS + others.saturating_mul(4) {
                return Err("most of it is empty".to_owned());
            }
            bytes
                .try_reserve(piece.len())
                .map_err(|_| format!("not enough memory for {} bytes", self.len))?;
            bytes.extend_from_slice(piece);
        }
    }
}

/// Modification time in nanoseconds since the Unix epoch, 0 if unknown.
fn mtime_ns(metadata: &Metadata) -> u64 {
    metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// Opens a regular file for reading without ever blocking on a pipe or a device; the error is the
/// reason alone.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata), String> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    let file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    Ok((file, metadata))
}

/// Parses the headers of an object file; the error is the reason alone.
pub(super) fn parse<'a, R: ReadRef<'a>>(data: R) -> Result<object::File<'a, R>, String> {
    object::File::parse(data)
        .map_err(|error| format!("it is not an object file that can be read ({error})"))
}

/// The GNU build-id (or Mach-O UUID) of a parsed file.
fn build_id<'a>(object: &impl Object<'a>) -> Option<Vec<u8>> {
    let id = match object.build_id() {
        Ok(Some(id)) => id.to_vec(),
        _ => object.mach_uuid().ok().flatten()?.to_vec(),
    };
    (!id.is_empty() && id.len() <= MAX_BUILD_ID_BYTES).then_some(id)
}

/// Returns `true` if a section of this name exists and holds anything. (A file made by
/// `objcopy --only-keep-debug` keeps the headers of sections without their bytes.)
fn has_section<'a>(object: &impl Object<'a>, name: &str) -> bool {
    object
        .section_by_name(name)
        .is_some_and(|section| section.file_range().is_some_and(|(_, len)| len > 0))
}

/// Reads the sections of a file, each decompressed within the limits.
pub(super) struct Sections<'o, 'a> {
    object: &'o object::File<'a>,
    /// The bytes that the remaining sections may still decompress to.
    allowance_bytes: u64,
    /// Total size of the sections that were read.
    pub(super) bytes: usize,
}

impl<'o, 'a> Sections<'o, 'a> {
    /// For a file of `file_bytes` bytes.
    pub(super) fn new(object: &'o object::File<'a>, file_bytes: usize) -> Self {
        let most = (file_bytes as u64).saturating_mul(MAX_EXPANSION);
        Sections {
            object,
            allowance_bytes: most.clamp(ALWAYS_ALLOWED_BYTES, MAX_DECOMPRESSED_BYTES),
            bytes: 0,
        }
    }

    /// The byte order of the file.
    pub(super) fn endian(&self) -> RunTimeEndian {
        if self.object.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        }
    }

    /// The bytes of a section; empty if there is none. The error is the reason alone.
    pub(super) fn read(&mut self, name: &str) -> Result<Cow<'a, [u8]>, String> {
        let Some(section) = self.object.section_by_name(name) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let reason = |error: object::Error| format!("section {name}: {error}");
        let range = section.compressed_file_range().map_err(reason)?;
        if range.format != CompressionFormat::None {
            let most_bytes = range
                .compressed_size
                .saturating_mul(MAX_EXPANSION)
                .max(ALWAYS_ALLOWED_BYTES)
                .min(self.allowance_bytes);
            if range.uncompressed_size > most_bytes {
                return Err(format!(
                    "section {name} claims to be {} bytes once decompressed",
                    range.uncompressed_size
                ));
            }
            self.allowance_bytes -= range.uncompressed_size;
        }
        let data = section.compressed_data().map_err(reason)?;
        let bytes = data.decompress().map_err(reason)?;
        self.bytes += bytes.len();
        Ok(bytes)
    }
}

//! Where the recordings of one run are written while their programs live, and where they end up.
//!
//! Live recordings lie in a folder of this run, in the place for live recordings ([`place`](super::place)) if that has
//! room, since a store into a mapped page of a busy disk may wait for write-back; else beside the wanted path. A
//! symbolic link at the wanted path leads to each from its first moment, so that it can be watched. At the end the
//! recording takes the place of its link. If heapglass itself is killed, the link still leads to the recording.
//!
//! Must never replace anything that it did not put there itself: a taken path gets a suffix, `NAME-PID.hg`. Only with
//! `--force` does a recording take the place of an older file, once a run.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use heapglass_profiler::units::parse_bytes;
use rustix::fs::{FlockOperation, flock};
use tracking_alloc_recording::{
    DEFAULT_MAX_BYTES, HeaderValue, PathPiece, Writer, literal_path, path_pieces,
};

use super::output::Temporary;
use super::{first_free, header, place};
use crate::error::Error;

/// Most suffixes tried for a taken path.
const SUFFIXES: u32 = 100_000;

/// The file in the folder of a run that stays locked while the run lives.
const LOCK: &str = ".lock";

/// A private folder for live recordings, and the paths that they are going to have.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    wanted: PathBuf,
    /// In the order they were found.
    claims: Vec<Claim>,
    /// The names of claimed recordings in the folder.
    claimed: BTreeSet<OsString>,
    is_settled: bool,
    /// A regular file at a wanted path is replaced.
    overwrites: bool,
    /// Locked; closing it unlocks it.
    _lock: File,
}

/// A live recording and the path it is going to have.
#[derive(Debug)]
struct Claim {
    /// Its path in the folder.
    source: PathBuf,
    /// The path without a suffix.
    wanted: PathBuf,
    /// The link that stands for the recording, unless none could be made; at the end of the run the recording itself.
    link: Option<PathBuf>,
    header: HeaderValue,
}

/// A recording at the end of the run.
#[derive(Clone, Debug)]
pub(crate) struct KeptRecording {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// File name of its executable.
    pub(crate) program: String,
    /// Its process.
    pub(crate) pid: u32,
    /// Why it does not lie where it was wanted, as a sentence.
    pub(crate) note: Option<String>,
}

impl Spool {
    /// Makes the folder. `wanted` is the pattern of the paths that recordings are going to have; with `overwrites`,
    /// files that have such a path already give way.
    ///
    /// # Errors
    /// When the folder that `wanted` names cannot be written.
    pub(crate) fn new(wanted: &Path, overwrites: bool) -> Result<Spool, Error> {
        if path_pieces(wanted.as_os_str().as_bytes()).any(|piece| piece == PathPiece::Unknown) {
            return Err(Error::misuse(format_args!(
                "{}: invalid path pattern; after % write p (process id), e (program), t (start time) or another %",
                wanted.display()
            )));
        }
        let is_folder = wanted.as_os_str().as_bytes().ends_with(b"/");
        let wanted = std::path::absolute(wanted).map_err(Error::wrap(format_args!(
            "cannot make {} an absolute path",
            wanted.display()
        )))?;
        let final_folder = match (wanted.parent(), wanted.file_name()) {
            (Some(folder), Some(_)) if !is_folder && !wanted.is_dir() => folder,
            _ => {
                return Err(Error::misuse(format_args!(
                    "{} is a folder; name the recording to write with --out",
                    wanted.display()
                )));
            }
        };
        let cannot = |what: &str, error: io::Error| {
            Error::misuse(format_args!(
                "cannot {what} {}: {error}; give another path with --out",
                final_folder.display()
            ))
        };
        // NOTE: a folder named by a pattern is only known when a program runs; it is not tried now.
        if !final_folder.as_os_str().as_bytes().contains(&b'%') {
            try_folder(final_folder).map_err(|error| cannot("write recordings to", error))?;
        }
        let make = |base: &Path, name| {
            let folder = private_folder(base, name)?;
            Ok((lock_new(&folder)?, folder))
        };
        let in_memory =
            roomy_memory(max_bytes()?).and_then(|memory| make(&memory, place::RUN).ok());
        let made = in_memory.map_or_else(|| make(final_folder, place::RUN_BESIDE), Ok);
        let (lock, folder) =
            made.map_err(|error| cannot("make a folder for live recordings in", error))?;
        Ok(Spool {
            folder,
            wanted,
            claims: Vec::new(),
            claimed: BTreeSet::new(),
            is_settled: false,
            overwrites,
            _lock: lock,
        })
    }

    /// The value of `HEAPGLASS_OUT` for the programs of this run.
    pub(crate) fn environment(&self) -> OsString {
        let mut pattern = literal_path(self.folder.as_os_str().as_bytes());
        pattern.extend_from_slice(b"/%e-%p.hg");
        OsString::from_vec(pattern)
    }

    /// The private folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The recording that was found first, as it can be opened now.
    pub(crate) fn first_recording(&self) -> Option<&Path> {
        let claim = self.claims.first()?;
        Some(claim.link.as_ref().unwrap_or(&claim.source))
    }

    /// Whether the command ended and its recordings lie where they stay.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Looks for new recordings and gives each the path it is going to have. That of process `first` comes first.
    pub(crate) fn look(&mut self, first: u32) {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<(HeaderValue, OsString)> = files
            .map(|file| file.file_name())
            .filter(|name| !name.as_bytes().starts_with(b".") && !self.claimed.contains(name))
            .filter_map(|name| Some((header::read(&self.folder.join(&name))?, name)))
            .collect();
        found.sort_by_key(|(header, _)| (header.pid != first, header.started_unix_ns));
        for (header, name) in found {
            self.claims.push(self.claim(&name, header));
            self.claimed.insert(name);
        }
    }

    fn claim(&self, name: &OsStr, header: HeaderValue) -> Claim {
        let started_unix_s = header.started_unix_ns / 1_000_000_000;
        let pieces = path_pieces(self.wanted.as_os_str().as_bytes());
        let wanted = pieces.flat_map(|piece| match piece {
            PathPiece::Bytes(bytes) => bytes.to_vec(),
            PathPiece::Process => header.pid.to_string().into_bytes(),
            PathPiece::Program => program_in(name, header.pid).to_vec(),
            PathPiece::Started => started_unix_s.to_string().into_bytes(),
            // Refused when the spool was made.
            PathPiece::Unknown => b"%".to_vec(),
        });
        let wanted = PathBuf::from(OsString::from_vec(wanted.collect()));
        let source = self.folder.join(name);
        // Two recordings of one run have different paths.
        if self.overwrites && !self.claims.iter().any(|claim| claim.wanted == wanted) {
            make_way(&wanted);
        }
        let made = first_free_path(&wanted, &header, |path| {
            std::os::unix::fs::symlink(&source, path)
        });
        Claim {
            source,
            link: made.ok(),
            wanted,
            header,
        }
    }

    /// Moves every recording to its path, in the order they were found. Those still written stay where they are,
    /// under their links.
    pub(crate) fn settle(&mut self, first: u32) -> Vec<KeptRecording> {
        self.look(first);
        self.is_settled = true;
        let claims = self.claims.iter_mut();
        claims.map(Claim::settle).collect()
    }
}

impl Claim {
    /// The path that the recording is going to have.
    fn path(&self) -> &Path {
        self.link.as_ref().unwrap_or(&self.wanted)
    }

    /// Moves the recording to its path, unless it may still be written. From then on it is opened where it lies.
    fn settle(&mut self) -> KeptRecording {
        let target = self.source.clone();
        let header = header::read(&target).unwrap_or(self.header);
        let pid = header.pid;
        let name = self.source.file_name().unwrap_or_default();
        let program = String::from_utf8_lossy(program_in(name, pid)).into_owned();
        let (path, note) = if header::may_be_written(&header) {
            let does = match Writer::of(&header) {
                Writer::Running => "still runs and writes to",
                _ => "cannot be seen from here and may still write to",
            };
            let note = format!("process {pid} {does} {}", target.display());
            let path = self.link.as_ref().unwrap_or(&target);
            (path.clone(), Some(note))
        } else {
            match self.move_from(&target) {
                Ok(path) => {
                    let name = self.wanted.file_name().unwrap_or_default();
                    let note =
                        (path != self.wanted).then(|| format!("{} was taken", name.display()));
                    (path, note)
                }
                Err(error) => {
                    let note = format!(
                        "the recording could not be moved to {}: {error}; copy it from where it is",
                        self.path().display()
                    );
                    (target, Some(note))
                }
            }
        };
        self.link = Some(path.clone());
        KeptRecording {
            path,
            program,
            pid,
            note,
        }
    }

    /// Gives the recording at `target` the path claimed for it.
    fn move_from(&self, target: &Path) -> io::Result<PathBuf> {
        let path = self.path();
        let is_ours = |link: &Path| fs::read_link(link).is_ok_and(|to| to == self.source);
        let has_link = self.link.as_deref().is_some_and(is_ours);
        if has_link && fs::rename(target, path).is_ok() {
            return Ok(path.to_owned());
        }
        if !has_link {
            // The link is gone, replaced, or could not be made: nothing that stands there now is ours.
            return move_to_free(target, path, &self.header);
        }
        let temporary = Temporary::beside(path, true)?;
        copy_whole(target, temporary.path())?;
        temporary.replace()?;
        let _ = fs::remove_file(target);
        Ok(path.to_owned())
    }
}

impl Drop for Spool {
    /// The folder goes when nothing is left in it; files of programs that ended before they recorded go with it.
    fn drop(&mut self) {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for name in files.map(|file| file.file_name()) {
            let path = self.folder.join(&name);
            let is_temporary = name.as_bytes().starts_with(b".") && name != LOCK;
            // What a program that ended before it recorded leaves: `.NAME.PID.tmp`, signed by its writer.
            let writer = header::read_prefix(&path, header::SIGNED_BYTES);
            if is_temporary && writer.is_some_and(|header| !header::may_be_written(&header)) {
                let _ = fs::remove_file(&path);
            }
        }
        remove_if_empty(&self.folder);
    }
}

/// Removes the folder of a run in which nothing but its lock is left.
pub(super) fn remove_if_empty(folder: &Path) {
    let mut files = fs::read_dir(folder).into_iter().flatten().flatten();
    if files.all(|file| file.file_name() == LOCK) && fs::remove_file(folder.join(LOCK)).is_ok() {
        let _ = fs::remove_dir(folder);
    }
}

/// The program in a live recording's name: `PROGRAM-PID.hg`, with or without a suffix.
fn program_in(name: &OsStr, pid: u32) -> &[u8] {
    let bytes = name.as_bytes();
    let number = format!("-{pid}");
    let end = bytes
        .windows(number.len())
        .position(|part| part == number.as_bytes())
        .or_else(|| bytes.windows(3).rposition(|part| part == b".hg"));
    &bytes[..end.unwrap_or(bytes.len())]
}

/// The first of `NAME.hg`, `NAME-PID.hg`, `NAME-PID-START.hg`, then with further numbers, that `make` can make.
fn first_free_path(
    wanted: &Path,
    header: &HeaderValue,
    make: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    first_free(SUFFIXES, |attempt| {
        let suffix = match attempt {
            0 => String::new(),
            1 => format!("-{}", header.pid),
            2 => format!("-{}-{}", header.pid, header.start_ticks),
            _ => format!("-{}-{}-{}", header.pid, header.start_ticks, attempt - 1),
        };
        let path = with_suffix(wanted, &suffix);
        make(&path).map(|()| path)
    })
}

/// Removes the regular file at a path, unless it is a recording that may still be written.
fn make_way(path: &Path) {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_file && !header::read(path).is_some_and(|header| header::may_be_written(&header)) {
        // If that fails, the path is taken, and the summary says so.
        let _ = fs::remove_file(path);
    }
}

/// A suffix before the extension.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Moves a recording that nobody writes to, to another file system too. The path that it got.
///
/// # Errors
/// When it cannot be written there; the recording then stays where it is.
pub(super) fn move_to_free(
    from: &Path,
    wanted: &Path,
    header: &HeaderValue,
) -> io::Result<PathBuf> {
    let temporary = Temporary::beside(wanted, true)?;
    copy_whole(from, temporary.path())?;
    let path = first_free_path(wanted, header, |path| {
        move_without_replacing(temporary.path(), path)
    })?;
    let _ = fs::remove_file(from);
    Ok(path)
}

/// Gives a file a name that nobody has.
fn move_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // File systems without hard links.
        Err(_) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Copies a file that nobody writes to, whole.
fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    let copied = fs::copy(from, to)?;
    if copied == from.metadata()?.len() {
        Ok(())
    } else {
        Err(io::Error::other("it changed while it was copied"))
    }
}

/// Makes the lock of a new folder, and holds it.
fn lock_new(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let file = options.open(folder.join(LOCK))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Returns `true` if the run that made this folder still lives: it holds the lock, and moves what is there.
pub(super) fn is_run_alive(folder: &Path) -> bool {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = File::options();
    options.read(true).custom_flags(flags.bits() as i32);
    let lock = options.open(folder.join(LOCK));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// Whether files can be made in a folder, found out by making one.
fn try_folder(folder: &Path) -> io::Result<()> {
    Temporary::beside(&folder.join("heapglass"), true).map(drop)
}

/// A new folder that only its owner can look into.
fn private_folder(base: &Path, name: &str) -> io::Result<PathBuf> {
    first_free(100, |attempt| {
        let folder = base.join(format!("{name}-{}-{attempt}", std::process::id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&folder);
        made.map(|()| folder)
    })
}

/// The most bytes that a recording of the programs may have.
fn max_bytes() -> Result<u64, Error> {
    let text = std::env::var_os("HEAPGLASS_MAX_BYTES").unwrap_or_default();
    if text.is_empty() {
        return Ok(DEFAULT_MAX_BYTES);
    }
    parse_bytes(&text.to_string_lossy())
        .map_err(|why| Error::misuse(format_args!("HEAPGLASS_MAX_BYTES: {why}")))
}

/// The place for live recordings, if it has room for twice the bound of a recording.
fn roomy_memory(max_bytes: u64) -> Option<PathBuf> {
    place::made().find(|folder| free_memory(folder).is_some_and(|free| free / 2 >= max_bytes))
}

/// Bytes free on a tmpfs; `None` elsewhere.
fn free_memory(folder: &Path) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        const TMPFS_MAGIC: u32 = 0x0102_1994;
        let status = rustix::fs::statfs(folder).ok()?;
        if status.f_type as u32 != TMPFS_MAGIC {
            return None;
        }
        status.f_bavail.checked_mul(status.f_bsize.try_into().ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        None
    }
}

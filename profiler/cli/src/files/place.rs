//! Where the recordings of one run are written while their programs live, and where they end up.
//!
//! Live recordings lie in a private folder, on tmpfs where there is room (a store into a mapped page of a busy disk
//! may wait for write-back), else beside the wanted path. From its first moment each is reachable under the path it is
//! going to have, by a symbolic link, so that it can be watched; at the end the link gives way to the file. Should
//! heapglass itself be killed, the link still leads to the recording, and the next command moves it ([`recover`]).
//!
//! Must never replace anything that it did not put there itself: a taken path gets a suffix, `NAME-PID.hg`. Only with
//! `--force` does a recording take the place of an older file, once a run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tracking_alloc_recording::{DEFAULT_MAX_BYTES, PathPiece, Writer, literal_path, path_pieces};

use super::output::Temporary;
use super::peek::{self, Peek};
use super::recover;
use crate::error::Error;

/// Most suffixes tried for a taken path.
const SUFFIXES: u32 = 100_000;

/// The file in the folder that holds the pattern of wanted paths. It is locked as long as the command runs that made
/// the folder: who can lock it is to move what the folder holds.
const WANTED: &str = ".wanted";

/// A private folder for live recordings, and the paths that they are going to have.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    wanted: PathBuf,
    claims: BTreeMap<OsString, Claim>,
    settled: Vec<PathBuf>,
    /// A regular file at a wanted path is replaced.
    overwrites: bool,
    /// Locked; closing it unlocks it.
    _lock: File,
}

/// A live recording and the path it is going to have.
#[derive(Clone, Debug)]
struct Claim {
    path: PathBuf,
    /// The path without a suffix.
    wanted: PathBuf,
    /// The link was made and stands for the recording.
    linked: bool,
    order: usize,
    peek: Peek,
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
        recover::before_listing();
        let wanted = std::path::absolute(wanted).map_err(|error| {
            Error::misuse(format_args!(
                "cannot tell where {} is: {error}",
                wanted.display()
            ))
        })?;
        let final_folder = match (wanted.parent(), wanted.file_name()) {
            (Some(folder), Some(_)) if !wanted.is_dir() => folder,
            _ => {
                return Err(Error::misuse(format_args!(
                    "{} is a folder; name the recording to write with --out",
                    wanted.display()
                )));
            }
        };
        // NOTE: a folder named by a pattern is only known when a program runs; it is not tried now.
        if !final_folder.as_os_str().as_bytes().contains(&b'%') {
            try_folder(final_folder).map_err(|error| {
                Error::misuse(format_args!(
                    "cannot write recordings to {}: {error}; give another path with --out",
                    final_folder.display()
                ))
            })?;
        }
        let candidates = roomy_memory()
            .into_iter()
            .map(|memory| (memory, "heapglass"))
            .chain([(final_folder.to_owned(), ".heapglass")]);
        let mut refusal = None;
        for (base, name) in candidates {
            let made = private_folder(&base, name)
                .and_then(|folder| Ok((lock_new(&folder, &wanted)?, folder)));
            match made {
                Ok((lock, folder)) => {
                    return Ok(Spool {
                        folder,
                        wanted,
                        claims: BTreeMap::new(),
                        settled: Vec::new(),
                        overwrites,
                        _lock: lock,
                    });
                }
                Err(error) => refusal = Some(error),
            }
        }
        Err(Error::misuse(format_args!(
            "cannot make a folder for live recordings in {}: {}; give another path with --out",
            final_folder.display(),
            refusal.map_or("no place".to_owned(), |error| error.to_string())
        )))
    }

    /// The folder of a command that was killed; `None` when it is none, or its command lives.
    pub(crate) fn adopt(folder: &Path) -> Option<Spool> {
        let path = folder.join(WANTED);
        if !path.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let mut lock = File::options().read(true).write(true).open(&path).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mut wanted = Vec::new();
        lock.read_to_end(&mut wanted).ok()?;
        let wanted = PathBuf::from(OsString::from_vec(wanted));
        // NOTE: somebody may have been faster, and done.
        (path.exists() && wanted.is_absolute()).then(|| Spool {
            folder: folder.to_owned(),
            wanted,
            claims: BTreeMap::new(),
            settled: Vec::new(),
            overwrites: false,
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

    /// The recordings known so far, as they can be opened now, in the order they were found.
    pub(crate) fn recordings(&self) -> Vec<PathBuf> {
        if !self.settled.is_empty() {
            return self.settled.clone();
        }
        let mut claims: Vec<_> = self.claims.iter().collect();
        claims.sort_by_key(|(_, claim)| claim.order);
        claims
            .into_iter()
            .map(|(name, claim)| {
                if claim.linked {
                    claim.path.clone()
                } else {
                    self.folder.join(name)
                }
            })
            .collect()
    }

    /// Looks for new recordings and gives each the path it is going to have. That of process `first` comes first.
    pub(crate) fn look(&mut self, first: u32) {
        let Ok(files) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut found: Vec<(OsString, Peek)> = files
            .flatten()
            .map(|file| file.file_name())
            .filter(|name| !name.as_bytes().starts_with(b".") && !self.claims.contains_key(name))
            .filter_map(|name| {
                let peek = peek::peek(&self.folder.join(&name))?;
                Some((name, peek))
            })
            .collect();
        found.sort_by_key(|(name, peek)| {
            let (_, pid) = program_and_pid(name, *peek);
            (pid != first, peek.header.started_unix_ns)
        });
        for (name, peek) in found {
            let claim = self.claim(&name, peek);
            self.claims.insert(name, claim);
        }
    }

    fn claim(&self, name: &OsStr, peek: Peek) -> Claim {
        let (program, pid) = program_and_pid(name, peek);
        let started_unix_s = peek.header.started_unix_ns / 1_000_000_000;
        let mut wanted = Vec::new();
        for piece in path_pieces(self.wanted.as_os_str().as_bytes()) {
            match piece {
                PathPiece::Bytes(bytes) => wanted.extend_from_slice(bytes),
                PathPiece::Process => wanted.extend_from_slice(pid.to_string().as_bytes()),
                PathPiece::Program => wanted.extend_from_slice(program),
                PathPiece::Started => {
                    wanted.extend_from_slice(started_unix_s.to_string().as_bytes());
                }
            }
        }
        let wanted = PathBuf::from(OsString::from_vec(wanted));
        let source = self.folder.join(name);
        // Two recordings of one run have different paths.
        if self.overwrites && !self.claims.values().any(|claim| claim.wanted == wanted) {
            make_way(&wanted);
        }
        let made = first_free(&wanted, &peek, |path| {
            match std::os::unix::fs::symlink(&source, path) {
                // It was made before by a command that was killed.
                Err(_) if fs::read_link(path).is_ok_and(|target| target == source) => Ok(()),
                made => made,
            }
        });
        Claim {
            linked: made.is_ok(),
            path: made.unwrap_or_else(|_| wanted.clone()),
            wanted,
            order: self.claims.len(),
            peek,
        }
    }

    /// Moves every recording to its path, in the order they were found. Those still written stay where they are,
    /// under their links.
    pub(crate) fn settle(&mut self, first: u32) -> Vec<KeptRecording> {
        self.look(first);
        let mut claims: Vec<_> = std::mem::take(&mut self.claims).into_iter().collect();
        claims.sort_by_key(|(_, claim)| claim.order);
        let kept: Vec<KeptRecording> = claims
            .into_iter()
            .map(|(name, claim)| self.settle_one(&name, claim))
            .collect();
        self.settled = kept.iter().map(|kept| kept.path.clone()).collect();
        kept
    }

    fn settle_one(&self, name: &OsStr, claim: Claim) -> KeptRecording {
        let lying = self.folder.join(name);
        let source = if claim.peek.is_pointer() {
            peek::pointed_at(&lying).unwrap_or_else(|| lying.clone())
        } else {
            lying.clone()
        };
        let peek = peek::peek(&source).unwrap_or(claim.peek);
        let (program, pid) = program_and_pid(name, peek);
        let kept = |path: PathBuf, note: Option<String>| KeptRecording {
            path,
            program: String::from_utf8_lossy(program).into_owned(),
            pid,
            note,
        };
        if peek.may_be_written() {
            let note = match peek.writer() {
                Writer::Running => format!(
                    "process {pid} still runs and writes to {}",
                    source.display()
                ),
                _ => format!(
                    "process {pid} cannot be seen from here and may still write to {}",
                    source.display()
                ),
            };
            return kept(if claim.linked { claim.path } else { source }, Some(note));
        }
        match move_to(&source, &lying, &claim) {
            Ok(path) => {
                let _ = fs::remove_file(&lying);
                let taken = path != claim.wanted;
                let name = claim.wanted.file_name().unwrap_or_default();
                let note = taken.then(|| format!("{} was taken", name.to_string_lossy()));
                kept(path, note)
            }
            Err(error) => {
                let note = format!(
                    "it could not be moved to {}: {error}; copy it from where it is",
                    claim.path.display()
                );
                kept(source, Some(note))
            }
        }
    }
}

impl Drop for Spool {
    /// The folder goes when nothing is left in it; files of programs that ended before they recorded go with it.
    fn drop(&mut self) {
        recover::clear_temporaries(&self.folder);
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        if files.filter(|file| file.file_name() != WANTED).count() == 0 {
            let _ = fs::remove_file(self.folder.join(WANTED));
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// The program in a live recording's name, `PROGRAM-PID.hg` with or without a suffix, and its process.
fn program_and_pid(name: &OsStr, peek: Peek) -> (&[u8], u32) {
    let pid = peek.header.pid;
    let bytes = name.as_bytes();
    let number = format!("-{pid}");
    let end = bytes
        .windows(number.len())
        .position(|part| part == number.as_bytes())
        .or_else(|| bytes.windows(3).rposition(|part| part == b".hg"))
        .unwrap_or(bytes.len());
    (bytes.get(..end).unwrap_or(bytes), pid)
}

/// The first of `NAME.hg`, `NAME-PID.hg`, `NAME-PID-START.hg`, then with further numbers, that `make` can make.
pub(super) fn first_free(
    wanted: &Path,
    peek: &Peek,
    make: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let header = &peek.header;
    super::first_free(SUFFIXES, |attempt| {
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
    if is_file && !peek::peek(path).is_some_and(Peek::may_be_written) {
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

/// Gives a file a name that nobody has.
pub(super) fn place(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // File systems without hard links.
        Err(_) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Gives the recording at `source` the path claimed for it.
fn move_to(source: &Path, linked_to: &Path, claim: &Claim) -> io::Result<PathBuf> {
    let ours = claim.linked && fs::read_link(&claim.path).is_ok_and(|target| target == linked_to);
    if ours && fs::rename(source, &claim.path).is_ok() {
        return Ok(claim.path.clone());
    }
    let temporary = Temporary::beside(&claim.path, true)?;
    copy_whole(source, temporary.path())?;
    let path = if ours {
        temporary.replace()?;
        claim.path.clone()
    } else {
        // The link is gone, replaced, or could not be made: nothing that stands there now is ours.
        first_free(&claim.path, &claim.peek, |path| {
            place(temporary.path(), path)
        })?
    };
    let _ = fs::remove_file(source);
    Ok(path)
}

/// Copies a file that nobody writes to, whole.
pub(super) fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    let copied = fs::copy(from, to)?;
    if copied == from.metadata()?.len() {
        Ok(())
    } else {
        Err(io::Error::other("it changed while it was copied"))
    }
}

/// Writes down what is wanted of a new folder, and holds it locked.
fn lock_new(folder: &Path, wanted: &Path) -> io::Result<File> {
    let hidden = folder.join(".new");
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&hidden)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    file.write_all(wanted.as_os_str().as_bytes())?;
    fs::rename(hidden, folder.join(WANTED))?;
    Ok(file)
}

/// Whether files can be made in a folder, found out by making one.
fn try_folder(folder: &Path) -> io::Result<()> {
    Temporary::beside(&folder.join("heapglass"), true).map(drop)
}

/// A new folder that only its owner can look into.
fn private_folder(base: &Path, name: &str) -> io::Result<PathBuf> {
    super::first_free(100, |attempt| {
        let folder = base.join(format!("{name}-{}-{attempt}", std::process::id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&folder);
        made.map(|()| folder)
    })
}

/// A tmpfs with room for twice the bound of a recording.
fn roomy_memory() -> Option<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let cap = std::env::var("HEAPGLASS_MAX_BYTES")
        .ok()
        .and_then(|cap| cap.trim().parse().ok())
        .unwrap_or(DEFAULT_MAX_BYTES);
    runtime
        .into_iter()
        .chain([PathBuf::from("/dev/shm")])
        .find(|folder| {
            folder.is_absolute() && free_memory(folder).is_some_and(|free| free / 2 >= cap)
        })
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

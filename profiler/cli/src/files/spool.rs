//! The folder for the recordings of one run while their programs are alive, and the paths where the
//! recordings end up.
//!
//! A live recording is in a folder of this run. The folder is in the place for live recordings
//! ([`place`](super::place)) if that has room, because a store into a mapped page of a busy disk
//! may wait for write-back. Else it is next to the wanted path. From the start, a symbolic link at
//! the wanted path leads to the recording, so that it can be watched. At the end, the recording
//! replaces its link. If heapglass itself is killed, the link still leads to the recording.
//!
//! Never replaces anything that this run did not create: if the path is taken, the recording gets a
//! suffix, `NAME-PID.hg`. Only with `--force` does a recording replace an older file, once per run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use heapglass_profiler::units::parse_bytes;
use tracking_alloc_recording::{
    DEFAULT_MAX_BYTES, FIRST_SEGMENT_BYTES, HeaderValue, PathPiece, Recording, Writer,
    literal_path, path_pieces, state,
};

use super::final_path::{copy_whole, first_free_path, make_way, move_to_free};
use super::leftovers::{Kind, Leftover, private_folder};
use super::output::{PRIVATE, Temporary};
use super::run_folder::{LOCK, RUN, RUN_BESIDE, lock_new};
use super::{header, place};
use crate::error::Error;

/// A private folder for live recordings, with the final paths of the recordings.
#[derive(Debug)]
pub(crate) struct Spool {
    /// Removed at the end if it has no recording.
    folder: Leftover,
    wanted: PathBuf,
    /// The claims, in the order in which they were found.
    claims: Vec<Claim>,
    /// Names of the files in the folder that are claimed.
    claimed: BTreeSet<OsString>,
    is_settled: bool,
    /// `true` if a recording may replace a regular file at its path.
    overwrites: bool,
    /// Returns `true` for a recording that gets the wanted path before others do. If there is no
    /// such function, recordings get it in the order in which they are found.
    is_preferred: Option<fn(&Path) -> bool>,
    /// `true` if recordings stay whose program became another one and allocated little.
    keeps_replaced: bool,
    /// The locked file. Closing it releases the lock.
    _lock: File,
}

/// A live recording and its final path.
#[derive(Debug)]
struct Claim {
    /// Path of the recording in the folder.
    source: PathBuf,
    /// Wanted path, without a suffix.
    wanted: PathBuf,
    /// Path of the link to the recording, unless no link could be made. After the run, the path of
    /// the recording itself.
    link: Option<PathBuf>,
    header: HeaderValue,
    /// The order of recordings with one wanted path: the smallest rank gets it.
    rank: Rank,
}

/// The order of recordings: `true` if it is not preferred, `true` if it is not that of the command,
/// the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(bool, bool, u64);

impl Rank {
    /// Returns the rank of a recording. A process that becomes another program by `exec` has
    /// several recordings, and the last program is meant.
    fn new(is_preferred: bool, is_command: bool, header: &HeaderValue) -> Rank {
        let started = header.started_unix_ns;
        let later = if is_command && !is_preferred {
            u64::MAX - started
        } else {
            started
        };
        Rank(!is_preferred, !is_command, later)
    }

    fn is_preferred(self) -> bool {
        !self.0
    }
}

/// A recording at the end of the run.
#[derive(Clone, Debug)]
pub(crate) struct KeptRecording {
    /// Path of the recording.
    pub(crate) path: PathBuf,
    /// File name of its executable.
    pub(crate) program: String,
    /// Id of its process.
    pub(crate) pid: u32,
    /// The reason why the recording is not at the wanted path, as a sentence.
    pub(crate) note: Option<String>,
    /// `true` if a program may still write to it.
    pub(crate) is_written: bool,
    /// `false` if other recordings come before it. See [`Spool::prefer`].
    pub(crate) is_preferred: bool,
}

impl Spool {
    /// Creates the folder. `wanted` is the path pattern for recordings. With `overwrites`,
    /// recordings replace existing files at their paths.
    ///
    /// # Errors
    /// Returns an error if the folder in `wanted` cannot be written.
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
        // NOTE: if the folder depends on the pattern, it is known only when a program runs, and
        // cannot be tested now.
        if !final_folder.as_os_str().as_bytes().contains(&b'%') {
            try_folder(final_folder).map_err(|error| cannot("write recordings to", error))?;
        }
        let make = |base: &Path, name| {
            let folder = private_folder(base, name, Kind::RunFolder)?;
            Ok((lock_new(folder.path())?, folder))
        };
        let in_memory = roomy_memory(max_bytes()?).and_then(|memory| make(&memory, RUN).ok());
        let made = in_memory.map_or_else(|| make(final_folder, RUN_BESIDE), Ok);
        let (lock, folder) =
            made.map_err(|error| cannot("make a folder for live recordings in", error))?;
        Ok(Spool {
            folder,
            wanted,
            claims: Vec::new(),
            claimed: BTreeSet::new(),
            is_settled: false,
            overwrites,
            is_preferred: None,
            keeps_replaced: false,
            _lock: lock,
        })
    }

    /// Sets which recordings get the wanted path before others. Among the others, the program that
    /// the command became by `exec` comes before what it was.
    pub(crate) fn prefer(&mut self, is_preferred: fn(&Path) -> bool) {
        self.is_preferred = Some(is_preferred);
    }

    /// Keeps the recordings of programs that became another one, however little they allocated.
    pub(crate) fn keep_replaced(&mut self) {
        self.keeps_replaced = true;
    }

    /// Removes the recordings of programs that became another one by `exec`, which has a recording
    /// too, and that allocated next to nothing: a script that only starts a program.
    pub(crate) fn remove_replaced(&mut self) {
        if self.keeps_replaced {
            return;
        }
        // The number of a process may come again, and `exec` keeps its start.
        let process = |header: &HeaderValue| {
            let host = (header.boot_id, header.pid_namespace);
            (host, header.pid, header.start_ticks)
        };
        let mut last = BTreeMap::new();
        for claim in &self.claims {
            let started = claim.header.started_unix_ns;
            let known = last.entry(process(&claim.header)).or_insert(started);
            *known = started.max(*known);
        }
        self.claims.retain_mut(|claim| {
            let header = &claim.header;
            let is_replaced = last
                .get(&process(header))
                .is_some_and(|started| header.started_unix_ns < *started);
            // Those of programs that record themselves are what was asked for.
            let is_wanted = !is_replaced || claim.rank.is_preferred();
            if is_wanted || !left_with_little(&claim.source) {
                return true;
            }
            claim.leave_path();
            let _ = fs::remove_file(&claim.source);
            false
        });
        // The path that one of them had is free for the next.
        for claim in &mut self.claims {
            if claim.link.as_ref() != Some(&claim.wanted) && claim.leave_path() {
                claim.link();
            }
        }
    }

    /// Returns the value of `HEAPGLASS_OUT` for the programs of this run.
    pub(crate) fn environment(&self) -> OsString {
        let mut pattern = literal_path(self.folder.path().as_os_str().as_bytes());
        pattern.extend_from_slice(b"/%e-%p.hg");
        OsString::from_vec(pattern)
    }

    /// Returns the private folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the current path of the recording that matters most.
    pub(crate) fn first_recording(&self) -> Option<&Path> {
        let claim = self.claims.iter().min_by_key(|claim| claim.rank)?;
        Some(claim.link.as_ref().unwrap_or(&claim.source))
    }

    /// Returns the paths of the recordings in the folder, in the order in which they were found.
    pub(crate) fn sources(&self) -> Vec<PathBuf> {
        self.claims
            .iter()
            .map(|claim| claim.source.clone())
            .collect()
    }

    /// Returns `true` once the command has ended and its recordings are at their final paths.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Looks for new recordings and claims a final path for each. The recording of process `first`
    /// comes first.
    pub(crate) fn look(&mut self, first: u32) {
        let files = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let mut found: Vec<(HeaderValue, OsString)> = files
            .map(|file| file.file_name())
            .filter(|name| !name.as_bytes().starts_with(b".") && !self.claimed.contains(name))
            .filter_map(|name| Some((header::read(&self.folder().join(&name))?, name)))
            .collect();
        found.sort_by_key(|(header, _)| (header.pid != first, header.started_unix_ns));
        for (header, name) in found {
            let claim = self.claim(&name, header, first);
            self.claims.push(claim);
            self.claimed.insert(name);
        }
    }

    fn claim(&mut self, name: &OsStr, header: HeaderValue, first: u32) -> Claim {
        let started_unix_s = header.started_unix_ns / 1_000_000_000;
        let pieces = path_pieces(self.wanted.as_os_str().as_bytes());
        let wanted = pieces.flat_map(|piece| match piece {
            PathPiece::Bytes(bytes) => bytes.to_vec(),
            PathPiece::Process => header.pid.to_string().into_bytes(),
            PathPiece::Program => program_in(name, header.pid).to_vec(),
            PathPiece::Started => started_unix_s.to_string().into_bytes(),
            // `new` rejects such patterns.
            PathPiece::Unknown => b"%".to_vec(),
        });
        let wanted = PathBuf::from(OsString::from_vec(wanted.collect()));
        let source = self.folder().join(name);
        let rank = match self.is_preferred {
            Some(is_preferred) => Rank::new(is_preferred(&source), header.pid == first, &header),
            None => Rank::default(),
        };
        // Two recordings of one run must not share a path.
        if self.overwrites && !self.claims.iter().any(|claim| claim.wanted == wanted) {
            make_way(&wanted);
        }
        let there = self.claims.iter_mut();
        let mut later =
            there.filter(|other| other.link.as_ref() == Some(&wanted) && rank < other.rank);
        let left = later.find_map(|other| other.leave_path().then_some(other));
        let mut claim = Claim {
            source,
            link: None,
            wanted,
            header,
            rank,
        };
        claim.link();
        if let Some(other) = left {
            other.link();
        }
        claim
    }

    /// Moves every recording to its final path, in the order in which they were found. A recording
    /// that is still written stays where it is, and its link stays.
    pub(crate) fn settle(&mut self, first: u32) -> Vec<KeptRecording> {
        self.look(first);
        self.is_settled = true;
        let claims = self.claims.iter_mut();
        claims.map(Claim::settle).collect()
    }
}

impl Claim {
    /// Returns the final path of the recording.
    fn path(&self) -> &Path {
        self.link.as_ref().unwrap_or(&self.wanted)
    }

    /// Removes the link to the recording, for another recording. Returns `false` if something else
    /// is at its path.
    fn leave_path(&mut self) -> bool {
        let is_left = self.has_link() && fs::remove_file(self.path()).is_ok();
        if is_left {
            self.link = None;
        }
        is_left
    }

    /// Returns `true` if the link to the recording is still at its path.
    fn has_link(&self) -> bool {
        let is_ours = |link: &Path| fs::read_link(link).is_ok_and(|to| to == self.source);
        self.link.as_deref().is_some_and(is_ours)
    }

    /// Makes a link to the recording at the first free path.
    fn link(&mut self) {
        let made = first_free_path(&self.wanted, &self.header, |path| {
            std::os::unix::fs::symlink(&self.source, path)
        });
        self.link = made.ok();
    }

    /// Moves the recording to its final path, unless a program may still write to it.
    fn settle(&mut self) -> KeptRecording {
        let target = self.source.clone();
        let header = header::read(&target).unwrap_or(self.header);
        let pid = header.pid;
        let name = self.source.file_name().unwrap_or_default();
        let program = String::from_utf8_lossy(program_in(name, pid)).into_owned();
        let is_written = header::may_be_written(&header);
        let (path, note) = if is_written {
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
            is_written,
            is_preferred: self.rank.is_preferred(),
        }
    }

    /// Moves the recording at `target` to its claimed path.
    fn move_from(&self, target: &Path) -> io::Result<PathBuf> {
        let path = self.path();
        let has_link = self.has_link();
        if has_link && fs::rename(target, path).is_ok() {
            return Ok(path.to_owned());
        }
        if !has_link {
            // The link is gone, was replaced, or could not be created, so anything at the path
            // belongs to somebody else.
            return move_to_free(target, path, &self.header);
        }
        let temporary = Temporary::beside(path, PRIVATE)?;
        copy_whole(target, temporary.path())?;
        temporary.replace()?;
        let _ = fs::remove_file(target);
        Ok(path.to_owned())
    }
}

impl Drop for Spool {
    /// Removes the files of programs that ended before they recorded. The folder is removed after
    /// that if it is empty.
    fn drop(&mut self) {
        let files = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        for name in files.map(|file| file.file_name()) {
            let path = self.folder().join(&name);
            let is_temporary = name.as_bytes().starts_with(b".") && name != LOCK;
            // A program that ended before it recorded leaves `.NAME.PID.tmp`, with its process in
            // the header.
            let writer = header::read_prefix(&path, header::SIGNED_BYTES);
            if is_temporary && writer.is_some_and(|header| !header::may_be_written(&header)) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// A program that only starts another one allocates less: bash needs some hundred KiB for a script.
const LITTLE_BYTES: u64 = 2 << 20;

/// Returns `true` for the recording of a program that allocated next to nothing, and left it
/// without finishing it, as by `exec`.
fn left_with_little(path: &Path) -> bool {
    let recording = Recording::open(path).ok();
    let Some(recording) = recording.filter(|of| of.header.state == state::RUNNING) else {
        return false;
    };
    let lanes = recording.lanes.iter();
    let rows = lanes.flat_map(|lane| {
        lane.rows
            .iter()
            .chain([&lane.table_full, &lane.unattributed])
    });
    let bytes = rows.map(|row| row.total_bytes).fold(0, u64::saturating_add);
    bytes < LITTLE_BYTES
}

/// Returns the program in the file name of a live recording: `PROGRAM-PID.hg`, with or without a
/// suffix.
fn program_in(name: &OsStr, pid: u32) -> &[u8] {
    let bytes = name.as_bytes();
    let number = format!("-{pid}");
    let end = bytes
        .windows(number.len())
        .position(|part| part == number.as_bytes())
        .or_else(|| bytes.windows(3).rposition(|part| part == b".hg"));
    &bytes[..end.unwrap_or(bytes.len())]
}

/// Tests whether files can be created in a folder by creating one.
fn try_folder(folder: &Path) -> io::Result<()> {
    Temporary::beside(&folder.join("heapglass"), PRIVATE).map(drop)
}

/// Returns the maximum size of one recording of the programs.
fn max_bytes() -> Result<u64, Error> {
    let text = std::env::var_os("HEAPGLASS_MAX_BYTES").unwrap_or_default();
    if text.is_empty() {
        return Ok(DEFAULT_MAX_BYTES);
    }
    let bytes = parse_bytes(&text.to_string_lossy())
        .map_err(|why| Error::misuse(format_args!("HEAPGLASS_MAX_BYTES: {why}")))?;
    if bytes < FIRST_SEGMENT_BYTES {
        return Err(Error::misuse(format_args!(
            "HEAPGLASS_MAX_BYTES: `{}` is too small; use at least 1MiB",
            text.to_string_lossy()
        )));
    }
    Ok(bytes)
}

/// Returns the place for live recordings if it has room for twice the maximum size of a recording.
fn roomy_memory(max_bytes: u64) -> Option<PathBuf> {
    place::made().find(|folder| free_memory(folder).is_some_and(|free| free / 2 >= max_bytes))
}

/// Returns the free bytes of a tmpfs; `None` for other file systems.
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

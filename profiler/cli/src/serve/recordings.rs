//! The recordings of a server: opened, read one at a time, and kept until they change.
//!
//! Only regular files of this user are opened, and links only if heapglass made them. A file is
//! checked after it was opened, because the path may lead to another file by then.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use heapglass_profiler::export::{Moment, PprofOptions, Since, Window, write_metrics, write_pprof};
use heapglass_profiler::flamegraph::write_svg;
use heapglass_profiler::profile::{Measure, Profile, State};
use heapglass_profiler::question::Question;
use heapglass_profiler::{OpenOptions, Session};
use hyper::body::Bytes;
use rustix::fs::OFlags;
use tracking_alloc_recording::{HeaderValue, MAGIC, Record, Writer, file_checksum};

use crate::files::{header, place};
use crate::progress::Working;

/// The time for which a recording that was read is served again, even if the program goes on.
/// Many requests at once then cost one reading, and the program's machine never does more than one
/// a second.
pub(super) const FRESH: Duration = Duration::from_secs(1);

/// Maximum number of recordings whose profiles are kept.
const KEPT: usize = 4;

/// Maximum number of files in a folder that are listed.
pub(super) const LISTED: usize = 1000;

/// The recordings to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    File(PathBuf),
    Folder(PathBuf),
}

/// The recordings of a server.
pub(crate) struct Recordings {
    place: Place,
    options: OpenOptions,
    /// The ones read last, the newest first. Locked while one is read, so that one is read at a
    /// time and all who wait for it share it.
    kept: Mutex<Vec<Kept>>,
    /// The number of times that a recording was read.
    pub(super) readings: AtomicU64,
}

impl fmt::Debug for Recordings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recordings")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// A recording that was read.
struct Kept {
    name: Option<OsString>,
    session: Session,
    dump: Option<Dump>,
}

/// A recording as it was read at one moment.
struct Dump {
    /// The moment, on both clocks.
    began: Instant,
    time: SystemTime,
    state: FileState,
    profile: Profile,
    /// The counters for later windows.
    moment: Option<WindowBegin>,
    /// Documents made of it.
    documents: HashMap<Document, Bytes>,
}

/// Changes whenever the recording does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    writer: Writer,
    /// Of a recording that a program may still write to: that changes no time of the file.
    checksum: u64,
}

/// The begin of a window.
#[derive(Clone, Debug)]
pub(super) struct WindowBegin {
    number: u64,
    moment: Arc<Moment>,
    began: Instant,
}

impl WindowBegin {
    /// The moment at which reading began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }
}

impl PartialEq for WindowBegin {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for WindowBegin {}

impl Hash for WindowBegin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// A document of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Document {
    /// The whole recording as pprof, with this measure first.
    Pprof(Measure),
    /// The time from then to now as pprof.
    Window(WindowBegin, Since, Measure),
    Flamegraph,
    Metrics,
}

/// The reason why there is no document.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no such recording in the folder.
    NotFound(String),
    /// Nothing records, or not any more.
    NothingRecords(String),
    /// The recording cannot be read.
    Unreadable(String),
}

impl Refusal {
    pub(crate) fn text(&self) -> &str {
        let (Refusal::NotFound(why) | Refusal::NothingRecords(why) | Refusal::Unreadable(why)) =
            self;
        why
    }
}

/// A recording in a folder.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: OsString,
    pub(super) header: HeaderValue,
}

impl Recordings {
    pub(crate) fn new(place: Place, options: OpenOptions) -> Self {
        Recordings {
            place,
            options,
            kept: Mutex::default(),
            readings: AtomicU64::new(0),
        }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns a document of what the recording held at `not_before` or later, up to one second
    /// earlier. Waits while another recording is read.
    pub(super) fn document(
        &self,
        name: Option<&OsStr>,
        not_before: Instant,
        document: &Document,
    ) -> Result<Bytes, Refusal> {
        self.with_dump(name, not_before, |dump| dump.document(document))
    }

    /// Begins a window now.
    pub(super) fn begin(&self, name: Option<&OsStr>) -> Result<WindowBegin, Refusal> {
        self.with_dump(name, Instant::now(), |dump| Ok(dump.window_begin()))
    }

    /// Passes what was read of the recording at `not_before` or later to `use_profile`, with the
    /// time of reading.
    pub(crate) fn with_profile<T>(
        &self,
        name: Option<&OsStr>,
        not_before: Instant,
        use_profile: impl FnOnce(&Profile, SystemTime) -> T,
    ) -> Result<T, Refusal> {
        self.with_dump(name, not_before, |dump| {
            Ok(use_profile(&dump.profile, dump.time))
        })
    }

    fn with_dump<T>(
        &self,
        name: Option<&OsStr>,
        not_before: Instant,
        use_dump: impl FnOnce(&mut Dump) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let path = self.path(name)?;
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|kept| kept.name.as_deref() == name);
        // While a recording is read it is not in the list: after a panic it is forgotten.
        let mut kept = match at {
            Some(at) => all.remove(at),
            None => Kept {
                name: name.map(OsStr::to_owned),
                session: Session::new(self.options.clone()),
                dump: None,
            },
        };
        let updated = kept.update(&path, not_before, &self.readings);
        let used = updated.and_then(|()| match &mut kept.dump {
            Some(dump) => use_dump(dump),
            None => Err(Refusal::Unreadable("nothing was read".to_owned())),
        });
        if kept.dump.is_some() {
            all.insert(0, kept);
            all.truncate(KEPT);
        }
        used
    }

    fn path(&self, name: Option<&OsStr>) -> Result<PathBuf, Refusal> {
        match (&self.place, name) {
            (Place::File(path), None) => Ok(path.clone()),
            (Place::Folder(folder), Some(name)) => Ok(folder.join(name)),
            (Place::File(_), Some(_)) => Err(Refusal::NotFound(
                "this server has one recording; its pages are below `/`".to_owned(),
            )),
            (Place::Folder(_), None) => Err(Refusal::NotFound(
                "this server has a folder; the pages of its recordings are below `/p/NAME/`"
                    .to_owned(),
            )),
        }
    }

    /// Returns the recordings of the folder, the newest first, and the number of those that were
    /// left out because there are too many.
    pub(super) fn list(&self) -> Result<(Vec<Listed>, usize), Refusal> {
        let Place::Folder(folder) = &self.place else {
            return Ok(Default::default());
        };
        let entries = fs::read_dir(folder)
            .map_err(|error| Refusal::NothingRecords(format!("the folder: {error}")))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let listed = names.filter_map(|name| {
            let (_, header) = open_own(&folder.join(&name), &name).ok()?;
            Some(Listed { name, header })
        });
        let mut listed: Vec<Listed> = listed.collect();
        listed.sort_by(|one, other| {
            let newest = |of: &Listed| std::cmp::Reverse(of.header.started_unix_ns);
            (newest(one), &one.name).cmp(&(newest(other), &other.name))
        });
        let left_out = listed.len().saturating_sub(LISTED);
        listed.truncate(LISTED);
        Ok((listed, left_out))
    }
}

/// The oldest moment that counts as now.
pub(super) fn fresh() -> Instant {
    let now = Instant::now();
    now.checked_sub(FRESH).unwrap_or(now)
}

impl Kept {
    /// Reads the recording, unless what was read before is still right.
    fn update(
        &mut self,
        path: &Path,
        not_before: Instant,
        readings: &AtomicU64,
    ) -> Result<(), Refusal> {
        if (self.dump.as_ref()).is_some_and(|dump| dump.began >= not_before)
            && path.symlink_metadata().is_ok()
        {
            return Ok(());
        }
        let before = self.dump.take();
        let (began, time) = (Instant::now(), SystemTime::now());
        let shown = path.file_name().unwrap_or(path.as_os_str());
        let (file, header) = open_own(path, shown)?;
        let unreadable = |error: &dyn fmt::Display| Refusal::Unreadable(error.to_string());
        let state = FileState::of(&file, &header).map_err(|error| unreadable(&error))?;
        if let Some(mut dump) = before.filter(|dump| dump.state == state) {
            // Nothing changed, so this is also what the recording holds now.
            (dump.began, dump.time, dump.moment) = (began, time, None);
            let is_of_time = |document: &Document| matches!(document, Document::Window(..));
            dump.documents.retain(|document, _| !is_of_time(document));
            self.dump = Some(dump);
            return Ok(());
        }
        // Later readings have the names of the first one.
        let working = (readings.fetch_add(1, Relaxed) == 0)
            .then(|| Working::new(format_args!("reading {}", Path::new(shown).display())));
        let profile = self.session.load_file(&file, Path::new(shown));
        drop(working);
        self.dump = Some(Dump {
            began,
            time,
            state,
            profile: profile.map_err(|error| unreadable(&error))?,
            moment: None,
            documents: HashMap::new(),
        });
        Ok(())
    }
}

/// The number of the next window.
static NEXT_WINDOW: AtomicU64 = AtomicU64::new(0);

impl Dump {
    fn window_begin(&mut self) -> WindowBegin {
        let make = || WindowBegin {
            number: NEXT_WINDOW.fetch_add(1, Relaxed),
            moment: Arc::new(Moment::of(&self.profile, self.time)),
            began: self.began,
        };
        self.moment.get_or_insert_with(make).clone()
    }

    fn document(&mut self, document: &Document) -> Result<Bytes, Refusal> {
        if let Some(made) = self.documents.get(document) {
            return Ok(made.clone());
        }
        let made = self.make(document)?;
        self.documents.insert(document.clone(), made.clone());
        Ok(made)
    }

    fn make(&self, document: &Document) -> Result<Bytes, Refusal> {
        let profile = &self.profile;
        let options = PprofOptions {
            is_for_services: true,
            ..PprofOptions::default()
        };
        let mut bytes = Vec::new();
        let out = &mut bytes;
        match document {
            Document::Pprof(measure) => {
                let measure = *measure;
                write_pprof(profile, &PprofOptions { measure, ..options }, out).map(drop)
            }
            Document::Window(begin, since, measure) => {
                if !begin.moment.is_of(profile) {
                    return Err(Refusal::NothingRecords(
                        "another program is recorded since the window began; ask again".to_owned(),
                    ));
                }
                let options = PprofOptions {
                    measure: *measure,
                    window: Some(Window {
                        begin: &begin.moment,
                        end: self.time,
                        since: *since,
                    }),
                    ..options
                };
                write_pprof(profile, &options, out).map(drop)
            }
            Document::Flamegraph => {
                let measure = if profile.process().state == State::Running {
                    Measure::Live
                } else {
                    Measure::Peak
                };
                let question = Question {
                    measure,
                    ..Question::default()
                };
                write_svg(profile, &question, out).map(drop)
            }
            Document::Metrics => write_metrics(profile, out),
        }
        .map_err(|error| Refusal::Unreadable(error.to_string()))?;
        Ok(bytes.into())
    }
}

impl FileState {
    fn of(file: &File, header: &HeaderValue) -> io::Result<Self> {
        let found = file.metadata()?;
        let writer = Writer::of(header);
        let checksum = if matches!(writer, Writer::Finished | Writer::Copied) {
            header.checksum
        } else {
            file_checksum(file, found.len()).map_err(|error| io::Error::other(error.to_string()))?
        };
        Ok(FileState {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            writer,
            checksum,
        })
    }
}

/// Opens a recording that is a regular file of this user. `name` is its name in messages.
fn open_own(path: &Path, name: &OsStr) -> Result<(File, HeaderValue), Refusal> {
    let name = name.to_string_lossy();
    let target = place::live_target(path);
    // Never waits for a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = File::options();
    options.read(true).custom_flags(flags.bits() as i32);
    let file = options
        .open(target.as_deref().unwrap_or(path))
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Refusal::NothingRecords(format!("{name}: nothing is recorded there"))
            }
            _ if is_link(path) => Refusal::NotFound(format!(
                "{name}: links are not followed, only files are read"
            )),
            _ => Refusal::Unreadable(format!("{name}: {error}")),
        })?;
    let unreadable = |error: io::Error| Refusal::Unreadable(format!("{name}: {error}"));
    let found = file.metadata().map_err(unreadable)?;
    if !place::is_own_file(&found) {
        return Err(Refusal::NotFound(format!(
            "{name}: only regular files of this user are read"
        )));
    }
    let header = header::prefix(&file, HeaderValue::SIZE)
        .map_err(unreadable)?
        .ok_or_else(|| Refusal::NothingRecords(format!("{name}: nothing is recorded there yet")))?;
    if header.magic != MAGIC {
        return Err(Refusal::NotFound(format!("{name}: not a recording")));
    }
    Ok((file, header))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_symlink())
}

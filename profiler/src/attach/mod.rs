//! Taking a snapshot of a running program, as the reader that its recording is attached to.
//!
//! [`Reader::attach`] opens the recording of a running program. The program then makes a paused
//! copy of itself when the reader asks, at the moments that [`Triggers`] name, and when it calls
//! `tracking_alloc::snapshot`. The reader finds the blocks in the memory of the copy, reads their
//! contents, ends the copy, and analyses what was read. The program goes on meanwhile.
//!
//! The crate of the recorder (`heapglass-recorder`) documents the protocol and what a copy costs.
//!
//! All that is read belongs to another process and may be anything: every size is bounded, and
//! what cannot be is an error.

mod allocator;
mod blocks;
mod copy;
mod error;
mod followed;
mod layouts;
mod mode;
mod pause;
mod source;
mod watched;

pub use error::Error;
pub use followed::Followed;
pub use mode::set_sampling;
pub use pause::{ask_paused, set_paused};

use crate::image::{Image, Way, maps, roots, unwind};
use crate::profile::Profile;
use crate::snapshot::{Memory, Moment, Snapshot, Step, analyse};
use crate::typed::{LoadedModule, Locals, ProgramTypes, Stacks};
use crate::units::Count;
use crate::{OpenOptions, Session};
use copy::Copy;
use error::Kind;
use followed::Quiet;
use source::Source;
use std::fs::{File, OpenOptions as FileOptions};
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracking_alloc_recording::{
    EXCHANGE_OFFSET, Exchange, ExchangeValue, HeaderValue, Host, LaneValue, MAGIC, Record,
    Recording, SNAPSHOT_MARKS, VERSION, Writer, mark_hash, mode as recording_mode, snapshot_status,
    snapshot_trigger,
};
use watched::Watched;

/// The intervals between looks for an answer.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LATER_LOOKS: Duration = Duration::from_millis(20);
/// The time without an allocation after which the reader makes the copy.
const QUIET: Duration = Duration::from_secs(1);
/// A copy in which more than one byte of so many was being reallocated is taken again.
const IN_FLIGHT_SHARE: u64 = 100;
/// Copies that are taken in vain before one with such blocks is kept.
const MOST_RETAKES: u32 = 5;

/// The current step of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Waits until the program allocates.
    Waiting {
        /// The time since the request.
        waited: Duration,
        /// The time in the recording since which no allocation of the program was seen, if none was
        /// seen since the request.
        quiet_since_ns: Option<u64>,
    },
    /// Copies the program, which made no copy of itself in time.
    Copying {
        /// See [`Progress::Waiting`].
        quiet_since_ns: Option<u64>,
    },
    /// Looks for the blocks, in as many pieces of the shadow map.
    Blocks {
        /// Pieces that are done.
        done: u64,
        /// All pieces.
        total: u64,
    },
    /// Analyses.
    Analysis(Step),
}

/// The moments at which the program makes a copy of itself, beside those that it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Triggers {
    /// At the first peak above so many live bytes, and then at each that is a quarter larger than
    /// the last one.
    pub peak_above: Option<u64>,
    /// At the end of the recording.
    pub at_exit: bool,
    /// At marks with these names; at most four.
    pub marks: Vec<String>,
}

/// A snapshot that was taken.
#[derive(Debug)]
#[non_exhaustive]
pub struct Taken {
    /// The snapshot. Its sites have their numbers in the recording.
    pub snapshot: Snapshot,
    /// `true` if it was taken because of [`Triggers::peak_above`].
    pub is_peak: bool,
    /// `true` if it was taken at the end of the recording.
    pub is_exit: bool,
}

/// The reader that is attached to a recording. It is detached when it is dropped.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: File,
    inode: u64,
    /// The answers that were seen.
    seen: u32,
    session: Session,
    /// The types of the executable, which are read once.
    types: Option<(LoadedModule, ProgramTypes)>,
    /// `true` once no copy is to be read any more.
    stops: Arc<AtomicBool>,
    /// `true` if the program makes copies for this reader.
    is_attached: bool,
    /// `true` if a request was withdrawn, which the program may have seen before.
    has_withdrawn: bool,
}

impl Reader {
    /// Attaches this process to the recording of a running program. With `force`, the program makes
    /// copies even in a sandbox that may kill it for that.
    ///
    /// # Errors
    /// Returns an error if the program has ended, cannot be seen from here, or has another reader.
    pub fn attach(path: &Path, force: bool, options: OpenOptions) -> Result<Reader, Error> {
        let fail = |kind| Error::new(path, kind);
        let file = FileOptions::new().read(true).write(true).open(path);
        let mut reader = Reader::of(path, file, options)?;
        let exchange = reader.exchange()?;
        let own = std::process::id();
        let other = exchange.reader;
        // A program that was attached at its start may have ended; its copy waits.
        if other != own {
            reader.check_running()?;
        }
        if other != 0 && other != own && Path::new(&format!("/proc/{other}")).exists() {
            return Err(fail(Kind::OtherReader(other)));
        }
        reader.seen = if other == own { 0 } else { exchange.answers };
        reader.store(offset_of!(Exchange, seen), reader.seen)?;
        reader.store(offset_of!(Exchange, forced), u32::from(force))?;
        reader.store(offset_of!(Exchange, reader), own)?;
        reader.is_attached = true;
        Ok(reader)
    }

    /// Copies a running program without asking it, whoever its reader is, and returns the snapshot.
    /// The process that started the program cannot.
    ///
    /// # Errors
    /// Returns an error if the program has ended, cannot be seen from here or cannot be copied.
    pub fn copy(
        path: &Path,
        options: OpenOptions,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Taken, Error> {
        let mut reader = Reader::of(path, File::open(path), options)?;
        reader.check_running()?;
        reader.prepare()?;
        let mut retakes = 0;
        loop {
            progress(Progress::Copying {
                quiet_since_ns: None,
            });
            let copied = reader.frozen(&reader.header()?);
            let (answer, image) = copied.map_err(|why| reader.fail(Kind::NotCopied(why)))?;
            let may_retake = retakes < MOST_RETAKES;
            if let Some(taken) = reader.read(&answer, Some(image), may_retake, progress)? {
                return Ok(taken);
            }
            retakes += 1;
        }
    }

    /// Opens the recording of a program whose blocks can be found.
    fn of(path: &Path, file: io::Result<File>, options: OpenOptions) -> Result<Reader, Error> {
        let fail = |kind| Error::new(path, kind);
        let file = file.map_err(|error| fail(Kind::Open(error)))?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| fail(Kind::Open(error)))?;
        let header = known_header(path, &file, Kind::NoMap)?;
        if header.pid_namespace != Host::current().pid_namespace {
            return Err(fail(Kind::OtherNamespace));
        }
        if header.mode == recording_mode::SAMPLE {
            return Err(fail(Kind::Sampled));
        }
        Ok(Reader {
            path: path.to_owned(),
            file,
            inode: metadata.ino(),
            seen: 0,
            session: Session::new(options),
            types: None,
            stops: Arc::default(),
            is_attached: false,
            has_withdrawn: false,
        })
    }

    /// Reads no copy any more once this becomes true, not even the one that it is reading.
    pub fn stop_when(&mut self, stops: Arc<AtomicBool>) {
        self.stops = stops;
    }

    /// Returns the path of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the moments at which the program makes a copy of itself.
    ///
    /// # Errors
    /// Returns an error if the recording cannot be written.
    pub fn set_triggers(&self, triggers: &Triggers) -> Result<(), Error> {
        let mut marks = [0; SNAPSHOT_MARKS];
        for (hash, mark) in marks.iter_mut().zip(&triggers.marks) {
            *hash = mark_hash(mark.as_bytes());
        }
        let offset = offset_of!(Exchange, marks);
        for (index, hash) in marks.into_iter().enumerate() {
            self.store_bytes(offset + 8 * index, &hash.to_le_bytes())?;
        }
        self.store(offset_of!(Exchange, at_exit), u32::from(triggers.at_exit))?;
        self.set_peak_above(triggers.peak_above)
    }

    /// Sets the live bytes above which the program makes a copy at its next peak.
    ///
    /// # Errors
    /// Returns an error if the recording cannot be written.
    pub fn set_peak_above(&self, bytes: Option<u64>) -> Result<(), Error> {
        let bytes = bytes.unwrap_or(0).to_le_bytes();
        self.store_bytes(offset_of!(Exchange, peak_above), &bytes)
    }

    /// Asks for a copy, waits for it, and returns the snapshot. `progress` returns `false` to stop
    /// the wait. If the program does not allocate for a second, or makes no copy within a
    /// `patience` of at least a second, the reader makes one, where it may (on x86-64).
    ///
    /// # Errors
    /// Returns an error if the program refuses, ends, or makes no copy within `patience` and cannot
    /// be copied, or if the copy cannot be read.
    pub fn take(
        &mut self,
        patience: Duration,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Taken, Error> {
        // Names are looked up before there is a copy, which costs the program memory.
        self.prepare()?;
        self.end_late_copy()?;
        let mut retakes = 0;
        loop {
            let request = self.exchange()?.request.wrapping_add(1);
            self.store(offset_of!(Exchange, request), request)?;
            let (answer, frozen) = self.wait_for_answer(patience, progress)?;
            let may_retake = retakes < MOST_RETAKES;
            if let Some(taken) = self.read(&answer, frozen, may_retake, progress)? {
                return Ok(taken);
            }
            retakes += 1;
        }
    }

    /// Returns the next snapshot that the program took without being asked, if there is one.
    ///
    /// # Errors
    /// Returns an error if the program could make no copy, or if it cannot be read.
    pub fn next(
        &mut self,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Option<Taken>, Error> {
        if self.exchange()?.answers == self.seen {
            return Ok(None);
        }
        // Before the answer counts as seen: until then, the program replaces the copy of a peak by
        // that of a larger one. If this fails, reading fails too and says why: an answer that never
        // counts as seen would be met again and again.
        let _ = self.prepare();
        let Some(answer) = self.new_answer()? else {
            return Ok(None);
        };
        let read = self.read(&answer, None, false, progress);
        // The program ends the copy of a peak for that of a larger one.
        let is_peak = answer.trigger == snapshot_trigger::PEAK;
        let is_stopped = self.stops.load(Relaxed);
        if read.is_err() && is_peak && !is_stopped && self.exchange()?.answers != self.seen {
            return self.next(progress);
        }
        read
    }

    /// Reads the names and the types of the program so far, which later snapshots use. So they are
    /// not read while there is a copy, which costs the program memory.
    ///
    /// # Errors
    /// Returns an error if the recording cannot be read.
    pub fn prepare(&mut self) -> Result<(), Error> {
        let loaded = self.session.load(&self.path, &|_| (), None);
        let profile = loaded.map_err(|error| self.fail(Kind::Load(error)))?;
        let process = format!("/proc/{}", self.header()?.pid);
        let maps = std::fs::read(format!("{process}/maps")).unwrap_or_default();
        let memory = File::open(format!("{process}/mem"));
        // The program may not be readable; its copy may be all the same.
        if let Ok(memory) = memory {
            let mappings = maps::parse(&String::from_utf8_lossy(&maps));
            let images = maps::images(&mappings, &|address, buffer| {
                memory.read_exact_at(buffer, address)
            });
            self.read_types(&profile, &images);
        }
        Ok(())
    }

    /// Reads the types of the executable, if these are not those that were read.
    fn read_types(&mut self, profile: &Profile, images: &maps::Images) {
        let Some(module) = layouts::executable(profile, images) else {
            return;
        };
        let is_known = self
            .types
            .as_ref()
            .is_some_and(|(known, _)| *known == module);
        if !is_known {
            let options = self.session.options();
            let modules = std::slice::from_ref(&module);
            let types = ProgramTypes::read(modules, &options.symbols, &options.containers);
            self.types = Some((module, types));
        }
    }

    /// Returns the locals on the stacks of threads whose registers are known.
    fn locals(
        &self,
        mappings: &[maps::Mapping],
        memory: &dyn Memory,
        threads: impl IntoIterator<Item = unwind::Registers>,
    ) -> Locals {
        let Some((executable, types)) = &self.types else {
            return Locals::default();
        };
        let stacks = Stacks {
            frames: &unwind::frames(mappings, memory, threads.into_iter()),
            memory,
        };
        types.locals(executable, &self.session.options().symbols, &stacks)
    }

    /// Waits for the answer to a request. If none comes in time, makes the copy and returns it with
    /// an answer of its own.
    fn wait_for_answer(
        &mut self,
        patience: Duration,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<(ExchangeValue, Option<Image>), Error> {
        let begun = Instant::now();
        let quiet = Quiet::begin(&self.header()?);
        let mut pause = FIRST_LOOK;
        let mut why_not_copied = None;
        loop {
            if let Some(answer) = self.new_answer()? {
                return Ok((answer, None));
            }
            let waited = begun.elapsed();
            let quiet_since_ns = quiet.since_ns(&self.header()?);
            let is_late = quiet_since_ns.is_some() || waited >= patience;
            if waited >= QUIET && is_late && why_not_copied.is_none() {
                self.check_running()?;
                progress(Progress::Copying { quiet_since_ns });
                match self.freeze()? {
                    Ok(copied) => return Ok(copied),
                    Err(why) => why_not_copied = Some(why),
                }
            }
            if waited >= patience {
                return Err(self.fail(Kind::NoAnswer {
                    waited: patience,
                    quiet_since_ns,
                    why_not_copied,
                }));
            }
            let waiting = Progress::Waiting {
                waited,
                quiet_since_ns,
            };
            if !progress(waiting) {
                return Err(self.fail(Kind::Interrupted));
            }
            self.check_running()?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(LATER_LOOKS);
        }
    }

    /// Withdraws the request and copies the program. Returns the answer of the program instead if
    /// one has come meanwhile, and the reason if it cannot be copied, with the request made anew.
    fn freeze(&mut self) -> Result<Result<(ExchangeValue, Option<Image>), String>, Error> {
        let exchange = self.exchange()?;
        self.store(offset_of!(Exchange, request), exchange.answered)?;
        let copied = self.frozen(&self.header()?);
        if let Some(answer) = self.new_answer()? {
            return Ok(Ok((answer, None)));
        }
        match copied {
            Ok((answer, image)) => {
                self.has_withdrawn = true;
                Ok(Ok((answer, Some(image))))
            }
            Err(why) => {
                self.store(offset_of!(Exchange, request), exchange.request)?;
                Ok(Err(why))
            }
        }
    }

    /// Copies the program as one that does not record. Returns the copy with an answer, as the
    /// program would give it.
    fn frozen(&self, header: &HeaderValue) -> Result<(ExchangeValue, Image), String> {
        // The stops of a traced program would reach whoever waits for the end of a child.
        if copy::parent(header.pid) == Some(std::process::id()) {
            return Err("this process started the program, and cannot copy it".to_owned());
        }
        let image = Image::of_process(header.pid, Way::Copy, None);
        let image = image.map_err(|why| why.to_string())?;
        let answer = ExchangeValue {
            status: snapshot_status::TAKEN,
            trigger: snapshot_trigger::REQUEST,
            // The last event may be long ago.
            time_ns: since_unix_ns(header.started_unix_ns).max(header.elapsed_ns),
            pause_ns: image.pause().as_nanos() as u64,
            ..ExchangeValue::default()
        };
        Ok((answer, image))
    }

    /// Ends the copy of a request that was withdrawn, if the program followed it all the same.
    fn end_late_copy(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.has_withdrawn) {
            return Ok(());
        }
        if self.exchange()?.trigger == snapshot_trigger::REQUEST
            && let Some(answer) = self.new_answer()?
        {
            drop(Copy::open(&answer, self.header()?.pid, self.inode));
        }
        Ok(())
    }

    /// Returns an answer that was not seen yet.
    fn new_answer(&mut self) -> Result<Option<ExchangeValue>, Error> {
        let mut answer = self.exchange()?;
        // The words may be those of two answers if the second came while they were read.
        loop {
            if answer.answers == self.seen {
                return Ok(None);
            }
            let again = self.exchange()?;
            if again == answer {
                break;
            }
            answer = again;
        }
        self.seen = answer.answers;
        self.store(offset_of!(Exchange, seen), answer.answers)?;
        Ok(Some(answer))
    }

    /// Reads the copy of an answer, or the one that the reader made. Returns `None` if it should be
    /// taken again, which is so only if `may_retake`.
    fn read(
        &mut self,
        answer: &ExchangeValue,
        frozen: Option<Image>,
        may_retake: bool,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Option<Taken>, Error> {
        let path = self.path.clone();
        let fail = |kind| Error::new(&path, kind);
        if answer.status != snapshot_status::TAKEN {
            let (status, errno) = (answer.status, answer.errno);
            return Err(fail(Kind::Refused { status, errno }));
        }
        let is_peak = answer.trigger == snapshot_trigger::PEAK;
        let header = self.header()?;
        let copy = match frozen {
            Some(image) => Source::Frozen(Box::new(image)),
            None => Source::Own(Copy::open(answer, header.pid, self.inode).map_err(fail)?),
        };
        let recording = Recording::open(&path).map_err(|error| fail(Kind::Recording(error)))?;
        let lanes: Vec<LaneValue> = recording.lanes.iter().map(|lane| lane.lane).collect();
        let mut moment = moment(answer, &recording);
        let mut notes = notes(&recording);
        notes.extend(copy.notes());
        drop(recording);
        let tell = |step| {
            progress(step);
        };
        let (stops, exchange) = (Arc::clone(&self.stops), self.file.try_clone());
        let exchange = exchange.map_err(|error| fail(Kind::Open(error)))?;
        // Only the last of all peaks is kept, so one that a larger one follows is not read further.
        let is_replaced = || {
            is_peak
                && exchange_of(&exchange).is_ok_and(|now| {
                    now.answers != answer.answers && now.trigger == snapshot_trigger::PEAK
                })
        };
        let is_wanted = || !stops.load(Relaxed) && !is_replaced();
        let memory = Watched::new(copy.memory(), &is_wanted);
        let given_up = || {
            if stops.load(Relaxed) {
                fail(Kind::Stopped)
            } else {
                fail(Kind::Replaced)
            }
        };
        let failed = |kind| {
            if memory.is_given_up() {
                given_up()
            } else {
                fail(kind)
            }
        };
        let mut blocks = blocks::read(&header, &lanes, &memory, &tell).map_err(failed)?;
        if copy.is_frozen() {
            (moment.live_bytes, moment.live_blocks) = (blocks.bytes, blocks.count);
        }
        let is_torn = blocks.in_flight_bytes > blocks.bytes / IN_FLIGHT_SHARE;
        if is_torn && may_retake {
            return Ok(None);
        }
        let mappings = copy.mappings().map_err(|error| fail(Kind::Memory(error)))?;
        let images = maps::images(&mappings, &|address, buffer| {
            copy.memory().read(address, buffer)
        });
        let running = copy.running();
        let threads = running.threads(&lanes);
        let in_flight_bytes = blocks.in_flight_bytes;
        let outside = roots::Outside {
            mappings: &mappings,
            images: &images,
            threads: &threads,
            blocks: &blocks.ranges,
            read: &|address, buffer| memory.read(address, buffer),
        };
        let registers = copy.registers_as_memory();
        let (names, left_out_bytes) = outside.add_roots(&mut blocks.heap, registers);
        let heap = blocks.heap.finish();
        let loaded = self.session.load(&path, &|_| (), None);
        let profile = loaded.map_err(|error| fail(Kind::Load(error)))?;
        let pointers = lanes.iter().map(|lane| lane.thread_pointer);
        let pointers: Vec<u64> = pointers.filter(|&pointer| pointer != 0).collect();
        self.read_types(&profile, &images);
        let none = ProgramTypes::default();
        let registers = running.registers(&memory, &threads);
        let known = layouts::Known {
            profile: &profile,
            header: &header,
            types: self.types.as_ref().map_or(&none, |(_, types)| types),
            thread_pointers: &pointers,
            locals: &self.locals(&mappings, &memory, registers),
        };
        let chosen = layouts::choose(&known, &heap);
        let allocator = allocator::of_heap(&profile.capture().allocator, &heap, &memory, &mappings);
        drop(profile);
        let analysis = analyse(heap, &memory, &*chosen.layouts, &|step| {
            tell(Progress::Analysis(step));
        });
        if memory.is_given_up() {
            return Err(given_up());
        }
        // The copy costs the program memory and time, and another one may wait for its end.
        drop(copy);
        let layouts = &*chosen.layouts;
        let mut snapshot = Snapshot::of(&analysis, layouts, &names, moment, chosen.basis);
        if let Some(allocator) = allocator {
            snapshot.count_rounding(analysis.heap(), allocator);
        }
        let notes = chosen.notes.into_iter().chain(notes);
        notes.for_each(|note| snapshot.add_note(note));
        if is_torn {
            snapshot.add_note(format!(
                "{} bytes were being moved to larger blocks: what only they hold may be listed as not reached",
                in_flight_bytes
            ));
        }
        if left_out_bytes > 0 {
            snapshot.add_note(format!(
                "{} bytes of memory outside the heap were not read: what only they hold is listed as not reached",
                left_out_bytes
            ));
        }
        Ok(Some(Taken {
            snapshot,
            is_peak,
            is_exit: answer.trigger == snapshot_trigger::EXIT,
        }))
    }

    fn fail(&self, kind: Kind) -> Error {
        Error::new(&self.path, kind)
    }

    fn header(&self) -> Result<HeaderValue, Error> {
        header_of(&self.file).map_err(|error| self.fail(Kind::Open(error)))
    }

    fn exchange(&self) -> Result<ExchangeValue, Error> {
        exchange_of(&self.file).map_err(|error| self.fail(Kind::Open(error)))
    }

    fn check_running(&self) -> Result<(), Error> {
        if Writer::of(&self.header()?).is_gone() {
            return Err(self.fail(Kind::NotRunning));
        }
        Ok(())
    }

    fn store(&self, offset: usize, word: u32) -> Result<(), Error> {
        self.store_bytes(offset, &word.to_le_bytes())
    }

    fn store_bytes(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let offset = (EXCHANGE_OFFSET + offset) as u64;
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|error| self.fail(Kind::Open(error)))
    }
}

/// Returns the time that has passed since another one; 0 if the clock was set back.
fn since_unix_ns(start: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
    now.saturating_sub(start)
}

/// Reads the header of a recording.
fn header_of(file: &File) -> io::Result<HeaderValue> {
    let mut bytes = [0; HeaderValue::SIZE];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(HeaderValue::parse(&bytes))
}

/// Reads the words that a program and its reader exchange.
fn exchange_of(file: &File) -> io::Result<ExchangeValue> {
    let mut bytes = [0; ExchangeValue::SIZE];
    file.read_exact_at(&mut bytes, EXCHANGE_OFFSET as u64)?;
    Ok(ExchangeValue::parse(&bytes))
}

/// Returns the header of a recording of this version. Otherwise returns the error that opening it
/// gives, or `otherwise` if there is none.
fn known_header(path: &Path, file: &File, otherwise: Kind) -> Result<HeaderValue, Error> {
    let is_known = |header: &HeaderValue| header.magic == MAGIC && header.version == VERSION;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    if let Some(header) = header_of(file).ok().filter(is_known).filter(|_| is_file) {
        return Ok(header);
    }
    // This says what is wrong with it.
    let opened = Recording::open(path).map(drop);
    let kind = opened.map_or_else(Kind::Recording, |()| otherwise);
    Err(Error::new(path, kind))
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.is_attached {
            return;
        }
        // A copy that was made and not read ends with this process, not with this reader.
        while let Ok(Some(answer)) = self.new_answer() {
            let program = self.header().map_or(0, |header| header.pid);
            drop(Copy::open(&answer, program, self.inode));
        }
        let is_own = |exchange: &ExchangeValue| exchange.reader == std::process::id();
        if self.exchange().is_ok_and(|exchange| is_own(&exchange)) {
            let _ = self.set_triggers(&Triggers::default());
            let _ = self.store(offset_of!(Exchange, reader), 0);
        }
    }
}

/// Returns the moment of a copy.
fn moment(answer: &ExchangeValue, recording: &Recording) -> Moment {
    let label = match answer.trigger {
        snapshot_trigger::PEAK => "peak".to_owned(),
        snapshot_trigger::EXIT => Moment::EXIT.to_owned(),
        snapshot_trigger::SIGNAL => "signal".to_owned(),
        _ => recording
            .string(answer.label)
            .unwrap_or_else(|| "request".to_owned()),
    };
    Moment {
        label,
        time_ns: answer.time_ns,
        live_bytes: answer.live_bytes.try_into().unwrap_or(0),
        live_blocks: answer.live_blocks.try_into().unwrap_or(0),
        pause_ns: answer.pause_ns,
    }
}

/// Returns what no snapshot of a recording can know.
fn notes(recording: &Recording) -> Vec<String> {
    let unknown_frees: u64 = recording
        .lanes
        .iter()
        .map(|lane| lane.lane.unknown_frees)
        .sum();
    let untracked = recording.header.untracked_blocks;
    let lost = [
        (
            unknown_frees,
            "or more blocks were not recorded (allocated before the recording began, in a pause, or by libc's own malloc): what only they hold is listed as not reached",
        ),
        (
            untracked,
            "blocks did not fit into the shadow map: what only they hold is listed as not reached",
        ),
    ];
    let lost = lost.into_iter().filter(|(count, _)| *count > 0);
    lost.map(|(count, what)| format!("{} {what}", Count(count)))
        .collect()
}

//! Reads running processes that nobody recorded: a copy, or the process itself while it is stopped.

mod held;

use super::copied::CopyMemory;
use super::error::{Error, Kind};
use super::files::{self, LoadedFile};
use super::maps::{self, Mapping};
use super::take::{Progress, Taken};
use super::{Image, Thread};
use crate::OpenOptions;
use crate::snapshot::{Memory, PageMap};
use crate::units::Nanos;
use heapglass_freeze::{Frozen, Way};
use held::HeldMemory;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Copies that are made if blocks do not add up because a thread was inside malloc.
const MOST_COPIES: u32 = 5;

/// Makes a snapshot of a process. If a thread was inside malloc, so that its blocks do not add up,
/// a new copy is made, at most four times.
///
/// # Errors
/// Returns an error if the process must be left alone, or if its blocks are not known.
pub fn snapshot(
    process: u32,
    way: Way,
    options: &OpenOptions,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(Image, Taken), Error> {
    let mut copies = 1;
    loop {
        progress(Progress::Copy);
        let image = take(process, way, options.symbols.binary.as_deref())?;
        match image.snapshot(options, progress) {
            Ok(taken) => return Ok((image, taken)),
            Err(error) if error.is_momentary() && copies < MOST_COPIES => copies += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Copies a process, or stops it while its memory is read.
pub(super) fn take(process: u32, way: Way, binary: Option<&Path>) -> Result<Image, Error> {
    let path = PathBuf::from(format!("process {process}"));
    let fail = |kind| Error::new(&path, kind);
    let frozen = heapglass_freeze::freeze(process, way).map_err(|why| fail(Kind::Process(why)))?;
    image(process, &path, frozen, binary).map_err(fail)
}

fn image(process: u32, path: &Path, frozen: Frozen, binary: Option<&Path>) -> Result<Image, Kind> {
    let memory_process = frozen.memory();
    let folder = format!("/proc/{memory_process}");
    let read = |file: &str| fs::read(format!("{folder}/{file}")).map_err(Kind::Memory);
    let mappings = maps::parse(&String::from_utf8_lossy(&read("maps")?));
    let vector = read("auxv")?;
    let file = File::open(format!("{folder}/mem")).map_err(Kind::Memory)?;
    let threads = threads(&frozen);
    let mut notes = Vec::new();
    let is_copy = frozen.is_copy();
    let (memory, pause): (Box<dyn Memory + Send>, _) = if is_copy {
        let pause = frozen.pause();
        notes.push(format!(
            "the program was paused for {} while it was copied",
            Nanos(pause.as_nanos() as u64)
        ));
        let memory = CopyMemory::new(frozen.memory(), file, frozen);
        (Box::new(memory), pause)
    } else {
        let why = frozen.why_stopped().map(|why| format!(" ({why})"));
        // Where the kernel does not tell, every page counts as touched.
        let pages = PageMap::open(Path::new(&folder)).ok();
        let memory = HeldMemory::read(file, pages.as_ref(), &mappings).map_err(Kind::Memory)?;
        let pause = frozen.end();
        notes.push(format!(
            "the program was stopped for {} while its memory was read, instead of copied{}",
            Nanos(pause.as_nanos() as u64),
            why.unwrap_or_default()
        ));
        (Box::new(memory), pause)
    };
    let read = |address: u64, buffer: &mut [u8]| memory.read(address, buffer);
    let mut files = files::loaded(&mappings, files::program_headers(&vector), &read);
    let mut other_allocator = None;
    if let Some(executable) = files.first_mut() {
        find_executable(process, executable, binary)?;
        let file = files::open_regular(Path::new(&executable.place)).ok();
        other_allocator = file.and_then(|file| files::allocator(&file));
    }
    Ok(Image {
        path: path.to_owned(),
        memory,
        mappings,
        threads,
        files,
        process,
        memory_process: Some(memory_process),
        other_allocator,
        pause: Some(pause),
        is_copy,
        notes,
    })
}

fn threads(frozen: &Frozen) -> Vec<Thread> {
    let threads = frozen.threads().iter().map(|thread| {
        let register = |number: usize| thread.registers.get(number).copied().unwrap_or(0);
        Thread::new(thread.id, thread.name.clone(), register)
    });
    threads.collect()
}

/// Sets the place at which this process can open the executable: its path may lead to another file
/// here if the program is in a container, or to none if the file was replaced.
fn find_executable(
    process: u32,
    executable: &mut LoadedFile,
    binary: Option<&Path>,
) -> Result<(), Kind> {
    if let Some(binary) = binary {
        let same = files::same_build(binary, executable);
        same.map_err(|why| Kind::OtherBinary {
            binary: binary.to_owned(),
            why,
        })?;
    }
    let own = format!("/proc/{process}/exe");
    let identity = |path: &str| {
        let file = fs::metadata(path).ok()?;
        Some((file.dev(), file.ino()))
    };
    let in_root = format!("/proc/{process}/root{}", executable.path);
    let ran = identity(&own);
    let places = [executable.path.clone(), in_root];
    let place = places
        .into_iter()
        .find(|place| ran.is_some() && identity(place) == ran);
    executable.place = place.unwrap_or(own);
    Ok(())
}

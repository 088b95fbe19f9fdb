//! Loads a library into a running process, and calls its functions.
//!
//! One thread makes the calls ([`Calls`]). It is chosen so that it holds no lock of malloc and of
//! the loader ([`choice`](crate::choice)).

use crate::calls::Calls;
use crate::choice::{Choice, Places};
use crate::error::Error;
use crate::filters::{self, Purpose};
use crate::image::Image;
use crate::program::{LIBRARY, LoadedFile, Program};
use crate::refusals;
use crate::replace;
use crate::settings::{Answer, Caution, Settings};
use crate::threads::Restless;
use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

/// Places in the memory of the calls.
const TEXTS: u64 = 64;
const OPTIONS: u64 = 8192;
const PAIRS: u64 = OPTIONS + 256;
const MOST_PAIRS: u64 = 256;

/// Flags of `dlopen`: all functions are found now, and the library is never unloaded.
const NOW: u64 = 2;
const NO_DELETE: u64 = 0x1000;
/// The flag that `__libc_dlopen_mode` of glibc before 2.34 needs.
const OLD: u64 = 0x8000_0000;

/// The answer of the library while another thread of the program is in such a call.
const BUSY: i32 = 6;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request<'a> {
    Attach(&'a Settings<'a>),
    Detach,
}

/// Makes the calls of a request.
pub(crate) fn inject(
    process: u32,
    caution: Caution<'_>,
    request: Request<'_>,
) -> Result<Answer, Error> {
    let _turn = Turn::take(process)?;
    let status = refusals::check(process)?;
    if status.is_suspended() {
        return Err(Error::Suspended { process });
    }
    let program = Program::open(process, &status)?;
    let libraries = Libraries::of(&program)?;
    if matches!(request, Request::Detach) && libraries.ours.is_none() {
        return Err(Error::NotAttached);
    }
    let (purpose, needs_memory) = match request {
        Request::Attach(settings) => {
            let needs_memory =
                libraries.ours.is_none() && !sees_our_files(process, settings.library);
            (Purpose::Attach { needs_memory }, needs_memory)
        }
        Request::Detach => (Purpose::Detach, false),
    };
    // The loader opens memory by a path there. `self` is nobody there who looks from another
    // namespace.
    if needs_memory && !Path::new(&format!("/proc/{process}/root/proc/version")).exists() {
        return Err(Error::NoFolder);
    }
    filters::check(&program, &status, caution.is_forced, purpose)?;
    let at = program
        .instructions()
        .ok_or(Error::NoGlibc { what: "unusual" })?;
    let choice = Choice {
        program: &program,
        status: &status,
        places: Places::of(&program),
        at,
        walk: caution.walk,
    };
    let mut restless = Restless::default();
    let (stopped, begun) = choice.make(&mut restless)?;
    let mut calls = Calls::begin(&program, &status, &stopped, restless, at)?;
    let outcome = request_by(&mut calls, &libraries, request, needs_memory);
    let thread = calls.thread().cast_unsigned();
    calls.end();
    drop(stopped);
    let pause = begun.elapsed();
    let done = outcome?;
    Ok(Answer {
        code: done.code,
        text: done.text,
        thread,
        pause,
        unchanged_threads: done.unchanged_threads,
    })
}

/// The right to make calls in a process: one command at a time, because each of them would load the
/// library. It ends with the command, however that ends.
struct Turn {
    _socket: Option<UnixListener>,
}

impl Turn {
    fn take(process: u32) -> Result<Turn, Error> {
        let name = format!("heapglass-attach-{process}");
        let address = SocketAddr::from_abstract_name(name);
        match address.and_then(|address| UnixListener::bind_addr(&address)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Error::Busy),
            // Where there are no sockets, the library refuses a second call.
            socket => Ok(Turn {
                _socket: socket.ok(),
            }),
        }
    }
}

/// The outcome of a request.
struct Done {
    code: i32,
    text: String,
    unchanged_threads: u32,
}

/// Functions of libraries of a process.
struct Libraries {
    /// `dlopen` and the flags that it needs.
    dlopen: (u64, u64),
    dlerror: Option<u64>,
    /// This command's library, if it is loaded.
    ours: Option<Ours>,
}

/// Functions of this command's library.
#[derive(Clone, Copy)]
struct Ours {
    prepare: u64,
    attach: u64,
    detach: u64,
    text: u64,
}

impl Libraries {
    fn of(program: &Program) -> Result<Libraries, Error> {
        let loaded = program.loaded();
        let has_musl = loaded.iter().any(|of| of.name.contains("musl"));
        let mut libcs = loaded.iter().filter(|of| of.is_libc());
        let Some(libc) = libcs.find_map(|of| Image::at(program, of.range.start)) else {
            let what = if has_musl { "musl" } else { "static" };
            return Err(Error::NoGlibc { what });
        };
        // Before glibc 2.34, `dlopen` is in a library of its own.
        let dlopen = libc
            .function("dlopen")
            .map(|dlopen| (dlopen, NOW | NO_DELETE));
        let old = || {
            let dlopen = libc.function("__libc_dlopen_mode")?;
            Some((dlopen, NOW | NO_DELETE | OLD))
        };
        Ok(Libraries {
            dlopen: dlopen
                .or_else(old)
                .ok_or(Error::NoGlibc { what: "unusual" })?,
            dlerror: libc.function("dlerror"),
            ours: Ours::among(program, &loaded)?,
        })
    }
}

impl Ours {
    /// Finds the library by the functions that it has. A file with its name may be another version,
    /// or something else.
    fn among(program: &Program, loaded: &[LoadedFile]) -> Result<Option<Ours>, Error> {
        let mut is_named = false;
        for file in loaded.iter().filter(|of| of.is_ours()) {
            is_named = true;
            let Some(image) = Image::at(program, file.range.start) else {
                continue;
            };
            let functions = [
                "heapglass_attach_prepare",
                "heapglass_attach",
                "heapglass_detach",
                "heapglass_attach_text",
            ];
            let found = functions.map(|name| image.function(name));
            if let [Some(prepare), Some(attach), Some(detach), Some(text)] = found {
                return Ok(Some(Ours {
                    prepare,
                    attach,
                    detach,
                    text,
                }));
            }
        }
        if is_named {
            Err(Error::OtherVersion)
        } else {
            Ok(None)
        }
    }
}

fn request_by(
    calls: &mut Calls<'_>,
    libraries: &Libraries,
    request: Request<'_>,
    needs_memory: bool,
) -> Result<Done, Error> {
    let mut unchanged_threads = 0;
    let (ours, code) = match (libraries.ours, request) {
        (ours, Request::Attach(settings)) => {
            let ours = match ours {
                Some(ours) => ours,
                None => load(calls, libraries, settings.library, needs_memory)?,
            };
            let attached = attach(calls, ours, settings, &mut unchanged_threads);
            if attached.is_err() && !calls.is_lost() {
                // Nothing is recorded: this directs the calls of the program back.
                let _ = calls.call(ours.detach, [0, 0]);
            }
            (ours, attached?)
        }
        (Some(ours), Request::Detach) => (ours, calls.call(ours.detach, [0, 0])?),
        (None, Request::Detach) => return Err(Error::NotAttached),
    };
    let code = code as i32;
    if code == BUSY {
        return Err(Error::Busy);
    }
    let text = calls.call(ours.text, [0, 0])?;
    Ok(Done {
        code,
        text: calls.text(text),
        unchanged_threads,
    })
}

/// Calls `heapglass_attach` with its options.
fn attach(
    calls: &mut Calls<'_>,
    ours: Ours,
    settings: &Settings<'_>,
    unchanged_threads: &mut u32,
) -> Result<u64, Error> {
    let place = calls.place(PAIRS);
    let count = calls.call(ours.prepare, [place, MOST_PAIRS])? as i32;
    let Ok(count) = u64::try_from(count) else {
        return Ok(count.unsigned_abs().into());
    };
    let mut pairs = Vec::new();
    for at in (0..count.min(MOST_PAIRS)).map(|number| place + 16 * number) {
        let words = [at, at + 8].map(|at| calls.word(at));
        let [Some(from), Some(to)] = words else {
            return Err(Error::NoProcess);
        };
        pairs.push([from, to]);
    }
    *unchanged_threads = replace::addresses(calls, &pairs)?;
    let mut path = settings.recording.to_vec();
    path.push(0);
    let path = calls.write(TEXTS, &path)?;
    let mut words = [
        0,
        u64::from(settings.samples),
        settings.sample_bytes,
        settings.max_bytes,
        path,
    ];
    words[0] = size_of_val(&words) as u64;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let options = calls.write(OPTIONS, &bytes)?;
    calls.call(ours.attach, [options, 0])
}

/// Loads the library, from its file or from memory.
fn load(
    calls: &mut Calls<'_>,
    libraries: &Libraries,
    library: &Path,
    needs_memory: bool,
) -> Result<Ours, Error> {
    let handle = if needs_memory {
        let file = calls.memory(&format!("{LIBRARY}.so"))?;
        let handle = calls
            .fill(file, library)
            .and_then(|()| open(calls, libraries, in_memory(file).into_bytes()));
        // After an error too, unless the thread is lost.
        let closed = calls.close(file);
        let handle = handle?;
        closed?;
        handle
    } else {
        open(
            calls,
            libraries,
            library.as_os_str().as_encoded_bytes().to_vec(),
        )?
    };
    if handle == 0 {
        let why = libraries.dlerror.map(|dlerror| calls.call(dlerror, [0, 0]));
        let why = why
            .transpose()?
            .map_or(String::new(), |why| calls.text(why));
        return Err(Error::NotLoaded(why));
    }
    let program = calls.program_now()?;
    let ours = Ours::among(&program, &program.loaded())?;
    ours.ok_or(Error::OtherVersion)
}

/// Returns the path of a file in memory, as nobody else writes it: the loader takes libraries with
/// the same path for the same one, and the program may load others as `/proc/self/fd/N`.
fn in_memory(file: u64) -> String {
    format!("/proc/self/fd/.//{file}")
}

/// Calls `dlopen`. Returns its result.
fn open(calls: &mut Calls<'_>, libraries: &Libraries, mut path: Vec<u8>) -> Result<u64, Error> {
    path.push(0);
    let place = calls.write(TEXTS, &path)?;
    let (dlopen, flags) = libraries.dlopen;
    calls.call(dlopen, [place, flags])
}

/// Returns `true` if a process sees our files at the same paths, and may read this one.
fn sees_our_files(process: u32, library: &Path) -> bool {
    let link = |of: &str, name: &str| fs::read_link(format!("/proc/{of}/{name}")).ok();
    let process = process.to_string();
    let is_same = |name| {
        let own = link("self", name);
        own.is_some() && own == link(&process, name)
    };
    let user = |of: &str| {
        let text = fs::read_to_string(format!("/proc/{of}/status")).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("Uid:"));
        line.map(str::to_owned)
    };
    is_same("ns/mnt") && is_same("root") && user("self") == user(&process) && library.is_absolute()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_file_in_memory_is_that_file_under_a_name_of_its_own() {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().expect("a file");
        let path = in_memory(file.as_raw_fd() as u64);
        assert_ne!(path, format!("/proc/self/fd/{}", file.as_raw_fd()));
        let inode = fs::metadata(path).expect("the file").ino();
        assert_eq!(inode, file.metadata().expect("the file").ino());
    }
}

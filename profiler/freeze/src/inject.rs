//! Loads a library into a running process, and calls its functions.
//!
//! One thread makes the calls, on a stack of its own, with all signals blocked. It waits in a system
//! call that neither malloc nor the loader makes, so it holds none of their locks.
//!
//! After each call it waits for the next one, and if none comes, it restores itself by a frame of a
//! signal (see [`frame`](crate::frame)). So if heapglass is killed at any instant, the call is
//! finished and the thread goes on where it was. No child process is needed for that.

use crate::call::Caller;
use crate::error::Error;
use crate::frame::{self, ARGUMENTS, FLAGS, FS_BASE, Instructions, ORIGINAL_RAX, RBX, RIP, RSP};
use crate::image::Image;
use crate::program::Program;
use crate::ptrace::{self, Event, Words};
use crate::refusals::{self, Status};
use crate::settings::{Answer, Settings};
use crate::threads::{self, Stopped, StoppedThread};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the memory that the calls use: one page of code, and the stack.
const CODE_BYTES: u64 = 4096;
const STACK_BYTES: u64 = 1 << 20;
/// Bytes of a text that is read.
const MOST_TEXT: usize = 4096;

/// `call *16(%rbx)`, then the result and a mark are stored; `ppoll` for the time at 24; then all
/// registers are restored by `rt_sigreturn`.
const CODE: &[u8] = b"\xff\x53\x10\
    \x48\x89\x43\x08\
    \x48\xc7\x03\x01\x00\x00\x00\
    \x31\xff\x31\xf6\
    \x48\x8d\x53\x18\
    \x45\x31\xd2\
    \xb8\x0f\x01\x00\x00\
    \x0f\x05\
    \x48\x8b\x63\x28\
    \xb8\x0f\x00\x00\x00\
    \x0f\x05";
/// Places in the data.
const DONE: u64 = 0;
const RESULT: u64 = 8;
const FUNCTION: u64 = 16;
const TIME: u64 = 24;
const FRAME: u64 = 40;
const TEXTS: u64 = 64;
const OPTIONS: u64 = 8192;
const PAIRS: u64 = OPTIONS + 256;
const MOST_PAIRS: u64 = 256;
/// Registers that may have the address of a function: all but the instruction pointer, flags and
/// segments.
const GENERAL: usize = 15;
/// Bytes of a stack that are searched for such addresses, and what lies below the stack pointer.
const MOST_STACK: u64 = 1 << 20;
const RED_ZONE: u64 = 128;

/// Time that a thread waits after a call before it restores itself. Tests kill heapglass then.
const NEXT_CALL: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 3000 });
/// The longest time that a search for a thread takes, and the pause between two looks.
const SEARCH: Duration = Duration::from_secs(3);
const LOOKS: Duration = Duration::from_millis(2);
/// The pause between two looks whether a call is done.
const CALL_LOOKS: Duration = Duration::from_micros(100);
/// The longest time that a call may take before heapglass leaves the thread alone, which then goes
/// on by itself.
const LONGEST: Duration = Duration::from_secs(60);

/// Flags of `dlopen`: all functions are found now, and the library is never unloaded.
const NOW: u64 = 2;
const NO_DELETE: u64 = 0x1000;
/// The flag that `__libc_dlopen_mode` of glibc before 2.34 needs.
const OLD: u64 = 0x8000_0000;

/// The name of the memory that holds the library if the program cannot open its file.
const MEMORY_NAME: &str = "libheapglass_preload.so";

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request<'a> {
    Attach(&'a Settings<'a>),
    Detach,
}

/// Makes the calls of a request.
pub(crate) fn inject(process: u32, is_forced: bool, request: Request<'_>) -> Result<Answer, Error> {
    let status = refusals::check(process)?;
    if status.is_suspended() {
        return Err(Error::Suspended { process });
    }
    let program = Program::open(process, &status)?;
    let libraries = Libraries::of(&program)?;
    if matches!(request, Request::Detach) && libraries.ours.is_none() {
        return Err(Error::NotAttached);
    }
    // Every thread has filters of its own, and each will record.
    for thread in threads::ids(process)? {
        let of_thread = Status::of(process, thread.cast_unsigned());
        // An error means that it has ended.
        let why = of_thread.ok().and_then(|of| of.forbids_calls(is_forced));
        if let Some(why) = why {
            return Err(Error::Sandboxed(why));
        }
    }
    let at = program
        .instructions()
        .ok_or(Error::NoGlibc { what: "unusual" })?;
    let (stopped, begun) = choose(&program, &status, &libraries)?;
    let mut calls = Calls::begin(&program, &status, &stopped, at, is_forced)?;
    let outcome = request_by(&mut calls, &libraries, request);
    let thread = calls.thread.id.cast_unsigned();
    calls.end();
    drop(stopped);
    let pause = begun.elapsed();
    let (code, text) = outcome?;
    Ok(Answer {
        code,
        text,
        thread,
        pause,
    })
}

/// Functions of libraries of a process.
struct Libraries {
    /// `dlopen` and the flags that it needs.
    dlopen: (u64, u64),
    dlerror: Option<u64>,
    /// This command's library, if it is loaded.
    ours: Option<Ours>,
    loader: std::ops::Range<u64>,
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
        let find = |is_it: &dyn Fn(&str) -> bool| {
            let range = program.image(is_it)?;
            Image::at(program, range.start)
        };
        let is_libc = |name: &str| name == "libc.so.6" || name.starts_with("libc-2.");
        let Some(libc) = find(&is_libc) else {
            let has_musl = program.image(&|name: &str| name.contains("musl")).is_some();
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
        let is_loader = |name: &str| name.starts_with("ld-linux") || name.starts_with("ld-2.");
        Ok(Libraries {
            dlopen: dlopen
                .or_else(old)
                .ok_or(Error::NoGlibc { what: "unusual" })?,
            dlerror: libc.function("dlerror"),
            ours: Ours::of(program)?,
            loader: program.image(&is_loader).unwrap_or(0..0),
        })
    }
}

impl Ours {
    fn of(program: &Program) -> Result<Option<Ours>, Error> {
        let is_ours = |name: &str| {
            let name = name.strip_prefix("memfd:").unwrap_or(name);
            name.starts_with("libheapglass_preload")
        };
        let Some(range) = program.image(&is_ours) else {
            return Ok(None);
        };
        let find = |name| Image::at(program, range.start)?.function(name);
        let functions = [
            "heapglass_attach_prepare",
            "heapglass_attach",
            "heapglass_detach",
            "heapglass_attach_text",
        ];
        let [Some(prepare), Some(attach), Some(detach), Some(text)] = functions.map(find) else {
            return Err(Error::OtherVersion);
        };
        Ok(Some(Ours {
            prepare,
            attach,
            detach,
            text,
        }))
    }
}

fn request_by(
    calls: &mut Calls<'_>,
    libraries: &Libraries,
    request: Request<'_>,
) -> Result<(i32, String), Error> {
    let (ours, code) = match (libraries.ours, request) {
        (ours, Request::Attach(settings)) => {
            let ours = match ours {
                Some(ours) => ours,
                None => load(calls, libraries, settings)?,
            };
            (ours, attach(calls, ours, settings)?)
        }
        (Some(ours), Request::Detach) => (ours, calls.call(ours.detach, [0, 0])?),
        (None, Request::Detach) => return Err(Error::NotAttached),
    };
    let text = calls.call(ours.text, [0, 0])?;
    Ok((code as i32, calls.text(text)))
}

/// Calls `heapglass_attach` with its options.
fn attach(calls: &mut Calls<'_>, ours: Ours, settings: &Settings<'_>) -> Result<u64, Error> {
    let place = calls.data + PAIRS;
    let count = calls.call(ours.prepare, [place, MOST_PAIRS])? as i32;
    let Ok(count) = u64::try_from(count) else {
        return Ok(count.unsigned_abs().into());
    };
    let mut pairs = Vec::new();
    for at in (0..count.min(MOST_PAIRS)).map(|number| place + 16 * number) {
        let words = [at, at + 8].map(|at| calls.program.word(at));
        let [Some(from), Some(to)] = words else {
            return Err(Error::NoProcess);
        };
        pairs.push([from, to]);
    }
    calls.replace_addresses(&pairs)?;
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

/// Loads the library, from its file if the program can open it, otherwise from memory.
fn load(
    calls: &mut Calls<'_>,
    libraries: &Libraries,
    settings: &Settings<'_>,
) -> Result<Ours, Error> {
    let process = calls.program.process;
    let mut memory = None;
    let mut path = if sees_our_files(process, settings.library) {
        settings.library.as_os_str().as_encoded_bytes().to_vec()
    } else {
        let file = calls.memory_with(settings.library)?;
        memory = Some(file);
        format!("/proc/self/fd/{file}").into_bytes()
    };
    path.push(0);
    let place = calls.write(TEXTS, &path)?;
    let (dlopen, flags) = libraries.dlopen;
    let handle = calls.call(dlopen, [place, flags])?;
    if let Some(file) = memory {
        calls.system_call(libc::SYS_close, [file, 0, 0, 0, 0, 0])?;
    }
    if handle == 0 {
        let why = libraries.dlerror.map(|dlerror| calls.call(dlerror, [0, 0]));
        let why = why
            .transpose()?
            .map_or(String::new(), |why| calls.text(why));
        return Err(Error::NotLoaded(why));
    }
    let program = Program::open(process, calls.status)?;
    Ours::of(&program)?.ok_or(Error::OtherVersion)
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

/// Chooses a thread that waits in a system call which neither malloc nor the loader makes, and stops
/// it. Returns when it was stopped.
fn choose(
    program: &Program,
    status: &Status,
    libraries: &Libraries,
) -> Result<(Stopped, Instant), Error> {
    let end = Instant::now() + SEARCH;
    let mut why = "they run, or wait for a lock";
    for look in 0.. {
        let mut seen = threads::ids(program.process)?;
        // The first thread is the least likely one to end.
        seen.sort_unstable();
        for id in seen {
            let waits = match waiting(program.process, id) {
                Some(call) => call.is_safe(&libraries.loader, look >= 3),
                None => false,
            };
            if !waits {
                continue;
            }
            let begun = Instant::now();
            let Some(stopped) = Stopped::one(id, program, status)? else {
                continue;
            };
            let words = &stopped.threads[0].words;
            let call = Waiting {
                number: words[ORIGINAL_RAX].cast_signed(),
                second: words[ARGUMENTS[1]],
                code: words[RIP],
            };
            if call.is_safe(&libraries.loader, look >= 3) {
                return Ok((stopped, begun));
            }
            why = "each that waited went on when it was stopped";
        }
        if Instant::now() >= end {
            break;
        }
        std::thread::sleep(LOOKS);
    }
    Err(Error::NoThread { why })
}

/// A system call in which a thread waits.
struct Waiting {
    number: i64,
    /// The second argument.
    second: u64,
    /// The address to which it returns.
    code: u64,
}

/// Calls that go on with the right time and result after a stop.
const GO_ON: [i64; 14] = [
    libc::SYS_futex,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_read,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_accept,
    libc::SYS_accept4,
];
/// Calls that begin again after a stop, so that a time limit begins anew.
const BEGIN_AGAIN: [i64; 12] = [
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_connect,
    libc::SYS_flock,
];
/// Waits of condition variables, joins and parked threads. glibc's locks use another operation.
const WAIT_BITSET: u64 = 9;

impl Waiting {
    fn is_safe(&self, loader: &std::ops::Range<u64>, is_late: bool) -> bool {
        let is_known =
            GO_ON.contains(&self.number) || is_late && BEGIN_AGAIN.contains(&self.number);
        let is_lock = self.number == libc::SYS_futex && self.second & 0x7f != WAIT_BITSET;
        is_known && !is_lock && !loader.contains(&self.code)
    }
}

/// Reads what a thread waits in, without stopping it.
fn waiting(process: u32, thread: i32) -> Option<Waiting> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut words = words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let second = words.nth(1)??;
    let code = words.next_back()??;
    Some(Waiting {
        number,
        second,
        code,
    })
}

/// A thread that makes calls. Between two calls it is as it was when it was stopped.
struct Calls<'a> {
    program: &'a Program,
    status: &'a Status,
    stopped: &'a Stopped,
    at: Instructions,
    is_forced: bool,
    thread: StoppedThread,
    code: u64,
    data: u64,
    /// The frame that restores the thread, at the end of the stack.
    frame: u64,
    /// The state of its vector registers, and its signals.
    state: Vec<u8>,
    mask: u64,
    /// The thread is not where it was stopped, and restores itself.
    is_lost: bool,
}

/// Signals that are not blocked during a call, because the thread itself raises them: a handler of
/// the program may make use of them. `SIGILL`, `SIGTRAP`, `SIGBUS`, `SIGFPE` and `SIGSEGV`.
const OWN_SIGNALS: u64 = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10;
/// Flags of the processor: single steps, and the direction of strings.
const NO_FLAGS: u64 = 0x100 | 0x400;

impl<'a> Calls<'a> {
    fn begin(
        program: &'a Program,
        status: &'a Status,
        stopped: &'a Stopped,
        at: Instructions,
        is_forced: bool,
    ) -> Result<Calls<'a>, Error> {
        let thread = stopped.threads[0];
        let failed = |error| Error::Failed {
            what: "read the registers of a thread",
            error,
        };
        let mut state = vec![0; 1 << 16];
        let bytes = ptrace::extended_state(thread.id, &mut state).map_err(failed)?;
        state.truncate(bytes);
        let mut calls = Calls {
            program,
            status,
            stopped,
            at,
            is_forced,
            thread,
            code: 0,
            data: 0,
            frame: 0,
            mask: ptrace::signal_mask(thread.id).map_err(failed)?,
            state,
            is_lost: false,
        };
        calls.code = calls.map(CODE_BYTES, libc::PROT_READ | libc::PROT_EXEC)?;
        let prepared = calls.prepare();
        if prepared.is_err() {
            calls.end();
        }
        prepared?;
        Ok(calls)
    }

    /// Writes the code, and the frame that restores the thread.
    fn prepare(&mut self) -> Result<(), Error> {
        self.data = self.map(STACK_BYTES, libc::PROT_READ | libc::PROT_WRITE)?;
        self.put(self.code, CODE)?;
        self.write_frame()
    }

    fn write_frame(&mut self) -> Result<(), Error> {
        let end = self.data + STACK_BYTES;
        let words = &self.thread.words;
        let frame = frame::restoring(words, self.mask, &self.state, end, self.at);
        let (place, bytes) = frame.ok_or(Error::NoThread {
            why: "the state of their registers is not known",
        })?;
        self.frame = place;
        self.put(place, &bytes)
    }

    fn map(&self, bytes: u64, rights: i32) -> Result<u64, Error> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let arguments = [0, bytes, rights as u64, kind as u64, u64::MAX, 0];
        self.system_call(libc::SYS_mmap, arguments)
    }

    /// Makes a system call.
    fn system_call(&self, number: i64, arguments: [u64; 6]) -> Result<u64, Error> {
        let caller = Caller::among(self.stopped, self.program, self.at, self.is_forced);
        let caller = caller.map_err(|why| Error::NoThread { why })?;
        let result = caller.call(number, arguments)?;
        if (-4095..0).contains(&result) {
            return Err(Error::Failed {
                what: "prepare the call in the program",
                error: io::Error::from_raw_os_error(-result as i32),
            });
        }
        Ok(result.cast_unsigned())
    }

    fn put(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = self.program.write(address, bytes);
        written.map_err(|error| Error::Failed {
            what: "write to its memory",
            error,
        })
    }

    /// Writes an argument, and returns its address.
    fn write(&self, place: u64, bytes: &[u8]) -> Result<u64, Error> {
        self.put(self.data + place, bytes)?;
        Ok(self.data + place)
    }

    /// Makes a file in the memory of the program that has the bytes of a file of ours. Returns its
    /// descriptor.
    fn memory_with(&self, file: &Path) -> Result<u64, Error> {
        let mut name = MEMORY_NAME.as_bytes().to_vec();
        name.push(0);
        let name = self.write(TEXTS, &name)?;
        let arguments = [name, libc::MFD_CLOEXEC.into(), 0, 0, 0, 0];
        let number = self.system_call(libc::SYS_memfd_create, arguments)?;
        let path = format!("/proc/{}/fd/{number}", self.program.process);
        let copied = fs::read(file).and_then(|bytes| {
            let mut memory = File::options().write(true).open(path)?;
            memory.write_all(&bytes)
        });
        copied.map_err(|error| Error::Failed {
            what: "copy the library into its memory",
            error,
        })?;
        Ok(number)
    }

    /// Replaces addresses of functions in the registers and on the stacks of all threads. Compilers
    /// load a slot before a loop, and a thread inside would go on calling the old function.
    fn replace_addresses(&mut self, pairs: &[[u64; 2]]) -> Result<(), Error> {
        // There may be new stacks.
        let program = Program::open(self.program.process, self.status)?;
        for id in threads::ids(program.process)? {
            if id == self.thread.id {
                continue;
            }
            // A thread that ends, or that the kernel cannot stop, is left out.
            let Ok(Some(stopped)) = Stopped::one(id, &program, self.status) else {
                continue;
            };
            let mut words = stopped.threads[0].words;
            if replace_in(&mut words, &program, pairs) {
                ptrace::set_registers(id, &words).map_err(call_failed)?;
            }
        }
        if replace_in(&mut self.thread.words, &program, pairs) {
            self.write_frame()?;
            let thread = self.thread.id;
            ptrace::set_registers(thread, &self.thread.words).map_err(call_failed)?;
        }
        Ok(())
    }

    /// Calls a function, and returns its result.
    fn call(&mut self, function: u64, arguments: [u64; 2]) -> Result<u64, Error> {
        let mut data = [0; 6];
        data[FUNCTION as usize / 8] = function;
        data[TIME as usize / 8] = NEXT_CALL.as_secs();
        data[TIME as usize / 8 + 1] = NEXT_CALL.subsec_nanos().into();
        data[FRAME as usize / 8] = self.frame + 8;
        let bytes: Vec<u8> = data
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect();
        self.put(self.data, &bytes)?;
        let mut words = self.thread.words;
        words[RIP] = self.code;
        words[RSP] = (self.frame - 256) & !15;
        words[RBX] = self.data;
        words[ORIGINAL_RAX] = u64::MAX;
        words[FLAGS] &= !NO_FLAGS;
        for (place, argument) in ARGUMENTS.into_iter().zip(arguments) {
            words[place] = argument;
        }
        let thread = self.thread.id;
        // Until the thread is restored, it is not where it was.
        self.is_lost = true;
        let begun = ptrace::set_registers(thread, &words)
            .and_then(|()| ptrace::set_signal_mask(thread, !OWN_SIGNALS))
            .and_then(|()| ptrace::resume(thread, 0));
        begun.map_err(call_failed)?;
        self.until_done()?;
        let result = self
            .program
            .word(self.data + RESULT)
            .ok_or(Error::NoProcess)?;
        self.restore()?;
        self.is_lost = false;
        Ok(result)
    }

    fn until_done(&self) -> Result<(), Error> {
        let end = Instant::now() + LONGEST;
        let thread = self.thread.id;
        loop {
            if self
                .program
                .word(self.data + DONE)
                .ok_or(Error::NoProcess)?
                == 1
            {
                return Ok(());
            }
            let now = Instant::now();
            if now >= end {
                return Err(Error::Late);
            }
            match ptrace::wait_until(thread, now + CALL_LOOKS).map_err(call_failed)? {
                None => {}
                Some(Event::Ended) => return Err(Error::NoProcess),
                Some(Event::Signal(signal)) => {
                    ptrace::resume(thread, signal).map_err(call_failed)?;
                }
                Some(_) => ptrace::resume(thread, 0).map_err(call_failed)?,
            }
        }
    }

    /// Stops the thread, which waits after its call, and puts its registers back.
    fn restore(&self) -> Result<(), Error> {
        let thread = self.thread.id;
        ptrace::interrupt(thread).map_err(call_failed)?;
        loop {
            match ptrace::wait(thread).map_err(call_failed)? {
                Event::Stopped => break,
                Event::Ended => return Err(Error::NoProcess),
                Event::Signal(signal) => ptrace::resume(thread, signal).map_err(call_failed)?,
                _ => ptrace::resume(thread, 0).map_err(call_failed)?,
            }
        }
        let words = ptrace::registers(thread).map_err(call_failed)?;
        if !(self.code..self.code + CODE_BYTES).contains(&words[RIP]) {
            // It has waited long enough and restored itself.
            return Err(Error::Late);
        }
        ptrace::set_extended_state(thread, &self.state)
            .and_then(|()| ptrace::set_signal_mask(thread, self.mask))
            .and_then(|()| ptrace::set_registers(thread, &self.thread.words))
            .map_err(call_failed)
    }

    /// Reads a text of the program.
    fn text(&self, address: u64) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < MOST_TEXT {
            let mut byte = [0];
            let is_read = self.program.read(address + bytes.len() as u64, &mut byte);
            if is_read.is_err() || byte == [0] {
                break;
            }
            bytes.push(byte[0]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Removes the memory for the calls. A thread that still uses it keeps it.
    fn end(&self) {
        if self.is_lost {
            return;
        }
        for (start, bytes) in [(self.code, CODE_BYTES), (self.data, STACK_BYTES)] {
            if start != 0 {
                // Otherwise it stays, and does no harm.
                let _ = self.system_call(libc::SYS_munmap, [start, bytes, 0, 0, 0, 0]);
            }
        }
        // System calls put the registers back as they were at first, with addresses of functions
        // that were replaced since. If this fails, the thread has ended.
        let _ = ptrace::set_registers(self.thread.id, &self.thread.words);
    }
}

/// Replaces addresses in the registers and on the stack of a thread. Returns `true` if registers
/// changed.
fn replace_in(words: &mut Words, program: &Program, pairs: &[[u64; 2]]) -> bool {
    let new = |word: u64| {
        let mut pairs = pairs.iter();
        pairs.find(|[from, _]| *from == word).map(|[_, to]| *to)
    };
    let mut is_changed = false;
    for word in &mut words[..GENERAL] {
        if let Some(to) = new(*word) {
            *word = to;
            is_changed = true;
        }
    }
    let start = words[RSP].saturating_sub(RED_ZONE) & !7;
    // Other memory may follow the stack in its mapping. Of threads but the first, the description
    // lies at the stack's end.
    let end = program.end_of_mapping(words[RSP]);
    let end = match words[FS_BASE] {
        description if start < description && description < end => description,
        _ => end,
    };
    let end = end.min(start.saturating_add(MOST_STACK));
    let mut stack = vec![0; end.saturating_sub(start) as usize];
    if program.read(start, &mut stack).is_ok() {
        let (stack, _) = stack.as_chunks::<8>();
        for (at, bytes) in (start..).step_by(8).zip(stack) {
            let Some(to) = new(u64::from_le_bytes(*bytes)) else {
                continue;
            };
            let mut now = [0; 8];
            if program.read(at, &mut now).is_ok() && now == *bytes {
                // Without it, frees of that thread are missed.
                let _ = program.write(at, &to.to_le_bytes());
            }
        }
    }
    is_changed
}

fn call_failed(error: io::Error) -> Error {
    Error::Failed {
        what: "make a thread call a function",
        error,
    }
}

//! Recorded programs. This binary runs itself as one of them.

use crate::inner::{self, Reallocs};
use heapglass_limits::Command;
use std::alloc::Layout;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering::*};
use tracking_alloc::Recorder;
use tracking_alloc_recording::Recording;

const PROGRAM: &std::ffi::CStr = c"FIGURES_PROGRAM";
const WORD: &std::ffi::CStr = c"FIGURES_WORD";
const START: &std::ffi::CStr = c"FIGURES_START";
pub(crate) const OUT: &std::ffi::CStr = c"FIGURES_OUT";

/// Runs before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static INSTEAD_OF_MAIN: extern "C" fn() = instead_of_main;

extern "C" fn instead_of_main() {
    let Some(name) = environment(PROGRAM) else {
        return;
    };
    match environment(WORD).unwrap_or(b"move") {
        b"move" => inner::choose(Reallocs::Move),
        b"stay" => inner::choose(Reallocs::Stay),
        b"pack" => inner::choose(Reallocs::Pack),
        _ => panic!("no such word"),
    }
    let programs = [
        crate::one_thread::PROGRAMS,
        crate::two_threads::PROGRAMS,
        crate::peaks::PROGRAMS,
        crate::ends::PROGRAMS,
        crate::random::PROGRAMS,
        crate::counted::PROGRAMS,
        crate::beside::PROGRAMS,
        crate::looks::PROGRAMS,
        crate::own::PROGRAMS,
        crate::pauses::PROGRAMS,
        crate::sampled::PROGRAMS,
    ];
    let mut programs = programs.into_iter().flatten();
    let (_, program) = programs
        .find(|(known, _)| known.as_bytes() == name)
        .expect("a program of that name");
    if environment(START).is_some() {
        let path = OsStr::from_bytes(environment(OUT).expect("a path"));
        std::mem::forget(Recorder::start(path).expect("it records"));
        program();
        if let Some(recorder) = Recorder::current() {
            recorder.finish().expect("it was recording");
        }
    } else {
        program();
    }
    // SAFETY: this ends the process normally.
    unsafe { libc::exit(0) }
}

/// Returns an environment variable, without an allocation.
pub(crate) fn environment(name: &std::ffi::CStr) -> Option<&'static [u8]> {
    // SAFETY: getenv neither allocates nor locks, and nothing changes the environment.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| std::ffi::CStr::from_ptr(value).to_bytes())
    }
}

/// The programs of a test module, by name.
pub(crate) type Programs = &'static [(&'static str, fn())];

/// A block of a program, which is freed explicitly.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    place: *mut u8,
    bytes: usize,
}

// SAFETY: a block is passed between threads, but only one thread uses it at a time.
unsafe impl Send for Block {}

impl Block {
    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 1).expect("a layout")
    }

    #[inline(never)]
    pub(crate) fn new(bytes: usize) -> Block {
        // SAFETY: no program requests 0 bytes.
        let place = unsafe { std::alloc::alloc(Block::layout(bytes)) };
        assert!(!place.is_null());
        Block { place, bytes }
    }

    /// Returns a live block of `bytes`, or `None` for null.
    ///
    /// # Safety
    /// `place` is null, or was [`Block::as_ptr`] of a block of `bytes` that is not used any more.
    pub(crate) unsafe fn of(place: *mut u8, bytes: usize) -> Option<Block> {
        (!place.is_null()).then_some(Block { place, bytes })
    }

    pub(crate) fn bytes(self) -> usize {
        self.bytes
    }

    pub(crate) fn as_ptr(self) -> *mut u8 {
        self.place
    }

    /// Resizes the block. Returns `false` if that fails.
    pub(crate) fn try_resize(&mut self, bytes: usize) -> bool {
        // SAFETY: a live block of that layout, and not 0 bytes.
        let place = unsafe { std::alloc::realloc(self.place, Block::layout(self.bytes), bytes) };
        if place.is_null() {
            return false;
        }
        *self = Block { place, bytes };
        true
    }

    #[inline(never)]
    pub(crate) fn resize(&mut self, bytes: usize) {
        assert!(self.try_resize(bytes));
    }

    #[inline(never)]
    pub(crate) fn free(self) {
        // SAFETY: a live block of that layout.
        unsafe { std::alloc::dealloc(self.place, Block::layout(self.bytes)) }
    }
}

/// Runs `f` in a thread of that name, which allocates nothing of its own, and returns when it has
/// ended.
pub(crate) fn in_thread(name: &'static std::ffi::CStr, f: fn()) {
    join(spawn(name, f));
}

/// Starts a thread with that name, without an allocation.
pub(crate) fn spawn(name: &'static std::ffi::CStr, f: fn()) -> libc::pthread_t {
    static NAME: std::sync::atomic::AtomicPtr<libc::c_char> =
        std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
    static READY: AtomicU32 = AtomicU32::new(0);
    extern "C" fn run(f: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: PR_SET_NAME reads a string that lives forever, and `f` was made from such a
        // function.
        let f: fn() = unsafe {
            libc::prctl(libc::PR_SET_NAME, NAME.load(Acquire));
            std::mem::transmute::<*mut libc::c_void, fn()>(f)
        };
        READY.store(1, Release);
        f();
        std::ptr::null_mut()
    }
    NAME.store(name.as_ptr().cast_mut(), Release);
    READY.store(0, Release);
    let mut thread = 0;
    // SAFETY: the function gets the argument that it expects: a function without arguments.
    let made =
        unsafe { libc::pthread_create(&mut thread, std::ptr::null(), run, f as *mut libc::c_void) };
    assert_eq!(made, 0);
    until(|| READY.load(Acquire) == 1);
    thread
}

pub(crate) fn join(thread: libc::pthread_t) {
    // SAFETY: the thread was created and not joined.
    let joined = unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
    assert_eq!(joined, 0);
}

pub(crate) fn until(condition: impl Fn() -> bool) {
    while !condition() {
        // SAFETY: no preconditions.
        unsafe { libc::sched_yield() };
    }
}

/// Tells the test to read the recording now, and waits until it has.
pub(crate) fn be_read() {
    let mut byte = [b'.'];
    // SAFETY: one byte to write and to read.
    unsafe {
        assert_eq!(libc::write(1, byte.as_ptr().cast(), 1), 1);
        libc::read(0, byte.as_mut_ptr().cast(), 1);
    }
}

/// A program before or during its run.
pub(crate) struct Run {
    command: Command,
    path: PathBuf,
}

impl Run {
    /// Prepares the program of that name, recorded from its beginning.
    pub(crate) fn new(name: &str, word: &str) -> Run {
        let mut run = Run::unrecorded(name, word);
        run.command.env(START.to_str().expect("a name"), "1");
        run
    }

    /// Prepares the program, recorded from its first allocation because of the environment.
    pub(crate) fn by_environment(name: &str, word: &str) -> Run {
        let mut run = Run::unrecorded(name, word);
        run.command.env("HEAPGLASS_OUT", &run.path);
        run
    }

    /// Prepares the program, recorded only if it starts a recording itself.
    pub(crate) fn unrecorded(name: &str, word: &str) -> Run {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let file = format!("figures-{}-{number}.hg", std::process::id());
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HEAPGLASS_") {
                command.env_remove(name);
            }
        }
        command
            .env(PROGRAM.to_str().expect("a name"), name)
            .env(WORD.to_str().expect("a name"), word)
            .env(OUT.to_str().expect("a name"), &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Run { command, path }
    }

    /// Adds a variable to its environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Run {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end. All its assertions must hold.
    pub(crate) fn succeeds(&mut self) {
        let mut child = self.command.spawn().expect("it starts");
        drop(child.stdin.take());
        let status = child.wait().expect("it ends");
        assert!(status.success(), "{:?}: {status}", self.command);
    }

    /// Returns the recording after the program ended normally.
    pub(crate) fn finished(mut self) -> Recording {
        self.succeeds();
        self.read()
    }

    /// Returns the recording at the moment when the program requests to be read, and the recording
    /// after a kill or after a normal end.
    pub(crate) fn alive(mut self, then_kill: bool) -> (Recording, Recording) {
        let mut child = self.command.spawn().expect("it starts");
        let mut byte = [0];
        let said = child
            .stdout
            .as_mut()
            .map(|output| output.read_exact(&mut byte));
        assert!(matches!(said, Some(Ok(()))), "{:?}", self.command);
        let alive = self.read();
        if then_kill {
            child.kill().expect("killed");
            child.wait().expect("it ends");
        } else {
            let mut input = child.stdin.take().expect("its input");
            input.write_all(b".").expect("it reads");
            assert!(
                child.wait().expect("it ends").success(),
                "{:?}",
                self.command
            );
        }
        let left = self.read();
        (alive, left)
    }

    /// Returns the recording each time when the program requests to be read, and the one after its
    /// normal end.
    pub(crate) fn watched(
        mut self,
        times: usize,
        mut each: impl FnMut(usize, Recording),
    ) -> Recording {
        let mut child = self.command.spawn().expect("it starts");
        let mut output = child.stdout.take().expect("its output");
        let mut input = child.stdin.take().expect("its input");
        for time in 0..times {
            output.read_exact(&mut [0]).expect("it says so");
            each(time, self.read());
            input.write_all(b".").expect("it reads");
        }
        assert!(
            child.wait().expect("it ends").success(),
            "{:?}",
            self.command
        );
        self.read()
    }

    /// Returns `true` if there is a recording.
    pub(crate) fn is_there(&self) -> bool {
        self.path.exists()
    }

    pub(crate) fn read(&self) -> Recording {
        Run::read_at(&self.path)
    }

    /// Reads another recording with that extension, and removes it.
    pub(crate) fn read_beside(&self, extension: &str) -> Recording {
        let path = self.path.with_extension(extension);
        let recording = Run::read_at(&path);
        std::fs::remove_file(path).expect("removed");
        recording
    }

    fn read_at(path: &std::path::Path) -> Recording {
        let recording = Recording::open(path).expect("a recording");
        assert_eq!(recording.damage, 0);
        recording
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

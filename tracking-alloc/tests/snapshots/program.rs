//! The programs that are copied. This binary runs itself as one of them.

use heapglass_limits::{Child, Command};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

const PROGRAM: &std::ffi::CStr = c"SNAPSHOTS_PROGRAM";

/// Programs by name.
pub(crate) type Programs = &'static [(&'static str, fn())];

/// Runs before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static INSTEAD_OF_MAIN: extern "C" fn() = instead_of_main;

extern "C" fn instead_of_main() {
    // SAFETY: getenv neither allocates nor locks, and nothing changes the environment.
    let name = unsafe {
        let value = libc::getenv(PROGRAM.as_ptr());
        if value.is_null() {
            return;
        }
        std::ffi::CStr::from_ptr(value).to_bytes()
    };
    let programs = [
        crate::harm::PROGRAMS,
        crate::memory::PROGRAMS,
        crate::refused::PROGRAMS,
        crate::steady::PROGRAMS,
        crate::stress::PROGRAMS,
        crate::triggers::PROGRAMS,
    ];
    let mut programs = programs.into_iter().flatten();
    let (_, program) = programs
        .find(|(known, _)| known.as_bytes() == name)
        .expect("a program of that name");
    program();
    // SAFETY: this ends the process normally.
    unsafe { libc::exit(0) }
}

/// The size to which a realloc waits until it may go on.
pub(crate) const WAITS_AT: usize = 123_457;
/// `true` while such a realloc waits.
pub(crate) static IS_WAITING: AtomicBool = AtomicBool::new(false);
/// Lets it go on.
pub(crate) static MAY_GO_ON: AtomicBool = AtomicBool::new(false);

/// The system's allocator, whose reallocs to one size wait.
pub(crate) struct Waiting;

// SAFETY: every call is forwarded unchanged.
unsafe impl GlobalAlloc for Waiting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes == WAITS_AT {
            IS_WAITING.store(true, Release);
            while !MAY_GO_ON.load(Acquire) {
                std::thread::yield_now();
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

/// Prints one line for the test.
pub(crate) fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().expect("written");
}

/// Says that the program has come so far, and waits until the test lets it go on.
pub(crate) fn pause() {
    say("paused");
    std::io::stdin()
        .read_line(&mut String::new())
        .expect("read");
}

/// Allocates and frees enough for several checks of the peak.
pub(crate) fn churn() {
    for round in 0..20 {
        drop(std::hint::black_box(vec![round as u8; 100_000]));
    }
}

/// A program in progress.
pub(crate) struct Run {
    pub(crate) child: Child,
    pub(crate) path: PathBuf,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Run {
    /// Starts a program that records, with that process as the attached reader.
    pub(crate) fn start(name: &str, reader: Option<u32>) -> Run {
        Run::start_by(&[], name, reader)
    }

    /// Starts a program by another command (`unshare ..`).
    pub(crate) fn start_by(by: &[&str], name: &str, reader: Option<u32>) -> Run {
        let reader = reader.map(|reader| reader.to_string());
        let settings = reader.map(|reader| ("HEAPGLASS_SNAPSHOT", reader));
        Run::start_in(by, name, settings.as_slice())
    }

    /// Starts a program with some variables in its environment.
    pub(crate) fn start_in(by: &[&str], name: &str, settings: &[(&str, String)]) -> Run {
        let path = new_path();
        let program = std::env::current_exe().expect("this program");
        let mut command = match by {
            [] => Command::new(program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HEAPGLASS_") {
                command.env_remove(name);
            }
        }
        command
            .env(PROGRAM.to_str().expect("a name"), name)
            .env("HEAPGLASS_OUT", &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Run {
            child,
            path,
            input,
            lines,
        }
    }

    /// Returns the lines that the program prints before it pauses.
    pub(crate) fn until_paused(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            let line = self.lines.next().expect("it pauses").expect("text");
            if line == "paused" {
                return said;
            }
            said.push(line);
        }
    }

    /// Returns the next line that the program prints.
    pub(crate) fn line(&mut self) -> String {
        self.lines.next().expect("a line").expect("text")
    }

    pub(crate) fn go_on(&mut self) {
        self.write_line("");
    }

    pub(crate) fn write_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Waits for the end. All assertions of the program must hold.
    pub(crate) fn succeeds(&mut self) {
        drop(self.input.take());
        let status = self.ended();
        assert!(status.success(), "{status}");
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("it ends", || {
            status = self.child.try_wait().expect("waited for");
            status.is_some()
        });
        status.expect("a status")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.path);
    }
}

pub(crate) fn new_path() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let file = format!("snapshots-{}-{number}.hg", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(file)
}

/// Waits until a condition holds, with a limit.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < heapglass_limits::limit(),
            "in vain: {what}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

//! The choice of the thread that makes calls for us: one that holds no lock of malloc and of the
//! loader.
//!
//! Usually a thread waits in a system call that neither malloc nor the loader makes. If none does,
//! threads that compute are stopped, again and again, until one is found outside of malloc, libc
//! and the loader. The functions on its stack tell. Nothing is written into the program for that,
//! no breakpoint either: if heapglass were killed then, the next breakpoint would kill the program.

use crate::PATIENCE;
use crate::call;
use crate::error::Error;
use crate::frame::{ARGUMENTS, Instructions, ORIGINAL_RAX, RIP};
use crate::image::Image;
use crate::program::Program;
use crate::refusals::Status;
use crate::settings::{Registers, Walked};
use crate::threads::{self, Restless, Stopped, StoppedThread};
use std::fs;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The longest time that a search for a thread takes, and the pause between two looks.
const SEARCH: Duration = Duration::from_secs(3);
const LOOKS: Duration = Duration::from_millis(2);
/// The first look that stops threads which compute, or wait in calls that begin anew after it.
const LATE: u32 = 3;
/// The first look that takes a thread which waits although its stack cannot be walked.
const LATER: u32 = 20;
/// Functions of libc around those of the program: the first ones of a thread.
const MOST_FIRST: usize = 4;

/// Functions that hold a lock of malloc, some of them while they write.
const LOCKING: [&str; 18] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "cfree",
    "free_sized",
    "free_aligned_sized",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_trim",
    "mallinfo",
    "mallinfo2",
    "malloc_info",
    "malloc_stats",
];

/// The code in which a thread must not be.
#[derive(Debug, Default)]
pub(crate) struct Places {
    loader: Range<u64>,
    libc: Range<u64>,
    /// Other files with a `malloc`, or with functions that cannot be read.
    allocators: Vec<Range<u64>>,
    /// The functions of malloc, of all these files.
    locking: Vec<Range<u64>>,
    /// Our own library: its hooks have names that are not exported, and wait inside.
    ours: Vec<Range<u64>>,
}

impl Places {
    pub(crate) fn of(program: &Program) -> Places {
        let mut places = Places::default();
        for file in program.loaded() {
            if file.is_loader() {
                places.loader = file.range;
                continue;
            }
            if file.is_ours() {
                places.ours.push(file.range.clone());
            }
            let Some(image) = Image::at(program, file.range.start) else {
                // It may have a malloc all the same, for example if it has no `DT_GNU_HASH`.
                places.allocators.push(file.range);
                continue;
            };
            if image.function("malloc").is_none() {
                continue;
            }
            let functions = LOCKING.iter().filter_map(|name| image.code_of(name));
            places.locking.extend(functions);
            if file.is_libc() {
                places.libc = file.range;
            } else {
                places.allocators.push(file.range);
            }
        }
        places
    }

    fn in_loader(&self, code: u64) -> bool {
        self.loader.contains(&code)
    }

    fn in_malloc(&self, code: u64) -> bool {
        self.locking.iter().any(|of| of.contains(&code))
    }

    fn in_ours(&self, code: u64) -> bool {
        self.ours.iter().any(|of| of.contains(&code))
    }

    /// Returns `true` if a thread that waits holds no lock of malloc and of our recorder.
    fn may_wait(&self, walked: &Walked) -> bool {
        // A signal may have interrupted malloc, and the handler may wait.
        let is_inside = |code: &u64| self.in_malloc(*code) || self.in_ours(*code);
        !walked.has_signal && !walked.code.iter().any(is_inside)
    }

    /// Returns `true` if a thread that computes holds no lock of malloc and of the loader: it is
    /// outside of libc, except for the functions with which each thread begins.
    fn may_compute(&self, walked: &Walked) -> bool {
        let is_forbidden = |code: &u64| {
            self.in_loader(*code) || self.allocators.iter().any(|of| of.contains(code))
        };
        if !walked.is_complete || walked.has_signal || walked.code.iter().any(is_forbidden) {
            return false;
        }
        let mut code = walked.code.iter();
        let first = code.position(|code| self.libc.contains(code));
        // The very first function is the executable's.
        let rest = walked.code.get(first.unwrap_or(walked.code.len())..);
        let (inner, last) = match rest.unwrap_or_default() {
            [] => return !walked.code.is_empty(),
            [inner @ .., last] => (inner, last),
        };
        let is_first = first == Some(0);
        let are_libc = inner.iter().all(|code| self.libc.contains(code));
        !is_first && are_libc && inner.len() <= MOST_FIRST && !self.in_malloc(*last)
    }
}

/// A choice to be made.
pub(crate) struct Choice<'a> {
    pub(crate) program: &'a Program,
    pub(crate) status: &'a Status,
    pub(crate) places: Places,
    pub(crate) at: Instructions,
    pub(crate) walk: &'a (dyn Fn(&Registers) -> Walked + Sync),
}

impl Choice<'_> {
    /// Stops a thread. Returns when it was stopped.
    pub(crate) fn make(&self, restless: &mut Restless) -> Result<(Stopped, Instant), Error> {
        let end = Instant::now() + SEARCH;
        let mut why = "they wait for a lock, or in a call that malloc may make";
        for look in 0.. {
            restless.let_go();
            let mut seen = threads::ids(self.program.process)?;
            // The first thread is the least likely one to end.
            seen.sort_unstable();
            for id in seen {
                let may_be = match Activity::of(self.program.process, id) {
                    Some(Activity::Waits(call)) => call.is_safe(&self.places, look),
                    Some(Activity::Computes) => look >= LATE,
                    None => false,
                };
                if !may_be || restless.contains(id) {
                    continue;
                }
                let begun = Instant::now();
                let end_of_one = begun + PATIENCE;
                let stopped = match restless.stop(id, self.program, self.status, end_of_one) {
                    Ok(Some(stopped)) => stopped,
                    Ok(None) | Err(Error::Restless { .. }) => continue,
                    Err(error) => return Err(error),
                };
                match self.refuses(&stopped.threads[0], look) {
                    None => return Ok((stopped, begun)),
                    Some(other) => why = other,
                }
            }
            if Instant::now() >= end {
                break;
            }
            std::thread::sleep(LOOKS);
        }
        Err(Error::NoThread { why })
    }

    /// Returns the reason why a stopped thread is not used.
    fn refuses(&self, thread: &StoppedThread, look: u32) -> Option<&'static str> {
        self.may_hold_lock(&thread.words, look).or_else(|| {
            let is_usable = call::is_usable(thread, self.program, self.at);
            (!is_usable).then_some(call::NO_ROOM)
        })
    }

    /// Returns the reason why a stopped thread may hold a lock of malloc or of the loader.
    fn may_hold_lock(&self, words: &Registers, look: u32) -> Option<&'static str> {
        if words[ORIGINAL_RAX].cast_signed() < 0 {
            let may = self.places.may_compute(&(self.walk)(words));
            let why = "each is inside malloc or libc, or its stack cannot be walked";
            return (!may).then_some(why);
        }
        let call = Waiting {
            number: words[ORIGINAL_RAX].cast_signed(),
            second: words[ARGUMENTS[1]],
            code: words[RIP],
        };
        if !call.is_safe(&self.places, look) {
            return Some("each that waited went on when it was stopped");
        }
        let walked = (self.walk)(words);
        if !self.places.may_wait(&walked) {
            return Some("each that waits is inside malloc, or in a signal handler");
        }
        let is_unsure = !walked.is_complete && look < LATER && !walked.code.is_empty();
        is_unsure.then_some("their stacks cannot be walked")
    }
}

/// The activity of a thread that was not stopped.
enum Activity {
    Computes,
    Waits(Waiting),
}

impl Activity {
    fn of(process: u32, thread: i32) -> Option<Activity> {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
        if text.trim() == "running" {
            return Some(Activity::Computes);
        }
        let mut words = text.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let mut words =
            words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
        if number < 0 {
            return Some(Activity::Computes);
        }
        let second = words.nth(1)??;
        let code = words.next_back()??;
        Some(Activity::Waits(Waiting {
            number,
            second,
            code,
        }))
    }
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
///
/// After a stop, most that have a time limit are seen as `restart_syscall`: not the waits for locks
/// of malloc, which have none.
const GO_ON: [i64; 15] = [
    libc::SYS_restart_syscall,
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
    fn is_safe(&self, places: &Places, look: u32) -> bool {
        let is_known =
            GO_ON.contains(&self.number) || look >= LATE && BEGIN_AGAIN.contains(&self.number);
        let is_lock = self.number == libc::SYS_futex && self.second & 0x7f != WAIT_BITSET;
        let is_inside = places.in_loader(self.code) || places.in_ours(self.code);
        is_known && !is_lock && !is_inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::LoadedFile;
    use heapglass_limits::Command;
    use std::io::{Read, Write};
    use std::process::Stdio;

    fn places() -> Places {
        Places {
            loader: 100..200,
            libc: 200..300,
            allocators: vec![300..350, 350..400],
            locking: vec![210..220, 310..320],
            ours: vec![350..380, 380..400],
        }
    }

    fn walked(code: &[u64]) -> Walked {
        Walked {
            code: code.to_vec(),
            is_complete: true,
            has_signal: false,
        }
    }

    #[test]
    fn a_thread_computes_outside_of_libc_but_for_its_first_functions() {
        let may = |code: &[u64]| places().may_compute(&walked(code));
        // Of the program; of its first thread; of another one, which has no function of its own
        // there.
        assert!(may(&[1, 2]) && may(&[1, 2, 250, 251, 3]) && may(&[1, 260, 261]));
        for code in [
            &[][..],
            // Inside malloc, inside libc, and called by libc.
            &[215, 1, 250, 251, 3],
            &[230, 1, 250, 251, 3],
            &[1, 230, 2, 250, 251, 3],
            &[1, 215],
            // Inside the loader and an allocator.
            &[150, 1, 250, 251, 3],
            &[1, 350, 2, 250, 251, 3],
            &[350],
        ] {
            assert!(!may(code), "{code:?}");
        }
        let mut cut = walked(&[1, 2]);
        cut.is_complete = false;
        assert!(!places().may_compute(&cut));
    }

    #[test]
    fn a_thread_waits_unless_it_is_inside_malloc_or_in_a_handler() {
        let mut signal = walked(&[230, 1]);
        assert!(places().may_wait(&signal) && places().may_wait(&Walked::default()));
        assert!(!places().may_wait(&walked(&[230, 215, 1])));
        assert!(!places().may_wait(&walked(&[230, 315, 1])));
        // Our own hook under a name that is not exported. Other allocators may wait elsewhere.
        assert!(!places().may_wait(&walked(&[230, 360, 1])));
        assert!(places().may_wait(&walked(&[230, 340, 1])));
        signal.has_signal = true;
        assert!(!places().may_wait(&signal));
        let waits = |code| Waiting {
            number: libc::SYS_ppoll,
            second: 0,
            code,
        };
        // Without a walk, the code that waits tells it.
        assert!(waits(230).is_safe(&places(), 0) && !waits(360).is_safe(&places(), 0));
    }

    /// A program with a library that was linked in some way.
    fn loads(name: &str, flag: &str) -> Option<(Places, LoadedFile)> {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("a.c"), folder.path().join(name));
        fs::write(&from, "int answer(void) { return 42; }").expect("written");
        let mut compiler = Command::new("cc");
        let flags = ["-shared", "-fPIC", flag, "-o"];
        let status = compiler.args(flags).arg(&to).arg(&from).status();
        assert!(status.expect("a C compiler").success());
        // It writes when everything is loaded.
        let mut child = Command::new("cat")
            .env("LD_PRELOAD", &to)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(b".").expect("it lives");
        let mut output = child.stdout.take().expect("a pipe");
        output.read_exact(&mut [0]).expect("it lives");
        let process = child.id();
        let status = Status::of(process, process).expect("a status");
        let program = match Program::open(process, &status) {
            Ok(program) => program,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "skipped: places of {name}: {error}");
                return None;
            }
        };
        let loaded = program.loaded();
        let places = Places::of(&program);
        drop(input);
        child.wait().expect("it ends");
        let file = loaded.into_iter().find(|file| file.name == name);
        Some((places, file.expect("the library")))
    }

    #[test]
    fn functions_of_libc_that_print_or_count_blocks_hold_a_lock() {
        let status = Status::of(std::process::id(), std::process::id()).expect("a status");
        let own = Program::open(std::process::id(), &status).expect("this process");
        let places = Places::of(&own);
        let loaded = own.loaded();
        let libc = loaded.iter().find(|file| file.is_libc()).expect("glibc");
        let libc = Image::at(&own, libc.range.start).expect("an image");
        // `malloc_stats` writes to a pipe that may be full.
        for name in ["malloc_stats", "malloc_info", "malloc_trim", "mallinfo"] {
            let code = libc.function(name).expect(name);
            assert!(!places.may_wait(&walked(&[code, 1])), "{name}");
        }
        let other = libc.function("fflush").expect("fflush");
        assert!(places.may_wait(&walked(&[other, 1])));
    }

    #[test]
    fn no_thread_waits_inside_our_library() {
        let Some((places, file)) = loads("libheapglass_preload.so", "-O1") else {
            return;
        };
        assert_eq!(places.ours, [file.range]);
    }

    #[test]
    fn no_thread_computes_in_a_library_whose_functions_cannot_be_read() {
        for (flag, is_unread) in [
            ("-Wl,--hash-style=sysv", true),
            ("-Wl,--hash-style=gnu", false),
        ] {
            let Some((places, file)) = loads("libother.so", flag) else {
                return;
            };
            assert_eq!(places.allocators.contains(&file.range), is_unread, "{flag}");
        }
    }
}

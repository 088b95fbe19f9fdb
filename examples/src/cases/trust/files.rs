//! Programs for `tests/trust/files.rs`.

use crate::cases::{Block, Tally};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracking_alloc::phase;

static TALLY: Tally = Tally::new();

/// Number of sites visited while growth fails, and again after it resumes.
const EARLY: usize = 1 << SITE_BITS;
const SITE_BITS: u32 = 13;

/// Runs a case. Returns `None` if no case has that name.
pub(super) fn run(name: &str, words: &[&str]) -> Option<ExitCode> {
    match (name, words) {
        ("files-hold", _) => hold(),
        ("files-end", [how]) => end(how),
        ("files-hold-thread", _) => hold_in_thread(),
        ("files-race", [path, at_ns]) => race(path, at_ns.parse().ok()?),
        ("files-descriptors", _) => refused(take_descriptors()),
        ("files-short-of-memory", _) => short_of_memory(),
        ("files-cleared", [other]) => refused(Lift::Remove((*other).to_owned())),
        _ => return None,
    }
    Some(ExitCode::from(7))
}

fn say(text: &str) {
    println!("{text}");
    let _ = std::io::stdout().flush();
}

/// Works, says so, and waits until the parent writes a line or ends. Then makes its recording grow.
fn hold() {
    let kept = {
        let _work = phase("work");
        Block::new(&TALLY, 1_000, 8)
    };
    say("ready");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    {
        let _work = phase("work");
        for size in 1..100 {
            drop(Block::new(&TALLY, size, 8));
        }
    }
    for site in 0..4_000 {
        let _phase = phase(&format!("phase {site}"));
        std::hint::black_box(vec![0u8; 8]);
    }
    std::mem::forget(kept);
    TALLY.print();
}

/// Records one block and ends at once.
fn end(how: &str) {
    std::mem::forget(Block::new(&TALLY, 10, 8));
    if how == "kill" {
        // SAFETY: the argument is a plain number.
        unsafe { libc::raise(libc::SIGKILL) };
    }
}

/// The first thread ends while the process continues in another: a zombie that is alive.
fn hold_in_thread() {
    std::thread::spawn(|| {
        hold();
        std::process::exit(7);
    });
    // SAFETY: this ends only the calling thread, and nothing of it is used afterwards.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

/// Starts recording at a given moment, says where, and runs until it is told to end.
fn race(path: &str, at_ns: u64) {
    let now_ns = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    };
    while now_ns() < at_ns {
        std::hint::spin_loop();
    }
    let recorder = tracking_alloc::Recorder::start(path).expect("it records");
    {
        let _work = phase("work");
        drop(Block::new(&TALLY, 1_000, 8));
    }
    say(&recorder.path().expect("a path").display().to_string());
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    recorder.finish().expect("finished");
}

/// The obstacle that keeps the recording from growing, until it is removed.
enum Lift {
    Close(Vec<i32>),
    Remove(String),
}

fn take_descriptors() -> Lift {
    let limit = libc::rlimit {
        rlim_cur: 64,
        rlim_max: 64,
    };
    let mut taken = Vec::with_capacity(64);
    // SAFETY: plain numbers and a literal path.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
        loop {
            let descriptor = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
            if descriptor < 0 {
                break;
            }
            taken.push(descriptor);
        }
    }
    Lift::Close(taken)
}

/// Takes all but a few pages of the address space, then makes the recording grow.
fn short_of_memory() {
    let mut bytes = 256 << 20;
    while bytes > 32 << 10 {
        // SAFETY: the kernel chooses the address of the mapping, which is never used.
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if place == libc::MAP_FAILED {
            bytes /= 2;
        }
    }
    // Marks with long names need room in the file, but no private memory of the recorder.
    let name = "n".repeat(500);
    for _ in 0..3_000 {
        std::mem::forget(Block::new(&TALLY, 10, 8));
        if let Some(recorder) = tracking_alloc::Recorder::current() {
            recorder.mark(&name);
        }
    }
    TALLY.print();
}

/// Gives each number a stack of its own: its bits select the calls.
#[inline(never)]
fn zero(number: usize, depth: u32) -> Block {
    if depth == 0 {
        return Block::new(&TALLY, 10, 8);
    }
    let block = follow(number, depth - 1);
    std::hint::black_box(block)
}

#[inline(never)]
fn one(number: usize, depth: u32) -> Block {
    if depth == 0 {
        return Block::new(&TALLY, 10, 8);
    }
    let block = follow(number, depth - 1);
    std::hint::black_box(block)
}

#[inline(always)]
fn follow(number: usize, depth: u32) -> Block {
    if number >> depth & 1 == 0 {
        zero(number, depth)
    } else {
        one(number, depth)
    }
}

/// Visits more sites than fit while growth fails, then removes the obstacle and visits the same
/// sites again.
fn refused(lift: Lift) {
    let mut kept = Vec::with_capacity(2 * EARLY);
    let early = |kept: &mut Vec<Block>| {
        let _phase = phase("early");
        for site in 0..EARLY {
            kept.push(follow(site, SITE_BITS));
        }
    };
    early(&mut kept);
    match lift {
        Lift::Close(descriptors) => {
            for descriptor in descriptors {
                // SAFETY: opened by this case.
                unsafe { libc::close(descriptor) };
            }
        }
        Lift::Remove(path) => std::fs::remove_file(path).expect("removed"),
    }
    // Wait longer than the longest wait before growth is tried again, with events that notice it.
    for size in 0..30 {
        std::thread::sleep(Duration::from_millis(50));
        let _phase = phase("between");
        drop(std::hint::black_box(vec![0u8; (40 << 10) + size]));
    }
    early(&mut kept);
    // Blocks allocated without room are freed later too.
    kept.drain(..EARLY).for_each(drop);
    TALLY.print();
    std::mem::forget(kept);
}

//! A copy harms nobody: the program does not notice it, and it ends.

use crate::program::{Programs, Run, churn, pause, say, until};
use crate::reader::{Reader, end, has_ended, is_gone};
use heapglass_limits::{Child, Command};
use heapglass_recorder::snapshot;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering::*};
use tracking_alloc_recording::snapshot_status;

pub(crate) const PROGRAMS: Programs = &[
    ("waits", waits),
    ("pipes", pipes),
    ("signals", signals),
    ("one", one),
    ("first", first),
    ("limited", limited),
];

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: libc::c_int) {
    SIGNALS.fetch_add(1, SeqCst);
}

fn handle(signal: libc::c_int) {
    // SAFETY: the handler only adds to a number.
    unsafe { libc::signal(signal, count as *const () as libc::sighandler_t) };
}

/// Returns the number of the child that a wait for any child finds, 0 if none has ended, or the
/// negated errno.
fn wait_for_any(flags: libc::c_int) -> i32 {
    // SAFETY: no status is written.
    let found = unsafe { libc::waitpid(-1, std::ptr::null_mut(), flags | libc::WNOHANG) };
    if found >= 0 {
        found
    } else {
        -std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
    }
}

/// Waits for children while a copy exists, after it has ended, and after it was reaped.
fn waits() {
    handle(libc::SIGCHLD);
    snapshot("waits").expect("a copy");
    assert_eq!(wait_for_any(0), -libc::ECHILD);
    pause();
    assert_eq!(wait_for_any(0), -libc::ECHILD);
    until("reaped", || {
        churn();
        wait_for_any(libc::__WALL) == -libc::ECHILD
    });
    assert_eq!(SIGNALS.load(SeqCst), 0);
}

#[test]
fn a_program_that_waits_for_children_does_not_see_the_copy() {
    let mut run = Run::start("waits", Some(std::process::id()));
    run.until_paused();
    let copy = Reader::attach(&run.path).exchange().copy;
    assert!(!has_ended(copy));
    end(copy);
    until("the end of the copy", || has_ended(copy));
    run.go_on();
    run.succeeds();
    assert!(is_gone(copy), "reaped by the recorder");
}

/// Runs a program that takes a snapshot and pauses, ends the copy, and lets the program end.
fn succeeds_with_a_copy(program: &str) {
    let mut run = Run::start(program, Some(std::process::id()));
    run.until_paused();
    let copy = Reader::attach(&run.path).exchange().copy;
    assert!(!has_ended(copy));
    end(copy);
    run.go_on();
    run.succeeds();
}

/// Closes a pipe while a copy exists.
fn pipes() {
    let (mut output, input) = std::io::pipe().expect("a pipe");
    snapshot("pipes").expect("a copy");
    drop(input);
    let mut left = Vec::new();
    std::io::Read::read_to_end(&mut output, &mut left).expect("the end");
    pause();
}

#[test]
fn a_pipe_ends_while_the_copy_exists() {
    succeeds_with_a_copy("pipes");
}

/// Sends a signal to its own group, of which the copy is a member.
fn signals() {
    // SAFETY: plain numbers, and a new mapping.
    let shared: &AtomicU32 = unsafe {
        libc::setpgid(0, 0);
        let place = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        &*place.cast()
    };
    static SHARED: std::sync::OnceLock<&AtomicU32> = std::sync::OnceLock::new();
    SHARED.get_or_init(|| shared);
    extern "C" fn count_in_all(_: libc::c_int) {
        if let Some(shared) = SHARED.get() {
            shared.fetch_add(1, SeqCst);
        }
    }
    // SAFETY: the handler only adds to a number.
    unsafe {
        libc::signal(
            libc::SIGTERM,
            count_in_all as *const () as libc::sighandler_t,
        )
    };
    snapshot("signals").expect("a copy");
    let mut mask = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: a set to write into, and plain numbers.
    unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, std::ptr::null(), mask.as_mut_ptr());
        assert_eq!(
            libc::sigismember(mask.as_ptr(), libc::SIGTERM),
            0,
            "restored"
        );
        libc::kill(0, libc::SIGTERM);
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(shared.load(SeqCst), 1);
    pause();
}

#[test]
fn a_handler_runs_in_the_program_alone() {
    succeeds_with_a_copy("signals");
}

/// Takes one snapshot, and churns until it may end.
fn one() {
    let held = vec![1_u8; 1_000];
    snapshot("one").expect("a copy");
    pause();
    churn();
    std::thread::sleep(std::time::Duration::from_millis(5));
    churn();
    pause();
    drop(std::hint::black_box(held));
}

/// A process that only exists, until it is dropped.
struct Sleeper(Child);

fn sleeper() -> Sleeper {
    let mut command = Command::new("sleep");
    command
        .arg("1000")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Sleeper(command.spawn().expect("it starts"))
}

impl Sleeper {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn a_copy_ends_with_a_killed_reader_and_nothing_is_left() {
    let mut reader = sleeper();
    let mut run = Run::start("one", Some(reader.0.id()));
    run.until_paused();
    let copy = Reader::attach(&run.path).exchange().copy;
    assert!(!has_ended(copy));
    reader.end();
    until("the end of the copy", || has_ended(copy));
    run.go_on();
    run.until_paused();
    assert!(is_gone(copy), "reaped by the recorder");
    run.go_on();
    run.succeeds();
}

#[test]
fn the_copy_of_a_killed_program_can_be_read_and_ends_with_the_reader() {
    let mut reader = sleeper();
    let mut run = Run::start("one", Some(reader.0.id()));
    run.until_paused();
    let attached = Reader::attach(&run.path);
    let copy = attached.exchange().copy;
    run.child.kill().expect("killed");
    run.ended();
    assert!(!has_ended(copy));
    assert!(!attached.memory(copy).blocks().is_empty());
    reader.end();
    // Whoever adopted the copy reaps it.
    until("the end of the copy", || has_ended(copy));
}

/// The first process of a PID namespace, whose reader is a child of it.
fn first() {
    assert_eq!(std::process::id(), 1);
    handle(libc::SIGCHLD);
    let mut child = sleeper();
    let path = std::env::var_os("HEAPGLASS_OUT").expect("a path");
    let mut reader = Reader::attach(path.as_ref());
    reader.set_reader(child.0.id(), false);
    snapshot("first").expect("a copy");
    let answer = reader.answer();
    assert_eq!(answer.status, snapshot_status::TAKEN);
    assert_eq!(wait_for_any(0), 0, "a child that has not ended");
    child.end();
    until("reaped", || {
        churn();
        wait_for_any(libc::__WALL) == -libc::ECHILD
    });
    assert_eq!(SIGNALS.load(SeqCst), 1);
}

#[test]
fn the_first_process_of_a_namespace_sees_no_child_either() {
    let by = ["unshare", "--pid", "--fork", "--kill-child"];
    let is_allowed = Command::new(by[0]).args(&by[1..]).arg("true").status();
    if !is_allowed.is_ok_and(|status| status.success()) {
        println!("skipped: no PID namespace may be made here");
        return;
    }
    Run::start_by(&by, "first", None).succeeds();
}

/// Takes a snapshot under a limit of address space that leaves little.
fn limited() {
    let block = vec![1_u8; 64 << 20];
    let statm = std::fs::read_to_string("/proc/self/statm").expect("text");
    let pages: u64 = statm
        .split(' ')
        .next()
        .expect("a field")
        .parse()
        .expect("a number");
    let limit = libc::rlimit {
        rlim_cur: pages * 4096 + (16 << 20),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: a limit to read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    snapshot("limited").expect("a copy");
    say(&block.len().to_string());
    pause();
}

#[test]
fn a_limit_of_address_space_does_not_count_for_the_copy() {
    succeeds_with_a_copy("limited");
}

#[test]
fn a_copy_needs_no_proc_in_the_program() {
    let by = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        "mount -t tmpfs none /proc && exec \"$0\"",
    ];
    let is_allowed = Command::new(by[0]).args(&by[1..]).arg("true").status();
    if !is_allowed.is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace may be made here");
        return;
    }
    let mut run = Run::start_by(&by, "one", Some(std::process::id()));
    run.until_paused();
    let reader = Reader::attach(&run.path);
    let copy = reader.exchange().copy;
    assert!(!reader.memory(copy).blocks().is_empty());
    end(copy);
    run.go_on();
    run.until_paused();
    run.go_on();
    run.succeeds();
}

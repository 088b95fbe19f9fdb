//! Many copies of a program under load, while readers and programs are killed at random moments:
//! nothing is left, and nothing is harmed.
//!
//! `HEAPGLASS_SNAPSHOT_ROUNDS` sets the number of copies; `.ci/release snapshots` makes 1,000.

use crate::program::{Programs, Run, say, until};
use crate::reader::{Reader, end, has_ended};
use heapglass_limits::{Child, Command};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use tracking_alloc_recording::{Recording, snapshot_status};

pub(crate) const PROGRAMS: Programs = &[("works", works)];

static CHILDREN: AtomicU32 = AtomicU32::new(0);
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_child(_: libc::c_int) {
    CHILDREN.fetch_add(1, SeqCst);
}

extern "C" fn count_signal(_: libc::c_int) {
    HANDLED.fetch_add(1, SeqCst);
}

/// Allocates and frees in 8 threads, and checks what it has, until its input ends. It asserts that
/// it never has a child and that its handler runs once for each signal.
fn works() {
    static ENDS: AtomicBool = AtomicBool::new(false);
    // SAFETY: the handlers only add to numbers.
    unsafe {
        libc::signal(
            libc::SIGCHLD,
            count_child as *const () as libc::sighandler_t,
        );
        libc::signal(
            libc::SIGUSR1,
            count_signal as *const () as libc::sighandler_t,
        );
    }
    let worker = |seed: usize| {
        let mut random = seed;
        let mut own: Vec<Vec<u8>> = Vec::new();
        while !ENDS.load(Relaxed) {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let bytes = (random >> 33) & 0x3fff;
            own.push(vec![bytes as u8; bytes]);
            if own.len() > 200 {
                let list = own.swap_remove(random % 200);
                assert!(list.iter().all(|byte| *byte == list.len() as u8));
            }
        }
    };
    let threads: Vec<_> = (1..=8)
        .map(|seed| std::thread::spawn(move || worker(seed)))
        .collect();
    say("ready");
    let mut line = String::new();
    let mut sent = 0;
    loop {
        line.clear();
        if std::io::stdin().read_line(&mut line).expect("read") == 0 {
            break;
        }
        // SAFETY: plain numbers, and nowhere to write to.
        unsafe {
            // To the whole group, of which a copy is a member.
            libc::kill(0, libc::SIGUSR1);
            assert_eq!(libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG), -1);
        }
        sent += 1;
        say("checked");
    }
    ENDS.store(true, Relaxed);
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("unharmed"));
    assert_eq!(CHILDREN.load(SeqCst), 0);
    assert_eq!(HANDLED.load(SeqCst), sent);
}

/// Starts the program in a process group of its own.
fn start() -> Run {
    Run::start_in(&["setsid"], "works", &[])
}

struct Sleeper(Child);

impl Sleeper {
    fn start() -> Sleeper {
        let mut command = Command::new("sleep");
        command
            .arg("1000")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Sleeper(command.spawn().expect("it starts"))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn many_copies_with_readers_and_programs_that_are_killed_leave_nothing() {
    let rounds = std::env::var("HEAPGLASS_SNAPSHOT_ROUNDS").ok();
    let rounds: u32 = rounds.map_or(50, |rounds| rounds.parse().expect("a number"));
    let mut random = 0x9e37_79b9_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut taken, mut copies) = (0, Vec::new());
    while taken < rounds {
        let mut run = start();
        assert_eq!(run.line(), "ready");
        let mut reader = Reader::attach(&run.path);
        let lives = 5 + next(30);
        for round in 0..lives {
            let mut sleeper = Sleeper::start();
            reader.set_reader(sleeper.0.id(), false);
            let fate = next(4);
            if fate == 0 {
                // The reader ends while the copy is being made, or before.
                reader.ask();
                std::thread::sleep(std::time::Duration::from_micros(next(3_000)));
                let _ = sleeper.0.kill();
                let _ = sleeper.0.wait();
                let answer = reader.answer();
                copies.push(answer.copy);
                taken += u32::from(answer.status == snapshot_status::TAKEN);
                continue;
            }
            let answer = reader.request();
            assert_eq!(answer.status, snapshot_status::TAKEN, "round {round}");
            taken += 1;
            copies.push(answer.copy);
            if round % 8 == 0 {
                assert!(!reader.memory(answer.copy).blocks().is_empty());
            }
            match fate {
                1 => {
                    run.go_on();
                    assert_eq!(run.line(), "checked");
                    end(answer.copy);
                }
                2 => drop(sleeper),
                _ => end(answer.copy),
            }
        }
        if next(3) == 0 {
            // The program ends while its copy is being made.
            let sleeper = Sleeper::start();
            reader.set_reader(sleeper.0.id(), false);
            reader.ask();
            std::thread::sleep(std::time::Duration::from_micros(next(3_000)));
            run.child.kill().expect("killed");
            run.ended();
            copies.push(reader.exchange().copy);
            drop(sleeper);
            Recording::open(&run.path).expect("readable");
        } else {
            reader.set_reader(0, false);
            run.succeeds();
            let recording = Recording::open(&run.path).expect("finished");
            assert_ne!(recording.header.checksum, 0);
        }
    }
    for copy in copies.into_iter().filter(|copy| *copy != 0) {
        until("the end of every copy", || has_ended(copy));
    }
    println!("{taken} copies");
}

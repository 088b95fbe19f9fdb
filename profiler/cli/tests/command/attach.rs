//! Recordings of programs that run already.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

mod harm;
mod places;
mod server;

use heapglass_limits::{Child, Command};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};

use crate::common::{Done, Place, skipped, wait_until};

/// A program that makes a million blocks for each line of its input, frees half of them and every
/// block from before, and says how many bytes that were. A million further blocks are freed by an
/// address that it took at its start.
const PROGRAM: &str = r#"
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #define COUNT 1000000
    static void *blocks[COUNT], *before[1000];
    static void *wait_for_ever(void *lock) { pthread_mutex_lock(lock); return 0; }
    int main(void) {
        static char in[4096], out[4096], line[64];
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        pthread_t thread;
        setvbuf(stdin, in, _IOFBF, sizeof in);
        setvbuf(stdout, out, _IOLBF, sizeof out);
        pthread_mutex_lock(&lock);
        pthread_create(&thread, 0, wait_for_ever, &lock);
        for (int i = 0; i < 1000; i++) before[i] = malloc(5000);
        puts("ready");
        /* The compiler keeps it in a register, as it does with a slot that it loads before a loop. */
        void (*held)(void *) = free;
        __asm__ volatile("" : "+r"(held));
        while (fgets(line, sizeof line, stdin)) {
            long bytes = 0, freed = 0;
            for (int i = 0; i < COUNT; i++) held(malloc(24));
            for (int i = 0; i < COUNT; i++) free(blocks[i]), blocks[i] = 0;
            for (int i = 0; i < COUNT; i++) bytes += i % 1000 + 1, blocks[i] = malloc(i % 1000 + 1);
            for (int i = 0; i < COUNT; i += 2) freed += i % 1000 + 1, free(blocks[i]), blocks[i] = 0;
            printf("%ld %ld\n", bytes + 24L * COUNT, bytes - freed);
        }
        return 0;
    }
"#;

impl Place {
    /// Compiles a C program.
    fn compile(&self, source: &str, name: &str) {
        let from = format!("{name}.c");
        std::fs::write(self.path(&from), source).unwrap();
        let mut compiler = Command::new("cc");
        let flags = ["-O1", "-w", "-fno-builtin", "-pthread", &from, "-o", name];
        let built = compiler.current_dir(self.root()).args(flags).status();
        assert!(built.unwrap().success());
    }

    /// Starts `heapglass attach` with words that make it stay, and waits until it has attached.
    /// Returns `None` and says so if this machine forbids it.
    fn attach(&self, words: &[&str]) -> Option<Attaching> {
        let mut command = self.heapglass(&[&["attach"], words].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("Ctrl-C detaches") {
            if output.read_line(&mut told).unwrap() == 0 {
                let done = Done {
                    status: None,
                    stdout: String::new(),
                    stderr: told,
                };
                assert!(is_refused(&done), "{}", done.stderr);
                return None;
            }
        }
        Some(Attaching {
            child,
            output,
            told,
        })
    }
}

/// A command that has attached and stays.
struct Attaching {
    child: Child,
    output: BufReader<ChildStderr>,
    told: String,
}

impl Attaching {
    /// Waits for the end. Returns everything that the command has said.
    fn end(mut self) -> String {
        self.output.read_to_string(&mut self.told).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.told);
        self.told
    }
}

struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(place: &Place, name: &str) -> Program {
        place.compile(PROGRAM, name);
        Program::started(Command::new(place.path(name)))
    }

    /// Starts a command and waits until the program is ready.
    fn started(mut command: Command) -> Program {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut program = Program {
            child,
            input,
            output,
        };
        assert_eq!(program.line(), "ready\n");
        program
    }

    fn id(&self) -> String {
        self.child.id().to_string()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn say(&mut self) {
        self.input.write_all(b"go\n").unwrap();
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Makes the program work. Returns the bytes that it allocated, and those that are live.
    fn work(&mut self) -> [u64; 2] {
        self.say();
        let line = self.line();
        let mut numbers = line.split_whitespace().map(|number| number.parse());
        [(); 2].map(|()| numbers.next().unwrap().unwrap())
    }

    fn finish(mut self) {
        drop(self.input);
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success() && rest.is_empty());
    }
}

/// Starts a program that reads its input and says a line. Returns the line too, or `None` and says
/// why if the program cannot be started.
fn start(command: &mut Command, what: &str) -> Option<(Child, String)> {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            skipped(&format!("{what}: {error}"));
            return None;
        }
    };
    let mut line = String::new();
    let said = child.stdout.take().unwrap();
    BufReader::new(said).read_line(&mut line).unwrap();
    Some((child, line))
}

/// Says so if this machine does not let programs be traced.
fn is_refused(done: &Done) -> bool {
    let refused = ["may not be traced", "ptrace_scope", "without the library"];
    let is_refused = refused.iter().any(|why| done.stderr.contains(why));
    if is_refused {
        skipped(done.stderr.trim());
    }
    is_refused
}

#[test]
fn a_running_program_is_recorded_to_the_block_from_attach_to_detach() {
    let place = Place::new();
    let mut program = Program::start(&place, "million");
    let id = program.id();
    let done = place.run(&["attach", &id, "--mode", "exact", "-o", "million.hg"]);
    if is_refused(&done) {
        return;
    }
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let path = place.path("million.hg");
    // Without a terminal it has returned at once.
    assert_eq!(done.stdout, format!("{}\n", path.display()));
    assert!(
        done.stderr.contains(&format!("heapglass detach {id}")),
        "{}",
        done.stderr
    );
    let [bytes, live] = program.work();
    let again = place.run(&["attach", &id]);
    assert_eq!(again.status, Some(2));
    assert!(
        again.stderr.contains("is being recorded"),
        "{}",
        again.stderr
    );
    let done = place.run(&["detach", &id]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("detached from million"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("heapglass million.hg"),
        "{}",
        done.stderr
    );
    // The blocks from before are said to be from before.
    let done_lines = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "at detach ",
        "attached to the running program, in which malloc had ",
    ] {
        assert!(done_lines.contains(says), "{}", done.stderr);
    }
    assert!(!done.stderr.contains("outside the program's allocator"));
    // What it does now is not recorded.
    program.work();
    let report = place.report("million.hg");
    let totals = &report["totals"];
    assert_eq!(totals["total_blocks"], 2_000_000, "{totals}");
    assert_eq!(totals["total_bytes"], bytes, "{totals}");
    assert_eq!(totals["live_bytes"], live, "{totals}");
    let done = place.run(&["detach", &id]);
    assert_eq!(done.status, Some(2));
    assert!(
        done.stderr.contains("nobody is attached"),
        "{}",
        done.stderr
    );
    program.finish();
}

#[test]
fn detach_does_nothing_to_a_program_that_was_started_with_heapglass() {
    let place = Place::new();
    place.compile(PROGRAM, "million");
    let words = ["run", "-q", "--out", "a.hg", "--", "./million"];
    let mut program = Program::started(place.heapglass(&words));
    wait_until("the recording", || place.path("a.hg").exists());
    let done = place.run(&["detach", "million"]);
    if is_refused(&done) {
        return;
    }
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    let [bytes, live] = program.work();
    program.finish();
    // Every free after it is recorded.
    let totals = &place.report("a.hg")["totals"];
    assert_eq!(totals["freed_blocks"], 1_500_000, "{totals}");
    assert_eq!(totals["freed_bytes"], bytes - live, "{totals}");
}

#[test]
fn samples_are_taken_until_the_time_is_over_or_a_signal_comes() {
    let place = Place::new();
    // No other process has this name.
    let name = format!("million{}", std::process::id());
    let mut program = Program::start(&place, &name);
    let id = program.id();
    let done = place.run(&["attach", &id, "--duration", "0.1"]);
    if is_refused(&done) {
        return;
    }
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("detached from million"),
        "{}",
        done.stderr
    );
    assert_eq!(place.files(".hg"), [format!("{name}-{id}.hg")]);
    // By name, to a file that exists, and until Ctrl-C.
    let attaching = place
        .attach(&[&name, "--duration", "600", "-o", "s.hg"])
        .expect("attached before");
    let [bytes, _] = program.work();
    let pid = Pid::from_raw(attaching.child.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let lines = attaching.end();
    assert!(lines.contains("detached from million"), "{lines}");
    let report = place.report("s.hg");
    let totals = &report["totals"];
    // All bytes are counted, blocks are estimated.
    assert_eq!(totals["total_bytes"], bytes, "{totals}");
    let blocks = totals["total_blocks"].as_u64().unwrap_or_default();
    assert!((500_000..4_000_000).contains(&blocks), "{totals}");
    program.finish();
}

#[test]
fn the_end_of_the_program_ends_the_command() {
    let place = Place::new();
    let program = Program::start(&place, "million");
    let id = program.id();
    let Some(attaching) = place.attach(&[&id, "--duration", "600", "-o", "e.hg"]) else {
        return;
    };
    program.finish();
    let lines = attaching.end();
    assert!(!lines.contains("detached"), "{lines}");
    assert!(lines.contains("at exit"), "{lines}");
    assert!(place.path("e.hg").exists());
}

#[test]
fn who_cannot_be_found_is_said() {
    let place = Place::new();
    for (words, says) in [
        (
            ["attach", "nobody-has-this-name"],
            "no process has this name",
        ),
        (["attach", "4194305"], "there is no such process"),
        (["detach", "4194305"], "there is no such process"),
    ] {
        let done = place.run(&words);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
}

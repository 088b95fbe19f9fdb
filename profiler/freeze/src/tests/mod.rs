//! Programs that notice when somebody disturbs them.

mod attached;

use crate::ptrace::killed;
use crate::refusals::Status;
use crate::threads::{self, Restless};
use crate::tracer;
use crate::{Error, Way, freeze};
use heapglass_limits::{Child, Command};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("program.c");
/// The lines of a program that was not disturbed.
const UNDISTURBED: &str = "interrupted 0 wrong 0 lost 0 children 0\n";

struct Program {
    _folder: tempfile::TempDir,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(words: &[&str]) -> Program {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("a.c"), folder.path().join("program"));
        fs::write(&from, SOURCE).expect("a source file");
        let mut compiler = Command::new("cc");
        let flags = ["-O1", "-w", "-pthread", "-o"];
        let status = compiler.args(flags).arg(&to).arg(&from).status();
        assert!(status.expect("a C compiler").success());
        let mut command = Command::new(&to);
        let mut child = command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut program = Program {
            _folder: folder,
            child,
            input,
            output,
        };
        assert_eq!(program.line(), "ready\n");
        program
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line
    }

    /// Waits until all threads have gone on, and returns what the program noticed.
    fn noticed(&mut self) -> String {
        self.input.write_all(b".").expect("it lives");
        self.line()
    }

    /// Does the same after the program has forbidden itself to open files.
    fn forbids_itself(&mut self) -> String {
        self.input.write_all(b"f").expect("it lives");
        self.line()
    }

    /// Returns the processes whose parent the program is.
    fn children(&self) -> Vec<String> {
        let parent = format!(" {} ", self.id());
        let processes = fs::read_dir("/proc").expect("processes");
        let stats = processes.filter_map(|entry| {
            let stat = fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
            let (_, rest) = stat.rsplit_once(')')?;
            rest.get(2..)?.starts_with(&parent).then_some(stat)
        });
        stats.collect()
    }

    /// Asks the program to end, and checks that it does.
    fn finish(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// Prints the reason why a test cannot run here, in a line that `.ci/run` lists even if the test
/// passes.
fn skipped(why: &dyn std::fmt::Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// Returns `true` and says so if this machine forbids to trace programs, or to copy them.
fn is_refused(program: &Program) -> bool {
    let why = match freeze(program.id(), Way::Copy) {
        Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => error.to_string(),
        Ok(frozen) => match frozen.why_stopped() {
            None => return false,
            Some(why) => why.to_owned(),
        },
        Err(_) => return false,
    };
    skipped(&why);
    true
}

fn rounds(default: u32) -> u32 {
    let rounds = std::env::var("HEAPGLASS_FREEZE_ROUNDS");
    rounds.map_or(default, |rounds| rounds.parse().expect("a number"))
}

#[test]
fn a_program_that_is_frozen_again_and_again_does_not_notice() {
    let mut program = Program::start(&["8"]);
    if is_refused(&program) {
        return;
    }
    for _ in 0..rounds(30) {
        let frozen = freeze(program.id(), Way::Copy).expect("a copy");
        assert!(frozen.is_copy() && frozen.pause() > Duration::ZERO);
        assert_eq!(frozen.threads().len(), 9);
        // The program goes on while the copy is there.
        assert_eq!(program.noticed(), UNDISTURBED);
        assert_eq!(program.children().len(), 1);
        frozen.end();
        assert_eq!(program.noticed(), UNDISTURBED);
        assert_eq!(program.children(), Vec::<String>::new());
    }
    program.finish();
}

#[test]
fn a_copy_keeps_the_memory_of_its_moment_and_no_files() {
    let mut program = Program::start(&["8"]);
    if is_refused(&program) {
        return;
    }
    let frozen = freeze(program.id(), Way::Copy).expect("a copy");
    let copy = frozen.memory();
    assert_ne!(copy, program.id());
    let memory = File::open(format!("/proc/{copy}/mem")).expect("its memory");
    let read = |thread: &crate::Thread| {
        let mut bytes = vec![0; 512];
        // With the bytes that the frame was written over.
        let below = thread.registers[19] - 256;
        memory.read_exact_at(&mut bytes, below).expect("a stack");
        bytes
    };
    let before: Vec<_> = frozen.threads().iter().map(read).collect();
    program.noticed();
    let after: Vec<_> = frozen.threads().iter().map(read).collect();
    assert_eq!(before, after);
    let open = fs::read_dir(format!("/proc/{copy}/fd")).expect("its files");
    assert_eq!(open.count(), 0);
    let names = frozen.threads().iter().map(|thread| thread.name.as_str());
    assert!(names.into_iter().all(|name| name == "program"));
    drop(frozen);
    assert!(!fs::exists(format!("/proc/{copy}")).expect("asked"));
    program.finish();
}

/// The kernel lets a thread go when its tracer ends, however that ends. So a tracer that stops its
/// work after a number of requests is like one that is killed there.
#[test]
fn a_tracer_that_is_killed_at_any_step_leaves_the_program_as_it_was() {
    // The thread that makes the call waits or computes, is alone or not, and is the first or not.
    for words in [&["0"][..], &["0", "busy"], &["8"], &["7", "coroutine"]] {
        let mut program = Program::start(words);
        if is_refused(&program) {
            return;
        }
        let process = program.id();
        let mut steps = 0;
        for step in 0..rounds(200) {
            let tracer = move || {
                killed::after(step);
                if let Ok((_, held)) = tracer::begin(process, Way::Copy) {
                    held.end();
                }
                killed::is_killed()
            };
            let is_killed = std::thread::spawn(tracer).join().expect("no panic");
            // What began again by itself was not told that it does.
            let noticed = program.noticed();
            let (_, noticed) = noticed.split_once("wrong").expect("a line");
            assert!(UNDISTURBED.ends_with(noticed), "step {step}: {noticed}");
            steps = step;
            if !is_killed {
                break;
            }
        }
        assert!(steps > 25, "{steps} steps");
        // A tracer that is not killed still works, and removes its own copy.
        let left = program.children().len();
        let frozen = freeze(process, Way::Copy).expect("a copy");
        assert!(frozen.is_copy());
        drop(frozen);
        assert_eq!(program.children().len(), left);
        // Copies that ran ended themselves.
        let children = program.children();
        assert!(
            children.iter().all(|stat| stat.contains(") Z ")),
            "{children:?}"
        );
        program.finish();
    }
}

#[test]
fn a_program_with_a_filter_is_stopped_and_not_copied() {
    let mut program = Program::start(&["8", "seccomp"]);
    let status = Status::of(program.id(), program.id()).expect("a status");
    assert!(status.forbids_calls(false).is_some());
    let frozen = match freeze(program.id(), Way::Copy) {
        Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => return skipped(&error),
        frozen => frozen.expect("stopped"),
    };
    assert!(!frozen.is_copy());
    assert_eq!(frozen.memory(), program.id());
    assert!(
        frozen
            .why_stopped()
            .is_some_and(|why| why.contains("seccomp"))
    );
    assert!(frozen.end() > Duration::ZERO);
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

#[test]
fn nothing_is_written_to_the_stack_of_a_coroutine() {
    let mut program = Program::start(&["0", "coroutine"]);
    let frozen = match freeze(program.id(), Way::Copy) {
        Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => return skipped(&error),
        frozen => frozen.expect("stopped"),
    };
    assert!(!frozen.is_copy());
    let why = frozen.why_stopped().expect("a reason");
    if why.contains("seccomp") {
        return skipped(&why);
    }
    assert!(why.contains("stack of its own"), "{why}");
    drop(frozen);
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

#[test]
fn a_stopped_process_is_traced_and_goes_on_afterwards() {
    let mut program = Program::start(&["8"]);
    let frozen = match freeze(program.id(), Way::Stop) {
        Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => return skipped(&error),
        frozen => frozen.expect("stopped"),
    };
    assert_eq!(frozen.why_stopped(), None);
    assert_eq!(frozen.threads().len(), 9);
    let error = freeze(program.id(), Way::Copy).expect_err("one tracer");
    let own = std::process::id();
    assert!(
        matches!(error, Error::Traced { by, .. } if by == own),
        "{error}"
    );
    drop(frozen);
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

#[test]
fn a_program_that_somebody_has_stopped_stays_stopped() {
    let mut program = Program::start(&["8"]);
    if is_refused(&program) {
        return;
    }
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        let status = kill.args([name, &program.child.id().to_string()]).status();
        assert!(status.expect("kill").success());
    };
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", program.child.id()));
        stat.expect("a line")
            .rsplit(") ")
            .next()
            .map(|rest| rest[..1].to_owned())
    };
    signal("-STOP");
    while state().as_deref() != Some("T") {
        std::thread::sleep(Duration::from_millis(1));
    }
    for way in [Way::Copy, Way::Stop] {
        let frozen = freeze(program.id(), way).expect("frozen");
        assert_eq!(frozen.is_copy(), way == Way::Copy);
        drop(frozen);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(state().as_deref(), Some("T"), "{way:?}");
        assert_eq!(program.children(), Vec::<String>::new());
    }
    signal("-CONT");
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

/// The longest time that tests wait for something that happens at once.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_thread_that_stops_too_late_goes_on_while_the_tracer_lives() {
    let mut program = Program::start(&["1", "vfork"]);
    let process = program.id();
    let waits = |id: &i32| {
        let status = fs::read_to_string(format!("/proc/{process}/task/{id}/status"));
        status.is_ok_and(|status| status.contains("State:\tD"))
    };
    let begun = Instant::now();
    let id = loop {
        let threads = threads::ids(process).expect("threads");
        if let Some(id) = threads.into_iter().find(waits) {
            break id;
        }
        assert!(begun.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(1));
    };
    let status = Status::of(process, process).expect("a status");
    let mut restless = Restless::default();
    let stopped = crate::program::Program::open(process, &status)
        .and_then(|memory| restless.stop(id, &memory, &status, Instant::now()));
    match stopped {
        Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => return skipped(&error),
        Err(Error::Restless { thread }) => assert_eq!(thread, id.cast_unsigned()),
        other => panic!("{other:?}"),
    }
    restless.let_go();
    assert!(restless.contains(id));
    let children = program.children();
    let (child, _) = children[0].split_once(' ').expect("an ID");
    let mut kill = Command::new("kill");
    assert!(kill.args(["-9", child]).status().expect("kill").success());
    // It ends as soon as it goes on.
    let begun = Instant::now();
    while fs::exists(format!("/proc/{process}/task/{id}")).expect("asked") {
        assert!(begun.elapsed() < LONG, "it is stopped");
        restless.let_go();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!restless.contains(id));
    let with_child = UNDISTURBED.replace("children 0", "children 1");
    assert_eq!(program.noticed(), with_child);
    program.finish();
}

#[test]
fn processes_that_cannot_be_read_are_left_alone() {
    let own = std::process::id();
    assert!(matches!(freeze(own, Way::Copy), Err(Error::Itself)));
    for none in [0, u32::MAX, 4_194_305] {
        assert!(matches!(freeze(none, Way::Copy), Err(Error::NoProcess)));
    }
    // Where containers have their own processes, this is another one.
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        assert!(matches!(freeze(2, Way::Copy), Err(Error::Kernel)));
    }
    let program = Program::start(&["1"]);
    let mut threads = threads::ids(program.id()).expect("threads");
    threads.retain(|id| id.cast_unsigned() != program.id());
    let error = freeze(threads[0].cast_unsigned(), Way::Copy).expect_err("a thread");
    assert!(matches!(error, Error::ThreadOf(of) if of == program.id()));
    program.finish();
}

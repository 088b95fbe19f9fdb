//! Programs that notice when somebody disturbs them, while they are made to record themselves.

use super::{Program, UNDISTURBED, is_refused, killed};
use crate::inject::{Request, inject};
use crate::{Caution, Error, Settings, attach, detach};
use heapglass_limits::{Command, rounds};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PLAIN: Caution<'static> = Caution::PLAIN;

/// A folder with the library.
struct Start {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Start {
    /// Returns `None` if this build has no library.
    fn new() -> Option<Start> {
        let folder = tempfile::tempdir().expect("a folder");
        let library = library(folder.path())?;
        Some(Start { folder, library })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a program. Returns `None` and says so if this machine lets nobody trace it.
    fn program(words: &[&str]) -> Option<Program> {
        let program = Program::start(words);
        (!is_refused(&program)).then_some(program)
    }
}

/// Writes the library to a file, unless this build has none.
fn library(folder: &Path) -> Option<PathBuf> {
    let bytes = match heapglass_preload::LIBRARY {
        Ok(bytes) => bytes,
        Err(why) => {
            super::skipped(&why);
            return None;
        }
    };
    let path = folder.join("libheapglass_preload.so");
    fs::write(&path, bytes).expect("the library is written");
    Some(path)
}

fn settings<'a>(library: &'a Path, recording: &'a Path, samples: bool) -> Settings<'a> {
    Settings {
        library,
        recording: recording.as_os_str().as_bytes(),
        samples,
        sample_bytes: 0,
        max_bytes: 0,
    }
}

#[test]
fn a_program_that_is_recorded_again_and_again_does_not_notice() {
    let Some(start) = Start::new() else {
        return;
    };
    for words in [&["8"][..], &["0"]] {
        let Some(mut program) = Start::program(words) else {
            return;
        };
        for round in 0..rounds(20, 200) {
            let recording = start.path(&format!("{}-{round}.hg", words[0]));
            let settings = settings(&start.library, &recording, round % 2 == 0);
            let answer = attach(program.id(), &settings, PLAIN).expect("attached");
            assert_eq!(answer.code, 0, "{}", answer.text);
            assert_eq!(Path::new(&answer.text), recording);
            assert_eq!(program.noticed(), UNDISTURBED, "{round}");
            let again = attach(program.id(), &settings, PLAIN).expect("an answer");
            assert!(
                again.code == 2 && again.text.contains("already"),
                "{again:?}"
            );
            let answer = detach(program.id(), PLAIN).expect("detached");
            assert_eq!((answer.code, Path::new(&answer.text)), (0, &*recording));
            assert_eq!(program.noticed(), UNDISTURBED, "{round}");
        }
        let maps = fs::read_to_string(format!("/proc/{}/maps", program.id())).expect("mappings");
        assert!(!maps.contains("rwx"), "{maps}");
        program.finish();
    }
}

/// A program that cannot open the file gets the library as memory. So does one for which the path
/// means another file, as a path from here does.
#[test]
fn a_program_that_cannot_open_the_library_gets_it_as_memory() {
    let Some(start) = Start::new() else {
        return;
    };
    let here = std::env::current_dir().expect("a folder");
    let up = "../".repeat(here.components().count());
    let from_here = PathBuf::from(format!("{up}{}", start.library.display()));
    let Some(mut program) = Start::program(&["8"]) else {
        return;
    };
    let files = || fs::read_dir(format!("/proc/{}/fd", program.id())).map(Iterator::count);
    let before = files().expect("its files");
    for round in 0..3 {
        let recording = start.path(&format!("{round}.hg"));
        let settings = settings(&from_here, &recording, false);
        let answer = attach(program.id(), &settings, PLAIN).expect("attached");
        assert_eq!(answer.code, 0, "{}", answer.text);
        assert_eq!(detach(program.id(), PLAIN).expect("detached").code, 0);
        assert!(recording.exists());
    }
    assert_eq!(files().expect("its files"), before);
    let maps = fs::read_to_string(format!("/proc/{}/maps", program.id())).expect("mappings");
    let of_code =
        |line: &&str| line.contains("r-xp") && line.contains("memfd:libheapglass_preload");
    assert_eq!(maps.lines().filter(of_code).count(), 1, "{maps}");
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

#[test]
fn a_command_that_is_killed_at_any_step_leaves_the_program_alive() {
    let Some(start) = Start::new() else {
        return;
    };
    for words in [&["8"][..], &["0"]] {
        let Some(mut program) = Start::program(words) else {
            return;
        };
        let process = program.id();
        let (mut step, mut kills) = (1, 0);
        while step < rounds(120, 200) as u32 {
            let recording = start.path(&format!("{}-{step}.hg", words[0]));
            let library = start.library.clone();
            let tracer = move || {
                killed::after(step);
                let settings = settings(&library, &recording, true);
                // What it says does not matter: somebody has killed it.
                let _ = inject(process, PLAIN, Request::Attach(&settings));
                killed::is_killed()
            };
            kills += u32::from(std::thread::spawn(tracer).join().expect("no panic"));
            // What began again by itself was not told that it does.
            let noticed = program.noticed();
            let (_, noticed) = noticed.split_once("wrong").expect("a line");
            assert!(UNDISTURBED.ends_with(noticed), "step {step}: {noticed}");
            // Somebody else ends what was begun.
            match detach(process, PLAIN) {
                Ok(answer) => assert!([0, 5].contains(&answer.code), "{step}: {answer:?}"),
                Err(Error::NotAttached) => {}
                Err(error) => panic!("step {step}: {error}"),
            }
            step += 7;
        }
        assert!(kills > 10, "{kills} kills");
        let noticed = program.noticed();
        let (_, noticed) = noticed.split_once("wrong").expect("a line");
        assert!(UNDISTURBED.ends_with(noticed), "{noticed}");
        program.finish();
    }
}

#[test]
fn who_cannot_be_recorded_is_left_alone() {
    let Some(start) = Start::new() else {
        return;
    };
    let recording = start.path("out.hg");
    let settings = settings(&start.library, &recording, true);
    for (words, says) in [
        (&["8", "killing"][..], "would kill it for fallocate"),
        (&["0", "refusing"], "refuses openat"),
        (&["0", "coroutine"], "stack of its own"),
    ] {
        let mut program = Program::start(words);
        let error = match attach(program.id(), &settings, PLAIN) {
            Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => return super::skipped(&error),
            // The others have no filter.
            Err(error @ Error::UnknownFilter { .. }) => {
                super::skipped(&error);
                continue;
            }
            Ok(answer) => panic!("{words:?}: {answer:?}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(says), "{words:?}: {error}");
        assert!(matches!(
            detach(program.id(), PLAIN),
            Err(Error::NotAttached)
        ));
        let maps = fs::read_to_string(format!("/proc/{}/maps", program.id())).expect("mappings");
        assert!(!maps.contains("heapglass"), "{maps}");
        assert_eq!(program.noticed(), UNDISTURBED);
        program.finish();
    }
    assert!(!recording.exists());
}

/// A filter is no reason to refuse: this one forbids what a recording does not need.
#[test]
fn a_program_with_a_filter_is_recorded_if_the_filter_allows_it() {
    let Some(start) = Start::new() else {
        return;
    };
    let recording = start.path("out.hg");
    let settings = settings(&start.library, &recording, false);
    let mut program = Program::start(&["8", "seccomp"]);
    match attach(program.id(), &settings, PLAIN) {
        Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => return super::skipped(&error),
        Err(error @ Error::UnknownFilter { .. }) => {
            assert!(error.to_string().contains("only root"), "{error}");
            return super::skipped(&error);
        }
        answer => assert_eq!(answer.expect("attached").code, 0),
    }
    assert_eq!(program.noticed(), UNDISTURBED);
    assert_eq!(detach(program.id(), PLAIN).expect("detached").code, 0);
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

/// The first thread waits on a stack in the heap, another one can make the calls.
#[test]
fn another_thread_makes_the_calls_if_the_first_one_is_a_coroutine() {
    let Some(start) = Start::new() else {
        return;
    };
    let recording = start.path("out.hg");
    let settings = settings(&start.library, &recording, false);
    let mut program = Program::start(&["2", "coroutine"]);
    let answer = match attach(program.id(), &settings, PLAIN) {
        Err(error @ (Error::Forbidden(_) | Error::Yama(_) | Error::UnknownFilter { .. })) => {
            return super::skipped(&error);
        }
        answer => answer.expect("attached"),
    };
    assert_eq!(answer.code, 0, "{}", answer.text);
    assert_ne!(answer.thread, program.id());
    assert_eq!(program.noticed(), UNDISTURBED);
    assert_eq!(detach(program.id(), PLAIN).expect("detached").code, 0);
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

/// The end of a recording needs less than its beginning.
#[test]
fn a_program_that_forbids_itself_to_open_files_can_still_be_detached_from() {
    let Some(start) = Start::new() else {
        return;
    };
    let recording = start.path("out.hg");
    let settings = settings(&start.library, &recording, false);
    let Some(mut program) = Start::program(&["8"]) else {
        return;
    };
    assert_eq!(
        attach(program.id(), &settings, PLAIN)
            .expect("attached")
            .code,
        0
    );
    assert_eq!(program.forbids_itself(), UNDISTURBED);
    match detach(program.id(), PLAIN) {
        Err(error @ Error::UnknownFilter { .. }) => {
            assert!(error.to_string().contains("only root"), "{error}");
            return super::skipped(&error);
        }
        answer => assert_eq!(answer.expect("detached").code, 0),
    }
    assert_eq!(program.noticed(), UNDISTURBED);
    program.finish();
}

#[test]
fn a_program_that_is_suspended_or_has_no_glibc_is_refused_with_a_way_out() {
    let Some(start) = Start::new() else {
        return;
    };
    let recording = start.path("out.hg");
    let settings = settings(&start.library, &recording, true);
    let program = Program::start(&["1"]);
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        let status = kill.args([name, &program.id().to_string()]).status();
        assert!(status.expect("kill").success());
    };
    signal("-STOP");
    let error = loop {
        match attach(program.id(), &settings, PLAIN) {
            Err(error) => break error,
            // The signal is on its way.
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    assert!(error.to_string().contains("kill -CONT"), "{error}");
    signal("-CONT");
    drop(program);
    let source = start.path("static.c");
    fs::write(&source, "int main(void) { for (;;) getchar(); }").expect("written");
    let built = start.path("static");
    let mut compiler = Command::new("cc");
    let flags = ["-w", "-static", "-include", "stdio.h", "-o"];
    let status = compiler.args(flags).arg(&built).arg(&source).status();
    if !status.expect("a C compiler").success() {
        return super::skipped(&"there is no static libc");
    }
    let mut command = Command::new(&built);
    let command = command.stdin(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let error = attach(child.id(), &settings, PLAIN)
        .expect_err("no glibc")
        .to_string();
    assert!(
        error.contains("statically") && error.contains("snapshot"),
        "{error}"
    );
    child.kill().expect("killed");
    child.wait().expect("it ends");
}

//! Programs that notice when somebody disturbs them, while they are made to record themselves.

use super::{Program, UNDISTURBED, is_refused, killed};
use crate::inject::{Request, inject};
use crate::{Error, Settings, attach, detach};
use heapglass_limits::{Command, rounds};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
        is_forced: false,
    }
}

#[test]
fn a_program_that_is_recorded_again_and_again_does_not_notice() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = library(folder.path()) else {
        return;
    };
    for words in [&["8"][..], &["0"]] {
        let mut program = Program::start(words);
        if is_refused(&program) {
            return;
        }
        for round in 0..rounds(20, 200) {
            let recording = folder.path().join(format!("{}-{round}.hg", words[0]));
            let settings = settings(&library, &recording, round % 2 == 0);
            let answer = attach(program.id(), &settings).expect("attached");
            assert_eq!(answer.code, 0, "{}", answer.text);
            assert_eq!(Path::new(&answer.text), recording);
            assert_eq!(program.noticed(), UNDISTURBED, "{round}");
            let again = attach(program.id(), &settings).expect("an answer");
            assert!(
                again.code == 2 && again.text.contains("already"),
                "{again:?}"
            );
            let answer = detach(program.id(), false).expect("detached");
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
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = library(folder.path()) else {
        return;
    };
    let here = std::env::current_dir().expect("a folder");
    let up = "../".repeat(here.components().count());
    let from_here = PathBuf::from(format!("{up}{}", library.display()));
    let mut program = Program::start(&["8"]);
    if is_refused(&program) {
        return;
    }
    let files = || fs::read_dir(format!("/proc/{}/fd", program.id())).map(Iterator::count);
    let before = files().expect("its files");
    for round in 0..3 {
        let recording = folder.path().join(format!("{round}.hg"));
        let settings = settings(&from_here, &recording, false);
        let answer = attach(program.id(), &settings).expect("attached");
        assert_eq!(answer.code, 0, "{}", answer.text);
        assert_eq!(detach(program.id(), false).expect("detached").code, 0);
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
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = library(folder.path()) else {
        return;
    };
    for words in [&["8"][..], &["0"]] {
        let mut program = Program::start(words);
        if is_refused(&program) {
            return;
        }
        let process = program.id();
        let (mut step, mut kills) = (1, 0);
        while step < rounds(120, 200) as u32 {
            let recording = folder.path().join(format!("{}-{step}.hg", words[0]));
            let library = library.clone();
            let tracer = move || {
                killed::after(step);
                let settings = settings(&library, &recording, true);
                // What it says does not matter: somebody has killed it.
                let _ = inject(process, false, Request::Attach(&settings));
                killed::is_killed()
            };
            kills += u32::from(std::thread::spawn(tracer).join().expect("no panic"));
            // What began again by itself was not told that it does.
            let noticed = program.noticed();
            let (_, noticed) = noticed.split_once("wrong").expect("a line");
            assert!(UNDISTURBED.ends_with(noticed), "step {step}: {noticed}");
            // Somebody else ends what was begun.
            match detach(process, false) {
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
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = library(folder.path()) else {
        return;
    };
    let recording = folder.path().join("out.hg");
    let settings = settings(&library, &recording, true);
    for (words, says) in [
        (&["8", "seccomp"][..], "seccomp"),
        (&["0", "busy"], "no thread is safe"),
        (&["0", "coroutine"], "stack of its own"),
    ] {
        let mut program = Program::start(words);
        let error = match attach(program.id(), &settings) {
            Err(error @ (Error::Forbidden(_) | Error::Yama(_))) => return super::skipped(&error),
            other => other.expect_err("a refusal").to_string(),
        };
        assert!(error.contains(says), "{words:?}: {error}");
        assert!(matches!(
            detach(program.id(), false),
            Err(Error::NotAttached)
        ));
        let maps = fs::read_to_string(format!("/proc/{}/maps", program.id())).expect("mappings");
        assert!(!maps.contains("heapglass"), "{maps}");
        assert_eq!(program.noticed(), UNDISTURBED);
        program.finish();
    }
    assert!(!recording.exists());
}

#[test]
fn a_program_that_is_suspended_or_has_no_glibc_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = library(folder.path()) else {
        return;
    };
    let recording = folder.path().join("out.hg");
    let settings = settings(&library, &recording, true);
    let program = Program::start(&["1"]);
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        let status = kill.args([name, &program.id().to_string()]).status();
        assert!(status.expect("kill").success());
    };
    signal("-STOP");
    let error = loop {
        match attach(program.id(), &settings) {
            Err(error) => break error,
            // The signal is on its way.
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    assert!(error.to_string().contains("kill -CONT"), "{error}");
    signal("-CONT");
    drop(program);
    let source = folder.path().join("static.c");
    fs::write(&source, "int main(void) { for (;;) getchar(); }").expect("written");
    let built = folder.path().join("static");
    let mut compiler = Command::new("cc");
    let flags = ["-w", "-static", "-include", "stdio.h", "-o"];
    let status = compiler.args(flags).arg(&built).arg(&source).status();
    if !status.expect("a C compiler").success() {
        return super::skipped(&"there is no static libc");
    }
    let mut command = Command::new(&built);
    let command = command.stdin(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let error = attach(child.id(), &settings)
        .expect_err("no glibc")
        .to_string();
    assert!(
        error.contains("statically") && error.contains("snapshot"),
        "{error}"
    );
    child.kill().expect("killed");
    child.wait().expect("it ends");
}

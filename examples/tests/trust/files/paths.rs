//! Paths of existing files: nothing is replaced, and each process has a recording of its own.

use crate::common::{Target, assert_work_is_as_printed, files};
use heapglass_examples::recorded;
use heapglass_limits::{Child, Command, rounds};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracking_alloc_recording::{Recording, state};

/// A program that records until it is told to end.
pub(super) struct Held {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The line with which it announced that it records.
    pub(super) said: String,
}

impl Held {
    /// Starts the case `words`, recording to `path`. It records when this returns.
    pub(super) fn begin(path: &Path, words: &[&str]) -> Held {
        Held::begin_under(&[], path, words)
    }

    /// Does the same under a command that runs commands.
    fn begin_under(prefix: &[&str], path: &Path, words: &[&str]) -> Held {
        let held = Held::spawn(prefix, Some(path), words);
        held.ready()
    }

    /// Starts the case without waiting for it.
    fn spawn(prefix: &[&str], path: Option<&Path>, words: &[&str]) -> Held {
        let case = [env!("CARGO_BIN_EXE_case")];
        let all: Vec<&str> = prefix.iter().chain(&case).chain(words).copied().collect();
        let mut command = Target::new(all[0], &all[1..]).command;
        match path {
            Some(path) => command.env("HEAPGLASS_OUT", path),
            None => command.env_remove("HEAPGLASS_OUT"),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Held {
            child,
            output,
            said: String::new(),
        }
    }

    fn ready(mut self) -> Held {
        self.output.read_line(&mut self.said).expect("a line");
        assert_ne!(self.said, "", "it ended early");
        self
    }

    /// Returns the id of the started process. With a prefix, that is not the recorded process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells the program to end and waits for it. Returns its output.
    pub(super) fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut printed = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut printed).expect("text");
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(7));
        printed
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns `true` if commands can run in PID namespaces of their own here. Otherwise prints the
/// reason.
fn has_namespaces() -> bool {
    let tried = Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .arg("true")
        .output();
    let works = tried.as_ref().is_ok_and(|done| done.status.success());
    if !works {
        heapglass_examples::skip::skipped(format_args!(
            "no pid namespace can be made here (unshare --pid): {tried:?}"
        ));
    }
    works
}

const UNSHARE: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
/// /proc remains that of the outer namespace, so its numbers belong to other processes.
const WITH_OUTER_PROC: [&str; 4] = ["unshare", "--pid", "--fork", "--kill-child"];

#[test]
fn two_live_processes_on_one_path_both_keep_their_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.hg");
    let first = Held::begin(&path, &["files-hold"]);
    let second = Held::begin(&path, &["files-hold"]);
    let (second_name, second_pid) = (format!("out-{}.hg", second.pid()), second.pid());
    assert_eq!(
        files(folder.path()),
        [second_name.clone(), "out.hg".to_owned()]
    );
    let (first_pid, printed) = (first.pid(), first.end());
    let recording = recorded::open(&path);
    assert_work_is_as_printed(&recording, &printed);
    assert_eq!(recording.header.pid, first_pid);
    let printed = second.end();
    let recording = recorded::open(&folder.path().join(&second_name));
    assert_work_is_as_printed(&recording, &printed);
    assert_eq!(recording.header.pid, second_pid);
    // A later run replaces nothing, although nobody writes there any more.
    let third = Held::begin(&path, &["files-hold"]);
    let third_pid = third.pid();
    third.end();
    assert_eq!(recorded::open(&path).header.pid, first_pid);
    let third_name = format!("out-{third_pid}.hg");
    assert_eq!(
        recorded::open(&folder.path().join(&third_name)).header.pid,
        third_pid
    );
    assert_eq!(files(folder.path()).len(), 3);
}

#[test]
fn a_suffix_goes_to_the_end_of_a_name_without_an_extension() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("recording");
    let first = Held::begin(&path, &["files-hold"]);
    let second = Held::begin(&path, &["files-hold"]);
    let name = format!("recording-{}", second.pid());
    assert_eq!(files(folder.path()), ["recording".to_owned(), name]);
    first.end();
    second.end();
}

#[test]
fn whatever_has_the_path_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.hg");
    let makers: [fn(&Path); 3] = [
        |path| std::fs::write(path, "a letter").expect("written"),
        |path| std::os::unix::fs::symlink("/dev/null", path).expect("a link"),
        |path| std::os::unix::fs::symlink("nowhere", path).expect("a link"),
    ];
    for make in makers {
        make(&path);
        let status = |path: &Path| {
            let found = path.symlink_metadata().expect("it is there");
            (found.ino(), found.mtime_nsec(), found.len())
        };
        let before = status(&path);
        let held = Held::begin(&path, &["files-hold"]);
        let beside = folder.path().join(format!("out-{}.hg", held.pid()));
        let printed = held.end();
        assert_work_is_as_printed(&recorded::open(&beside), &printed);
        assert_eq!(status(&path), before);
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn processes_of_different_pid_namespaces_do_not_replace_each_other() {
    if !has_namespaces() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.hg");
    let inside = |prefix: &[&str]| Held::begin_under(prefix, &path, &["files-hold"]);
    let held = [
        inside(&UNSHARE),
        inside(&UNSHARE),
        inside(&WITH_OUTER_PROC),
        Held::begin(&path, &["files-hold"]),
        inside(&WITH_OUTER_PROC),
    ];
    let names = files(folder.path());
    assert_eq!(names.len(), held.len(), "{names:?}");
    assert!(names.contains(&"out-1.hg".to_owned()), "{names:?}");
    let printed: Vec<String> = held.into_iter().map(Held::end).collect();
    for name in &names {
        let recording = recorded::open(&folder.path().join(name));
        assert_eq!(recording.header.state, state::FINISHED, "{name}");
        assert_eq!(recording.header.growth_ended, 0, "{name} grew to the end");
        assert_work_is_as_printed(&recording, &printed[0]);
    }
}

#[test]
fn in_a_namespace_with_an_outer_proc_nobody_is_taken_for_dead() {
    if !has_namespaces() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.hg");
    // Both run in one namespace, and /proc shows the process ids of another.
    let script = format!(
        "exec 3<>'{pipe}'; '{case}' files-hold <&3 >'{said}' & until [ -s '{said}' ]; do sleep 0.01; done; \
         '{case}' die exit; exec 3<>'{pipe}'; echo >&3; wait",
        case = env!("CARGO_BIN_EXE_case"),
        pipe = folder.path().join("pipe").display(),
        said = folder.path().join("said").display(),
    );
    let made = Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    assert!(made.expect("mkfifo").success());
    let words: Vec<&str> = WITH_OUTER_PROC
        .iter()
        .copied()
        .chain(["sh", "-c", &script])
        .collect();
    let mut target = Target::new(words[0], &words[1..]);
    let output = target
        .command
        .env("HEAPGLASS_OUT", &path)
        .output()
        .expect("it starts");
    let recordings: Vec<String> = files(folder.path());
    let recordings: Vec<&String> = recordings
        .iter()
        .filter(|name| name.ends_with(".hg"))
        .collect();
    assert_eq!(recordings.len(), 2, "{recordings:?} {output:?}");
    for name in recordings {
        assert_eq!(
            recorded::open(&folder.path().join(name)).header.state,
            state::FINISHED,
            "{name}"
        );
    }
}

#[test]
fn a_container_restarted_as_process_1_many_times_keeps_recording() {
    if !has_namespaces() {
        return;
    }
    let rounds = rounds(24, 100);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.hg");
    // A process in another namespace holds the path.
    let holder = Held::begin_under(&UNSHARE, &path, &["files-hold"]);
    for round in 1..=rounds {
        // Every second one is killed. No process in another namespace can know that it ended.
        let end = if round % 2 == 1 { "kill" } else { "exit" };
        let case = [env!("CARGO_BIN_EXE_case"), "files-end", end];
        let words: Vec<&str> = UNSHARE[1..].iter().chain(&case).copied().collect();
        let mut target = Target::new(UNSHARE[0], &words);
        let output = target
            .command
            .env("HEAPGLASS_OUT", &path)
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("not recording"), "round {round}: {text}");
    }
    let names = files(folder.path());
    assert_eq!(names.len(), rounds + 1, "each has a file of its own");
    holder.end();
    for name in names {
        let recording = recorded::open(&folder.path().join(&name));
        assert_eq!(recording.header.pid, 1, "{name}");
    }
}

#[test]
fn processes_that_race_over_one_old_recording_all_keep_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.hg");
    let old = folder.path().join("old");
    Held::begin(&old, &["files-hold"]).end();
    for round in 0..rounds(16, 50) {
        std::fs::copy(&old, &path).expect("copied");
        let before = std::fs::read(&path).expect("read");
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let at = (now + Duration::from_millis(60)).as_nanos().to_string();
        let words = ["files-race", path.to_str().expect("text"), &at];
        let held: Vec<Held> = (0..3).map(|_| Held::spawn(&[], None, &words)).collect();
        let held: Vec<Held> = held.into_iter().map(Held::ready).collect();
        let mut names: Vec<String> = held
            .iter()
            .map(|held| held.said.trim().to_owned())
            .collect();
        names.sort();
        let mut found = files(folder.path());
        found.retain(|name| !["old", "out.hg"].contains(&name.as_str()));
        assert_eq!(
            names,
            found
                .iter()
                .map(|name| folder.path().join(name).display().to_string())
                .collect::<Vec<_>>(),
            "round {round}: each has its own file"
        );
        assert!(
            std::fs::read(&path).expect("read") == before,
            "round {round}"
        );
        for held in held {
            let recording = Recording::open(Path::new(held.said.trim())).expect("read");
            assert_eq!(recording.header.pid, held.pid(), "round {round}");
            let said = held.said.trim().to_owned();
            held.end();
            assert_eq!(
                recorded::open(Path::new(&said)).header.state,
                state::FINISHED
            );
            std::fs::remove_file(said).expect("removed");
        }
    }
}

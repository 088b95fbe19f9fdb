//! Recordings that killed runs left are listed and can be opened where they are. Listing and
//! opening change nothing, whatever the files contain. Only the user's answer moves a recording.

use heapglass_limits::{Child, Command};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{HEAPGLASS, INPUT, Place, terminal, wait_until};

/// A folder on a tmpfs for live recordings, used by one test only.
struct Memory(PathBuf);

impl Memory {
    fn new(place: &Place) -> Memory {
        let name = place.root().file_name().unwrap().to_str().unwrap();
        let folder = Path::new("/dev/shm").join(format!("test{name}"));
        fs::create_dir_all(&folder).unwrap();
        Memory(folder)
    }

    /// Returns the command, with this folder as the place for live recordings.
    fn heapglass(&self, place: &Place, words: &[&str]) -> Command {
        let mut command = place.heapglass(words);
        command
            .env("XDG_RUNTIME_DIR", &self.0)
            .env("HEAPGLASS_MAX_BYTES", "4000000");
        command
    }

    /// Returns the recordings left in the place, without those of other tests.
    fn listed(&self, place: &Place) -> Vec<serde_json::Value> {
        let output = self.heapglass(place, &["--json"]).output().unwrap();
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let recordings = list["recordings"].as_array().unwrap().iter();
        let is_ours = |recording: &&serde_json::Value| {
            Path::new(recording["path"].as_str().unwrap()).starts_with(&self.0)
        };
        recordings.filter(is_ours).cloned().collect()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A run whose target waits for input.
struct Waiting {
    child: Child,
    input: File,
    pid: u64,
}

impl Waiting {
    /// Starts `heapglass run --out k.hg` with a target that waits.
    fn new(place: &Place, memory: &Memory) -> Waiting {
        let pipe = place.pipe("pipe");
        let words = [
            "run", "--out", "k.hg", "--", HEAPGLASS, "demo", "--target", "pipe",
        ];
        let mut command = memory.heapglass(place, &words);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let input = OpenOptions::new().write(true).open(pipe).unwrap();
        wait_until("the recording", || place.path("k.hg").exists());
        let pid = place.report("k.hg")["pid"].as_u64().unwrap();
        Waiting { child, input, pid }
    }

    /// Kills heapglass, then lets its target run to its end.
    fn end_without_heapglass(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.input.write_all(INPUT.as_bytes()).unwrap();
        drop(self.input);
        let stat = format!("/proc/{}", self.pid);
        wait_until("the target's end", || !Path::new(&stat).exists());
    }
}

/// Returns every path below a folder, with properties that change if the file is written, replaced
/// or moved.
fn contents(folder: &Path) -> Vec<(PathBuf, u64, i64, i64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let bytes = if metadata.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            found.push((
                path,
                metadata.ino(),
                metadata.mtime(),
                metadata.mtime_nsec(),
                bytes,
            ));
        }
    }
    found.sort();
    found
}

/// Commands that only read.
const LOOKING: [&[&str]; 7] = [
    &[],
    &["--json"],
    &["report", "k.hg"],
    &["report", "k.hg", "--json"],
    &["export", "k.hg", "--to", "folded", "-o", "-"],
    &["diff", "k.hg", "k.hg"],
    &["check", "k.hg", "--max-peak", "1GiB"],
];

#[test]
fn what_a_killed_run_left_is_listed_and_opened_where_it_lies() {
    let place = Place::new();
    let memory = Memory::new(&place);
    let waiting = Waiting::new(&place, &memory);
    // The link in this folder represents the recording, in the list too.
    assert!(place.path("k.hg").is_symlink());
    assert_eq!(memory.listed(&place).len(), 0);
    fs::rename(place.path("k.hg"), place.path("link")).unwrap();
    assert_eq!(memory.listed(&place)[0]["left"], false, "its run lives");
    fs::rename(place.path("link"), place.path("k.hg")).unwrap();
    waiting.end_without_heapglass();
    fs::create_dir(place.path(".state")).ok();
    fs::create_dir(place.path(".cache")).ok();
    // The first report fills the cache of symbols, which this test ignores.
    assert_eq!(place.report("k.hg")["finished"], true);
    fs::remove_dir_all(place.path(".cache")).unwrap();
    let before = (contents(place.root()), contents(&memory.0));
    for words in LOOKING {
        let mut command = memory.heapglass(&place, words);
        let cache = tempfile::tempdir().unwrap();
        let output = command
            .env("XDG_CACHE_HOME", cache.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        let after = (contents(place.root()), contents(&memory.0));
        assert!(after == before, "{words:?} changed something");
    }
    // Without its link, the recording is still found.
    fs::remove_file(place.path("k.hg")).unwrap();
    let listed = memory.listed(&place);
    assert_eq!((listed.len(), &listed[0]["left"]), (1, &true.into()));
    let path = listed[0]["path"].as_str().unwrap();
    assert_eq!(place.report(path)["finished"], true);
}

#[test]
fn a_recording_that_was_left_moves_here_after_a_question() {
    let place = Place::new();
    let memory = Memory::new(&place);
    Waiting::new(&place, &memory).end_without_heapglass();
    fs::remove_file(place.path("k.hg")).unwrap();
    let left = PathBuf::from(memory.listed(&place)[0]["path"].as_str().unwrap());
    let name = left.file_name().unwrap().to_str().unwrap().to_owned();
    fs::write(place.path(&name), "a letter").unwrap();
    for (answer, moves) in [("n", false), ("y", true)] {
        let (mut ours, theirs) = terminal();
        let mut command = memory.heapglass(&place, &[]);
        command
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .stderr(theirs);
        let mut child = command.spawn().unwrap();
        drop(command);
        // Other programs of this machine may be listed too, at any moment.
        let mut said = Vec::new();
        let mut buffer = [0; 4096];
        let number = loop {
            let read = ours.read(&mut buffer).unwrap();
            said.extend_from_slice(&buffer[..read]);
            let list = String::from_utf8_lossy(&said);
            if list.contains("none] ") {
                let line = list
                    .lines()
                    .find(|line| line.contains(left.to_str().unwrap()));
                break line.unwrap().split_whitespace().next().unwrap().to_owned();
            }
        };
        ours.write_all(format!("m{number}\n{answer}\n").as_bytes())
            .unwrap();
        // Reading from a terminal whose other end is closed returns an error.
        let _ = ours.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(child.wait().unwrap().success(), "{said}");
        assert!(said.contains("left by an earlier run"), "{said}");
        assert!(said.contains("to this folder? [y/N]"), "{said}");
        assert_eq!(left.exists(), !moves, "{said}");
        assert_eq!(said.contains("moved to "), moves, "{said}");
    }
    assert_eq!(fs::read(place.path(&name)).unwrap(), b"a letter");
    let moved = place.files(".hg").into_iter().find(|found| *found != name);
    assert_eq!(place.report(&moved.unwrap())["finished"], true);
    assert!(
        !left.parent().unwrap().exists(),
        "nothing is left in its folder"
    );
}

#[test]
fn a_folder_that_somebody_sent_makes_no_command_write_anything() {
    let place = Place::new();
    place.record("k.hg");
    // The folder of a run, with a pipe in place of its lock.
    let folder = place.path(".heapglass-1-0");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
    fs::copy(place.path("k.hg"), folder.join("app-1.hg")).unwrap();
    Command::new("mkfifo")
        .arg(folder.join(".lock"))
        .status()
        .unwrap();
    // A temporary file of a process that has ended, and a link to a file of another user.
    let bytes = fs::read(place.path("k.hg")).unwrap();
    fs::write(place.path(".k.hg.1.tmp"), &bytes[..72]).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", place.path("other.hg")).unwrap();
    // A header with an unknown state, from process 0.
    let mut stateless = bytes.clone();
    stateless[16..20].copy_from_slice(&3u32.to_le_bytes());
    stateless[36..40].copy_from_slice(&0u32.to_le_bytes());
    fs::write(place.path("stateless.hg"), stateless).unwrap();
    fs::remove_dir_all(place.path(".cache")).ok();
    let before = contents(place.root());
    let unreadable: [&[&str]; 2] = [&["report", "stateless.hg"], &["report", "other.hg"]];
    for words in LOOKING.iter().chain(&unreadable) {
        let cache = tempfile::tempdir().unwrap();
        let output = place
            .heapglass(words)
            .env("XDG_CACHE_HOME", cache.path())
            .output()
            .unwrap();
        let is_recording = !unreadable.contains(words);
        assert_eq!(
            output.status.success(),
            is_recording,
            "{words:?}: {output:?}"
        );
        assert!(
            contents(place.root()) == before,
            "{words:?} changed something"
        );
    }
    let run = place.run(&["run", "-q", "--no-preload", "--out", "new.hg", "--", "true"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(
        contents(place.root()) == before,
        "a run touched what is not its own"
    );
}

#[test]
fn a_place_that_others_can_use_is_not_used() {
    let place = Place::new();
    let memory = Memory::new(&place);
    place.record("x.hg");
    let open = memory.0.join("heapglass");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    fs::copy(place.path("x.hg"), open.join("planted.hg")).unwrap();
    assert_eq!(memory.listed(&place).len(), 0);
    let linked = Memory(memory.0.join("other"));
    fs::create_dir(&linked.0).unwrap();
    std::os::unix::fs::symlink(place.root(), linked.0.join("heapglass")).unwrap();
    assert_eq!(linked.listed(&place).len(), 0);
}

//! What kills leave behind is found by the next command, moved to where it was wanted, and gone.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{HEAPGLASS, INPUT, Place, wait_until};

/// A run whose target waits for input, in a place whose memory is `memory`.
struct Waiting {
    child: Child,
    input: fs::File,
}

/// Starts `heapglass run --out name` over a target that waits.
fn waiting(place: &Place, name: &str) -> Waiting {
    let pipe = place.path("pipe");
    if !pipe.exists() {
        place.pipe("pipe");
    }
    let words = [
        "run", "--out", name, "--", HEAPGLASS, "demo", "--target", "pipe",
    ];
    let child = at(place, &words).stderr(Stdio::null()).spawn().unwrap();
    let input = OpenOptions::new().write(true).open(pipe).unwrap();
    wait_until("the recording", || place.path(name).exists());
    Waiting { child, input }
}

/// The command, with folders for live recordings of the test's own.
fn at(place: &Place, words: &[&str]) -> Command {
    let mut command = place.heapglass(words);
    command
        .env("XDG_RUNTIME_DIR", memory(place))
        .env("HEAPGLASS_MAX_BYTES", "4000000");
    command
}

/// A folder on a tmpfs, made at the first call.
fn memory(place: &Place) -> PathBuf {
    let name = place.root().file_name().unwrap().to_str().unwrap();
    let folder = Path::new("/dev/shm").join(format!("test{name}"));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn kill(pid: u32) {
    let killed = Command::new("kill")
        .args(["-KILL", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
}

fn wait_for_end(pid: u64) {
    wait_until("the target's end", || {
        !Path::new(&format!("/proc/{pid}")).exists()
    });
}

/// `heapglass report`, as JSON.
fn report(place: &Place, name: &str) -> serde_json::Value {
    let output = at(place, &["report", name, "--json"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_next_command_moves_the_recordings_of_a_run_that_was_killed() {
    let commands: [&[&str]; 4] = [
        &["report", "k.hg"],
        &["pack", "k.hg", "-o", "packed.hg"],
        &[],
        &["run", "-q", "--", "true"],
    ];
    for command in commands {
        let place = Place::new();
        let mut waiting = waiting(&place, "k.hg");
        assert!(place.path("k.hg").is_symlink());
        let pid = report(&place, "k.hg")["pid"].as_u64().unwrap();
        // heapglass is killed, then its target goes on to its end.
        kill(waiting.child.id());
        waiting.child.wait().unwrap();
        assert_eq!(report(&place, "k.hg")["state"], "running");
        assert!(place.path("k.hg").is_symlink(), "who lives is left alone");
        waiting.input.write_all(INPUT.as_bytes()).unwrap();
        drop(waiting.input);
        wait_for_end(pid);
        assert_eq!(names(&memory(&place)).len(), 1);
        let output = at(&place, command).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(names(&memory(&place)), Vec::<String>::new(), "{command:?}");
        assert!(place.path("k.hg").symlink_metadata().unwrap().is_file());
        assert_eq!(report(&place, "k.hg")["finished"], true, "{command:?}");
        fs::remove_dir(memory(&place)).unwrap();
    }
}

#[test]
fn a_run_killed_with_its_target_leaves_a_recording_all_the_same() {
    let place = Place::new();
    let mut waiting = waiting(&place, "k.hg");
    let pid = report(&place, "k.hg")["pid"].as_u64().unwrap();
    kill(waiting.child.id());
    kill(pid as u32);
    waiting.child.wait().unwrap();
    wait_for_end(pid);
    // The link was lost, too: the folder knows what was wanted.
    fs::remove_file(place.path("k.hg")).unwrap();
    at(&place, &[]).output().unwrap();
    assert_eq!(names(&memory(&place)), Vec::<String>::new());
    assert_eq!(report(&place, "k.hg")["state"], "ended");
    fs::remove_dir(memory(&place)).unwrap();
}

#[test]
fn a_temporary_of_a_target_killed_at_its_start_is_removed_and_a_live_one_is_not() {
    let place = Place::new();
    // A recording is signed before it is one: what a kill at this moment leaves.
    let mut signed = vec![0u8; 4096];
    let mut waiting = waiting(&place, "k.hg");
    let header = fs::read(place.path("k.hg")).unwrap();
    signed[16..20].copy_from_slice(&header[16..20]);
    signed[36..72].copy_from_slice(&header[36..72]);
    let pid = report(&place, "k.hg")["pid"].as_u64().unwrap();
    let name = format!(".other.hg.{pid}.tmp");
    fs::write(place.path(&name), &signed).unwrap();
    report(&place, "k.hg");
    assert!(place.path(&name).exists(), "its process lives");
    waiting.input.write_all(INPUT.as_bytes()).unwrap();
    drop(waiting.input);
    waiting.child.wait().unwrap();
    report(&place, "k.hg");
    assert!(!place.path(&name).exists(), "its process is gone");
    // A recording with something in it is not deleted, whatever it is called.
    let hidden = place.path(&format!(".k.hg.{pid}.tmp"));
    fs::copy(place.path("k.hg"), &hidden).unwrap();
    report(&place, "k.hg");
    assert!(!hidden.exists());
    assert_eq!(report(&place, &format!("k-{pid}.hg"))["finished"], true);
    fs::remove_dir(memory(&place)).unwrap();
}

#[test]
fn a_recording_that_was_written_elsewhere_takes_the_place_of_its_pointer() {
    let place = Place::new();
    let disk = place.path("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "ramfs", "none"])
        .arg(&disk)
        .output();
    if !mounted.as_ref().is_ok_and(|done| done.status.success()) {
        println!("skipped: no ramfs can be mounted here: {mounted:?}");
        return;
    }
    let memory_folder = memory(&place);
    let checked = std::panic::catch_unwind(|| {
        let pipe = place.pipe("pipe");
        let mut target = at(&place, &["demo", "--target", "pipe"])
            .env("HEAPGLASS_OUT", disk.join("p.hg"))
            .spawn()
            .unwrap();
        let mut input = OpenOptions::new().write(true).open(pipe).unwrap();
        wait_until("the pointer", || disk.join("p.hg").exists());
        assert_eq!(report(&place, "disk/p.hg")["state"], "running");
        assert_eq!(names(&memory_folder).len(), 1, "who lives is left alone");
        input.write_all(INPUT.as_bytes()).unwrap();
        drop(input);
        target.wait().unwrap();
        let packed = at(&place, &["pack", "disk/p.hg", "-o", "packed.hg"]).output();
        assert!(packed.unwrap().status.success());
        assert_eq!(names(&memory_folder), Vec::<String>::new());
        assert_eq!(names(&disk), ["p.hg"]);
        let recording = tracking_alloc_recording::Recording::open(&disk.join("p.hg"));
        assert_eq!(
            recording.unwrap().header.state,
            tracking_alloc_recording::state::FINISHED
        );
    });
    let _ = Command::new("umount").arg("--lazy").arg(&disk).status();
    fs::remove_dir_all(&memory_folder).unwrap();
    if let Err(panic) = checked {
        std::panic::resume_unwind(panic);
    }
}

//! Programs in containers and behind filters, and those that are refused.

use super::{PROGRAM, Program, is_refused, start};
use crate::common::{HEAPGLASS, Place, skipped};
use heapglass_limits::{Child, Command};
use std::fs;
use std::path::Path;

/// A program in a mount and PID namespace of its own, in a folder as its root, as another user.
struct Container {
    child: Child,
    /// Its number on this side.
    process: String,
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", &self.process]).status();
        let _ = self.child.wait();
    }
}

/// Starts a program there after the commands of a shell. Returns `None` and says so if this machine
/// does not let us.
fn contain(place: &Place, name: &str, before: &str) -> Option<Container> {
    let root = place.path("root");
    for folder in ["proc", "tmp", "bin"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    place.compile(PROGRAM, name);
    fs::copy(place.path(name), root.join("bin").join(name)).unwrap();
    for library in libraries(&place.path(name)) {
        let to = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&library, to).unwrap();
    }
    let root = root.display();
    let script = format!(
        "{before}\nchmod 711 {root}/.. {root} && chmod 1777 {root}/tmp && exec chroot --userspec=12345:12345 {root} /bin/{name}"
    );
    let mut command = Command::new("unshare");
    command.args(["--pid", "--mount", "--fork", "sh", "-e", "-c", &script]);
    let (mut child, line) = start(&mut command, "unshare")?;
    if line != "ready\n" {
        skipped("this user may not make namespaces");
        child.wait().unwrap();
        return None;
    }
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let process = fs::read_to_string(children).unwrap().trim().to_owned();
    Some(Container { child, process })
}

/// Returns the libraries of a program, and its loader.
fn libraries(program: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace();
    words
        .filter(|word| word.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_program_in_a_container_is_recorded_from_outside() {
    let proc_inside = "mount -t proc proc root/proc";
    let no_programs = "sysctl -qw vm.memfd_noexec=2";
    for (name, before) in [
        ("contained", proc_inside.to_owned()),
        // No program may be run from memory.
        ("forbidden", format!("{no_programs}; {proc_inside}")),
    ] {
        let place = Place::new();
        let before = format!("cd {}\n{before}", place.root().display());
        let Some(container) = contain(&place, name, &before) else {
            return;
        };
        let id = &container.process;
        let done = place.run(&["attach", id, "--mode", "exact", "-o", "/tmp/c.hg"]);
        if is_refused(&done) {
            return;
        }
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        assert_eq!(done.stdout, format!("/proc/{id}/root/tmp/c.hg\n"));
        let again = place.run(&["attach", id, "-o", "/tmp/d.hg"]);
        assert_eq!(again.status, Some(2), "{}", again.stderr);
        let done = place.run(&["detach", id]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        // The recording was copied here.
        let kept = format!("{name}-{id}.hg");
        assert_eq!(place.files(".hg"), [kept.as_str()]);
        assert_eq!(place.report(&kept)["attached"]["detached"], true);
    }
}

#[test]
fn a_recording_that_cannot_be_copied_from_a_container_leaves_no_part() {
    let place = Place::new();
    let before = format!(
        "cd {}\nmount -t proc proc root/proc",
        place.root().display()
    );
    let Some(container) = contain(&place, "uncopied", &before) else {
        return;
    };
    let id = &container.process;
    let done = place.run(&["attach", id, "-o", "/tmp/c.hg"]);
    if is_refused(&done) {
        return;
    }
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    // Files may not be larger than 64 KiB. The signal for it is ignored, as by the command.
    let script = format!("ulimit -f 64; trap '' XFSZ; exec {HEAPGLASS} detach {id}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).current_dir(place.root());
    place.isolate(&mut command);
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("could not be copied to this folder"),
        "{told}"
    );
    assert_eq!(place.files(".hg"), Vec::<String>::new());
}

#[test]
fn a_program_without_proc_is_refused_and_told() {
    let place = Place::new();
    let before = format!("cd {}", place.root().display());
    let Some(container) = contain(&place, "blind", &before) else {
        return;
    };
    let done = place.run(&["attach", &container.process, "-o", "/tmp/c.hg"]);
    if is_refused(&done) {
        return;
    }
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("mount -t proc"), "{}", done.stderr);
    let maps = fs::read_to_string(format!("/proc/{}/maps", container.process)).unwrap();
    assert!(!maps.contains("heapglass"), "{maps}");
}

/// A program for 32 bits, which waits: `pause` in a loop.
const PAUSES: &str = ".globl _start\n_start: movl $29, %eax\n int $0x80\n jmp _start\n";

#[test]
fn programs_of_other_kinds_are_refused_and_left_alone() {
    let place = Place::new();
    fs::write(place.path("pauses.s"), PAUSES).unwrap();
    fs::write(
        place.path("waits.go"),
        "package main\nimport \"time\"\nfunc main() { for { time.Sleep(time.Millisecond) } }\n",
    )
    .unwrap();
    fs::write(
        place.path("waits.c"),
        "#include <unistd.h>\nint main(void) { for (;;) pause(); }",
    )
    .unwrap();
    for (name, build, says) in [
        (
            "pauses",
            "as --32 pauses.s -o pauses.o && ld -m elf_i386 pauses.o -o pauses",
            "no program for x86-64 with 64 bits",
        ),
        (
            "go",
            "HOME=$PWD CGO_ENABLED=0 go build -o go waits.go",
            "linked statically, or is a Go program",
        ),
        ("musl", "musl-gcc waits.c -o musl", "it uses musl"),
        (
            "static",
            "cc -static waits.c -o static",
            "linked statically",
        ),
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", build]).current_dir(place.root());
        if !shell.output().unwrap().status.success() {
            skipped(&format!("{name} cannot be built here: {build}"));
            continue;
        }
        let mut child = match Command::new(place.path(name)).spawn() {
            Ok(child) => child,
            Err(error) => {
                skipped(&format!("{name} does not run here: {error}"));
                continue;
            }
        };
        let id = child.id().to_string();
        let maps = || fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
        // It has been loaded once it waits.
        let stat = format!("/proc/{id}/stat");
        crate::common::wait_until("the program waits", || {
            fs::read_to_string(&stat).unwrap().contains(") S ")
        });
        let done = place.run(&["attach", &id]);
        if is_refused(&done) {
            child.kill().unwrap();
            return;
        }
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains(says), "{name}: {}", done.stderr);
        assert!(!maps().contains("heapglass"));
        assert_eq!(place.files(".hg"), Vec::<String>::new());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// A program that has the rights of another user may not be traced by the one who started it.
#[test]
fn a_program_of_another_user_is_refused_and_told() {
    let place = Place::new();
    let program = Program::start(&place, "ours");
    let mut command = Command::new("setpriv");
    let words = ["--reuid=12345", "--regid=12345", "--clear-groups"];
    command
        .args(words)
        .args([HEAPGLASS, "attach", &program.id()]);
    command.current_dir("/tmp");
    let told = match command.output() {
        Ok(output) => String::from_utf8(output.stderr).unwrap(),
        Err(error) => return skipped(&format!("setpriv: {error}")),
    };
    if told.contains("setpriv") {
        return skipped(told.trim());
    }
    assert!(
        told.contains("run heapglass as that user or as root"),
        "{told}"
    );
    let maps = fs::read_to_string(format!("/proc/{}/maps", program.id())).unwrap();
    assert!(!maps.contains("heapglass"), "{maps}");
    program.finish();
}

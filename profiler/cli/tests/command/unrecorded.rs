//! Snapshots of running programs that nobody recorded.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use heapglass_limits::{Child, Command};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use heapglass_profiler::profile::Profile;
use heapglass_profiler::snapshot::{Held, HolderName};
use heapglass_profiler::{OpenOptions, open};

use crate::common::{Done, Place, skipped, wait_until};

/// A program with lists, texts and trees in a static. It answers each line of its input, for which
/// it allocates, and ends with it.
const SERVER: &str = r#"
    use std::collections::{BTreeMap, HashMap};
    use std::hint::black_box;
    use std::io::BufRead;
    use std::sync::OnceLock;

    pub struct Session { pub user: String, pub roles: Vec<String>, pub tags: BTreeMap<u32, String> }
    pub struct State { pub sessions: HashMap<u64, Session>, pub names: Vec<Box<str>> }

    static STATE: OnceLock<State> = OnceLock::new();

    #[inline(never)]
    fn fill(count: u64) -> State {
        let mut sessions = HashMap::new();
        for number in 0..count {
            let mut user = String::with_capacity(48);
            user.push_str(&format!("user-{number}"));
            let roles = (0..number % 4).map(|role| format!("role {role}")).collect();
            let tags = (0..number % 5).map(|tag| (tag as u32, format!("tag {tag} of {number}")));
            sessions.insert(number, Session { user, roles, tags: tags.collect() });
        }
        let names = (0..count / 10).map(|name| format!("a name {name}").into_boxed_str());
        State { sessions, names: names.collect() }
    }

    fn main() {
        let _ = STATE.set(fill(2000));
        println!("ready");
        for line in std::io::stdin().lock().lines() {
            println!("{}", line.unwrap());
        }
        black_box(&STATE);
    }"#;

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn build(place: &Place) {
        std::fs::write(place.path("server.rs"), SERVER).unwrap();
        let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let flags = ["--edition=2024", "-Cdebuginfo=2", "-Copt-level=3"];
        let mut command = Command::new(compiler);
        let built = command.current_dir(place.root()).args(flags);
        assert!(built.arg("server.rs").status().unwrap().success());
    }

    fn start(mut command: Command) -> Server {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Server {
            child,
            input,
            output,
        };
        assert_eq!(server.line(), "ready\n");
        server
    }

    fn new(place: &Place) -> Server {
        Server::build(place);
        Server::start(Command::new(place.path("server")))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Checks that the program answers.
    fn ask(&mut self) {
        self.input.write_all(b"hello\n").unwrap();
        assert_eq!(self.line(), "hello\n");
    }

    fn finish(mut self) {
        self.ask();
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// Returns `true` and says so if the machine forbids to trace programs.
pub(crate) fn is_refused(done: &Done) -> bool {
    let why = ["may not be traced", "kernel.yama.ptrace_scope"];
    let is_refused = why.iter().any(|why| done.stderr.contains(why));
    if is_refused {
        skipped(done.stderr.trim_end());
    }
    is_refused
}

fn profile(path: &Path) -> Profile {
    open(path, &OpenOptions::default(), &|_| ()).unwrap()
}

/// Returns the figures of each place that begins at the static: blocks, bytes, unused and retained
/// bytes.
fn places(profile: &Profile) -> BTreeMap<String, [u64; 4]> {
    let [snapshot] = profile.snapshots() else {
        panic!("not one snapshot");
    };
    let nodes = snapshot.holders();
    let mut places: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for (number, node) in nodes.iter().enumerate() {
        let sum = |of: fn(&Held) -> u64| node.own.iter().map(of).sum::<u64>();
        let own = [
            sum(|own| own.blocks),
            sum(|own| own.bytes),
            sum(|own| own.unused_bytes),
        ];
        let mut of = number;
        while of != 0 {
            if let HolderName::Site(_, place) = &nodes[of].name
                && place.contains("STATE")
            {
                let sum = places.entry(place.clone()).or_default();
                sum[3] += own[1];
                if of == number {
                    (0..3).for_each(|at| sum[at] += own[at]);
                }
            }
            of = nodes[of].parent as usize;
        }
    }
    places
}

#[test]
fn a_program_has_the_same_holders_recorded_and_not_recorded() {
    let place = Place::new();
    let bare = Server::new(&place);
    let done = place.run(&["snapshot", &bare.child.id().to_string()]);
    if is_refused(&done) {
        return bare.finish();
    }
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let name = format!("server-{}.hgs", bare.child.id());
    for part in [
        // Under a filter of system calls, it was stopped.
        "does not record; ",
        "note: the program was ",
        &format!("wrote {name}: "),
    ] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
    bare.finish();
    // The blocks say what they hold. There is no time and no peak that a share could be of.
    let words = ["report", &name, "--by", "type", "--measure", "retained"];
    let types = place.run(&words).stdout;
    for part in [
        "server (not recorded): snapshot 1 (process: ",
        "[(u64, Session)]",
        "[String]",
    ] {
        assert!(types.contains(part), "{part}: {types}");
    }
    let unknown = types.lines().find(|line| line.ends_with("(unknown type)"));
    let is_small = |line: &str| line.trim_start().starts_with(['<', '0']);
    assert!(unknown.is_none_or(is_small), "{types}");
    assert!(
        !types.contains("of the peak") && !types.contains("at 0 ns"),
        "{types}"
    );
    let words = ["run", "-q", "--out", "a.hg", "--", "./server"];
    let mut recorded = Server::start(place.heapglass(&words));
    wait_until("the recording", || place.path("a.hg").exists());
    let mut command = place.heapglass(&["snapshot", "a.hg", "-o", "b.hgs"]);
    let mut snapshot = command.stderr(Stdio::piped()).spawn().unwrap();
    // The program makes its copy when it allocates.
    let is_done = |snapshot: &mut Child| snapshot.try_wait().unwrap().is_some();
    wait_until("the snapshot", || {
        recorded.ask();
        is_done(&mut snapshot)
    });
    let done = Done::from(snapshot.wait_with_output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    // Nobody asks it now, so it is copied from outside.
    let done = place.run(&["snapshot", "a.hg", "-o", "c.hgs"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("heapglass copies it"),
        "{}",
        done.stderr
    );
    recorded.finish();
    let ours = places(&profile(&place.path(&name)));
    assert!(ours.len() >= 5, "{ours:?}");
    for recorded in ["b.hgs", "c.hgs"] {
        let theirs = places(&profile(&place.path(recorded)));
        assert_eq!(ours.len(), theirs.len(), "{recorded}");
        for ((place, ours), (other, theirs)) in ours.iter().zip(&theirs) {
            assert_eq!((place, &ours[..3]), (other, &theirs[..3]), "{recorded}");
            // Words that are left over on the stack and in buffers lead to some blocks, to others
            // in each run, and these are not retained.
            let difference = ours[3].abs_diff(theirs[3]);
            assert!(difference < theirs[3] / 100, "{place}: {ours:?} {theirs:?}");
        }
    }
}

#[test]
fn a_command_that_is_killed_at_any_moment_does_not_hurt_the_program() {
    let place = Place::new();
    let mut server = Server::new(&place);
    let words = ["snapshot", &server.child.id().to_string(), "-o", "a.hgs"];
    let begun = std::time::Instant::now();
    let done = place.run(&words);
    if is_refused(&done) {
        return server.finish();
    }
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let whole = begun.elapsed();
    let kills = std::env::var("HEAPGLASS_FREEZE_KILLS");
    let kills: u32 = kills.map_or(20, |kills| kills.parse().expect("a number"));
    for kill in 0..kills {
        let mut command = place.heapglass(&words);
        let mut snapshot = command.stderr(Stdio::null()).spawn().unwrap();
        // Most of them in the first half, in which the program is copied.
        std::thread::sleep(whole * kill / kills / 2);
        let _ = snapshot.kill();
        snapshot.wait().unwrap();
        server.ask();
    }
    let done = place.run(&words);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    server.finish();
}

#[test]
fn a_command_that_is_interrupted_leaves_no_copy() {
    let place = Place::new();
    let mut server = Server::new(&place);
    let process = server.child.id().to_string();
    let done = place.run(&["snapshot", &process, "-o", "a.hgs"]);
    if is_refused(&done) {
        return server.finish();
    }
    let children = || {
        let path = format!("/proc/{process}/task/{process}/children");
        std::fs::read_to_string(path).unwrap_or_default()
    };
    for wait in [0, 5, 20, 50, 80, 120] {
        let mut command = place.heapglass(&["snapshot", &process, "-o", "b.hgs"]);
        let mut snapshot = command.stderr(Stdio::null()).spawn().unwrap();
        // Signals end heapglass as usual until its output is open.
        wait_until("the output", || {
            !place.files("b.hgs").is_empty() || wait == 0
        });
        std::thread::sleep(Duration::from_millis(wait));
        let mut kill = Command::new("kill");
        let _ = kill.args(["-INT", &snapshot.id().to_string()]).status();
        snapshot.wait().unwrap();
        server.ask();
        assert_eq!(children(), "");
        let _ = std::fs::remove_file(place.path("b.hgs"));
    }
    server.finish();
}

#[test]
fn a_program_in_namespaces_of_its_own_is_read_from_outside() {
    let place = Place::new();
    Server::build(&place);
    // Its folder is another one there, and its executable is deleted here.
    std::fs::create_dir(place.path("inside")).unwrap();
    let script =
        "mount -t tmpfs none inside && cp server inside/other && rm server && exec inside/other";
    let mut command = Command::new("unshare");
    let flags = ["--user", "--map-root-user", "--mount", "--pid", "--fork"];
    let flags = command
        .args(flags)
        .args(["--mount-proc", "sh", "-c", script]);
    flags.current_dir(place.root());
    let mut probe = Command::new("unshare");
    let probe = probe.args(["--user", "--map-root-user", "--mount", "--pid", "--fork"]);
    let probe = probe.args(["--mount-proc", "true"]).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        return skipped("namespaces of its own are not permitted here");
    }
    let server = Server::start(command);
    // `unshare` waits for the program, which is its child.
    let unshare = server.child.id();
    let path = format!("/proc/{unshare}/task/{unshare}/children");
    let process = std::fs::read_to_string(path).unwrap();
    let process = process.trim().to_owned();
    let done = place.run(&["snapshot", &process, "-o", "a.hgs"]);
    if is_refused(&done) {
        return server.finish();
    }
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let places = places(&profile(&place.path("a.hgs")));
    assert!(places.contains_key("STATE.sessions{}.user"), "{places:?}");
    server.finish();
}

#[test]
fn flags_that_mean_nothing_for_a_program_are_refused() {
    let place = Place::new();
    let server = Server::new(&place);
    let process = server.child.id().to_string();
    for (flag, says) in [
        ("--wait=5", "--wait is for programs that record"),
        (
            "--force-snapshot",
            "--force-snapshot is for programs that record",
        ),
    ] {
        let done = place.run(&["snapshot", &process, flag]);
        assert_eq!(done.status, Some(2), "{flag}");
        assert!(done.stderr.contains(says), "{flag}: {}", done.stderr);
    }
    let done = place.run(&["snapshot", &process, "--binary", "server.rs"]);
    assert!(
        is_refused(&done) || done.status == Some(2),
        "{}",
        done.stderr
    );
    place.record("done.hg");
    let done = place.run(&["snapshot", "done.hg", "--no-copy"]);
    assert_eq!(done.status, Some(2));
    assert!(
        done.stderr.contains("--no-copy is for programs"),
        "{}",
        done.stderr
    );
    let done = place.run(&["snapshot", &process, "-o", "a.hgs", "--no-copy"]);
    if !is_refused(&done) {
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        assert!(
            done.stderr.contains("stopped it and read its memory"),
            "{}",
            done.stderr
        );
    }
    server.finish();
}

//! Each signal reaches the command once, whoever sends it.

use heapglass_limits::Command;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::common::{HEAPGLASS, Place, terminal};

/// A script that counts SIGINT and SIGTERM until USR1 arrives, then prints the counts.
const COUNTER: &str = "i=0; t=0; go=1
    trap 'i=$((i+1))' INT; trap 't=$((t+1))' TERM; trap 'go=0' USR1
    echo ready $$ now; while [ $go = 1 ]; do sleep 0.02; done; echo INT $i TERM $t";

fn signal(name: &str, pid: u32) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn signals_from_another_process_are_passed_on() {
    let place = Place::new();
    let mut child = place
        .heapglass(&["run", "-q", "--", "sh", "-c", COUNTER])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("ready"));
    for name in ["INT", "TERM", "USR1"] {
        signal(name, child.id());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(lines.next().unwrap().unwrap(), "INT 1 TERM 1");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_signal_that_ends_the_command_ends_heapglass_with_the_same_status() {
    let place = Place::new();
    let mut child = place
        .heapglass(&["run", "--", "sh", "-c", "echo ready; exec sleep 60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    signal("HUP", child.id());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(129), "{stderr}");
    assert!(stderr.contains("was killed by SIGHUP"), "{stderr}");
}

#[test]
fn a_signal_ignored_from_the_start_stays_ignored() {
    let place = Place::new();
    let script =
        format!("trap '' HUP; exec {HEAPGLASS} run -q -- sh -c 'kill -HUP $$; echo alive'");
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    place.isolate(&mut command);
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "alive\n");
}

#[test]
fn ctrl_c_on_a_terminal_reaches_the_command_once() {
    let place = Place::new();
    let (mut ours, theirs) = terminal();
    // `setsid --ctty` gives the command the terminal, as a shell would.
    let mut command = Command::new("setsid");
    command.args([
        "--ctty", "--wait", HEAPGLASS, "run", "-q", "--", "sh", "-c", COUNTER,
    ]);
    place.isolate(&mut command);
    let spawned = command
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn();
    let Ok(mut child) = spawned else {
        crate::common::skipped("no setsid here");
        return;
    };
    drop(command);
    let mut seen = String::new();
    let mut read_until = |word: &str, ours: &mut File| {
        let mut buffer = [0; 256];
        while !seen.contains(word) {
            let read = ours.read(&mut buffer).unwrap_or(0);
            assert!(read > 0, "ended before {word}: {seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        seen.clone()
    };
    let seen = read_until("now", &mut ours);
    let counter: u32 = seen.split(' ').nth(1).unwrap().parse().unwrap();
    ours.write_all(b"\x03").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    signal("USR1", counter);
    let seen = read_until("TERM 0", &mut ours);
    assert!(seen.contains("INT 1 TERM 0"), "{seen}");
    assert!(child.wait().unwrap().success());
}

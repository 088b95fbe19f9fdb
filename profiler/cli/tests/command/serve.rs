//! `heapglass serve`: what it refuses, and a program that is served while it runs.

use heapglass_limits::{Child, Command};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::common::{Done, HEAPGLASS, Place, skipped, wait_until};

/// A server that ends with the test.
pub(super) struct Server {
    child: Child,
    /// Address and port.
    pub(super) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn serve(place: &Place, words: &[&str]) -> Server {
    let words = [&["serve", "--listen", "127.0.0.1:0"], words].concat();
    let mut command = place.heapglass(&words);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    said.read_line(&mut line).unwrap();
    let address = line
        .split("http://")
        .nth(1)
        .unwrap_or_else(|| panic!("{line}"));
    let address = address.trim_end_matches("/\n").to_owned();
    Server { child, address }
}

impl Server {
    pub(super) fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let (head, body) = self.exchange(path);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }

    /// Returns the head of the response, and its body.
    pub(super) fn exchange(&self, path: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let body = bytes.split_off(end + 4);
        (String::from_utf8(bytes).unwrap(), body)
    }
}

#[test]
fn what_other_machines_reach_needs_a_token() {
    let place = Place::new();
    fs::write(place.path("short"), "0123").unwrap();
    let refused = |words: &[&str]| -> String {
        let done = place.run(&[&["serve", "x.hg"], words].concat());
        assert_eq!(done.status, Some(2), "{words:?} {}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        done.stderr
    };
    assert!(refused(&["--listen", "0.0.0.0:0"]).contains("--token-file"));
    assert!(refused(&["--listen", "[::]:0"]).contains("HEAPGLASS_TOKEN"));
    assert!(refused(&["--listen", "example.com:80"]).contains("such as 127.0.0.1:6060"));
    assert!(refused(&["--listen", "6060"]).contains("such as 127.0.0.1:6060"));
    assert!(refused(&["--token-file", "none"]).contains("none: "));
    let short = refused(&["--token-file", "short"]);
    assert!(short.contains("short: a token has 16 to 4096 characters") && !short.contains("0123"));
    assert!(refused(&["--token-file", "/dev/zero"]).contains("/dev/zero: too large"));
    let words = ["serve", "x.hg", "--listen", "127.0.0.1:0"];
    let done = place
        .heapglass(&words)
        .env("HEAPGLASS_TOKEN", "0123")
        .output();
    let done = Done::from(done.unwrap());
    assert_eq!(done.status, Some(2));
    assert!(
        done.stderr.contains("HEAPGLASS_TOKEN: a token has"),
        "{}",
        done.stderr
    );
    let done = place
        .heapglass(&words)
        .env(
            "HEAPGLASS_TOKEN",
            OsStr::from_bytes(b"0123456789abcdef\xff"),
        )
        .output();
    let done = Done::from(done.unwrap());
    assert_eq!(done.status, Some(2));
    assert!(
        done.stderr
            .contains("HEAPGLASS_TOKEN has bytes that are not UTF-8"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_program_is_served_while_it_runs_and_afterwards() {
    let place = Place::new();
    let pipe = place.pipe("input.pipe");
    let server = serve(&place, &["x.hg"]);
    assert_eq!(server.get("/metrics").0, 503);
    let mut run = place.record_from("x.hg", "input.pipe").spawn().unwrap();
    let metric = |name: &str| {
        let (status, body) = server.get("/metrics");
        let text = String::from_utf8(body).unwrap();
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        (status, value)
    };
    wait_until("the program", || {
        metric("heapglass_running") == (200, Some(1.0))
    });
    let before = metric("heapglass_allocated_blocks_total ").1.unwrap();
    fs::write(pipe, crate::common::INPUT).unwrap();
    assert!(run.wait().unwrap().success());
    wait_until("the end", || {
        metric("heapglass_running") == (200, Some(0.0))
    });
    let after = metric("heapglass_allocated_blocks_total ").1.unwrap();
    assert!(after > before, "{before} {after}");
    let totals = place.report("x.hg")["totals"].clone();
    assert_eq!(totals["total_blocks"].as_f64(), Some(after));
}

#[test]
fn go_reads_the_served_profiles() {
    let Ok(tool) = Command::new("go").args(["tool", "-n", "pprof"]).output() else {
        return skipped("go is not installed");
    };
    if !tool.status.success() {
        return skipped("go has no pprof");
    }
    let place = Place::new();
    place.record("x.hg");
    let server = serve(&place, &[".", "--binary", HEAPGLASS]);
    let top = |url: &str| {
        let mut command = Command::new("go");
        command
            .args(["tool", "pprof", "-top", "-cum", "-unit=B", url])
            .env("PPROF_TMPDIR", place.root());
        Done::from(command.output().unwrap())
    };
    let pages = [
        ("heap", "inuse_space", "live_bytes"),
        ("allocs", "alloc_space", "total_bytes"),
    ];
    let totals = &place.report("x.hg")["totals"];
    for (page, shown, key) in pages {
        let url = format!("http://{}/p/x.hg/debug/pprof/{page}", server.address);
        let done = top(&url);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        assert!(
            done.stdout.contains(&format!("Type: {shown}")),
            "{}",
            done.stdout
        );
        let total = format!("Total samples = {}B", totals[key]);
        assert!(done.stdout.contains(&total), "{total}: {}", done.stdout);
        assert!(done.stdout.contains("alloc::"), "{}", done.stdout);
    }
    let window = format!(
        "http://{}/p/x.hg/debug/pprof/heap?seconds=1",
        server.address
    );
    let done = top(&window);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("Total samples = 0"), "{}", done.stdout);
}

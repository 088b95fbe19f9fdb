//! The rules of those that collect profiles, applied as their sources have them: Parca, Grafana
//! Alloy, and the push API of Pyroscope with the default limits of its servers.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::common::{INPUT, Place, wait_until};
use crate::serve::serve;

#[path = "../../../tests/decoded/mod.rs"]
mod decoded;

use decoded::{decode, message, position, string};

/// Returns the sum of a sample type.
fn total(profile: &message::Profile, name: &str) -> i64 {
    let at = position(profile, name);
    profile.sample.iter().map(|sample| sample.value[at]).sum()
}

/// The checks that Parca makes of a profile before it stores it.
fn validate_as_parca(profile: &message::Profile) {
    assert_eq!(profile.string_table[0], "");
    let strings = 0..profile.string_table.len() as i64;
    let in_sequence =
        |ids: Vec<u64>| assert!(ids.iter().copied().eq(1..=ids.len() as u64), "{ids:?}");
    in_sequence(profile.mapping.iter().map(|of| of.id).collect());
    in_sequence(profile.location.iter().map(|of| of.id).collect());
    in_sequence(profile.function.iter().map(|of| of.id).collect());
    let period_type = profile.period_type.as_ref().expect("a type of the period");
    for of in profile.sample_type.iter().chain([period_type]) {
        assert!(strings.contains(&of.r#type) && strings.contains(&of.unit));
        assert!(of.r#type > 0 && of.unit > 0);
    }
    for function in &profile.function {
        assert!(function.name > 0 && strings.contains(&function.name));
        assert!(strings.contains(&function.filename));
    }
    for location in &profile.location {
        assert!(location.mapping_id <= profile.mapping.len() as u64);
        let functions = 1..=profile.function.len() as u64;
        assert!(
            location
                .line
                .iter()
                .all(|line| functions.contains(&line.function_id))
        );
        assert!(
            !location.line.is_empty(),
            "functions have names inside the profile"
        );
    }
    for sample in &profile.sample {
        assert_eq!(sample.value.len(), profile.sample_type.len());
        let locations = 1..=profile.location.len() as u64;
        assert!(sample.location_id.iter().all(|id| locations.contains(id)));
        for label in &sample.label {
            assert!(label.key > 0 && strings.contains(&label.key) && strings.contains(&label.str));
        }
    }
    let sampled: HashSet<&str> = profile
        .sample_type
        .iter()
        .map(|of| string(profile, of.r#type))
        .collect();
    assert_eq!(sampled.len(), profile.sample_type.len(), "no type twice");
}

/// The checks that a server of Pyroscope makes, with its default limits.
fn validate_as_pyroscope(profile: &message::Profile, uncompressed_bytes: usize) {
    assert!(uncompressed_bytes <= 4 << 20);
    assert!(profile.sample.len() <= 16_000);
    assert!(
        profile
            .sample
            .iter()
            .all(|sample| sample.label.len() <= 100)
    );
    assert!(profile.location.iter().all(|location| location.id != 0));
    assert!(profile.function.iter().all(|function| function.id != 0));
    for of in &profile.sample_type {
        assert!(!string(profile, of.r#type).contains('-'));
    }
}

#[test]
fn what_is_served_passes_the_checks_of_parca_and_alloy() {
    let place = Place::new();
    place.record("x.hg");
    let server = serve(&place, &["x.hg"]);
    // What a viewer shows first is that of Go's pages.
    for (page, first) in [
        ("allocs", "alloc_space"),
        ("heap", "inuse_space"),
        ("allocs?seconds=1", "alloc_space"),
        ("heap?seconds=1", "inuse_space"),
        ("delta_heap?seconds=1", "alloc_space"),
    ] {
        let (head, body) = server.exchange(&format!("/debug/pprof/{page}"));
        let head = head.to_lowercase();
        // Parca takes exactly 200 and follows no redirect; Alloy takes nothing but this type.
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(
            head.contains("\r\ncontent-type: application/octet-stream\r\n"),
            "{head}"
        );
        assert!(!body.is_empty());
        let (profile, bytes) = decode(&body);
        validate_as_parca(&profile);
        validate_as_pyroscope(&profile, bytes);
        assert_eq!(
            string(&profile, profile.default_sample_type),
            first,
            "{page}"
        );
    }
    let (_, body) = server.get("/debug/pprof/allocs");
    let totals = place.report("x.hg")["totals"].clone();
    let (profile, _) = decode(&body);
    assert_eq!(
        Some(total(&profile, "alloc_space")),
        totals["total_bytes"].as_i64()
    );
    assert_eq!(
        Some(total(&profile, "peak_space")),
        totals["peak_bytes"].as_i64()
    );
}

/// The head and the body of a push.
type Push = (String, serde_json::Value);

/// A server that accepts every push, and passes on the head and the body of each.
fn pyroscope() -> (String, Receiver<Push>) {
    let (port, pushes) = accept_pushes(|stream| stream);
    (format!("http://127.0.0.1:{port}"), pushes)
}

/// Accepts every push on a port, over connections as `open` returns them.
pub(super) fn accept_pushes<S: Read + Write>(
    open: impl Fn(TcpStream) -> S + Send + 'static,
) -> (u16, Receiver<Push>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = open(stream.unwrap());
            let Ok(push) = read_push(&mut stream) else {
                continue;
            };
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                .unwrap();
            if sender.send(push).is_err() {
                return;
            }
        }
    });
    (port, receiver)
}

/// Fails if the client ends the connection first.
fn read_push(stream: &mut impl Read) -> std::io::Result<Push> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec())
            .unwrap()
            .to_lowercase();
        let length: usize = head
            .split("content-length: ")
            .nth(1)
            .unwrap()
            .split("\r\n")
            .next()
            .unwrap()
            .parse()
            .unwrap();
        if bytes.len() >= end + 4 + length {
            return Ok((head, serde_json::from_slice(&bytes[end + 4..]).unwrap()));
        }
    }
}

/// Checks a push request. Returns its profile, and its labels as text.
fn pushed(head: &str, body: &serde_json::Value) -> (message::Profile, Vec<String>) {
    assert!(
        head.starts_with("post /push.v1.pusherservice/push http/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("\r\ncontent-type: application/json"),
        "{head}"
    );
    let series = body["series"].as_array().unwrap();
    assert_eq!(series.len(), 1);
    let labels = series[0]["labels"].as_array().unwrap();
    let pair = |of: &serde_json::Value| {
        format!(
            "{}={}",
            of["name"].as_str().unwrap(),
            of["value"].as_str().unwrap()
        )
    };
    let labels: Vec<String> = labels.iter().map(pair).collect();
    assert!(labels.len() <= 30);
    let samples = series[0]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 1);
    let packed = STANDARD
        .decode(samples[0]["rawProfile"].as_str().unwrap())
        .unwrap();
    let (profile, bytes) = decode(&packed);
    validate_as_parca(&profile);
    validate_as_pyroscope(&profile, bytes);
    (profile, labels)
}

#[test]
fn what_is_pushed_once_has_everything_so_far() {
    let place = Place::new();
    place.record("x.hg");
    let (url, requests) = pyroscope();
    let words = [
        "push",
        "x.hg",
        "--to",
        "pyroscope",
        &url,
        "--once",
        "--label",
        "region=eu",
    ];
    let done = place
        .heapglass(&words)
        .env("HEAPGLASS_PUSH_TOKEN", "abc")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let (head, body) = requests.recv_timeout(heapglass_limits::limit()).unwrap();
    assert!(head.contains("\r\nauthorization: bearer abc"), "{head}");
    let (profile, labels) = pushed(&head, &body);
    // The program has ended, so the time since then is no part of the profile.
    let recorded_ns = place.report("x.hg")["duration_ns"].clone();
    assert_eq!(Some(profile.duration_nanos), recorded_ns.as_i64());
    assert_eq!(
        labels,
        ["__name__=memory", "service_name=heapglass", "region=eu"]
    );
    let totals = place.report("x.hg")["totals"].clone();
    assert_eq!(
        Some(total(&profile, "alloc_space")),
        totals["total_bytes"].as_i64()
    );
    assert_eq!(
        Some(total(&profile, "inuse_space")),
        totals["live_bytes"].as_i64()
    );
    let comments = profile.comment.iter().map(|&text| string(&profile, text));
    assert!(
        !comments.collect::<String>().contains("input.json"),
        "no arguments"
    );
}

#[test]
fn what_is_pushed_again_and_again_adds_up_to_everything() {
    let place = Place::new();
    let pipe = place.pipe("input.pipe");
    let (url, requests) = pyroscope();
    let words = ["push", "x.hg", "--to", "pyroscope", &url, "--every", "0.2s"];
    let mut push = place
        .heapglass(&words)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(push.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("waiting for it"), "{line}");
    let mut run = place.record_from("x.hg", "input.pipe").spawn().unwrap();
    let mut profiles = Vec::new();
    let mut take = |patience: Duration| {
        let request = requests.recv_timeout(patience).ok();
        profiles.extend(request.iter().map(|(head, body)| pushed(head, body).0));
        request.is_some()
    };
    assert!(take(heapglass_limits::limit()), "before the input");
    assert!(take(heapglass_limits::limit()), "while it waits");
    fs::write(pipe, INPUT).unwrap();
    assert!(run.wait().unwrap().success());
    wait_until("the end", || push.try_wait().unwrap().is_some());
    assert!(push.wait().unwrap().success());
    while take(Duration::from_millis(100)) {}
    assert!(profiles.len() >= 3);
    let totals = place.report("x.hg")["totals"].clone();
    let sum = |name: &str| {
        profiles
            .iter()
            .map(|profile| total(profile, name))
            .sum::<i64>()
    };
    assert_eq!(Some(sum("alloc_objects")), totals["total_blocks"].as_i64());
    assert_eq!(Some(sum("alloc_space")), totals["total_bytes"].as_i64());
    let last = profiles.last().unwrap();
    assert_eq!(
        Some(total(last, "inuse_space")),
        totals["live_bytes"].as_i64()
    );
    for pair in profiles.windows(2) {
        let end = pair[0].time_nanos + pair[0].duration_nanos;
        assert_eq!(end, pair[1].time_nanos, "windows follow each other");
    }
}

#[test]
fn a_push_that_cannot_work_is_one_line_of_error() {
    let place = Place::new();
    place.record("x.hg");
    for (words, text) in [
        (
            &["push", "x.hg", "--to", "pyroscope", "http://u:s3cret@h"][..],
            "HEAPGLASS_PUSH_USER",
        ),
        (
            &[
                "push",
                "x.hg",
                "--to",
                "pyroscope",
                "http://127.0.0.1:1",
                "--every",
                "1s",
            ],
            "has ended; push the whole recording with --once",
        ),
        (
            &[
                "push",
                "none.hg",
                "--to",
                "pyroscope",
                "http://127.0.0.1:1",
                "--once",
            ],
            "nothing is recorded",
        ),
        #[cfg(not(feature = "https"))]
        (
            &["push", "x.hg", "--to", "pyroscope", "https://h", "--once"],
            "built without TLS",
        ),
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?} {}", done.stderr);
        assert!(done.stderr.contains(text), "{}", done.stderr);
        assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
}

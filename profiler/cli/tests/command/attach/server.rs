//! A server under load, whose answers are checked: Python's, or the one that `HEAPGLASS_SERVER`
//! names (`.ci/release attach`), which says its address as `http://ADDRESS:PORT/`.

use super::{is_refused, start};
use crate::common::Place;
use heapglass_limits::{Child, Command, rounds};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ChildStdin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const CLIENTS: usize = 4;
/// Paths that are asked for.
const PATHS: usize = 16;

/// A server that ends with the test.
struct Server {
    child: Child,
    _input: ChildStdin,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(place: &Place) -> Option<Server> {
        std::fs::create_dir(place.path("orders")).unwrap();
        for number in 0..PATHS {
            let text = format!("order {number}\n").repeat(1000 + number);
            std::fs::write(place.path(&format!("orders/{number}")), text).unwrap();
        }
        let mut command = match std::env::var_os("HEAPGLASS_SERVER") {
            Some(server) => Command::new(server),
            None => {
                let mut python = Command::new("python3");
                python.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]);
                python
            }
        };
        command.current_dir(place.root());
        let (mut child, line) = start(&mut command, "there is no server")?;
        let (_, url) = line
            .split_once("http://")
            .unwrap_or_else(|| panic!("{line}"));
        let address = url.split('/').next().unwrap().to_owned();
        let input = child.stdin.take().unwrap();
        Some(Server {
            child,
            _input: input,
            address,
        })
    }

    fn get(&self, number: usize) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        let request =
            format!("GET /orders/{number} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains(" 200 "), "{head}");
        body.to_owned()
    }

    /// Asks again and again until it is told to stop. Returns how long each answer took, and in
    /// which part of the test.
    fn ask(
        &self,
        expected: &[String],
        part: &AtomicUsize,
        stops: &AtomicBool,
    ) -> Vec<(usize, Duration)> {
        let mut took = Vec::new();
        for number in (0..expected.len()).cycle() {
            if stops.load(Relaxed) {
                break;
            }
            let (begun, at) = (Instant::now(), part.load(Relaxed));
            assert!(self.get(number) == expected[number], "another answer");
            took.push((at, begun.elapsed()));
        }
        took
    }
}

/// Stops the clients even if a check fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_server_under_load_gives_the_same_answers_while_it_is_recorded() {
    let place = Place::new();
    let Some(server) = Server::start(&place) else {
        return;
    };
    let id = server.child.id().to_string();
    let expected: Vec<String> = (0..PATHS).map(|number| server.get(number)).collect();
    let (part, stops) = (AtomicUsize::new(0), AtomicBool::new(false));
    let all = Mutex::new(Vec::new());
    let pause = Duration::from_millis(rounds(100, 1000) as u64);
    std::thread::scope(|scope| {
        let _stop = Stop(&stops);
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let took = server.ask(&expected, &part, &stops);
                all.lock().unwrap().extend(took);
            });
        }
        for round in 0..rounds(2, 20) {
            std::thread::sleep(pause);
            part.store(2, Relaxed);
            let recording = format!("server-{round}.hg");
            let done = place.run(&["attach", &id, "-o", &recording]);
            if is_refused(&done) {
                break;
            }
            assert_eq!(done.status, Some(0), "{}", done.stderr);
            part.store(1, Relaxed);
            std::thread::sleep(pause);
            part.store(2, Relaxed);
            let done = place.run(&["detach", &id]);
            assert_eq!(done.status, Some(0), "{}", done.stderr);
            assert!(place.report(&recording)["totals"]["total_bytes"].as_u64() > Some(0));
            part.store(0, Relaxed);
        }
    });
    let all = all.into_inner().unwrap();
    for (at, name) in ["not recorded", "recorded", "while a command runs"]
        .into_iter()
        .enumerate()
    {
        let mut took: Vec<Duration> = all.iter().filter(|of| of.0 == at).map(|of| of.1).collect();
        took.sort_unstable();
        if let Some(last) = took.len().checked_sub(1) {
            let [half, most] = [50, 99].map(|percent| took[last * percent / 100]);
            println!("{name}: {} answers, p50 {half:?}, p99 {most:?}", took.len());
        }
    }
}

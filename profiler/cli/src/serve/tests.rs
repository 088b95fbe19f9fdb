//! A server on a free port, asked over TCP as a client would: by bytes.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use heapglass_profiler::OpenOptions;

use super::{Access, Limits, Place, Recordings, SharedSite, Site, Token, serve};

const TOKEN: &str = "0123456789abcdef-token";

/// A server that ends with the process.
struct Server {
    address: SocketAddr,
    site: SharedSite,
}

fn start(place: Place, token: Option<&str>, limits: Limits) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let token = token.map(|text| Token::new(text, &"test").unwrap());
    let site = Arc::new(Site {
        recordings: Recordings::new(place, OpenOptions::default()),
        access: Access::new(address, token).unwrap(),
        address,
    });
    let of_server = Arc::clone(&site);
    thread::spawn(move || serve(listener, of_server, limits));
    Server { address, site }
}

/// A response, taken apart.
#[derive(Debug)]
struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

impl Server {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        let patience = Some(heapglass_limits::limit());
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    /// Sends bytes and reads to the end of the connection.
    fn exchange(&self, request: &[u8]) -> Option<Response> {
        let mut stream = self.connect();
        // The server may answer and close before it has read a request that is too large.
        let _ = stream.write_all(request);
        response(stream)
    }

    fn request(&self, line: &str, headers: &str) -> Response {
        let request = format!("{line} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.exchange(request.as_bytes()).expect("a response")
    }

    fn get(&self, path: &str) -> Response {
        self.request(&format!("GET {path}"), "")
    }
}

fn response(mut stream: TcpStream) -> Option<Response> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    Some(Response {
        status: head.split(' ').nth(1)?.parse().ok()?,
        body: bytes.split_off(end + 4),
        head,
    })
}

/// Copies a recording that is part of the tests.
fn recording(name: &str, to: &Path) {
    let file = heapglass_fixture::recording(name);
    fs::copy(file.as_ref(), to).unwrap();
}

fn one_file(folder: &tempfile::TempDir) -> (PathBuf, Server) {
    let path = folder.path().join("app.hg");
    recording("shop-profiled", &path);
    let server = start(Place::File(path.clone()), None, Limits::default());
    (path, server)
}

#[test]
fn profiles_have_the_headers_that_scrapers_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_, server) = one_file(&folder);
    for (name, path) in [
        ("allocs", "/debug/pprof/allocs"),
        ("heap", "/debug/pprof/heap"),
    ] {
        let got = server.get(path);
        assert_eq!(got.status, 200, "{}", got.head);
        assert_eq!(got.header("Content-Type"), Some("application/octet-stream"));
        assert_eq!(got.header("X-Content-Type-Options"), Some("nosniff"));
        let file = format!("attachment; filename=\"{name}\"");
        assert_eq!(got.header("Content-Disposition"), Some(&*file));
        let length = got.body.len().to_string();
        assert_eq!(got.header("Content-Length"), Some(&*length));
        assert_eq!(got.header("Content-Encoding"), None);
        assert_eq!(got.body[..2], [0x1f, 0x8b], "gzip");
        let head = server.request(&format!("HEAD {path}"), "");
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("Content-Length"), Some(&*length));
        assert_eq!(head.header("Content-Type"), got.header("Content-Type"));
    }
}

#[test]
fn other_pages_are_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let (_, server) = one_file(&folder);
    let index = server.get("/");
    assert_eq!(
        index.header("Content-Type"),
        Some("text/html; charset=utf-8")
    );
    assert!(
        index
            .header("Content-Security-Policy")
            .unwrap()
            .contains("default-src 'none'")
    );
    assert!(index.text().contains("<a href=\"/flamegraph.svg\">"));
    assert_eq!(server.get("/debug/pprof/").body, index.body);
    let picture = server.get("/flamegraph.svg");
    assert_eq!(picture.header("Content-Type"), Some("image/svg+xml"));
    assert!(picture.text().starts_with("<?xml"));
    let metrics = server.get("/metrics");
    assert!(
        metrics
            .header("Content-Type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let profile = heapglass_fixture::real("shop-profiled");
    let totals = profile.totals();
    for (name, value) in [
        ("live_bytes", totals.live_bytes),
        ("peak_bytes", totals.peak_bytes),
        ("allocated_bytes_total", totals.total_bytes),
        ("allocated_blocks_total", totals.total_blocks),
        ("freed_blocks_total", totals.freed_blocks),
    ] {
        let line = format!("\nheapglass_{name} {value}\n");
        assert!(metrics.text().contains(&line), "{line}{}", metrics.text());
    }
    for path in [
        "/nothing",
        "/p/app.hg/metrics",
        "/p/app.hg/",
        "/../etc/passwd",
        "/debug/pprof/heap/",
    ] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}

#[test]
fn only_get_and_head_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (_, server) = one_file(&folder);
    for method in [
        "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "MADE-UP",
    ] {
        let got = server.request(&format!("{method} /metrics"), "Content-Length: 0\r\n");
        assert_eq!(got.status, 405, "{method}");
        assert_eq!(got.header("Allow"), Some("GET, HEAD"));
    }
}

#[test]
fn a_web_page_with_a_name_that_leads_here_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (_, server) = one_file(&folder);
    let port = server.address.port();
    let status = |request: String| server.exchange(request.as_bytes()).map(|got| got.status);
    let ask = |target: &str, hosts: &str| status(format!("GET {target} HTTP/1.1\r\n{hosts}\r\n"));
    let own = format!("Host: 127.0.0.1:{port}\r\n");
    assert_eq!(ask("/metrics", &own), Some(200));
    assert_eq!(ask("/metrics", "Host: [::1]:1\r\n"), Some(200));
    assert_eq!(ask("/metrics", "Host: evil.example\r\n"), Some(403));
    assert_eq!(
        ask("/metrics", &format!("Host: evil.example:{port}\r\n")),
        Some(403)
    );
    assert_eq!(ask("/metrics", ""), Some(403));
    assert_eq!(
        ask("/metrics", &format!("{own}Host: evil.example\r\n")),
        Some(403)
    );
    assert_eq!(ask("http://evil.example/metrics", &own), Some(403));
    assert_eq!(ask("http://127.0.0.1/metrics", &own), Some(200));
    // Nothing was read for those that were refused.
    assert_eq!(server.site.recordings.readings.load(Relaxed), 1);
}

#[test]
fn without_the_token_there_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.hg");
    recording("shop", &path);
    let server = start(Place::File(path), Some(TOKEN), Limits::default());
    let with = |header: String| server.request("GET /metrics", &header);
    assert_eq!(
        with(format!("Authorization: Bearer {TOKEN}\r\n")).status,
        200
    );
    assert_eq!(
        with(format!("authorization: bEARER {TOKEN}\r\n")).status,
        200
    );
    for wrong in [
        String::new(),
        "Authorization: Bearer \r\n".to_owned(),
        "Authorization: Bearer\r\n".to_owned(),
        format!("Authorization: {TOKEN}\r\n"),
        format!("Authorization: Basic {TOKEN}\r\n"),
        format!("Authorization: Bearer {TOKEN}x\r\n"),
        format!("Authorization: Bearer {}\r\n", &TOKEN[1..]),
        format!("Authorization: Bearer x\r\nAuthorization: Bearer {TOKEN}\r\n"),
        format!("Cookie: token={TOKEN}\r\n"),
    ] {
        let got = with(wrong.clone());
        assert_eq!(got.status, 401, "{wrong}");
        assert_eq!(got.header("WWW-Authenticate"), Some("Bearer"));
        assert!(!got.text().contains(TOKEN));
    }
    // A page that does not exist says no more without the token than one that does.
    assert_eq!(server.get("/nothing").status, 401);
    assert_eq!(server.request("POST /", "").status, 401);
}

#[test]
fn further_connections_wait_until_there_is_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.hg");
    recording("shop", &path);
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let server = start(Place::File(path), None, limits);
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let (first, second) = (server.connect(), server.connect());
    // The server has accepted these two before it accepts a third.
    let mut third = server.connect();
    third.write_all(request).unwrap();
    third
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let early = third.read(&mut [0; 1]);
    assert!(early.is_err(), "answered beside two others: {early:?}");
    drop(first);
    third
        .set_read_timeout(Some(heapglass_limits::limit()))
        .unwrap();
    assert_eq!(response(third).unwrap().status, 200);
    drop(second);
}

#[test]
fn clients_that_send_nothing_or_a_part_lose_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.hg");
    recording("shop", &path);
    let limits = Limits {
        connections: 1,
        request: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = start(Place::File(path), None, limits);
    for part in [
        "",
        "GET /met",
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\n",
    ] {
        let mut held = server.connect();
        held.write_all(part.as_bytes()).unwrap();
        assert_eq!(server.get("/metrics").status, 200, "after {part:?}");
        drop(held);
    }
}

#[test]
fn a_client_that_never_takes_its_answer_loses_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..900 {
        // Long names make the list longer than what the kernel buffers.
        let name = format!("{}{number}.hg", "<".repeat(200));
        recording_header(&folder.path().join(name));
    }
    let limits = Limits {
        connections: 1,
        taken: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = start(Place::Folder(folder.path().to_owned()), None, limits);
    let mut held = server.connect();
    held.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    held.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.get("/nothing").status, 404);
    drop(held);
}

/// Writes the first bytes of a recording, enough to be listed.
fn recording_header(path: &Path) {
    use std::sync::OnceLock;
    static HEADER: OnceLock<Vec<u8>> = OnceLock::new();
    let header = HEADER.get_or_init(|| {
        let file = heapglass_fixture::recording("shop");
        fs::read(file.as_ref()).unwrap()[..4096].to_vec()
    });
    fs::write(path, header).unwrap();
}

#[test]
fn a_folder_lists_what_it_serves() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    recording("shop", &at("app.hg"));
    recording("shop-profiled", &at("<b>&\"%41 '.hg"));
    let odd = OsStr::from_bytes(b"\xff\n.hg");
    recording("shop", &folder.path().join(odd));
    fs::write(at("notes.txt"), "notes").unwrap();
    fs::write(at("empty.hg"), "").unwrap();
    fs::create_dir(at("below")).unwrap();
    recording("shop", &at("below/inner.hg"));
    symlink(at("app.hg"), at("link.hg")).unwrap();
    symlink("/etc/passwd", at("passwd.hg")).unwrap();
    symlink(at("nowhere"), at("dangling.hg")).unwrap();
    let pipe = heapglass_limits::Command::new("mkfifo")
        .arg(at("pipe.hg"))
        .status();
    assert!(pipe.unwrap().success());
    let server = start(
        Place::Folder(folder.path().to_owned()),
        None,
        Limits::default(),
    );
    let index = server.get("/");
    assert_eq!(index.status, 200);
    let paths: Vec<&str> = index
        .text()
        .split("href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(paths.len(), 3, "{}", index.text());
    assert!(!index.text().contains("<b>"), "{}", index.text());
    for path in [
        "/p/app.hg/",
        "/p/%3Cb%3E%26%22%2541%20%27.hg/",
        "/p/%FF%0A.hg/",
    ] {
        assert!(paths.contains(&path), "{path} {paths:?}");
        let page = server.get(path);
        assert_eq!(page.status, 200, "{path} {}", page.text());
        assert!(
            page.text()
                .contains(&format!("href=\"{path}debug/pprof/heap\""))
        );
        assert_eq!(server.get(&format!("{path}debug/pprof/allocs")).status, 200);
    }
    for (name, status) in [
        ("link.hg", 404),
        ("passwd.hg", 404),
        ("dangling.hg", 404),
        ("pipe.hg", 404),
        ("below", 404),
        ("notes.txt", 503),
        ("empty.hg", 503),
        ("nothing.hg", 503),
        ("..", 404),
        ("%2e%2e", 404),
        ("below%2finner.hg", 404),
        ("below/inner.hg", 404),
    ] {
        let got = server.get(&format!("/p/{name}/metrics"));
        assert_eq!(got.status, status, "{name} {}", got.text());
        assert!(!got.text().contains("root:"));
    }
    assert_eq!(server.get("/metrics").status, 404);
}

#[test]
fn a_path_may_be_empty_appear_change_and_vanish() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.hg");
    let server = start(Place::File(path.clone()), None, Limits::default());
    let program = || {
        let got = server.get("/metrics");
        let program = got.text().split("program=\"").nth(1).map(str::to_owned);
        (
            got.status,
            program.and_then(|rest| Some(rest.split('"').next()?.to_owned())),
        )
    };
    let replace = |name: &str| {
        let next = folder.path().join("next");
        recording(name, &next);
        fs::rename(&next, &path).unwrap();
        // What was read is given out for a second.
        thread::sleep(super::recordings::FRESH);
    };
    let got = server.get("/debug/pprof/allocs");
    assert_eq!(got.status, 503);
    assert_eq!(
        got.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(got.text().contains("nothing is recorded"), "{}", got.text());
    replace("shop");
    assert_eq!(program(), (200, Some("shop".to_owned())));
    replace("rg");
    assert_eq!(program(), (200, Some("rg".to_owned())));
    fs::remove_file(&path).unwrap();
    assert_eq!(program().0, 503);
    fs::write(&path, vec![7; 100_000]).unwrap();
    assert_eq!(program().0, 404);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(program().0, 404);
    fs::remove_dir(&path).unwrap();
    recording("shop", &path);
    let whole = fs::metadata(&path).unwrap().len();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(whole / 2)
        .unwrap();
    assert_eq!(program().0, 500);
    recording("shop", &path);
    assert_eq!(program(), (200, Some("shop".to_owned())));
}

#[test]
fn a_recording_that_did_not_change_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, server) = one_file(&folder);
    let readings = || server.site.recordings.readings.load(Relaxed);
    for path in ["/metrics", "/debug/pprof/heap", "/debug/pprof/allocs", "/"] {
        assert_eq!(server.get(path).status, 200);
    }
    thread::sleep(super::recordings::FRESH);
    assert_eq!(server.get("/metrics").status, 200);
    assert_eq!(readings(), 1);
    recording("shop", &path);
    thread::sleep(super::recordings::FRESH);
    assert_eq!(server.get("/metrics").status, 200);
    assert_eq!(readings(), 2);
}

#[test]
fn a_hundred_requests_at_once_are_answered_from_one_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.hg");
    recording("rg", &path);
    let server = start(Place::File(path), None, Limits::default());
    let answers: Vec<Response> = thread::scope(|scope| {
        let asked: Vec<_> = (0..100)
            .map(|_| scope.spawn(|| server.get("/debug/pprof/allocs")))
            .collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for answer in &answers {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, answers[0].body);
    }
    assert_eq!(server.site.recordings.readings.load(Relaxed), 1);
}

#[test]
fn windows_are_of_the_time_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_, server) = one_file(&folder);
    for (path, status) in [
        ("/debug/pprof/heap?seconds=301", 400),
        ("/debug/pprof/heap?seconds=x", 400),
        ("/debug/pprof/heap?seconds=-1", 400),
        ("/debug/pprof/delta_heap", 400),
        ("/debug/pprof/delta_heap?seconds=0", 400),
        ("/debug/pprof/heap?seconds=0", 200),
        ("/debug/pprof/heap?debug=0", 200),
    ] {
        assert_eq!(server.get(path).status, status, "{path}");
    }
    for page in ["heap", "allocs", "delta_heap"] {
        let got = server.get(&format!("/debug/pprof/{page}?seconds=1"));
        assert_eq!(got.status, 200, "{page}");
        assert_eq!(got.body[..2], [0x1f, 0x8b]);
    }
}

#[test]
fn hostile_requests_end_and_harm_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (_, server) = one_file(&folder);
    let long = "x".repeat(100_000);
    for request in [
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(2000)),
        "\r\n\r\n\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0".to_owned() + "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
        "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
    ] {
        let got = server.exchange(request.as_bytes());
        let shown = &request[..request.len().min(60)];
        assert!(got.is_none_or(|got| got.status < 500), "{shown:?}");
        assert_eq!(server.get("/").status, 200, "after {shown:?}");
    }
}

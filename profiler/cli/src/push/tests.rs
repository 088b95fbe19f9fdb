//! Pushing to a server of the test, which answers as it is told.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use heapglass_profiler::OpenOptions;

use super::{Credentials, Labels, Patience, Push, Target, once, parse_label};
use crate::error::Error;

const SECRET: &str = "s3cret-t0ken";

/// The reaction of a server to a connection.
#[derive(Clone, Copy, Debug)]
enum Does {
    Answers(&'static str),
    /// Repeats the request in its answer, with this status.
    Echoes(u16),
    /// Answers without end.
    Floods,
    Closes,
    Waits,
}

const OK: Does = Does::Answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");

struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server that treats its connections one after the other like this, and is gone
    /// afterwards.
    fn start(does: &[Does]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut does: VecDeque<Does> = does.iter().copied().collect();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            while let Some(does) = does.pop_front() {
                let (mut stream, _) = listener.accept().unwrap();
                let request = read_request(&mut stream);
                seen.lock().unwrap().push(request.clone());
                let _ = match does {
                    Does::Answers(text) => stream.write_all(text.as_bytes()),
                    Does::Echoes(status) => write!(
                        stream,
                        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{request}",
                        request.len()
                    ),
                    Does::Floods => {
                        let _ = stream.write_all(b"HTTP/1.1 400 X\r\n\r\n");
                        while stream.write_all(&[b'x'; 4096]).is_ok() {}
                        Ok(())
                    }
                    Does::Closes => Ok(()),
                    Does::Waits => {
                        thread::spawn(move || {
                            thread::sleep(Duration::from_secs(60));
                            drop(stream);
                        });
                        Ok(())
                    }
                };
            }
        });
        Server { address, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Reads the headers of a request, then its body.
fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let length = text
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= length.unwrap_or(0)
        {
            // The body is long and is tested where a program is recorded.
            return head.to_owned();
        }
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return text,
        }
    }
}

fn variables(pairs: &[(&str, &str)]) -> Result<Option<Credentials>, Error> {
    Credentials::find(|name| {
        let found = pairs.iter().find(|(key, _)| *key == name);
        Ok(found.map(|(_, value)| (*value).to_owned()))
    })
}

/// Pushes a recording once; returns the error.
fn push(server: &Server, token: Option<&str>) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("shop.hg");
    fs::copy(heapglass_fixture::recording("shop").as_ref(), &file).unwrap();
    let credentials = token.map(|token| {
        let found = variables(&[("HEAPGLASS_PUSH_TOKEN", token)]);
        found.unwrap().unwrap()
    });
    let push = Push {
        file,
        options: OpenOptions::default(),
        target: Target::parse(&format!("http://{}/base/", server.address)).unwrap(),
        credentials,
        labels: Labels::default(),
        patience: Patience {
            request: Duration::from_millis(500),
            attempts: 3,
            pause: Duration::from_millis(1),
            longest_pause: Duration::from_millis(10),
        },
    };
    once(&push).map_err(|error| error.to_string())
}

#[test]
fn a_profile_is_posted_once_if_it_is_accepted() {
    let server = Server::start(&[OK, OK]);
    assert_eq!(push(&server, Some(SECRET)), Ok(()));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let head = &requests[0];
    assert!(
        head.starts_with("POST /base/push.v1.PusherService/Push HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("host: {}\r\n", server.address)),
        "{head}"
    );
    assert!(
        head.contains("content-type: application/json\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("authorization: Bearer {SECRET}")),
        "{head}"
    );
}

#[test]
fn what_may_pass_is_tried_again_a_few_times() {
    let unavailable =
        Does::Answers("HTTP/1.1 503 X\r\nRetry-After: 100000\r\nContent-Length: 0\r\n\r\n");
    for trouble in [
        unavailable,
        Does::Answers("HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n"),
        Does::Closes,
        Does::Waits,
    ] {
        let server = Server::start(&[trouble, trouble, OK]);
        assert_eq!(push(&server, None), Ok(()), "{trouble:?}");
        assert_eq!(server.requests().len(), 3);
        let server = Server::start(&[trouble; 4]);
        let error = push(&server, None).unwrap_err();
        assert!(error.contains(&server.address.to_string()), "{error}");
        assert_eq!(server.requests().len(), 3, "{trouble:?} {error}");
    }
}

#[test]
fn what_is_refused_is_not_tried_again() {
    for (answer, text) in [
        (
            "HTTP/1.1 400 X\r\nContent-Length: 33\r\n\r\n{\"code\":\"x\",\"message\":\"bad\\u001b[1m\"}",
            "answered 400",
        ),
        (
            "HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n",
            "HEAPGLASS_PUSH_TOKEN",
        ),
        (
            "HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n",
            "HEAPGLASS_PUSH_TOKEN",
        ),
        (
            "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n",
            "is this the address of a Pyroscope server?",
        ),
        (
            "HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            "redirects are not followed",
        ),
    ] {
        let server = Server::start(&[Does::Answers(answer), OK]);
        let error = push(&server, None).unwrap_err();
        assert!(error.contains(text), "{error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_profile_that_is_too_large_is_made_smaller() {
    let too_large = Does::Answers("HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n");
    let server = Server::start(&[too_large, OK]);
    assert_eq!(push(&server, None), Ok(()));
    let lengths: Vec<usize> = server
        .requests()
        .iter()
        .map(|head| {
            let rest = head.split("content-length: ").nth(1).unwrap();
            rest.split("\r\n").next().unwrap().parse().unwrap()
        })
        .collect();
    assert!(lengths[1] < lengths[0], "{lengths:?}");
    let server = Server::start(&[too_large; 4]);
    assert!(push(&server, None).unwrap_err().contains("413"));
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn credentials_are_in_no_message() {
    for status in [400, 401, 404, 500] {
        let server = Server::start(&[Does::Echoes(status); 3]);
        let error = push(&server, Some(SECRET)).unwrap_err();
        assert!(server.requests()[0].contains(SECRET));
        assert!(!error.contains(SECRET), "{error}");
    }
    for body in [
        // As Go writes JSON, and with escapes that other libraries use.
        r#"{"message":"a \u0026\u003c\u003e\"\\s3cret-t0ken b"}"#,
        r#"{"message":"a \u0026\u003c>\u0022\u005cs3cret-\u00740ken b"}"#,
        r#"{"error":"a \u0026\u003c\u003e\"\\s3cret-t0ken b"}"#,
        r#"a &<>"\s3cret-t0ken b"#,
    ] {
        let answer = format!(
            "HTTP/1.1 400 X\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let server = Server::start(&[Does::Answers(answer.leak())]);
        let error = push(&server, Some(r#"&<>"\s3cret-t0ken"#)).unwrap_err();
        assert!(error.contains("a [credentials] b"), "{error}");
        assert!(!error.contains("t0ken"), "{error}");
    }
    // Hidden before the text is cut.
    let body = format!("{}{SECRET}", "x".repeat(195));
    let answer = format!(
        "HTTP/1.1 400 X\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = Server::start(&[Does::Answers(answer.leak())]);
    let error = push(&server, Some(SECRET)).unwrap_err();
    assert!(!error.contains("s3cr"), "{error}");
    let found = variables(&[
        ("HEAPGLASS_PUSH_USER", "me"),
        ("HEAPGLASS_PUSH_PASSWORD", SECRET),
    ])
    .unwrap()
    .unwrap();
    assert_eq!(found.header(), "Basic bWU6czNjcmV0LXQwa2Vu");
    assert!(!format!("{found:?} {:?}", found.header()).contains("bWU6"));
    assert_eq!(
        found.hidden_in(&format!("a {SECRET} bWU6czNjcmV0LXQwa2Vu")),
        "a [credentials] [credentials]"
    );
    for wrong in [
        &[("HEAPGLASS_PUSH_USER", SECRET)][..],
        &[("HEAPGLASS_PUSH_PASSWORD", SECRET)],
        &[
            ("HEAPGLASS_PUSH_TOKEN", SECRET),
            ("HEAPGLASS_PUSH_USER", "me"),
        ],
        &[("HEAPGLASS_PUSH_TOKEN", "s3cret\nt0ken")],
        &[("HEAPGLASS_PUSH_TOKEN", " ")],
    ] {
        let error = variables(wrong).unwrap_err().to_string();
        assert!(
            error.contains("HEAPGLASS_PUSH_") && !error.contains("s3cret"),
            "{error}"
        );
    }
    assert!(variables(&[]).unwrap().is_none());
}

#[test]
fn an_answer_without_end_is_cut() {
    let server = Server::start(&[Does::Floods]);
    let error = push(&server, None).unwrap_err();
    assert!(
        error.contains("answered 400") && error.len() < 1000,
        "{error}"
    );
}

#[test]
fn addresses_are_urls_without_secrets() {
    for (text, shown) in [
        ("http://pyroscope:4040", "http://pyroscope:4040"),
        ("http://[::1]:4040/base/", "http://[::1]:4040/base"),
        ("http://10.0.0.1", "http://10.0.0.1:80"),
        #[cfg(feature = "https")]
        (
            "https://profiles.example.com",
            "https://profiles.example.com:443",
        ),
    ] {
        assert_eq!(Target::parse(text).unwrap().to_string(), shown);
    }
    for text in [
        "http://me:s3cret@host:4040",
        "http://s3cret@host",
        "http://host/s3cret@x",
        "http://host?token=s3cret",
        "http://host/#s3cret",
        "s3cret@host",
        "host:4040",
        "/path",
        "",
        "ftp://host",
        "http://",
        "http://ho st",
        "http://host:99999",
        #[cfg(not(feature = "https"))]
        "https://host",
    ] {
        let error = Target::parse(text).unwrap_err().to_string();
        assert!(
            error.starts_with("the URL ") && !error.contains("s3cret"),
            "{error}"
        );
    }
    assert!(Target::parse("http://host").unwrap().is_open());
    for near in ["http://127.0.0.1:1", "http://localhost", "http://[::1]"] {
        assert!(!Target::parse(near).unwrap().is_open());
    }
}

#[test]
fn labels_are_those_that_pyroscope_accepts() {
    for (text, name, value) in [
        ("region=eu", "region", "eu"),
        ("a_1=", "a_1", ""),
        ("x=a=b", "x", "a=b"),
        ("_x=\u{e9} \"", "_x", "\u{e9} \""),
    ] {
        assert_eq!(parse_label(text), Ok((name.to_owned(), value.to_owned())));
    }
    let long_name = format!("{}=x", "n".repeat(1025));
    let long_value = format!("x={}", "v".repeat(2049));
    for bad in [
        "",
        "=",
        "=x",
        "region",
        "1a=x",
        "a-b=x",
        "a b=x",
        "__name__=x",
        "\u{e9}=x",
        &long_name,
        &long_value,
    ] {
        assert!(parse_label(bad).is_err(), "{bad}");
    }
    let many = |count: usize| {
        (0..count)
            .map(|n| (format!("l{n}"), "x".to_owned()))
            .collect()
    };
    assert!(Labels::new(many(28)).is_ok());
    assert!(Labels::new(many(29)).unwrap_err().contains("at most 28"));
    let mut named: Vec<(String, String)> = many(28);
    named.push(("service_name".to_owned(), "x".to_owned()));
    assert!(Labels::new(named).is_ok());
    let twice = vec![
        ("a".to_owned(), "1".to_owned()),
        ("a".to_owned(), "2".to_owned()),
    ];
    assert!(Labels::new(twice).unwrap_err().contains("a is given twice"));
}

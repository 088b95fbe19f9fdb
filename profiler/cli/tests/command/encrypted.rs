//! `heapglass push` over HTTPS: to a server whose certificate the system trusts, and to none else.
//! `.ci/release https` runs these tests, because the feature is not a default one.
//!
//! The certificates in `tls` are made for these tests and are valid until 2126: `server.pem` for
//! `localhost`, signed by `authority.pem`, and `stranger.pem`, which signed nothing.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::common::Place;
use crate::scrapers::accept_pushes;

fn pem(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/tls")).join(name)
}

/// A server that accepts every push over TLS.
fn server() -> (u16, Receiver<(String, serde_json::Value)>) {
    let certificate = CertificateDer::from_pem_file(pem("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    accept_pushes(move |stream: TcpStream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        StreamOwned::new(connection, stream)
    })
}

fn push(place: &Place, url: &str, trusted: PathBuf) -> Output {
    let words = ["push", "x.hg", "--to", "pyroscope", url, "--once"];
    place
        .heapglass(&words)
        .env("HEAPGLASS_PUSH_TOKEN", "s3cret")
        .env("SSL_CERT_FILE", trusted)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap()
}

#[test]
fn a_server_that_the_system_trusts_gets_the_push_and_no_other_does() {
    let place = Place::new();
    place.record("x.hg");
    let (port, pushes) = server();
    let url = format!("https://localhost:{port}");
    let done = push(&place, &url, pem("authority.pem"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let patience = heapglass_limits::limit();
    let (head, body) = pushes.recv_timeout(patience).unwrap();
    assert!(head.contains("\r\nauthorization: bearer s3cret"), "{head}");
    assert_eq!(body["series"].as_array().map(Vec::len), Some(1));

    let other_name = format!("https://127.0.0.1:{port}");
    std::fs::write(place.path("nothing.pem"), "").unwrap();
    for (url, trusted, reason) in [
        (&url, pem("stranger.pem"), "UnknownIssuer"),
        (&other_name, pem("authority.pem"), "not valid for name"),
        (&url, place.path("nothing.pem"), "set SSL_CERT_FILE"),
    ] {
        let done = push(&place, url, trusted);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{reason}: {said}");
        assert!(said.contains(reason), "{reason}: {said}");
        assert!(!said.contains("s3cret"), "{said}");
        assert!(pushes.try_recv().is_err(), "{reason}: the server got it");
    }
}

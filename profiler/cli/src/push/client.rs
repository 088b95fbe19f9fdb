//! One request over HTTP, with bounds on its time and on the size of the answer.

use std::fmt::Display;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Credentials, Target};

/// Maximum size of the answer that is read.
const ANSWER_BYTES: usize = 64 << 10;

/// The answer of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    pub(super) text: String,
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Posts JSON and returns the answer.
///
/// # Errors
/// Returns the reason, without credentials, if there is no answer in time.
pub(super) async fn post(
    target: &Target,
    path: &str,
    credentials: Option<&Credentials>,
    body: Bytes,
    patience: Duration,
) -> Result<Reply, String> {
    let answered = timeout(patience, exchange(target, path, credentials, body)).await;
    answered.unwrap_or_else(|_| Err(format!("no answer within {} s", patience.as_secs_f64())))
}

async fn exchange(
    target: &Target,
    path: &str,
    credentials: Option<&Credentials>,
    body: Bytes,
) -> Result<Reply, String> {
    fn failed<E: Display>(what: &str) -> impl Fn(E) -> String {
        move |error| format!("{what}: {error}")
    }
    let stream = TcpStream::connect((target.host.as_str(), target.port))
        .await
        .map_err(failed("cannot connect"))?;
    let stream = encrypt(target, stream).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(failed("cannot connect"))?;
    // Ends with the sender.
    tokio::spawn(connection);
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    let uri = format!("{}{path}", target.base);
    *request.uri_mut() = uri.parse().map_err(failed("cannot ask"))?;
    let headers = request.headers_mut();
    let host = HeaderValue::try_from(target.authority()).map_err(failed("cannot ask"))?;
    headers.insert(HOST, host);
    let fixed = [
        (ACCEPT, "application/json"),
        (CONNECTION, "close"),
        (CONTENT_TYPE, "application/json"),
        (USER_AGENT, concat!("heapglass/", env!("CARGO_PKG_VERSION"))),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(credentials) = credentials {
        headers.insert(AUTHORIZATION, credentials.header());
    }
    let response = sender
        .send_request(request)
        .await
        .map_err(failed("no answer"))?;
    let status = response.status();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok());
    // The rest of the answer is of no use.
    let text = Limited::new(response.into_body(), ANSWER_BYTES)
        .collect()
        .await;
    let text = text.map(|text| text.to_bytes()).unwrap_or_default();
    Ok(Reply {
        status,
        retry_after: retry_after.map(Duration::from_secs),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

async fn encrypt(target: &Target, stream: TcpStream) -> Result<Box<dyn Stream>, String> {
    if !target.is_tls {
        return Ok(Box::new(stream));
    }
    #[cfg(feature = "https")]
    {
        let stream = super::tls::encrypt(&target.host, stream).await?;
        Ok(Box::new(stream))
    }
    #[cfg(not(feature = "https"))]
    Err("this heapglass was built without TLS".to_owned())
}

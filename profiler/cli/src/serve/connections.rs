//! Accepting connections: their number and their time-outs.
//!
//! A connection has one request. Each of its stages has a deadline: the request must be there soon,
//! and the answer must be taken soon. So a client that is slow on purpose holds a place only for a
//! bounded time. Further connections wait in the queue of the kernel.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};

use super::paths::LONGEST_WINDOW;
use super::{SharedSite, pages};

/// Bounds on what clients can make the server hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    /// Time until the whole request is there.
    pub(crate) request: Duration,
    /// Time until there is an answer, which includes a window.
    pub(crate) answer: Duration,
    /// Time until the client has taken the answer.
    pub(crate) taken: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 64,
            request: Duration::from_secs(10),
            answer: Duration::from_secs(LONGEST_WINDOW + 120),
            taken: Duration::from_secs(60),
        }
    }
}

/// Maximum size of a request.
const REQUEST_BYTES: usize = 16 << 10;

/// Time to wait after a connection could not be accepted, for example for lack of descriptors.
const RETRY: Duration = Duration::from_millis(100);

/// Answers requests until the process ends.
///
/// # Errors
/// Returns an error if the runtime cannot be made or the listener cannot be used.
pub(crate) fn serve(
    listener: std::net::TcpListener,
    site: SharedSite,
    limits: Limits,
) -> io::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(limits.connections.max(1))
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        Ok(accept(listener, site, limits).await)
    })
}

async fn accept(listener: TcpListener, site: SharedSite, limits: Limits) -> Infallible {
    let places = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            continue;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let site = Arc::clone(&site);
                tokio::spawn(async move {
                    connection(stream, site, limits).await;
                    drop(place);
                });
            }
            Err(_) => sleep(RETRY).await,
        }
    }
}

async fn connection(stream: TcpStream, site: SharedSite, limits: Limits) {
    let _ = stream.set_nodelay(true);
    let deadline = Deadline::after(limits.request);
    let service = service_fn(|request| {
        let (site, deadline) = (&site, &deadline);
        async move {
            deadline.set(limits.answer);
            let answer = pages::answer(site, &request).await;
            deadline.set(limits.taken);
            Ok::<_, Infallible>(answer.into_response())
        }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(REQUEST_BYTES)
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request)
        .serve_connection(TokioIo::new(stream), service);
    deadline.hold(connection).await;
}

/// A moment that moves while a future runs.
struct Deadline(Mutex<Instant>);

impl Deadline {
    fn after(time: Duration) -> Self {
        Deadline(Mutex::new(Instant::now() + time))
    }

    fn set(&self, time: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + time;
    }

    fn get(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a future, at most to the deadline.
    async fn hold(&self, future: impl Future) {
        let mut future = pin!(future);
        loop {
            let ended = timeout_at(self.get(), future.as_mut()).await;
            if ended.is_ok() || Instant::now() >= self.get() {
                return;
            }
        }
    }
}

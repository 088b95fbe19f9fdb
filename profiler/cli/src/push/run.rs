//! The loop of pushes, and the handling of failures.

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use heapglass_profiler::OpenOptions;
use heapglass_profiler::export::{Moment, Window};
use heapglass_profiler::profile::{Profile, State};
use heapglass_profiler::units::{counted, printable};
use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::time::sleep;

use super::client::{Reply, post};
use super::pyroscope::{self, PATH, PROFILE_BYTES, SINCE};
use super::{Credentials, Labels, Target};
use crate::error::Error;
use crate::serve::{Place, Recordings, Refusal};
use crate::terminal;

/// A push that was asked for.
#[derive(Debug)]
pub(crate) struct Push {
    pub(crate) file: PathBuf,
    pub(crate) options: OpenOptions,
    pub(crate) target: Target,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) labels: Labels,
    pub(crate) patience: Patience,
}

/// Bounds on waiting for a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Time for one request.
    pub(crate) request: Duration,
    /// Number of requests for one profile.
    pub(crate) attempts: u32,
    /// Time before the second request; doubles each time.
    pub(crate) pause: Duration,
    /// Maximum time that a server may ask to wait.
    pub(crate) longest_pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            request: Duration::from_secs(30),
            attempts: 4,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
        }
    }
}

/// The reason why a profile was not pushed.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// Another try later may succeed.
    ForNow(String),
    /// This profile is not accepted.
    Rejected(String),
    /// No profile will be accepted.
    ForGood(String),
}

impl Failure {
    fn text(&self) -> &str {
        let (Failure::ForNow(text) | Failure::Rejected(text) | Failure::ForGood(text)) = self;
        text
    }
}

/// A window that is ready to be pushed.
struct Ready {
    body: Bytes,
    /// A sentence if something was cut.
    cut: Option<String>,
    samples: usize,
    /// Size before compression.
    bytes: usize,
    /// The moment at its end, where the next window begins.
    end: Moment,
    is_running: bool,
}

/// Pushes everything from the start of the recording to now.
///
/// # Errors
/// Returns an error if there is no recording, or if the server does not accept it.
pub(crate) fn once(push: &Push) -> Result<(), Error> {
    let recordings = push.recordings();
    let mut ready = match push.window(&recordings, None, PROFILE_BYTES) {
        Ok(ready) => ready,
        Err(refusal) => return Err(Error::misuse(refusal.text())),
    };
    block_on(async {
        let sent = push.send(&recordings, None, &mut ready).await;
        sent.map_err(|failure| push.error(&failure))
    })?
}

/// Pushes what happened in each interval, until the program ends.
///
/// # Errors
/// Returns an error if the server accepts no profile at all, or if the recording cannot be read.
pub(crate) fn every(push: &Push, interval: Duration) -> Result<(), Error> {
    block_on(async {
        let recordings = push.recordings();
        let begun = recordings.with_profile(None, Instant::now(), |profile, time| {
            (Moment::of(profile, time), may_run(profile))
        });
        let mut begin: Option<Moment> = match begun {
            Ok((moment, true)) => Some(moment),
            Ok((_, false)) => {
                return Err(Error::misuse(format_args!(
                    "{}: the program has ended; push the whole recording with --once",
                    push.file.display()
                )));
            }
            Err(Refusal::NothingRecords(_)) => {
                terminal::eprint_line(format_args!(
                    "{}: nothing is recorded yet; waiting for it",
                    push.file.display()
                ));
                None
            }
            Err(refusal) => return Err(Error::misuse(refusal.text())),
        };
        loop {
            sleep(interval).await;
            let mut ready = match push.window(&recordings, begin.as_ref(), PROFILE_BYTES) {
                Ok(ready) => ready,
                Err(Refusal::NothingRecords(_)) if begin.is_none() => continue,
                Err(refusal) => return Err(Error::misuse(refusal.text())),
            };
            let is_running = ready.is_running;
            match push.send(&recordings, begin.as_ref(), &mut ready).await {
                Ok(()) => begin = Some(ready.end),
                Err(Failure::ForNow(text)) if is_running => terminal::eprint_line(format_args!(
                    "{}: {text}; the next profile includes this interval",
                    push.target
                )),
                Err(Failure::Rejected(text)) if is_running => {
                    terminal::eprint_line(format_args!(
                        "{}: {text}; this interval is left out",
                        push.target
                    ));
                    begin = Some(ready.end);
                }
                Err(failure) => return Err(push.error(&failure)),
            }
            if !is_running {
                terminal::eprint_line(format_args!(
                    "{}: the program has ended",
                    push.file.display()
                ));
                return Ok(());
            }
        }
    })?
}

fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(Error::wrap("cannot begin to push"))?;
    Ok(runtime.block_on(future))
}

impl Push {
    fn recordings(&self) -> Recordings {
        Recordings::new(Place::File(self.file.clone()), self.options.clone())
    }

    fn error(&self, failure: &Failure) -> Error {
        Error::misuse(format_args!("{}: {}", self.target, failure.text()))
    }

    /// Makes the window from `begin`, or from the start of the recording, to now.
    fn window(
        &self,
        recordings: &Recordings,
        begin: Option<&Moment>,
        bytes: usize,
    ) -> Result<Ready, Refusal> {
        let made = recordings.with_profile(None, Instant::now(), |profile, end: SystemTime| {
            let start = Moment::start_of(profile);
            // Another program may be recorded at this path by now.
            let begin = begin.filter(|begin| begin.is_of(profile)).unwrap_or(&start);
            let window = Window {
                begin,
                end,
                since: SINCE,
            };
            let (pprof, size) = pyroscope::within_limits(profile, window, bytes)?;
            let program = &profile.process().program;
            let cut = (size.merged_stacks > 0).then(|| {
                format!(
                    "{} with the fewest bytes are one sample, because the profile was too large for the server",
                    counted(size.merged_stacks as u64, "stack")
                )
            });
            std::io::Result::Ok(Ready {
                body: pyroscope::body(&pprof, &self.labels, program)?.into(),
                cut,
                samples: size.samples,
                bytes: size.bytes,
                end: Moment::of(profile, end),
                is_running: may_run(profile),
            })
        })?;
        made.map_err(|error| Refusal::Unreadable(error.to_string()))
    }

    /// Sends a window, again if that may help. A smaller one takes its place if it is too large,
    /// and may end later.
    async fn send(
        &self,
        recordings: &Recordings,
        begin: Option<&Moment>,
        ready: &mut Ready,
    ) -> Result<(), Failure> {
        let mut pause = self.patience.pause;
        let mut attempt = 1;
        loop {
            let body = ready.body.clone();
            let credentials = self.credentials.as_ref();
            let mut sent = post(&self.target, PATH, credentials, body, self.patience.request).await;
            if let Ok(reply) = &mut sent {
                reply.text = message(&reply.text);
                // A server may say what it was sent.
                if let Some(credentials) = credentials {
                    reply.text = credentials.hidden_in(&reply.text);
                }
            }
            let (failure, wait) = match sent {
                Ok(reply) if reply.status.is_success() => {
                    if let Some(cut) = &ready.cut {
                        terminal::eprint_line(format_args!("{}: {cut}", self.target));
                    }
                    return Ok(());
                }
                Ok(reply) if is_too_large(&reply) && ready.samples > 1 => {
                    let smaller = self.window(recordings, begin, ready.bytes / 2);
                    *ready =
                        smaller.map_err(|refusal| Failure::Rejected(refusal.text().to_owned()))?;
                    (Failure::Rejected(said(&reply)), Duration::ZERO)
                }
                Ok(reply) => {
                    let failure = failure(&reply);
                    if !matches!(failure, Failure::ForNow(_)) {
                        return Err(failure);
                    }
                    (failure, reply.retry_after.unwrap_or(pause))
                }
                Err(text) => (Failure::ForNow(text), pause),
            };
            if attempt >= self.patience.attempts {
                return Err(failure);
            }
            attempt += 1;
            sleep(wait.min(self.patience.longest_pause)).await;
            pause *= 2;
        }
    }
}

/// Returns `true` unless the program has ended. In another container it is not known.
fn may_run(profile: &Profile) -> bool {
    matches!(profile.process().state, State::Running | State::Unknown)
}

fn is_too_large(reply: &Reply) -> bool {
    reply.status == StatusCode::PAYLOAD_TOO_LARGE
        || reply.status == StatusCode::BAD_REQUEST && reply.text.contains("exceeds the size limit")
}

fn failure(reply: &Reply) -> Failure {
    let text = said(reply);
    match reply.status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Failure::ForNow(text),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::ForGood(format!(
            "{text}; credentials come from HEAPGLASS_PUSH_TOKEN, or HEAPGLASS_PUSH_USER and HEAPGLASS_PUSH_PASSWORD"
        )),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Failure::ForGood(format!(
            "{text}; is this the address of a Pyroscope server?"
        )),
        status if status.is_server_error() => Failure::ForNow(text),
        status if status.is_redirection() => Failure::ForGood(format!(
            "{text}; redirects are not followed, so pass the final address"
        )),
        _ => Failure::Rejected(text),
    }
}

/// Returns the message in the answer of a server, without the escapes of JSON as far as possible:
/// they would hide credentials from the search for them.
fn message(answer: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(answer) {
        Ok(json) => match json.get("message").and_then(|message| message.as_str()) {
            Some(message) => message.to_owned(),
            None => json.to_string(),
        },
        Err(_) => answer.to_owned(),
    }
}

/// Returns what a server said, short and in one line.
fn said(reply: &Reply) -> String {
    const SHOWN: usize = 200;
    let text: String = reply.text.trim().chars().take(SHOWN).collect();
    let status = reply.status.as_u16();
    if text.is_empty() {
        format!("the server answered {status}")
    } else {
        format!("the server answered {status}: {}", printable(&text))
    }
}

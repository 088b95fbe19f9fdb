//! Pushing profiles to a server, for `heapglass push`.
//!
//! | module | contents |
//! |---|---|
//! | `credentials` | the token or password of the environment, never shown |
//! | `target` | the address of the server |
//! | `client` | one request over HTTP, with bounds on time and size |
//! | `pyroscope` | the request of Pyroscope's push API, and its limits |
//! | `run` | the loop of pushes, and the handling of failures |

mod client;
mod credentials;
mod pyroscope;
mod run;
mod target;
#[cfg(test)]
mod tests;
#[cfg(feature = "https")]
mod tls;

pub(crate) use credentials::Credentials;
pub(crate) use pyroscope::{Labels, parse_label};
pub(crate) use run::{Patience, Push, every, once};
pub(crate) use target::Target;

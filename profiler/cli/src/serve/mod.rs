//! The server of `heapglass serve`: profiles of recordings over HTTP, while their programs run.
//!
//! | module | contents |
//! |---|---|
//! | `connections` | accepting connections, their number and their time-outs |
//! | `access` | the rules for clients: the token, the names of this machine, the methods |
//! | `pages` | finding the answer to the path of a request |
//! | `paths` | the paths of the server, taken apart |
//! | `recordings` | opening recordings, one at a time, and keeping what was read |
//! | `answer` | a response before it is one of HTTP |
//!
//! Reading a recording takes from milliseconds to seconds and is done on a thread of its own, so
//! that connections go on. Profiles and figures come from the profiler.

mod access;
mod answer;
mod connections;
mod pages;
mod paths;
mod recordings;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) use access::{Access, Token};
pub(crate) use connections::{Limits, serve};
pub(crate) use recordings::{Place, Recordings, Refusal};

/// The state of a server: its recordings, and the rules for clients.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) recordings: Recordings,
    pub(crate) access: Access,
    /// The address that the server listens on.
    pub(crate) address: SocketAddr,
}

/// A site that several connections use.
pub(crate) type SharedSite = Arc<Site>;

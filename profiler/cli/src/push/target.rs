//! The address of a server that profiles are pushed to.

use std::fmt;
use std::net::IpAddr;

use hyper::Uri;

use crate::error::Error;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(super) is_tls: bool,
    /// Without the brackets of an address of IPv6.
    pub(super) host: String,
    pub(super) port: u16,
    /// Begins with `/` and does not end with it, or is empty.
    pub(super) base: String,
}

impl Target {
    /// Parses a URL of the command line.
    ///
    /// # Errors
    /// Returns an error if it is no URL of HTTP, or has a user, a password or a query: the error
    /// does not contain them.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let misuse = |what: &str| Error::misuse(format_args!("the URL {what}"));
        // First, so that no other message can have what is in it.
        if text.contains('@') {
            return Err(misuse(
                "has a user or a password, which everyone on this machine can see; set \
                 HEAPGLASS_PUSH_TOKEN, or HEAPGLASS_PUSH_USER and HEAPGLASS_PUSH_PASSWORD",
            ));
        }
        if text.contains(['?', '#']) {
            return Err(misuse(
                "has a query; write it up to the path, such as http://pyroscope:4040",
            ));
        }
        let no_url = || misuse("is none of a server; write one such as http://pyroscope:4040");
        let uri: Uri = text.parse().map_err(|_| no_url())?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(no_url()),
        };
        if is_tls && !cfg!(feature = "https") {
            return Err(misuse(
                "begins with https, and this heapglass was built without TLS; build it with \
                 `cargo install --locked --path profiler/cli --features https` in a checkout of heapglass, \
                 or push to a proxy on this machine over http",
            ));
        }
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or_else(no_url)?;
        let has_port = uri.authority().is_some_and(|all| all.as_str() != host);
        if has_port && uri.port_u16().is_none() {
            return Err(no_url());
        }
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        Ok(Target {
            is_tls,
            host,
            port: uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            base: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Returns `true` if credentials for it would cross a network without encryption.
    pub(crate) fn is_open(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        let is_loopback = match address {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        };
        !self.is_tls && !is_loopback
    }

    /// Returns the value of the header Host.
    pub(super) fn authority(&self) -> String {
        let Target { host, port, .. } = self;
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.base)
    }
}

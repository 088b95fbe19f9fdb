//! The rules for who may ask.
//!
//! A server on a loopback address is reached by every program and every web page of the machine. A
//! web page can make a browser send requests to `127.0.0.1`, and if it controls a name that leads
//! there, read the answers (DNS rebinding): so only names of the machine itself are allowed as
//! `Host`. A server on another address requires a token.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use constant_time_eq::constant_time_eq;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap};
use hyper::{Method, Request, StatusCode};

use super::answer::Answer;
use crate::error::Error;

/// The environment variable with the token.
pub(crate) const TOKEN_VARIABLE: &str = "HEAPGLASS_TOKEN";

/// Minimum length of a token: shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// Maximum length of a token.
const LONGEST_TOKEN: usize = 4096;

/// Maximum size of a file with a token, which may have blanks around it.
const LONGEST_FILE: u64 = 8192;

/// A secret that requests must have. Never printed.
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Checks a token that came from `source`.
    ///
    /// # Errors
    /// Returns an error, without the token, if the token is short or has characters that a header
    /// cannot have.
    pub(crate) fn new(text: &str, source: &dyn fmt::Display) -> Result<Self, Error> {
        let text = text.trim_ascii();
        if text.len() < SHORTEST_TOKEN || text.len() > LONGEST_TOKEN {
            return Err(Error::misuse(format_args!(
                "{source}: a token has {SHORTEST_TOKEN} to {LONGEST_TOKEN} characters; make one with \
                 `head -c 32 /dev/urandom | base64`"
            )));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::misuse(format_args!(
                "{source}: a token has ASCII letters, digits and signs only, in one line"
            )));
        }
        Ok(Token(text.to_owned()))
    }

    /// Returns the token of a file, or else that of the environment.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or the errors of [`Token::new`].
    pub(crate) fn find(file: Option<&Path>) -> Result<Option<Self>, Error> {
        if let Some(file) = file {
            let name = file.display();
            let mut bytes = Vec::new();
            File::open(file)
                .and_then(|file| file.take(LONGEST_FILE + 1).read_to_end(&mut bytes))
                .map_err(Error::wrap(&name))?;
            if bytes.len() as u64 > LONGEST_FILE {
                return Err(Error::misuse(format_args!(
                    "{name}: too large for a file with a token, which has at most {LONGEST_FILE} bytes"
                )));
            }
            return Token::new(&String::from_utf8_lossy(&bytes), &name).map(Some);
        }
        match std::env::var(TOKEN_VARIABLE) {
            Ok(text) => Token::new(&text, &TOKEN_VARIABLE).map(Some),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(Error::misuse(format_args!(
                "{TOKEN_VARIABLE} has bytes that are not UTF-8"
            ))),
        }
    }

    /// Compares in a time that does not depend on the bytes of the token.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else {
            return false;
        };
        let (scheme, value) = value.as_bytes().split_at_checked(7).unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"Bearer ")
            && constant_time_eq(value.trim_ascii(), self.0.as_bytes())
    }
}

/// The clients that may ask.
#[derive(Debug)]
pub(crate) struct Access {
    token: Option<Token>,
    /// `true` for a server that only this machine reaches.
    is_loopback: bool,
}

impl Access {
    /// Returns the rules for a server on that address.
    ///
    /// # Errors
    /// Returns an error if other machines reach the address and there is no token.
    pub(crate) fn new(address: SocketAddr, token: Option<Token>) -> Result<Self, Error> {
        let is_loopback = address.ip().to_canonical().is_loopback();
        if !is_loopback && token.is_none() {
            return Err(Error::misuse(format_args!(
                "--listen {address}: other machines can reach this address, so it needs a token; pass \
                 --token-file, or set {TOKEN_VARIABLE}"
            )));
        }
        Ok(Access { token, is_loopback })
    }

    /// Returns the answer to a request that is refused.
    pub(super) fn refusal<B>(&self, request: &Request<B>) -> Option<Answer> {
        if self.is_loopback && !has_own_host(request) {
            return Some(Answer::refusal(
                StatusCode::FORBIDDEN,
                "this server is only for this machine: ask for it by localhost or by its address",
            ));
        }
        if let Some(token) = &self.token
            && !token.is_in(request.headers())
        {
            return Some(Answer::unauthorized());
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(Answer::method_not_allowed());
        }
        None
    }
}

/// Returns `true` if the request was made to a name or an address of this machine.
fn has_own_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let in_target = request
        .uri()
        .authority()
        .is_none_or(|authority| is_own_host(authority.as_str()));
    in_target && host.to_str().is_ok_and(is_own_host)
}

/// Returns `true` for `localhost` and loopback addresses, with any port: a tunnel has another one.
fn is_own_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = match name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
    {
        Some(inside) => inside.parse().map(IpAddr::V6),
        None => name.parse().map(IpAddr::V4),
    };
    address.is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for own in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:6060",
            "127.1.2.3:80",
            "[::1]",
            "[::1]:6060",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(is_own_host(own), "{own}");
        }
        for other in [
            "",
            ":",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "evil.example:6060",
            "127.0.0.1.evil.example",
            "127.0.0.1:",
            "127.0.0.1:x",
            "localhost:80:80",
            "0.0.0.0",
            "10.0.0.1:80",
            "[::]",
            "::1",
            "[127.0.0.1]",
            "user@127.0.0.1",
            "2130706433",
            "127.1",
        ] {
            assert!(!is_own_host(other), "{other}");
        }
    }

    #[test]
    fn a_token_is_needed_where_other_machines_are() {
        let token = || Token::new("0123456789abcdef", &"x").unwrap();
        for address in ["0.0.0.0:1", "[::]:1", "10.1.2.3:1", "[fe80::1]:1"] {
            let address = address.parse().unwrap();
            let error = Access::new(address, None).unwrap_err().to_string();
            assert!(error.contains("--token-file"), "{error}");
            assert!(Access::new(address, Some(token())).is_ok());
        }
        for address in [
            "127.0.0.1:1",
            "127.9.9.9:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(Access::new(address.parse().unwrap(), None).is_ok());
        }
    }

    #[test]
    fn a_token_that_is_refused_is_not_in_the_message() {
        for bad in [
            "",
            "short-secret",
            "0123456789abcd ef",
            "0123456789abcdefé",
            "0123456789\n0123456789",
        ] {
            let error = Token::new(bad, &"file").unwrap_err().to_string();
            assert!(error.starts_with("file: a token has"), "{error}");
            assert!(bad.is_empty() || !error.contains(bad), "{error}");
        }
        let token = Token::new("0123456789abcdef\n", &"x").unwrap();
        assert!(!format!("{token:?}").contains("0123"));
    }
}

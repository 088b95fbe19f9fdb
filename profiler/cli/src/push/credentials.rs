//! The credentials of a push. They come from the environment only: arguments of a command are
//! visible to every user of the machine.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;

use crate::error::Error;

const TOKEN: &str = "HEAPGLASS_PUSH_TOKEN";
const USER: &str = "HEAPGLASS_PUSH_USER";
const PASSWORD: &str = "HEAPGLASS_PUSH_PASSWORD";

/// The value of the header Authorization. Never printed.
#[derive(Clone)]
pub(crate) struct Credentials {
    header: HeaderValue,
    /// The texts that must not be shown.
    secrets: Vec<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

impl Credentials {
    /// Returns the credentials of the environment, if there are any.
    ///
    /// # Errors
    /// Returns an error, without their values, if the variables do not fit together.
    pub(crate) fn from_environment() -> Result<Option<Self>, Error> {
        Credentials::find(|name| match std::env::var_os(name) {
            Some(value) => {
                let value = value.into_string();
                value
                    .map(Some)
                    .map_err(|_| Error::misuse(format_args!("{name} has bytes that are not UTF-8")))
            }
            None => Ok(None),
        })
    }

    pub(super) fn find(
        variable: impl Fn(&str) -> Result<Option<String>, Error>,
    ) -> Result<Option<Self>, Error> {
        let (token, user, password) = (variable(TOKEN)?, variable(USER)?, variable(PASSWORD)?);
        let (name, text, secrets) = match (token, user, password) {
            (None, None, None) => return Ok(None),
            (Some(token), None, None) => {
                let token = token.trim();
                (TOKEN, format!("Bearer {token}"), vec![token.to_owned()])
            }
            (None, Some(user), Some(password)) => {
                let pair = STANDARD.encode(format!("{user}:{password}"));
                (USER, format!("Basic {pair}"), vec![pair, password])
            }
            (Some(_), _, _) => {
                return Err(Error::misuse(format_args!(
                    "set either {TOKEN}, or {USER} and {PASSWORD}, not both"
                )));
            }
            (None, _, _) => {
                return Err(Error::misuse(format_args!(
                    "set both {USER} and {PASSWORD}"
                )));
            }
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| {
            Error::misuse(format_args!(
                "{name} has characters that a header cannot have"
            ))
        })?;
        value.set_sensitive(true);
        if secrets.iter().any(String::is_empty) {
            return Err(Error::misuse(format_args!(
                "{name}: the credentials are empty"
            )));
        }
        Ok(Some(Credentials {
            header: value,
            secrets: with_escapes(secrets),
        }))
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// Returns a text without what must not be shown.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| text.replace(secret, "[credentials]");
        self.secrets.iter().fold(text.to_owned(), hide)
    }
}

/// Adds the secrets as they are written in JSON, where that differs.
fn with_escapes(mut secrets: Vec<String>) -> Vec<String> {
    let escaped = secrets.iter().filter_map(|secret| {
        let quoted = serde_json::Value::from(secret.as_str()).to_string();
        let inside = &quoted[1..quoted.len() - 1];
        (inside != secret).then(|| inside.to_owned())
    });
    let escaped: Vec<String> = escaped.collect();
    secrets.extend(escaped);
    secrets
}

//! The error type of this library. The library never prints it; the command does, after the
//! terminal is restored.

use std::fmt;

/// The reason why the terminal UI could not start or had to end.
#[derive(Debug)]
pub struct Error(Kind);

#[derive(Debug)]
enum Kind {
    Load(String),
    Terminal { doing: &'static str, cause: String },
    Panicked { doing: &'static str, cause: String },
}

impl Error {
    pub(crate) fn load(message: impl Into<String>) -> Self {
        Error(Kind::Load(message.into()))
    }

    pub(crate) fn terminal(doing: &'static str, cause: impl fmt::Display) -> Self {
        Error(Kind::Terminal {
            doing,
            cause: cause.to_string(),
        })
    }

    pub(crate) fn panicked(doing: &'static str, cause: impl Into<String>) -> Self {
        Error(Kind::Panicked {
            doing,
            cause: cause.into(),
        })
    }

    /// Returns `true` if the source could not load its profile. The text is then the source's own.
    pub fn is_load(&self) -> bool {
        matches!(self.0, Kind::Load(_))
    }

    /// Returns `true` if the terminal could not be read, drawn or set up, because it is not a
    /// terminal or disappeared.
    pub fn is_terminal(&self) -> bool {
        matches!(self.0, Kind::Terminal { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Load(message) => f.write_str(message),
            Kind::Terminal { doing, cause } => {
                write!(
                    f,
                    "the terminal UI failed while {doing}: {cause}; to print the same figures without a \
                     terminal, run `heapglass report FILE`"
                )
            }
            Kind::Panicked { doing, cause } => {
                write!(f, "{doing} panicked, which is a bug in heapglass: {cause}")
            }
        }
    }
}

impl std::error::Error for Error {}

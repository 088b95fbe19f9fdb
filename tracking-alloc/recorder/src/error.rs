//! The crate's error: one line that says what failed and what to do.

use std::fmt;

/// The reason why a recording could not be started or finished.
#[derive(Debug)]
pub struct Error {
    message: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NotInstalled,
    Unsupported,
    #[cfg(any(recording, in_memory))]
    Other,
}

/// [`DEPENDENCY`], for `concat!`.
macro_rules! dependency {
    () => {
        "tracking-alloc = { path = \"../heapglass/tracking-alloc\" }"
    };
}

/// The dependency line in our messages. There is no release yet, so it names a checkout.
#[doc(hidden)]
pub const DEPENDENCY: &str = dependency!();

/// The message for a program whose global allocator is not `TrackingAlloc`.
pub const NOT_INSTALLED: &str = concat!(
    "TrackingAlloc is not this program's global allocator; add the dependency and this line to main.rs:\n    ",
    dependency!(),
    "\n    #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();"
);

/// The message on platforms without recordings in files.
pub(crate) const UNSUPPORTED: &str = "this platform is not supported; recording works on Linux with glibc or musl, on x86-64 and aarch64, and in WebAssembly with `wasm::start`";

impl Error {
    #[cfg(any(recording, in_memory))]
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Error {
            message: message.into(),
            kind: Kind::Other,
        }
    }

    pub(crate) fn not_installed() -> Self {
        Error {
            message: NOT_INSTALLED.to_owned(),
            kind: Kind::NotInstalled,
        }
    }

    #[cfg(not(recording))]
    pub(crate) fn unsupported() -> Self {
        Error {
            message: UNSUPPORTED.to_owned(),
            kind: Kind::Unsupported,
        }
    }

    /// Returns `true` if `TrackingAlloc` is not the program's global allocator.
    pub fn is_not_installed(&self) -> bool {
        self.kind == Kind::NotInstalled
    }

    /// Returns `true` if nothing is recorded on this platform.
    pub fn is_unsupported(&self) -> bool {
        self.kind == Kind::Unsupported
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

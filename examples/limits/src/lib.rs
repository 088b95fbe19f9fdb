//! Programs that tests start, ended after a limit.
//!
//! [`Command`] and [`Child`] are used like those of `std::process`. A program that has not ended
//! within its limit is killed with all that it started. The test that waits for it panics, and says
//! which program, where it was started, what its processes were doing and what it printed. No test
//! hangs, and none needs a fast machine: the limit is far beyond what a slow one takes.
//!
//! ```
//! use heapglass_limits::Command;
//!
//! let output = Command::new("echo").arg("text").output().expect("it starts");
//! assert_eq!(output.stdout, b"text\n");
//! ```

mod child;
mod command;
mod processes;

pub use child::Child;
pub use command::{Command, limit, rounds};

#[cfg(test)]
mod tests;

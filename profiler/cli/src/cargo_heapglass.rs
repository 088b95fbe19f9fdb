//! The `cargo-heapglass` binary, which cargo runs for `cargo heapglass`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    heapglass_cli::cargo_heapglass()
}

//! The flags of `heapglass push`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Symbols, values};
use crate::push::parse_label;

/// A kind of server that profiles are pushed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Receiver {
    Pyroscope,
}

/// Push the profiles of a recording to a server, while its program runs
///
/// Each profile has the allocations since the one before, and the blocks live at its end. Pushes
/// until the program ends. If the server cannot take a profile, the next one includes its interval.
/// Pyroscope takes at most 16,000 samples, 4 MiB and 30 labels: further stacks, those with the
/// fewest bytes, become one sample, and a line on standard error says so.
///
/// Credentials come from the environment only: HEAPGLASS_PUSH_TOKEN, or HEAPGLASS_PUSH_USER and
/// HEAPGLASS_PUSH_PASSWORD.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass push app-1234.hg --to pyroscope http://127.0.0.1:4040 --every 15s
  heapglass push app.hg --to pyroscope http://127.0.0.1:4040 --once --label service_name=app --label region=eu
  HEAPGLASS_PUSH_TOKEN=$(cat token) heapglass push app.hg --to pyroscope https://example.com")]
pub(crate) struct Push {
    /// The recording. It need not exist yet, unless with --once
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Push to this kind of server
    #[arg(long, value_name = "SERVER", value_enum)]
    pub(crate) to: Receiver,
    /// Address of the server; https needs a heapglass that was built with the feature https
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Push a profile every TIME [default: 15s]
    #[arg(long, value_name = "TIME", value_parser = values::time(), conflicts_with = "once")]
    pub(crate) every: Option<Duration>,
    /// Push one profile of the whole recording, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Add this label to the profiles; may be given several times. `service_name` is the name of
    /// the program by default
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = parse_label)]
    pub(crate) labels: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

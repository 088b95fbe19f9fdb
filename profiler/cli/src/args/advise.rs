//! The flags of `heapglass advise`.

use std::path::PathBuf;

use clap::Args;

use super::{Input, values};

/// List changes that save memory, each with what it saves
///
/// Prints four lists, the largest saving of each first: of live bytes, at the peak, of resident
/// memory and of allocated bytes. A saving is exact, a bound (`at least`) or an estimate (`about`).
/// A recording with snapshots has findings of more kinds, which are about the moment of a snapshot.
/// Findings that save less than 64 KiB, or less than 1 % of the peak, of the live bytes
/// of the snapshot or of all bytes allocated, are left out. Savings may overlap, so never add them
/// up.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass advise app.hg
  heapglass advise app.hg --all                list small savings too
  heapglass advise app.hg --json | jq -r '.findings[].remedy'")]
pub(crate) struct Advise {
    /// Print at most this many findings [default: 10 in text, all in JSON]
    #[arg(long, value_name = "N", value_parser = values::top())]
    pub(crate) top: Option<usize>,
    /// List small findings too
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}

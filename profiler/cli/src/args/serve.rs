//! The flags of `heapglass serve`.

use std::path::PathBuf;

use clap::Args;

use super::Symbols;

/// Serve the profiles of a recording over HTTP, while its program runs
///
/// Answers as the Go profiler does, so `go tool pprof`, Parca, Grafana Alloy and Pyroscope can read
/// the profiles: /debug/pprof/heap, /debug/pprof/allocs and /debug/pprof/delta_heap. With
/// ?seconds=N (at most 300), heap and allocs are the difference over the next N seconds. Has
/// /flamegraph.svg, and /metrics for Prometheus, too. With a folder, the same pages of each
/// recording are below /p/NAME/.
///
/// By default only this machine reaches the server. On an address that other machines reach,
/// requests need a token (Authorization: Bearer). Only regular files of your own are served.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass serve app-1234.hg
  go tool pprof http://127.0.0.1:6060/debug/pprof/heap
  curl -o next.pb.gz 'http://127.0.0.1:6060/debug/pprof/heap?seconds=30'
  heapglass serve recordings/ --listen 0.0.0.0:6060 --token-file token")]
pub(crate) struct Serve {
    /// The recording, which need not exist yet, or a folder of recordings
    #[arg(value_name = "FILE|DIR")]
    pub(crate) target: PathBuf,
    /// Listen on this address; port 0 is any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6060")]
    pub(crate) listen: String,
    /// Require the token in this file, of at least 16 characters [default: $HEAPGLASS_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

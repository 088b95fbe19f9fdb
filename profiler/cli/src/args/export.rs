//! The flags of `heapglass export`.

use std::path::PathBuf;

use clap::Args;
use heapglass_profiler::export::Format;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::By;

use super::{Input, values};

/// Write a recording in the format of another tool
///
/// pprof (gzip): go tool pprof, Parca, Pyroscope. dhat: dh_view.html of valgrind, the Firefox Profiler. speedscope:
/// speedscope.app. firefox: profiler.firefox.com. folded: inferno, flamegraph.pl. json: as `report --json`. csv: the rows
/// of `report` as a table. Totals are those of the report in each. Where a format asks for a figure that is not
/// recorded, it has a lower bound, and says so.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass export app.hg --to pprof -o app.pb.gz    go tool pprof -top app.pb.gz
  heapglass export app.hg --to dhat -o app.json      load it into dh_view.html
  heapglass export app.hg --to speedscope -o app.speedscope.json
  heapglass export app.hg --to firefox -o app.json   load it into profiler.firefox.com
  heapglass export app.hg --to folded --measure total | inferno-flamegraph > app.svg
  heapglass export app.hg --to csv --by type -o types.csv")]
pub(crate) struct Export {
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = values::word(Format::ALL, Format::name))]
    pub(crate) to: Format,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
    /// What folded stacks count, what speedscope, Firefox and pprof show first, what rows of json and csv are ordered by,
    /// as in `report`; dhat has no such choice
    #[arg(long, value_name = "MEASURE", default_value = "peak", value_parser = values::word(Measure::ALL, Measure::name))]
    pub(crate) measure: Measure,
    /// What a row of json and csv is, as in `report` [default: site]
    #[arg(long, value_name = "BY", value_parser = values::word(By::ALL, By::name))]
    pub(crate) by: Option<By>,
    /// Which frames of a stack are written: `trimmed`, all but start-up and the machinery of the allocator; `all`; `own`,
    /// only those of your crates; `folded`, where a run of frames outside your crates is one frame that says what it does
    /// [default: trimmed; of json and csv folded]
    #[arg(long, value_name = "FRAMES", value_parser = values::word(Frames::ALL, Frames::name))]
    pub(crate) frames: Option<Frames>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Say what was written as JSON, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

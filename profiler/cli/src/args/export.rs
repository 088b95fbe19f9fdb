//! The flags of `heapglass export`.

use std::path::PathBuf;

use clap::Args;
use heapglass_profiler::export::Format;
use heapglass_profiler::profile::Frames;

use super::{Ask, Symbols, values};

/// The destination of an export: a file for another tool, or tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportTo {
    /// One file of one recording.
    File(Format),
    /// A folder with tables of many recordings.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl ExportTo {
    /// Every destination, in the order of the help.
    pub(crate) const ALL: [ExportTo; Format::ALL.len() + cfg!(feature = "parquet") as usize] = {
        let mut all = [ExportTo::File(Format::ALL[0]); _];
        let mut at = 0;
        while at < Format::ALL.len() {
            all[at] = ExportTo::File(Format::ALL[at]);
            at += 1;
        }
        #[cfg(feature = "parquet")]
        {
            all[at] = ExportTo::Parquet;
        }
        all
    };

    pub(crate) fn name(self) -> &'static str {
        match self {
            ExportTo::File(format) => format.name(),
            #[cfg(feature = "parquet")]
            ExportTo::Parquet => "parquet",
        }
    }
}

/// Write a recording in the format of another tool
///
/// pprof (gzip): go tool pprof, Parca, Pyroscope. dhat: valgrind's dh_view.html, the Firefox
/// Profiler. speedscope: speedscope.app. firefox: profiler.firefox.com. folded: inferno,
/// flamegraph.pl. json: the same as `report --json`. csv: the rows of `report` as a table. html:
/// one page for any browser, with flamegraph, tables, timeline, snapshot and advice. parquet:
/// tables of many recordings for DuckDB and Spark, in a folder. Every format has the same totals as
/// the report. If a format requires a figure that is not recorded, the file has a lower bound for
/// it and says so.
///
/// folded stacks count the measure, speedscope, Firefox, pprof and html show it first, and rows of
/// json and csv are sorted by it; dhat has one fixed set of figures. json and csv have rows of any
/// grouping; folded and html have a snapshot by holder, and folded by type and field too.
///
/// parquet writes the files DIR/date=YYYY-MM-DD/service=NAME/TABLE-ID.parquet of the tables
/// recordings, samples, phases and stacks. The ID depends on the recordings: an export of the same
/// ones replaces its files, and any other export adds files. So export each recording once.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass export app.hg --to pprof -o app.pb.gz    go tool pprof -top app.pb.gz
  heapglass export app.hg --to dhat -o app.json      load it into dh_view.html
  heapglass export app.hg --to speedscope -o app.speedscope.json
  heapglass export app.hg --to firefox -o app.json   load it into profiler.firefox.com
  heapglass export app.hg --to folded --measure total | inferno-flamegraph > app.svg
  heapglass export app.hg --to csv --by type -o types.csv
  heapglass export app.hg --to folded --by holder -o held.txt
  heapglass export app.hg --to html -o app.html      open it in any browser
  heapglass export app.hg --to html --sources -o app.html
  heapglass export after.hg --to html --base before.hg -o diff.html
  heapglass export *.hg --to parquet --label service=api --label host=$(hostname) -o fleet/
                                                     query it with DuckDB or Spark")]
pub(crate) struct Export {
    /// Write this format
    #[arg(long, value_name = "FORMAT", value_parser = values::word(ExportTo::ALL, ExportTo::name))]
    pub(crate) to: ExportTo,
    /// Write to this file; `-` is standard output. For parquet, write to this folder
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// Choose the frames of each stack. `trimmed`: all except start-up and the allocator's
    /// internals. `all`: every frame. `own`: only frames of your crates. `folded`: each run of
    /// frames outside your crates becomes one frame that says what it does [default: trimmed; for
    /// json, csv and html, folded]
    #[arg(long, value_name = "FRAMES", value_parser = values::word(Frames::ALL, Frames::name))]
    pub(crate) frames: Option<Frames>,
    /// Compare with this recording, in two colours. Only for html
    #[arg(long, value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,
    /// Read symbols of BASE from this executable, if the executable has moved; it must be the same
    /// build
    #[arg(long, value_name = "PATH", requires = "base")]
    pub(crate) base_binary: Option<PathBuf>,
    /// Put source lines of your own crates into the page, around each place that owns blocks. Only
    /// for html. A file is read only if it is a regular file below the current folder or a
    /// --source-dir
    #[arg(long)]
    pub(crate) sources: bool,
    /// Also read sources below this folder; may be given several times
    #[arg(long, value_name = "DIR", requires = "sources")]
    pub(crate) source_dir: Vec<PathBuf>,
    /// Add this label; may be given several times. `service` is the name of the program by default
    /// and names a folder. `host`, `version` and `git_revision` are columns of every table, others
    /// are in the table of recordings. Only for parquet
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = values::pair)]
    pub(crate) labels: Vec<(String, String)>,
    /// Recording to read; parquet takes several
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
    /// Describe the written file as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

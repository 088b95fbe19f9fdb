//! `heapglass merge`: adds up recordings of one build and mode.

use std::path::{Path, PathBuf};

use heapglass_profiler::merge::Merge as Sum;
use heapglass_profiler::units::{Bytes, counted};

use crate::args::Merge;
use crate::error::Error;
use crate::files::output::{Output, print_json};
use crate::progress::Working;
use crate::{open, terminal};

pub(super) fn run(args: &Merge) -> Result<(), Error> {
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let output = Output::open_beside(args.json, &args.output, &inputs, "recording")?;
    let to_stdout = output.is_stdout();
    let working = Working::new("merging");
    let mut sum = Sum::new();
    for (number, path) in (1..).zip(&inputs) {
        working.show(format_args!(
            "merging {number} of {} recordings",
            inputs.len()
        ));
        sum.add(path).map_err(|error| open::explain(path, error))?;
    }
    working.show("adding up");
    let merged = sum.finish().map_err(Error::misuse)?;
    drop(working);
    let written = output.write(|out| out.write_all(&merged.bytes))?;
    if written.is_none() {
        return Ok(());
    }
    let bytes = merged.bytes.len() as u64;
    if args.json {
        return print_json(&serde_json::json!({
            "format": 1,
            "path": args.output.to_string_lossy(),
            "recordings": merged.recordings,
            "recording_bytes": bytes,
            "notes": merged.notes,
        }));
    }
    for note in &merged.notes {
        terminal::eprint_line(format_args!("heapglass: {note}"));
    }
    if !to_stdout {
        terminal::eprint_line(format_args!(
            "wrote {}: the sum of {}, {}; peaks are sums of peaks; open it: heapglass {}",
            args.output.display(),
            counted(merged.recordings as u64, "recording"),
            Bytes(bytes),
            crate::summary::quoted(&args.output),
        ));
    }
    Ok(())
}

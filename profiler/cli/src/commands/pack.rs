//! `heapglass pack`: a recording that needs nothing beside it.

use heapglass_profiler::units::Bytes;

use crate::args::Pack;
use crate::error::Error;
use crate::files::output::{Output, print_json};
use crate::{open, terminal};

pub(super) fn run(args: &Pack) -> Result<(), Error> {
    let output = Output::open_beside(args.json, &args.output, &args.input.file, "recording")?;
    let to_stdout = output.is_stdout();
    let packed = open::pack(&args.input.file, &args.input.symbols)?;
    let written = output.write(|out| out.write_all(&packed))?;
    let bytes = packed.len() as u64;
    if written.is_some() && args.json {
        print_json(&serde_json::json!({
            "format": 1,
            "path": args.output.to_string_lossy(),
            "recording_bytes": bytes,
        }))?;
    } else if written.is_some() && !to_stdout {
        terminal::eprint_line(format_args!(
            "wrote {}: {}; open it anywhere: heapglass {}",
            args.output.display(),
            Bytes(bytes),
            crate::summary::quoted(&args.output),
        ));
    }
    Ok(())
}

//! `heapglass pack`: a recording that needs nothing beside it.

use heapglass_profiler::units::Bytes;

use crate::args::Pack;
use crate::error::Error;
use crate::files::output::{Output, print};
use crate::{open, say};

pub(super) fn run(args: &Pack) -> Result<u8, Error> {
    let output = Output::open(&args.output, &[&args.file])?;
    let to_stdout = output.is_stdout();
    if to_stdout && args.json {
        return Err(Error::misuse(
            "--json prints on standard output, where -o - puts the recording; give one of them another place",
        ));
    }
    let packed = open::pack(&args.file, &args.symbols)?;
    let written = output.write(|out| out.write_all(&packed))?;
    let bytes = packed.len() as u64;
    if written.is_some() && args.json {
        let said = serde_json::json!({
            "format": 1,
            "path": args.output.to_string_lossy(),
            "recording_bytes": bytes,
        });
        print(&format!("{said}\n"))?;
    } else if written.is_some() && !to_stdout {
        say::line(format_args!(
            "wrote {}: {}; open it anywhere: heapglass {}",
            args.output.display(),
            Bytes(bytes),
            crate::summary::quoted(&args.output),
        ));
    }
    Ok(0)
}

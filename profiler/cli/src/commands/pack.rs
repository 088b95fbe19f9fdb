//! `heapglass pack`: makes a recording that needs no other file.

use heapglass_profiler::units::Bytes;

use crate::args::Pack;
use crate::error::Error;
use crate::files::output::{Output, print_json};
use crate::{no_effect, open, terminal};

pub(super) fn run(args: &Pack) -> Result<(), Error> {
    let output = Output::open_beside(args.json, &args.output, &[&args.input.file], "recording")?;
    let to_stdout = output.is_stdout();
    let symbols = &args.input.symbols;
    if !symbols.own.is_empty() || !symbols.debug_dir.is_empty() {
        let profile = open::open(&args.input.file, symbols)?;
        // The packed recording would keep an unknown crate as the only one of the user.
        let own = no_effect::unmatched_own(&symbols.own, &[&profile]);
        if let Some(why) = own.first() {
            return Err(Error::misuse(why.trim_start_matches("heapglass: ")));
        }
        no_effect::warn_of_symbols(symbols, &[&profile]);
    }
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

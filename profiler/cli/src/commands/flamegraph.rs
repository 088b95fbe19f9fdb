//! `heapglass flamegraph`: the SVG.

use heapglass_profiler::flamegraph::{Options, write_svg};
use heapglass_profiler::units::Count;

use crate::args::Flamegraph;
use crate::error::Error;
use crate::files::output::{Output, print};
use crate::{open, say};

pub(super) fn run(args: &Flamegraph) -> Result<u8, Error> {
    let output = Output::open(&args.output, &[&args.file])?;
    let to_stdout = output.is_stdout();
    if to_stdout && args.json {
        return Err(Error::misuse(
            "--json prints on standard output, where -o - puts the picture; give one of them another place",
        ));
    }
    let profile = open::open(&args.file, &args.symbols)?;
    let options = Options {
        by: args.by,
        measure: args.measure.measure,
        inverted: args.inverted,
        keep_all: args.frames.keep_all,
        scopes: args.phases,
        within: None,
    };
    let drawn = output.write(|out| write_svg(&profile, &options, out))?;
    let path = args.output.display();
    match drawn {
        Some(drawn) if args.json => {
            let said = serde_json::json!({
                "format": 1,
                "path": args.output.to_string_lossy(),
                "by": args.by.name(),
                "measure": args.measure.measure.name(),
                "total": drawn.total,
                "frames": drawn.frames,
                "elided": drawn.elided,
            });
            print(&format!("{said}\n"))?;
        }
        Some(drawn) if !to_stdout => {
            let frames = Count(drawn.frames as u64);
            say::line(format_args!(
                "wrote {path}: {frames} frames; open it in a browser"
            ));
        }
        _ => {}
    }
    Ok(0)
}

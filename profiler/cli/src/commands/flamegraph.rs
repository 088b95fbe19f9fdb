//! `heapglass flamegraph`: draws the SVG.

use heapglass_profiler::calltree::{CallTreeOptions, Levels};
use heapglass_profiler::flamegraph::{NOT_OF_ARENAS, is_of_arenas, write_holders_svg, write_svg};
use heapglass_profiler::profile::{Frames, Measure, Profile, ScopeId};
use heapglass_profiler::table::HeldMeasure;

use crate::args::{AnyMeasure, Flamegraph, PictureBy};
use crate::error::Error;
use crate::files::output::{Output, print_json};
use crate::held::snapshot_of;
use crate::{no_effect, open, terminal};

pub(super) fn run(args: &Flamegraph) -> Result<(), Error> {
    match (args.by, args.measure) {
        (PictureBy::Counted(levels), None) => draw(args, levels, None),
        (PictureBy::Counted(levels), Some(AnyMeasure::Counted(measure))) => {
            draw(args, levels, Some(measure))
        }
        (PictureBy::Counted(_), Some(AnyMeasure::Held(measure))) => Err(Error::misuse(
            format_args!("--measure {} works only with --by holder", measure.name()),
        )),
        (PictureBy::Holder, Some(AnyMeasure::Held(measure))) => draw_holders(args, measure),
        (PictureBy::Holder, None) => draw_holders(args, HeldMeasure::default()),
        (PictureBy::Holder, Some(AnyMeasure::Counted(measure))) => Err(Error::misuse(
            not_of_holders(format_args!("--measure {}", measure.name())),
        )),
    }
}

/// Explains why a flag does not go with a picture of a snapshot.
fn not_of_holders(flag: impl std::fmt::Display) -> String {
    format!(
        "{flag} does not work with --by holder, which draws a snapshot; its measures are retained and unused"
    )
}

/// Draws who holds the heap in a snapshot.
fn draw_holders(args: &Flamegraph, measure: HeldMeasure) -> Result<(), Error> {
    let flags = [
        (args.inverted, "--inverted"),
        (args.phases, "--phases"),
        (args.phase.is_some(), "--phase"),
        (args.arena.is_some(), "--arena"),
    ];
    if let Some((_, flag)) = flags.iter().find(|(is_given, _)| *is_given) {
        return Err(Error::misuse(not_of_holders(flag)));
    }
    let output = Output::open_beside(args.json, &args.output, &[&args.input.file], "picture")?;
    let to_stdout = output.is_stdout();
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    let at = snapshot_of(&profile, &args.input.file, args.at.at.as_deref())?;
    warn_of_frames(args);
    no_effect::warn_of_symbols(&args.input.symbols, &[&profile]);
    let drawn = output.write(|out| write_holders_svg(&profile, at, measure, out))?;
    match drawn {
        Some(drawn) if args.json => print_json(&serde_json::json!({
            "format": 1,
            "path": args.output.to_string_lossy(),
            "by": args.by.name(),
            "measure": measure.name(),
            "snapshot": at.number,
            "total": drawn.total,
            "frames": drawn.frames,
            "elided": drawn.elided,
        }))?,
        Some(drawn) if !to_stdout => terminal::wrote_picture(&args.output, drawn.frames),
        _ => {}
    }
    Ok(())
}

fn warn_of_frames(args: &Flamegraph) {
    let frames = args.frames.frames;
    if frames != Frames::Folded && args.by != PictureBy::Counted(Levels::Stack) {
        no_effect::warn(
            format_args!("--frames {}", frames.name()),
            format_args!("frames by {} do not come from stacks", args.by.name()),
        );
    }
}

/// Draws counters of the recording.
fn draw(args: &Flamegraph, by: Levels, measure: Option<Measure>) -> Result<(), Error> {
    if by != Levels::Arena && args.arena.is_some() {
        return Err(Error::misuse(
            "--arena works only with --by arena; add --by arena",
        ));
    }
    if let Some(measure) = measure.filter(|_| by == Levels::Arena) {
        check_arena_measure(measure)?;
    }
    let output = Output::open_beside(args.json, &args.output, &[&args.input.file], "picture")?;
    let to_stdout = output.is_stdout();
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    let arena = arena(&profile, args)?;
    let measure = measure.unwrap_or_else(|| default_measure(&profile, by, arena));
    let options = CallTreeOptions {
        levels: by,
        measure,
        inverted: args.inverted,
        frames: args.frames.frames,
        scopes: args.phases,
        within: phase(&profile, args)?,
        arena,
    };
    warn_of_frames(args);
    if let Some(at) = &args.at.at {
        no_effect::warn(
            format_args!("--at {at}"),
            "this picture is of the whole recording; use it with --by holder",
        );
    }
    no_effect::warn_of_symbols(&args.input.symbols, &[&profile]);
    let drawn = output.write(|out| write_svg(&profile, &options, out))?;
    match drawn {
        Some(drawn) if args.json => {
            print_json(&serde_json::json!({
                "format": 1,
                "path": args.output.to_string_lossy(),
                "by": args.by.name(),
                "measure": measure.name(),
                "total": drawn.total,
                "frames": drawn.frames,
                "elided": drawn.elided,
            }))?;
        }
        Some(drawn) if !to_stdout => terminal::wrote_picture(&args.output, drawn.frames),
        _ => {}
    }
    Ok(())
}

/// Rejects a picture by arena for a measure that arenas do not have.
pub(super) fn check_arena_measure(measure: Measure) -> Result<(), Error> {
    if is_of_arenas(measure) {
        return Ok(());
    }
    Err(Error::misuse(format_args!(
        "cannot draw arenas with --measure {}: {NOT_OF_ARENAS}",
        measure.name()
    )))
}

/// Returns the arena that was asked for, as an index into the arenas of the profile.
fn arena(profile: &Profile, args: &Flamegraph) -> Result<Option<usize>, Error> {
    let Some(wanted) = &args.arena else {
        return Ok(None);
    };
    let names: Vec<&str> = profile
        .arenas()
        .iter()
        .map(|arena| arena.name.as_str())
        .collect();
    let found = names.iter().position(|name| name == wanted);
    let how = "tracking_alloc::arena::Tracked::new";
    let of_instance = wanted.rsplit_once('#');
    let of_instance = of_instance.filter(|(name, number)| {
        names.contains(name) && !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
    });
    let none = || match of_instance {
        // The recorder has no rows for each instance.
        Some((name, _)) => Error::misuse(format_args!(
            "a recording has what is inside arenas by name, not by instance; give each instance a name of its own \
             (Tracked::new(format!(\"{name} {{number}}\"), ..)), and draw it with --arena. `report --by arena` has the \
             sizes of instances"
        )),
        None => none_such(args, "arena", wanted, &names, how),
    };
    found.map(Some).ok_or_else(none)
}

/// Returns the phase that was asked for by its path, or by its name if the name is unique.
fn phase(profile: &Profile, args: &Flamegraph) -> Result<Option<ScopeId>, Error> {
    let Some(wanted) = &args.phase else {
        return Ok(None);
    };
    let phases = profile.phases();
    let all: Vec<(ScopeId, String)> = (1..profile.scopes().len() as u32)
        .map(ScopeId)
        .filter(|&scope| phases.phase_of(scope) == scope)
        .map(|scope| (scope, phases.path(profile, scope)))
        .collect();
    let has_path = |(_, path): &&(ScopeId, String)| path == wanted;
    let has_name =
        |(scope, _): &&(ScopeId, String)| profile.scopes()[scope.0 as usize].name == *wanted;
    let mut found: Vec<_> = all.iter().filter(has_path).take(1).collect();
    if found.is_empty() {
        found = all.iter().filter(has_name).collect();
    }
    match found.as_slice() {
        [(scope, _)] => Ok(Some(*scope)),
        [] => {
            let paths: Vec<&str> = all.iter().map(|(_, path)| path.as_str()).collect();
            let how = "tracking_alloc::phase";
            Err(none_such(args, "phase", wanted, &paths, how))
        }
        several => Err(Error::misuse(format_args!(
            "several phases in {} are named {wanted}; pass the path of one: {}",
            args.input.file.display(),
            several
                .iter()
                .map(|(_, path)| path.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

/// Returns the error for an unknown arena or phase. `there` has the known ones; `how` is the
/// function that names one.
fn none_such(args: &Flamegraph, kind: &str, name: &str, there: &[&str], how: &str) -> Error {
    let there = match there {
        [] => format!("it has none; the program can name one with {how}"),
        _ => format!("it has {}", there.join(", ")),
    };
    let file = args.input.file.display();
    Error::misuse(format_args!("no {kind} {name} in {file}: {there}"))
}

/// Returns the measure to draw if none was given. For arenas, that is the bytes they hold, or what
/// they allocated if they hold nothing.
fn default_measure(profile: &Profile, by: Levels, only: Option<usize>) -> Measure {
    if by != Levels::Arena {
        return Measure::Peak;
    }
    let mut arenas = profile.arenas().iter().enumerate();
    let holds = arenas.any(|(index, arena)| {
        only.is_none_or(|only| only == index) && arena.figures.allocated_bytes > 0
    });
    if holds { Measure::Live } else { Measure::Total }
}

//! `heapglass flamegraph`: the SVG.

use heapglass_profiler::flamegraph::{By, NOT_OF_ARENAS, Options, is_of_arenas, write_svg};
use heapglass_profiler::profile::{Measure, Profile, ScopeId};

use crate::args::Flamegraph;
use crate::error::Error;
use crate::files::output::{Output, print_json};
use crate::{open, say};

pub(super) fn run(args: &Flamegraph) -> Result<u8, Error> {
    if args.by != By::Arena && args.arena.is_some() {
        return Err(Error::misuse("--arena goes with --by arena"));
    }
    if let Some(measure) = args.measure.filter(|_| args.by == By::Arena) {
        check_arena_measure(measure)?;
    }
    let output = Output::open_beside(args.json, &args.output, &args.input.file, "picture")?;
    let to_stdout = output.is_stdout();
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    let arena = arena(&profile, args)?;
    let measure = args
        .measure
        .unwrap_or_else(|| default_measure(&profile, args.by, arena));
    let options = Options {
        by: args.by,
        measure,
        inverted: args.inverted,
        frames: args.frames.get(),
        scopes: args.phases,
        within: phase(&profile, args)?,
        arena,
    };
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
        Some(drawn) if !to_stdout => say::wrote_picture(&args.output, drawn.frames),
        _ => {}
    }
    Ok(0)
}

/// Refuses a picture by arena of a measure that arenas do not have.
pub(super) fn check_arena_measure(measure: Measure) -> Result<(), Error> {
    match is_of_arenas(measure) {
        true => Ok(()),
        false => Err(Error::misuse(format_args!(
            "no picture by arena of --measure {}: {NOT_OF_ARENAS}",
            measure.name()
        ))),
    }
}

/// The arena that was asked for, an index into the profile's.
fn arena(profile: &Profile, args: &Flamegraph) -> Result<Option<usize>, Error> {
    let Some(name) = &args.arena else {
        return Ok(None);
    };
    let found = profile.arenas.iter().position(|arena| arena.name == *name);
    if found.is_some() {
        return Ok(found);
    }
    let names: Vec<&str> = profile
        .arenas
        .iter()
        .map(|arena| arena.name.as_str())
        .collect();
    let there = if names.is_empty() {
        "it has none (name one with tracking_alloc::arena::Tracked::new)".to_owned()
    } else {
        format!("it has {}", names.join(", "))
    };
    Err(Error::misuse(format_args!(
        "no arena {name} in {}: {there}",
        args.input.file.display()
    )))
}

/// The phase that was asked for, by its path, or by its name when only one has it.
fn phase(profile: &Profile, args: &Flamegraph) -> Result<Option<ScopeId>, Error> {
    let Some(wanted) = &args.phase else {
        return Ok(None);
    };
    let phases = profile.phases();
    let all = (1..profile.scopes.len() as u32).map(ScopeId);
    let all: Vec<(ScopeId, String)> = all
        .filter(|&scope| phases.phase_of(scope) == scope)
        .map(|scope| (scope, phases.path(profile, scope)))
        .collect();
    let file = args.input.file.display();
    if let Some((scope, _)) = all.iter().find(|(_, path)| path == wanted) {
        return Ok(Some(*scope));
    }
    let named: Vec<_> = all
        .iter()
        .filter(|(scope, _)| profile.scopes[scope.0 as usize].name == *wanted)
        .collect();
    let paths = |phases: &[&(ScopeId, String)]| {
        let paths: Vec<&str> = phases.iter().map(|(_, path)| path.as_str()).collect();
        paths.join(", ")
    };
    match named.as_slice() {
        [(scope, _)] => Ok(Some(*scope)),
        [] if all.is_empty() => Err(Error::misuse(format_args!(
            "no phase {wanted} in {file}: it has none (name one with tracking_alloc::phase)"
        ))),
        [] => Err(Error::misuse(format_args!(
            "no phase {wanted} in {file}: it has {}",
            paths(&all.iter().collect::<Vec<_>>())
        ))),
        several => Err(Error::misuse(format_args!(
            "several phases are called {wanted} in {file}; say which: {}",
            paths(several)
        ))),
    }
}

/// The measure when none was given. Of arenas what they hold, or, when that is nothing, what they allocated.
fn default_measure(profile: &Profile, by: By, only: Option<usize>) -> Measure {
    if by != By::Arena {
        return Measure::Peak;
    }
    let mut arenas = profile.arenas.iter().enumerate();
    let holds =
        arenas.any(|(index, arena)| only.is_none_or(|only| only == index) && arena.chunk_bytes > 0);
    if holds { Measure::Live } else { Measure::Total }
}

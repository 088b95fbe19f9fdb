//! `heapglass flamegraph`: draws the SVG.

use heapglass_profiler::flamegraph::{measure_of_arenas, write_svg};
use heapglass_profiler::profile::{Frames, Measure, Profile, ScopeId};
use heapglass_profiler::question::{Form, Of, Question, Shape};
use heapglass_profiler::table::By;

use crate::args::{Flamegraph, picture_name};
use crate::error::Error;
use crate::files::output::{Output, print_json};
use crate::{no_effect, open, terminal};

pub(super) fn run(args: &Flamegraph) -> Result<(), Error> {
    let asked_for = args.figures.measure;
    let is_of_snapshot = asked_for.is_some_and(Measure::is_of_snapshots);
    let by = args
        .by
        .unwrap_or(if is_of_snapshot { By::Holder } else { By::Site });
    let mut asked = args.figures.asked(by);
    // The default measure of arenas depends on what they hold.
    let is_open = by == By::Arena && asked_for.is_none();
    if !is_open {
        asked = asked.checked(Form::Tree)?;
    }
    check_flags(args, by, asked.is_of_snapshot())?;
    let output = Output::open_beside(args.json, &args.output, &[&args.input.file], "picture")?;
    let to_stdout = output.is_stdout();
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    let arena = arena(&profile, args)?;
    if is_open {
        asked.measure = measure_of_arenas(&profile, arena, Measure::Peak);
    }
    let snapshot = if asked.is_of_snapshot() {
        Some(args.figures.snapshot_of(&profile, &args.input.file)?)
    } else {
        None
    };
    let question = Question {
        of: snapshot.map_or(Of::Whole, Of::Snapshot),
        by,
        measure: asked.measure,
        frames: args.frames.frames,
        shape: Shape {
            inverted: args.inverted,
            upwards: args.upwards,
            scopes: args.phases,
            within: phase(&profile, args)?,
            arena,
        },
    };
    warn_of_frames(args, by);
    if let Some(at) = args.figures.at.as_ref().filter(|_| snapshot.is_none()) {
        no_effect::warn(
            format_args!("--at {at}"),
            "this picture is of the whole recording; use it with --by holder",
        );
    }
    no_effect::warn_of_symbols(&args.input.symbols, &[&profile]);
    let drawn = output.write(|out| write_svg(&profile, &question, out))?;
    match drawn {
        Some(drawn) if args.json => {
            let mut json = serde_json::json!({
                "format": 1,
                "path": args.output.to_string_lossy(),
                "by": picture_name(by),
                "measure": asked.measure.name(),
                "total": drawn.total,
                "frames": drawn.frames,
                "elided": drawn.elided,
            });
            if let Some(at) = snapshot {
                json["snapshot"] = at.number.into();
            }
            print_json(&json)?;
        }
        Some(drawn) if !to_stdout => terminal::wrote_picture(&args.output, drawn.frames),
        _ => {}
    }
    Ok(())
}

/// Rejects flags that do not go with the picture.
fn check_flags(args: &Flamegraph, by: By, is_of_snapshot: bool) -> Result<(), Error> {
    let flags = [
        (args.inverted, "--inverted"),
        (args.phases, "--phases"),
        (args.phase.is_some(), "--phase"),
        (args.arena.is_some(), "--arena"),
    ];
    if let Some((_, flag)) = flags
        .iter()
        .find(|(is_given, _)| is_of_snapshot && *is_given)
    {
        return Err(Error::misuse(format_args!(
            "{flag} does not work with a picture of a snapshot, which has no stacks; leave it out"
        )));
    }
    if by != By::Arena && args.arena.is_some() {
        return Err(Error::misuse(
            "--arena works only with --by arena; add --by arena",
        ));
    }
    Ok(())
}

fn warn_of_frames(args: &Flamegraph, by: By) {
    let frames = args.frames.frames;
    if frames != Frames::Folded && by != By::Site {
        no_effect::warn(
            format_args!("--frames {}", frames.name()),
            format_args!("frames by {} do not come from stacks", by.name()),
        );
    }
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
    let of_instance = wanted.rsplit_once('#').filter(|(name, number)| {
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

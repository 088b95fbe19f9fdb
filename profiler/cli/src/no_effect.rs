//! Warnings about options that change nothing. Each is one line on standard error, because the user
//! expected an effect.

use std::fmt::Display;
use std::path::Path;

use heapglass_profiler::profile::{
    Frames, Function, Language, Measure, Origin, Profile, SymbolSource,
};
use heapglass_profiler::table::By;

use crate::args::Symbols;
use crate::terminal;

/// Warns that an option has no effect, and gives the reason.
pub(crate) fn warn(option: impl Display, why: impl Display) {
    terminal::eprint_line(format_args!("heapglass: {option} has no effect: {why}"));
}

/// Warns about options that do not apply to this kind of row.
pub(crate) fn warn_of_rows(by: By, measure: Measure, frames: Frames, symbols: &Symbols) {
    let of_rows = by.name();
    if frames != Frames::Folded && by == By::Holder {
        warn(
            format_args!("--frames {}", frames.name()),
            "holders have no stacks; use it with --by site or --by function",
        );
        return;
    }
    if frames != Frames::Folded && !matches!(by, By::Site | By::Function) {
        warn(
            format_args!("--frames {}", frames.name()),
            format_args!(
                "rows by {of_rows} have no stacks; use it with --by site or --by function"
            ),
        );
    }
    if measure != Measure::Peak && by.measure(measure) != measure {
        warn(
            format_args!("--measure {}", measure.name()),
            "live bytes belong to no thread; rows are sorted by the bytes that each thread allocated",
        );
    }
    if !symbols.own.is_empty() && matches!(by, By::Field | By::Module | By::Phase | By::Thread) {
        let own = format!("--own {}", symbols.own.join(" --own "));
        warn(
            own,
            format_args!("rows by {of_rows} do not depend on which crates are yours"),
        );
    }
}

/// Warns about each `--own` and `--debug-dir` that matched nothing in any of the recordings.
pub(crate) fn warn_of_symbols(symbols: &Symbols, profiles: &[&Profile]) {
    for line in unmatched(symbols, profiles) {
        terminal::eprint_line(line);
    }
}

/// Returns a sentence for each `--own` and `--debug-dir` that matched nothing in any of the
/// recordings.
pub(crate) fn unmatched(symbols: &Symbols, profiles: &[&Profile]) -> Vec<String> {
    let own = symbols.own.iter().filter_map(|krate| {
        let why = why_not_own(krate, profiles)?;
        Some(format!("heapglass: --own {krate} has no effect: {why}"))
    });
    let folders = symbols.debug_dir.iter().filter_map(|folder| {
        let why = why_not_read(folder, profiles)?;
        Some(format!(
            "heapglass: --debug-dir {} has no effect: {why}",
            folder.display()
        ))
    });
    let wrappers = symbols.wrapper.iter().filter_map(|pattern| {
        let is_used = profiles.iter().any(|profile| profile.has_wrapper(pattern));
        (!is_used).then(|| {
            format!(
                "heapglass: --wrapper {pattern} has no effect: no function that may own blocks has \
                 such a name"
            )
        })
    });
    own.chain(wrappers).chain(folders).collect()
}

/// Returns a sentence for each crate of `heapglass run --own` that is not in the recordings.
pub(crate) fn unmatched_own(own: &[String], profiles: &[&Profile]) -> Vec<String> {
    let symbols = Symbols {
        own: own.to_vec(),
        ..Symbols::default()
    };
    unmatched(&symbols, profiles)
}

/// Returns the reason why `--own NAME` makes no function the user's own, or `None` if it does.
fn why_not_own(name: &str, profiles: &[&Profile]) -> Option<String> {
    let krate = name.replace('-', "_");
    let functions = || profiles.iter().flat_map(|profile| profile.functions());
    let of_crate = |function: &&Function| function.krate == krate;
    if functions().any(|function| of_crate(&function) && function.origin == Origin::User) {
        return None;
    }
    let is_function = |function: &Function| {
        (function.short == name || function.name == name) && function.language != Language::Rust
    };
    if functions().any(is_function) {
        return None;
    }
    if functions().any(|function| of_crate(&function)) {
        return Some("only Rust crates outside std and heapglass can be yours".to_owned());
    }
    let rust = |function: &&Function| matches!(function.origin, Origin::User | Origin::Dependency);
    let alike = functions()
        .filter(rust)
        .map(|function| function.krate.as_str())
        .max_by(|a, b| strsim::jaro(a, &krate).total_cmp(&strsim::jaro(b, &krate)));
    Some(match alike {
        None => "the recording has no stacks with function names".to_owned(),
        Some(alike) if strsim::jaro(alike, &krate) > 0.7 => {
            format!("the recording has no such crate; did you mean {alike}?")
        }
        Some(_) => "the recording has no such crate; `heapglass report FILE --by crate` lists them"
            .to_owned(),
    })
}

/// Returns the reason why no symbols come from a folder of `--debug-dir`, or `None` if some do or
/// may.
fn why_not_read(folder: &Path, profiles: &[&Profile]) -> Option<&'static str> {
    let Ok(real) = folder.canonicalize() else {
        return Some("there is no such folder");
    };
    if !real.is_dir() {
        return Some("it is not a folder");
    }
    let sources = || {
        let modules = profiles.iter().flat_map(|profile| profile.modules());
        modules.map(|module| &module.symbols)
    };
    let is_inside = |source: &SymbolSource| match source {
        SymbolSource::Debug(path) | SymbolSource::Table(path) => path
            .canonicalize()
            .is_ok_and(|path| path.starts_with(&real)),
        _ => false,
    };
    // NOTE: the profile does not keep which of these files were read.
    let has_split_files = || {
        let entries = std::fs::read_dir(&real).into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths.any(|path| {
            path.extension()
                .is_some_and(|end| end == "dwo" || end == "dwp")
        })
    };
    if sources().any(is_inside) || has_split_files() {
        return None;
    }
    if sources().any(|source| *source == SymbolSource::Packed) {
        return Some("the recording is packed and contains its symbols");
    }
    Some("no symbols of this recording were found there")
}

//! Symbolization held against programs built here, with every kind of debug information.

mod programs;

mod debug_information;
mod files;
mod hostile;
mod identity;
mod kept;
mod large;
mod naming;
mod oracle;
mod stacks;

use std::path::Path;

use super::*;

/// Resolves with nothing but what lies where it ran.
fn resolved(binary: &Path, extent: &std::ops::Range<u64>) -> Symbols {
    let modules = [programs::module(binary)];
    resolve(
        &modules,
        &programs::raw_frames(extent),
        &SymbolOptions::default(),
        &|_| (),
    )
    .expect("resolving")
}

/// Returns `true` if any frame of any address has this function at this line of the program's file.
fn has(symbols: &Symbols, function: &str, line: u32) -> bool {
    symbols.frames.iter().flatten().any(|frame| {
        &*frame.function == function
            && frame.line == Some(line)
            && frame
                .file
                .as_deref()
                .is_some_and(|file| file.ends_with("/shapes.rs"))
    })
}

/// The distinct function names among the frames.
fn names_in(symbols: &Symbols) -> std::collections::BTreeSet<&str> {
    symbols
        .frames
        .iter()
        .flatten()
        .map(|frame| &*frame.function)
        .collect()
}

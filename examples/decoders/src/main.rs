//! The memory that decoders cost: the same data, decoded by each format.
//!
//! - `decoders [SET..]`: prints the page, or the tables of these data sets.
//! - `decoders --publish`: writes the page and its pictures into the guide.
//! - `decoders --check [SET..]`: fails if the guide differs, in these data sets alone if some are
//!   given. Hostile inputs are always checked.

mod bars;
mod data;
mod findings;
mod formats;
mod hostile;
mod measure;
mod page;
mod protobuf;
#[path = "../../src/data.rs"]
#[expect(dead_code, reason = "only the random numbers are used")]
mod random;
mod text;

// Generators that are shared with other examples name the crate in which they find random numbers.
extern crate self as heapglass_examples;

// Some derives name their module in the paths of the code that they generate, as it is in the
// gauntlet.
mod cases {
    pub(crate) mod s4 {
        pub(crate) use crate::data::requests::log_capnp;
    }
}

use formats::{SETS, Set};
use page::{Hostile, Measured};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (flags, names): (Vec<&str>, Vec<&str>) = words
        .iter()
        .map(String::as_str)
        .partition(|word| word.starts_with('-'));
    let unknown = names
        .iter()
        .find(|name| SETS.iter().all(|set| set.name != **name));
    if let Some(name) = unknown {
        let known: Vec<&str> = SETS.iter().map(|set| set.name).collect();
        eprintln!(
            "decoders: unknown data set `{name}`; the data sets are {}",
            known.join(", ")
        );
        return ExitCode::from(2);
    }
    let chosen: Vec<&'static Set> = SETS
        .iter()
        .filter(|set| names.is_empty() || names.contains(&set.name))
        .collect();
    hostile::limit();
    let whole = chosen.len() == SETS.len();
    match flags.as_slice() {
        [] => {
            let measured = measured(&chosen);
            let parts = if whole {
                vec![page::page(&measured)]
            } else {
                page::parts(&measured)
            };
            println!("{}", parts.join("\n"));
            ExitCode::SUCCESS
        }
        ["--publish"] if whole => publish(&measured(&chosen)),
        ["--check"] => check(&measured(&chosen), whole),
        _ => {
            eprintln!("usage: decoders [--check] [SET..] | decoders --publish");
            ExitCode::from(2)
        }
    }
}

fn measured(chosen: &[&'static Set]) -> Measured {
    let measured = |set: &&'static Set| {
        let (value, rows) = (set.rows)();
        (*set, value, rows)
    };
    Measured {
        hostile: Hostile::measured(),
        sets: chosen.iter().map(measured).collect(),
    }
}

/// Returns the path of a file of the guide.
fn guide(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/src")
        .join(file)
}

fn publish(measured: &Measured) -> ExitCode {
    let mut files = page::pictures(measured);
    files.push(("decoders.md".to_owned(), page::page(measured)));
    for (name, text) in files {
        let path = guide(&name);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = folder.and_then(|()| std::fs::write(&path, text)) {
            eprintln!("decoders: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
        eprintln!("wrote {}", path.display());
    }
    ExitCode::SUCCESS
}

/// Compares what was measured with the guide.
fn check(measured: &Measured, whole: bool) -> ExitCode {
    let read = |file: &str| std::fs::read_to_string(guide(file)).unwrap_or_default();
    let committed = read("decoders.md");
    let mut same = true;
    let mut differ = |what: &str| {
        same = false;
        eprintln!("decoders: {what} of the guide differs; run `cargo decoders --publish`");
    };
    for part in page::parts(measured) {
        if !committed.contains(&part) {
            differ(part.lines().next().unwrap_or_default());
            eprintln!("{part}");
        }
    }
    if whole && committed != page::page(measured) {
        differ("the page");
    }
    for (name, text) in page::pictures(measured) {
        if read(&name) != text {
            differ(&name);
        }
    }
    if same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

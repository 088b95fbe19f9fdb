//! Which functions allocated most: what a broken limit says with the feature `assert-sites`.

use super::Counted;
use crate::count::{self, Stack, Stacks};
use crate::figures::Stats;
use crate::threads::Threads;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Write;

/// Places that are listed; the others are one line.
const LISTED: usize = 5;
/// Callers that are listed of a place.
const CALLERS: usize = 3;

/// Blocks and bytes allocated.
#[derive(Clone, Copy, Default)]
struct Sum {
    blocks: u64,
    bytes: u64,
}

/// The stacks of a block's allocations.
pub(super) struct Capture {
    /// `None` when another assertion captures what is counted here, or without memory.
    stacks: Option<Stacks>,
    /// What the block runs in where one thread is counted: a group of that thread alone.
    thread: Option<Threads>,
}

impl Capture {
    pub(super) fn begin(counted: &Counted<'_>) -> Self {
        let thread = matches!(counted, Counted::Thread).then(Threads::new);
        let stacks = match (counted, &thread) {
            (Counted::Threads(threads), _) => threads.capture(),
            (_, Some(thread)) => thread.capture(),
            (_, None) => count::capture(),
        };
        Capture { stacks, thread }
    }

    /// Runs a block of which one thread is counted.
    pub(super) fn run<R>(&self, block: impl FnOnce() -> R) -> R {
        match &self.thread {
            Some(thread) => thread.enter(block),
            None => block(),
        }
    }

    /// The block has ended.
    pub(super) fn end(&self) {
        if let Some(stacks) = &self.stacks {
            stacks.end();
        }
    }

    /// Lines that name what allocated most in a block with these figures: most blocks, or most bytes.
    pub(super) fn describe(&self, figures: &Stats, by_blocks: bool) -> String {
        let stacks = self.stacks.as_ref().map(Stacks::read).unwrap_or_default();
        describe(&stacks, figures, by_blocks)
    }
}

fn describe(stacks: &[Stack], figures: &Stats, by_blocks: bool) -> String {
    let mut rest = Sum {
        blocks: figures.total_blocks,
        bytes: figures.total_bytes,
    };
    let mut places: HashMap<String, Sum> = HashMap::new();
    let mut names = HashMap::new();
    for stack in stacks {
        let sum = places.entry(place(stack, &mut names)).or_default();
        sum.blocks += stack.blocks;
        sum.bytes += stack.bytes;
        rest.blocks = rest.blocks.saturating_sub(stack.blocks);
        rest.bytes = rest.bytes.saturating_sub(stack.bytes);
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by(|(a_place, a), (b_place, b)| {
        let key = |sum: &Sum| match by_blocks {
            true => (sum.blocks, sum.bytes),
            false => (sum.bytes, sum.blocks),
        };
        key(b).cmp(&key(a)).then_with(|| a_place.cmp(b_place))
    });
    let mut lines = format!(
        "\n  most {} allocated:",
        if by_blocks { "blocks" } else { "bytes" }
    );
    let (listed, others) = places.split_at(places.len().min(LISTED));
    for (place, sum) in listed {
        let _ = write!(lines, "\n    {}  {place}", said(*sum));
    }
    if !others.is_empty() {
        let sum = others.iter().fold(Sum::default(), |all, (_, sum)| Sum {
            blocks: all.blocks + sum.blocks,
            bytes: all.bytes + sum.bytes,
        });
        let _ = write!(
            lines,
            "\n    {}  in {} other places",
            said(sum),
            others.len()
        );
    }
    if rest.blocks > 0 {
        let _ = write!(lines, "\n    {}  not captured", said(rest));
    }
    lines
}

fn said(Sum { blocks, bytes }: Sum) -> String {
    let plural = if blocks == 1 { "" } else { "s" };
    format!("{bytes} bytes in {blocks} block{plural}")
}

/// A function with its source, and whose it is.
#[derive(Clone)]
struct Function {
    text: String,
    whose: FrameOwner,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameOwner {
    Program,
    /// The standard library's, libc's, the allocator's entry points, or ours.
    Other,
    /// The call that runs the block.
    Block,
}

/// The function that allocated, and its callers up to the block.
fn place(stack: &Stack, names: &mut HashMap<usize, Vec<Function>>) -> String {
    let mut functions = Vec::new();
    // The outermost frame of a thread may have no address.
    for address in stack.addresses.iter().filter(|address| **address != 0) {
        let named = names.entry(*address).or_insert_with(|| resolve(*address));
        for function in named {
            match function.whose {
                FrameOwner::Program => functions.push(function.text.clone()),
                // Without debug information, calls that were inlined are not known.
                FrameOwner::Block if functions.is_empty() => {
                    return "in the block, function not known".to_owned();
                }
                FrameOwner::Block => return functions.join(BELOW),
                FrameOwner::Other => {}
            }
            if functions.len() > CALLERS {
                return functions.join(BELOW);
            }
        }
    }
    match functions.is_empty() {
        true => "in no function of the program".to_owned(),
        false => functions.join(BELOW),
    }
}

const BELOW: &str = "\n        called by ";

/// The functions at a return address, innermost first: more than one where calls were inlined.
fn resolve(address: usize) -> Vec<Function> {
    let mut functions = Vec::new();
    backtrace::resolve(address as *mut c_void, |symbol| {
        let name = symbol.name().map(|name| format!("{name:#}"));
        let file = symbol.filename().map(|file| file.display().to_string());
        functions.push(function(address, name, file, symbol.lineno()));
    });
    if functions.is_empty() {
        functions.push(function(address, None, None, None));
    }
    functions
}

fn function(
    address: usize,
    name: Option<String>,
    file: Option<String>,
    line: Option<u32>,
) -> Function {
    let whose = match &name {
        Some(name) => whose(name, file.as_deref()),
        None => FrameOwner::Program,
    };
    let mut text = name.unwrap_or_else(|| format!("unknown function at {address:#x}"));
    if let Some(file) = file {
        let folder = std::env::current_dir().map(|folder| format!("{}/", folder.display()));
        let short = folder.ok().and_then(|folder| file.strip_prefix(&folder));
        let file = short.unwrap_or(&file);
        let _ = match line {
            Some(line) => write!(text, " ({file}:{line})"),
            None => write!(text, " ({file})"),
        };
    }
    Function { text, whose }
}

fn whose(name: &str, file: Option<&str>) -> FrameOwner {
    let krate = name.trim_start_matches('<');
    let is_of = |crates: &[&str]| crates.iter().any(|of| krate.starts_with(of));
    // How threads and programs begin.
    let is_start = ["start_thread", "clone", "clone3", "_start"].contains(&name);
    if is_of(&["tracking_alloc::measure::"]) {
        return FrameOwner::Block;
    }
    if is_start
        || is_of(&[
            "tracking_alloc::",
            "__rust",
            "__rg_",
            "__libc_start",
            "backtrace::",
        ])
    {
        return FrameOwner::Other;
    }
    // A name may begin with a type of std in a function of the program, so its file is asked if it is known. Crates that
    // std is built with lie below /rust/deps.
    let is_standard = match file {
        Some(file) => {
            file.starts_with("/rustc/")
                || file.starts_with("/rust/deps/")
                || file.contains("/rustlib/src/rust/library/")
        }
        None => is_of(&["std::", "core::", "alloc::"]),
    };
    match is_standard {
        true => FrameOwner::Other,
        false => FrameOwner::Program,
    }
}

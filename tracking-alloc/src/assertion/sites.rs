//! Which functions allocated most: what a broken limit says with the feature `assert-sites`.

use crate::count::{PROCESS, Stack, Stacks};
use crate::figures::Stats;
use crate::threads::Threads;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::{self, Display, Write};

/// Places that are listed; the others are one line.
const LISTED: usize = 5;
/// Callers that are listed of a place.
const CALLERS: usize = 3;

/// The stacks of a block's allocations; `None` when another assertion captures what is counted here, or without memory.
pub(super) struct Capture(Option<Stacks>);

impl Capture {
    /// Of the threads that entered a handle, or of all.
    pub(super) fn begin(threads: Option<&Threads>) -> Self {
        let counters = threads.map_or(&PROCESS, |threads| &threads.group.counters);
        Capture(counters.sites.begin())
    }

    /// The block has ended.
    pub(super) fn end(&self) {
        if let Some(stacks) = &self.0 {
            stacks.end();
        }
    }

    /// Lines that name what allocated most in a block with these figures: most blocks, or most bytes.
    pub(super) fn describe(&self, figures: &Stats, by_blocks: bool) -> String {
        let stacks = self.0.as_ref().map(Stacks::read).unwrap_or_default();
        describe(&stacks, figures, by_blocks)
    }
}

/// Blocks and bytes allocated.
#[derive(Clone, Copy, Default)]
struct Sum {
    blocks: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, blocks: u64, bytes: u64) {
        self.blocks += blocks;
        self.bytes += bytes;
    }
}

impl Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sum { blocks, bytes } = self;
        let plural = if *blocks == 1 { "" } else { "s" };
        write!(f, "\n    {bytes} bytes in {blocks} block{plural}  ")
    }
}

fn describe(stacks: &[Stack], figures: &Stats, by_blocks: bool) -> String {
    let (mut captured, mut others) = (Sum::default(), Sum::default());
    let mut places: HashMap<String, Sum> = HashMap::new();
    let mut names = HashMap::new();
    for stack in stacks {
        let sum = places.entry(place(stack, &mut names)).or_default();
        sum.add(stack.blocks, stack.bytes);
        captured.add(stack.blocks, stack.bytes);
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_cached_key(|(place, sum)| {
        let most = match by_blocks {
            true => (sum.blocks, sum.bytes),
            false => (sum.bytes, sum.blocks),
        };
        (Reverse(most), place.clone())
    });
    let unit = if by_blocks { "blocks" } else { "bytes" };
    let mut lines = format!("\n  most {unit} allocated:");
    for (index, (place, sum)) in places.iter().enumerate() {
        if index < LISTED {
            let _ = write!(lines, "{sum}{place}");
        } else {
            others.add(sum.blocks, sum.bytes);
        }
    }
    if places.len() > LISTED {
        let _ = write!(lines, "{others}in {} other places", places.len() - LISTED);
    }
    let rest = Sum {
        blocks: figures.total_blocks.saturating_sub(captured.blocks),
        bytes: figures.total_bytes.saturating_sub(captured.bytes),
    };
    if rest.blocks > 0 {
        let _ = write!(lines, "{rest}not captured");
    }
    lines
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
    let mut without = "in no function of the program";
    // The outermost frame of a thread may have no address.
    let addresses = stack.addresses.iter().filter(|address| **address != 0);
    'frames: for address in addresses {
        for function in names.entry(*address).or_insert_with(|| resolve(*address)) {
            match function.whose {
                FrameOwner::Program => functions.push(function.text.clone()),
                FrameOwner::Block => {
                    // Without debug information, calls that were inlined are not known.
                    without = "in the block, function not known";
                    break 'frames;
                }
                FrameOwner::Other => {}
            }
            if functions.len() > CALLERS {
                break 'frames;
            }
        }
    }
    if functions.is_empty() {
        return without.to_owned();
    }
    functions.join(BELOW)
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

//! The functions that allocated most, which a failing limit names with the feature `assert-sites`.

use crate::Stats;
use crate::threads::Threads;
use backtrace::Symbol;
use heapglass_recorder::counting::{self, Stack, Stacks};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::{self, Display, Write};

/// Maximum number of places in the list; the others share one line.
const LISTED: usize = 5;
/// Maximum number of callers in the list of a place.
const CALLERS: usize = 3;

/// The stacks of a block's allocations; `None` without memory, or if another assertion already
/// captures the same threads.
pub(super) struct Capture(Option<Stacks>);

impl Capture {
    /// Captures the stacks of the threads that entered a handle, or of all threads.
    pub(super) fn begin(threads: Option<&Threads>) -> Self {
        Capture(counting::capture(threads.map(|threads| threads.group)))
    }

    /// Stops capturing: the block has ended.
    pub(super) fn end(&self) {
        if let Some(stacks) = &self.0 {
            stacks.end();
        }
    }

    /// Returns lines that name what allocated most in a block with these figures, by blocks or by
    /// bytes. Symbolizing takes megabytes, so a recording contains only the allocation of the
    /// returned lines.
    pub(super) fn describe(&self, figures: &Stats, by_blocks: bool) -> String {
        let lines = unrecorded(|| self.lines(figures, by_blocks));
        let recorded = lines.clone();
        unrecorded(|| drop(lines));
        recorded
    }

    fn lines(&self, figures: &Stats, by_blocks: bool) -> String {
        let (mut captured, mut others) = (Sum::default(), Sum::default());
        let mut places: HashMap<String, Sum> = HashMap::new();
        let mut names = HashMap::new();
        for stack in &self.0.as_ref().map(Stacks::read).unwrap_or_default() {
            let sum = places.entry(place(stack, &mut names)).or_default();
            sum.add(stack.blocks, stack.bytes);
            captured.add(stack.blocks, stack.bytes);
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_by_cached_key(|(place, sum)| {
            let most = if by_blocks {
                (sum.blocks, sum.bytes)
            } else {
                (sum.bytes, sum.blocks)
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
}

/// Runs `f` without recording what it allocates.
fn unrecorded<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(recording)]
    let _passed_over = heapglass_recorder::PassedOver::begin();
    f()
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

/// A function with its source position and its owner.
struct Function {
    text: String,
    whose: FrameOwner,
}

enum FrameOwner {
    Program,
    /// The standard library, libc, the allocator's entry points, or this crate.
    Other,
    /// The call that runs the block.
    Block,
}

/// Returns the function that allocated, and its callers up to the block.
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
                    // Without debug information, inlined calls are not known.
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

/// Returns the functions at a return address, innermost first. There is more than one if calls were
/// inlined.
fn resolve(address: usize) -> Vec<Function> {
    let mut functions = Vec::new();
    backtrace::resolve(address as *mut c_void, |symbol| {
        functions.push(Function::of(address, symbol));
    });
    if functions.is_empty() {
        functions.push(Function::unknown(address));
    }
    functions
}

impl Function {
    fn unknown(address: usize) -> Self {
        Function {
            text: format!("unknown function at {address:#x}"),
            whose: FrameOwner::Program,
        }
    }

    fn of(address: usize, symbol: &Symbol) -> Self {
        let file = symbol.filename().map(|file| file.display().to_string());
        let mut function = match symbol.name().map(|name| format!("{name:#}")) {
            Some(text) => Function {
                whose: whose(&text, file.as_deref()),
                text,
            },
            None => Function::unknown(address),
        };
        if let Some(file) = file {
            let folder = std::env::current_dir().map(|folder| format!("{}/", folder.display()));
            let short = folder.ok().and_then(|folder| file.strip_prefix(&folder));
            let line = symbol.lineno().map(|line| format!(":{line}"));
            let (file, line) = (short.unwrap_or(&file), line.unwrap_or_default());
            let _ = write!(function.text, " ({file}{line})");
        }
        function
    }
}

fn whose(name: &str, file: Option<&str>) -> FrameOwner {
    // The functions in which threads and programs begin.
    const STARTS: [&str; 4] = ["start_thread", "clone", "clone3", "_start"];
    const INTERNALS: [&str; 8] = [
        "tracking_alloc::",
        "tracking_alloc_arena::",
        "tracking_alloc_serde::",
        "heapglass_recorder::",
        "__rust",
        "__rg_",
        "__libc_start",
        "backtrace::",
    ];
    let krate = name.trim_start_matches('<');
    let is_of = |crates: &[&str]| crates.iter().any(|of| krate.starts_with(of));
    if is_of(&["heapglass_recorder::measured::"]) {
        return FrameOwner::Block;
    }
    if STARTS.contains(&name) || is_of(&INTERNALS) {
        return FrameOwner::Other;
    }
    // The name of a program's function may begin with a type of std, so its file decides if it is
    // known. The crates that std is built with are below /rust/deps.
    let is_standard = match file {
        Some(file) => {
            file.starts_with("/rustc/")
                || file.starts_with("/rust/deps/")
                || file.contains("/rustlib/src/rust/library/")
        }
        None => is_of(&["std::", "core::", "alloc::"]),
    };
    if is_standard {
        FrameOwner::Other
    } else {
        FrameOwner::Program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_our_crates_are_not_the_programs() {
        for name in [
            "tracking_alloc::alloc::TrackingAlloc::alloc",
            "heapglass_recorder::hook::event::allocated",
            "<tracking_alloc_serde::profiled::visitor::Vis as serde::de::Visitor>::visit_seq",
            "tracking_alloc_arena::tracked::Tracked::new",
        ] {
            assert!(matches!(whose(name, None), FrameOwner::Other), "{name}");
        }
        let own = whose("tracking_alloc_demo::main", None);
        assert!(matches!(own, FrameOwner::Program));
        let block = whose("heapglass_recorder::measured::measured_with", None);
        assert!(matches!(block, FrameOwner::Block));
    }
}

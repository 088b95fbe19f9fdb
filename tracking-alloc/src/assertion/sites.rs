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
#[derive(Clone)]
struct Function {
    /// The name without generic arguments.
    name: String,
    /// The file and the line, in brackets; empty if they are not known.
    source: String,
    whose: FrameOwner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameOwner {
    Program,
    /// A crate that the program depends on.
    Dependency,
    /// The standard library, libc, the allocator's entry points, or this crate.
    Other,
    /// The call that runs the block.
    Block,
}

/// Returns the function of the program that owns an allocation, what it called, and its callers up
/// to the block, as in reports.
fn place(stack: &Stack, names: &mut HashMap<usize, Vec<Function>>) -> String {
    let mut functions: Vec<Function> = Vec::new();
    // The outermost frame of a thread may have no address.
    let addresses = stack.addresses.iter().filter(|address| **address != 0);
    for address in addresses {
        let known = names.entry(*address).or_insert_with(|| resolve(*address));
        functions.extend(known.iter().cloned());
        if known
            .iter()
            .any(|function| function.whose == FrameOwner::Block)
        {
            break;
        }
    }
    place_of(&functions)
}

/// Returns the text about functions, innermost first.
fn place_of(functions: &[Function]) -> String {
    let end = functions
        .iter()
        .position(|function| function.whose == FrameOwner::Block);
    let inside = &functions[..end.unwrap_or(functions.len())];
    // Without debug information a file does not tell whose code it is. The code of the block is the
    // program's, and so is all of its crate.
    let is_program = |function: &&Function| function.whose == FrameOwner::Program;
    let of_block = inside.iter().rev().find(is_program).map(Function::krate);
    let is_own = |function: &&Function| {
        let is_of_block = Some(function.krate()) == of_block;
        is_program(function) && (!function.source.is_empty() || is_of_block)
    };
    let is_others = |function: &&Function| {
        let is_other = matches!(function.whose, FrameOwner::Other | FrameOwner::Block);
        !is_other && !is_own(function)
    };
    let mut own = inside.iter().filter(is_own);
    let owner = own.next();
    // The run of other people's frames inside the owner is the call that it made.
    let at = inside.iter().position(|function| is_own(&function));
    let run = &inside[..at.unwrap_or(inside.len())];
    let called = run.iter().rev().find(is_others);
    let mut lines = Vec::new();
    lines.extend(owner.map(Function::text));
    lines.extend(called.map(|called| match owner {
        Some(_) => format!("{CALLS}{}", called.short_text()),
        None => called.short_text(),
    }));
    lines.extend(
        own.take(CALLERS)
            .map(|caller| format!("{BELOW}{}", caller.text())),
    );
    if !lines.is_empty() {
        lines.concat()
    } else if end.is_some() {
        // Without debug information, inlined calls are not known.
        "in the block, function not known".to_owned()
    } else {
        "in no function of the program".to_owned()
    }
}

const BELOW: &str = "\n        called by ";
const CALLS: &str = "\n        calls ";

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
            name: format!("unknown function at {address:#x}"),
            source: String::new(),
            whose: FrameOwner::Program,
        }
    }

    /// The crate that the name begins with.
    fn krate(&self) -> &str {
        let name = self.name.trim_start_matches(['<', '&']);
        name.split("::").next().unwrap_or_default()
    }

    /// `app::load (src/load.rs:12)`
    fn text(&self) -> String {
        format!("{}{}", self.name, self.source)
    }

    /// `regex::Regex::new (regex-1.12.2/src/regex/string.rs:185)`: the crate, and the last two
    /// names.
    fn short_text(&self) -> String {
        let names: Vec<&str> = self.name.split("::").collect();
        let short = match names.as_slice() {
            [krate, _, .., of, name] if !self.name.contains(['<', ' ']) => {
                format!("{krate}::{of}::{name}")
            }
            _ => self.name.clone(),
        };
        format!("{short}{}", self.source)
    }

    fn of(address: usize, symbol: &Symbol) -> Self {
        let file = symbol.filename().map(|file| file.display().to_string());
        let mut function = match symbol.name().map(|name| format!("{name:#}")) {
            Some(name) => Function {
                whose: whose(&name, file.as_deref()),
                name: without_arguments(&name),
                source: String::new(),
            },
            None => Function::unknown(address),
        };
        if let Some(file) = file {
            let folder = std::env::current_dir().map(|folder| format!("{}/", folder.display()));
            let short = folder.ok().and_then(|folder| file.strip_prefix(&folder));
            let line = symbol.lineno().map(|line| format!(":{line}"));
            let file = short.unwrap_or_else(|| without_store(&file));
            function.source = format!(" ({file}{})", line.unwrap_or_default());
        }
        function
    }
}

/// Folders below which cargo keeps the sources of other crates, each in a folder of its own.
const STORES: [&str; 2] = ["/registry/src/", "/git/checkouts/"];

/// `serde-1.0/src/de.rs` of `/home/ada/.cargo/registry/src/index-0123/serde-1.0/src/de.rs`
fn without_store(file: &str) -> &str {
    let inside = |store: &&str| file.split_once(*store)?.1.split_once('/');
    STORES
        .iter()
        .find_map(inside)
        .map_or(file, |(_, inside)| inside)
}

/// A name without the lists of generic arguments: `a::B::f` of `<a::B<C> as d::E>::f::<G>`.
fn without_arguments(name: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0_usize;
    // A name that begins with a bracket names its type there, before ` as `.
    let (is_method, name) = match name.strip_prefix('<') {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let mut is_trait = false;
    let mut is_inside = is_method;
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if depth == 0 && is_inside && rest.starts_with(" as ") {
            is_trait = true;
        }
        let is_arrow = c == '>' && plain.ends_with('-');
        match c {
            '<' => depth += 1,
            '>' if depth > 0 && !is_arrow => depth -= 1,
            '>' if is_inside && !is_arrow => (is_inside, is_trait) = (false, false),
            _ if depth == 0 && !is_trait => plain.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    plain
        .replace("::::", "::")
        .trim_end_matches("::")
        .to_owned()
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
    let is_stored = |file: &str| STORES.iter().any(|store| file.contains(store));
    if is_standard {
        FrameOwner::Other
    } else if file.is_some_and(is_stored) {
        FrameOwner::Dependency
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
        let file = "/home/ada/.cargo/registry/src/index-0123/regex-1.12.2/src/lib.rs";
        let regex = whose("regex::Regex::new", Some(file));
        assert!(matches!(regex, FrameOwner::Dependency));
    }

    fn function(name: &str, source: &str, whose: FrameOwner) -> Function {
        let source = if source.is_empty() {
            String::new()
        } else {
            format!(" ({source})")
        };
        Function {
            name: name.to_owned(),
            source,
            whose,
        }
    }

    #[test]
    fn the_owner_comes_first_and_other_peoples_frames_are_one_call() {
        use FrameOwner::{Block, Dependency, Other, Program};
        let stack = [
            function("alloc::vec::Vec::push", "library/alloc/src/vec.rs:1", Other),
            function(
                "aho_corasick::nfa::noncontiguous::Compiler::fill",
                "nfa.rs:7",
                Dependency,
            ),
            function(
                "aho_corasick::ahocorasick::AhoCorasickBuilder::build",
                "aho.rs:8",
                Dependency,
            ),
            function(
                "regex::regex::string::Regex::new",
                "string.rs:9",
                Dependency,
            ),
            function("app::patterns", "src/lib.rs:12", Program),
            function("serde_json::de::from_str", "de.rs:3", Dependency),
            function("app::load", "src/lib.rs:3", Program),
            function("measured", "", Block),
            function("app::tests::it_loads", "src/lib.rs:90", Program),
        ];
        assert_eq!(
            place_of(&stack),
            "app::patterns (src/lib.rs:12)\n        calls regex::Regex::new (string.rs:9)\n        \
             called by app::load (src/lib.rs:3)"
        );
        // Without any function of the program: what the block called.
        assert_eq!(place_of(&stack[..4]), "regex::Regex::new (string.rs:9)");
        assert_eq!(place_of(&stack[..1]), "in no function of the program");
        assert_eq!(place_of(&stack[7..]), "in the block, function not known");
        // Without debug information, the crate of the block is the program's.
        let stack = [
            function("aho_corasick::nfa::Compiler::fill", "", Program),
            function("regex::Regex::new", "", Program),
            function("app::load", "", Program),
            function("measured", "", Block),
        ];
        assert_eq!(
            place_of(&stack),
            "app::load\n        calls regex::Regex::new"
        );
    }

    #[test]
    fn names_lose_their_arguments_and_paths_their_store() {
        for (name, plain) in [
            ("app::load::<u8>", "app::load"),
            ("<a::B<C> as d::E<F>>::f::<G>", "a::B::f"),
            ("<a::B>::f", "a::B::f"),
            ("app::load::{{closure}}", "app::load::{{closure}}"),
            ("<fn(u8) -> a::B<C> as d::E>::f", "fn(u8) -> a::B::f"),
            ("a::operator", "a::operator"),
        ] {
            assert_eq!(without_arguments(name), plain, "{name}");
        }
        let file = "/home/ada/.cargo/registry/src/index-0123/regex-1.12.2/src/lib.rs";
        assert_eq!(without_store(file), "regex-1.12.2/src/lib.rs");
        assert_eq!(without_store("src/lib.rs"), "src/lib.rs");
    }
}

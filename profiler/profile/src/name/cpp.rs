//! Names of C++: demangled by `cpp_demangle`, and taken apart like those of Rust.
//!
//! `cpp_demangle` limits how deep it recurses, but not how long it works. Both its parser and its
//! printer can take exponential time for a short name that was made to hurt. So a [`Demangler`]
//! refuses names with features that real names hardly have, limits the text that is written, and
//! ends when all names together take too long. A name that is not demangled stays mangled.

use super::Language;
use super::segment::{Part, Segment};
use super::tokens::{Kind, Tokens};
use cpp_demangle::{
    BorrowedSymbol, DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest linkage name that is demangled, bytes. The longest of 174,000 names of LLVM and of
/// the standard library of C++ has 950.
const LONGEST_LINKAGE: usize = 2048;
/// The longest demangled name, bytes. In a longer one, the generic arguments are left out. The
/// symbol cache keeps names of this length whole.
const LONGEST_NAME: usize = 4096;
/// The most text that is written for a name, bytes, that of arguments which are left out included.
const MOST_WRITTEN: usize = 64 << 10;
/// The maximum nesting of types in a name. 998 of 1000 of those names need no more.
const MOST_NESTED: u32 = 64;
/// The most parts of a name for which the parser tries several ways. Expressions in the arguments
/// of templates have them.
const MOST_AMBIGUOUS: usize = 4;

/// The time for all names of a module, and the time that each name adds to it. A real name takes
/// about 3 microseconds.
const TIME: Duration = Duration::from_millis(200);
const TIME_OF_A_NAME: Duration = Duration::from_micros(50);

/// Demangles the names of one module, each once, in limited time.
#[derive(Default)]
pub(crate) struct Demangler {
    known: HashMap<Arc<str>, Arc<str>>,
    spent: Duration,
    has_given_up: bool,
}

impl Demangler {
    /// Demangles a linkage name of C++. Any other name, and one that is not worth the time, is
    /// returned as it is.
    ///
    /// The return type is left out, as it is not part of the name.
    pub(crate) fn demangle(&mut self, linkage: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.known.get(linkage) {
            return Arc::clone(known);
        }
        if !is_mangled_cpp(linkage) || self.has_given_up {
            return Arc::clone(linkage);
        }
        let start = Instant::now();
        let demangled = demangle(linkage).map_or_else(|| Arc::clone(linkage), Arc::from);
        self.known
            .insert(Arc::clone(linkage), Arc::clone(&demangled));
        self.spent += start.elapsed();
        let names = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        self.has_given_up = self.spent > TIME + TIME_OF_A_NAME * names;
        demangled
    }

    /// Returns `true` if some names stay mangled because demangling took too long.
    pub(crate) fn has_given_up(&self) -> bool {
        self.has_given_up
    }
}

/// Returns `true` if a linkage name is mangled as names of C++ are, and as legacy names of Rust.
pub(crate) fn is_mangled_cpp(linkage: &str) -> bool {
    linkage.starts_with('_') && linkage.trim_start_matches('_').starts_with('Z')
}

/// Returns `true` if a linkage name cannot keep the parser busy for long.
fn is_harmless(linkage: &str) -> bool {
    if linkage.len() > LONGEST_LINKAGE {
        return false;
    }
    let mut ambiguous = 0;
    let mut rest = linkage.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first.is_ascii_digit() {
            rest = after_identifier(rest);
            continue;
        }
        // `new`, `new[]`, members of unknown types, and global ones.
        if [b"nw", b"na", b"sr", b"gs"]
            .iter()
            .any(|code| rest.starts_with(*code))
        {
            ambiguous += 1;
        }
        rest = after;
    }
    ambiguous <= MOST_AMBIGUOUS
}

/// Skips a number, and the identifier whose length it is.
fn after_identifier(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = text.split_at(digits);
    let length: Option<usize> = std::str::from_utf8(number)
        .ok()
        .and_then(|number| number.parse().ok());
    let is_identifier = after
        .first()
        .is_some_and(|&byte| byte == b'_' || byte.is_ascii_alphabetic());
    let length = length.filter(|_| is_identifier).unwrap_or(0);
    after.get(length..).unwrap_or(after)
}

/// The most prefixes of a linkage name that are tried as the name of a function.
const MOST_PREFIXES: usize = 24;

fn demangle(linkage: &str) -> Option<String> {
    if !is_harmless(linkage) {
        return None;
    }
    // `cpp_demangle` does not know some expressions that GCC writes into the type which a function
    // template returns (`srSt8is_arrayIT_E5value` of `make_shared`). What stands before that type
    // is the name with its arguments, and is complete: the first prefix that ends with a list of
    // arguments and can be read.
    parsed(linkage).or_else(|| {
        let ends = linkage.match_indices('E').map(|(at, _)| at + 1);
        let mut prefixes = ends.take(MOST_PREFIXES).map(|end| &linkage[..end]);
        prefixes.find_map(|prefix| parsed(prefix).filter(|name| name.ends_with('>')))
    })
}

/// Demangles a linkage name that is harmless.
fn parsed(linkage: &str) -> Option<String> {
    let limit = ParseOptions::default().recursion_limit(MOST_NESTED);
    let symbol = BorrowedSymbol::new_with_options(linkage.as_bytes(), &limit).ok()?;
    let options = DemangleOptions::new()
        .no_return_type()
        .hide_expression_literal_types();
    let text = |has_arguments| {
        let mut text = Text::new(has_arguments);
        let written = symbol.structured_demangle(&mut text, &options);
        written.is_ok().then_some(text.out)
    };
    text(true).or_else(|| text(false))
}

/// A demangled name while it is written, of limited length.
struct Text {
    out: String,
    /// `false` if generic arguments are left out.
    has_arguments: bool,
    /// The parts around the present one: `true` for a list of generic arguments.
    around: Vec<bool>,
    /// The number of such lists.
    lists: usize,
    written: usize,
}

impl Text {
    fn new(has_arguments: bool) -> Text {
        Text {
            out: String::new(),
            has_arguments,
            around: Vec::new(),
            lists: 0,
            written: 0,
        }
    }
}

impl DemangleWrite for Text {
    fn push_demangle_node(&mut self, node: DemangleNodeType) {
        let is_list = node == DemangleNodeType::TemplateArgs;
        if is_list && self.lists == 0 && !self.has_arguments {
            self.out.push_str("<..>");
        }
        self.lists += usize::from(is_list);
        self.around.push(is_list);
    }

    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        self.written += text.len();
        if self.has_arguments || self.lists == 0 {
            self.out.push_str(text);
        }
        if self.written > MOST_WRITTEN || self.out.len() > LONGEST_NAME {
            return Err(std::fmt::Error);
        }
        Ok(())
    }

    fn pop_demangle_node(&mut self) {
        if self.around.pop() == Some(true) {
            self.lists -= 1;
        }
    }
}

/// The code that a lambda's call leads to: the operator, and what makes a pointer to it.
const CALLS_OF_LAMBDAS: [&str; 3] = ["operator()", "_FUN", "__invoke"];

/// Splits a demangled name into its segments, without the parameters of functions. A lambda's call
/// is the lambda. Text that is not understood is one segment.
pub(super) fn segments(text: &str) -> Vec<Segment<'_>> {
    let tokens = Tokens::new(text, Language::Cpp);
    let end = tokens.all().len();
    let opaque = || vec![Segment::new(0, text, Part::Named)];
    if (0..end).any(|at| !tokens.is_closed(at)) {
        return opaque();
    }
    let mut found = Vec::new();
    let mut open = Open::default();
    for (at, token) in tokens.outermost(0..end) {
        let is = |text: &str| tokens.is(at, text);
        match token.kind {
            Kind::Separator if !open.is_conversion() => {
                add(&mut found, &tokens, &open, at);
                open = Open {
                    start: at + 1,
                    ..Open::default()
                };
            }
            _ if open.end.is_some() => {}
            Kind::Word if is("operator") => open.is_conversion = true,
            // `(anonymous namespace)` is a name, any later bracket has the parameters.
            Kind::Open if is("(") && at > open.start => open.end = Some(at),
            // `f[abi:cxx11]`
            Kind::Open if is("[") => open.end = Some(at),
            Kind::Open if is("<") && !open.is_conversion => {
                open.generics = open.generics.or(Some(at));
            }
            // ` [clone .cold]` of a name without parameters.
            Kind::Space if tokens.is(at + 1, "[") => open.end = Some(at),
            // `operator<< <char>`
            Kind::Space if tokens.is(at + 1, "<") => {}
            // What stands before a space is the type that a function returns.
            Kind::Space if !open.is_conversion => {
                found.clear();
                open = Open {
                    start: at + 1,
                    ..Open::default()
                };
            }
            _ => {}
        }
    }
    add(&mut found, &tokens, &open, end);
    if found.is_empty() {
        return opaque();
    }
    found
}

/// A segment that has begun.
#[derive(Default)]
struct Open {
    start: usize,
    /// The bracket of the generic arguments.
    generics: Option<usize>,
    /// The index of the parameters, or of what else follows the name.
    end: Option<usize>,
    /// `true` for a conversion to a type: `operator std::string`.
    is_conversion: bool,
}

impl Open {
    /// Returns `true` inside the type of a conversion.
    fn is_conversion(&self) -> bool {
        self.is_conversion && self.end.is_none()
    }
}

fn add<'a>(found: &mut Vec<Segment<'a>>, tokens: &Tokens<'a>, open: &Open, end: usize) {
    let range: Range<usize> = open.start..open.end.unwrap_or(end);
    let text = tokens.text(range.clone());
    let Some(first) = tokens.all().get(range.start).filter(|_| !text.is_empty()) else {
        return;
    };
    let generics = open
        .generics
        .and_then(|at| Some((at, tokens.inside(at)?)))
        .filter(|(at, _)| range.contains(at));
    let plain = generics
        .as_ref()
        .map_or(text, |(at, _)| tokens.text(range.start..*at));
    let part = if text.starts_with("{lambda") {
        Part::Closure
    } else if text.starts_with(['{', '(']) {
        Part::Unnamed
    } else {
        Part::Named
    };
    let after_lambda = found.last().is_some_and(Segment::is_body);
    if after_lambda && CALLS_OF_LAMBDAS.contains(&plain) {
        return;
    }
    found.push(Segment {
        start: first.start,
        text,
        plain: plain.trim_end(),
        arguments: generics.map_or("", |(_, inside)| tokens.text(inside)),
        part,
    });
}

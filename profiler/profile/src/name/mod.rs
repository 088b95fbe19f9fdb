//! Names of functions, parsed: the segments of the path, the self type, the trait, the generic
//! arguments, closures and the bodies of async functions.
//!
//! Names arrive demangled, as `rustc-demangle`, `cpp_demangle` and the debug information spell
//! them. [`Tokens`] reads their letters; [`segments`] takes a path apart; [`FunctionName`] answers
//! questions about a function. Other modules ask it instead of searching the text of a name.
//!
//! Names come from files that may be hostile. Parsing takes time in proportion to the length of a
//! name, and every text gives some answer. What a name does not say is absent, never guessed.

mod cpp;
mod origin;
mod segment;
mod short;
mod tokens;

pub(crate) use cpp::{Demangler, is_mangled_cpp};
pub(crate) use origin::{is_std_crate, path_without_versions};
pub use segment::path_and_arguments;
pub(crate) use segment::{Part, Segment, segments, split_at_commas, types};
pub(crate) use short::one_of;
pub(crate) use tokens::{Kind, Tokens, is_in_word};

/// The language whose compiler made a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    /// Rust.
    #[default]
    Rust,
    /// C++, or C, whose names are names of C++ without any path.
    Cpp,
}

/// The name of a function, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct FunctionName<'a> {
    text: &'a str,
    language: Language,
    segments: Vec<Segment<'a>>,
}

impl<'a> FunctionName<'a> {
    /// Parses a demangled name.
    pub(crate) fn parse(text: &'a str, language: Language) -> FunctionName<'a> {
        let segments = match language {
            Language::Rust => segments(text),
            Language::Cpp => cpp::segments(text),
        };
        FunctionName {
            text,
            language,
            segments,
        }
    }

    /// Returns `true` for a function of Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.language == Language::Rust
    }

    /// The segments of the path, outermost first.
    pub(crate) fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// The path that ends with the last of a number of segments.
    pub(crate) fn path_of(&self, segments: usize) -> &'a str {
        let last = segments.checked_sub(1).and_then(|at| self.segments.get(at));
        let end = last.map_or(0, |last| last.start + last.text.len());
        self.text.get(..end).unwrap_or_default()
    }

    /// The path that the name begins with, whether or not it is in brackets.
    pub(crate) fn path(&self) -> &'a str {
        path(self.text)
    }

    /// The innermost segment, which may be a closure.
    pub(crate) fn last(&self) -> Option<&Segment<'a>> {
        self.segments.last()
    }

    /// The name of the innermost segment, without generic arguments; empty if there is none.
    pub(crate) fn own_name(&self) -> &'a str {
        self.last().map_or("", Segment::name)
    }

    /// The traits that segments of it implement, outermost first.
    pub(crate) fn implements(&self) -> impl Iterator<Item = &'a str> {
        self.segments.iter().filter_map(Segment::implements)
    }

    /// Returns `true` if the path of a function of Rust begins with one of some prefixes, whether
    /// or not the path is in brackets: `alloc::raw_vec::` of `<alloc::raw_vec::RawVec<T>>::grow`.
    pub(crate) fn begins_with(&self, prefixes: &[&str]) -> bool {
        self.is_rust() && begins_with(path(self.text), prefixes)
    }

    /// Returns `true` if a function of the standard library calls a closure or a function pointer.
    pub(crate) fn is_call(&self) -> bool {
        let is_once = |pair: &[Segment<'_>]| {
            pair[0].plain == "FnOnce" && pair[1].plain.starts_with("call_once")
        };
        matches!(self.own_name(), "call_once" | "call_mut" | "call")
            || self.segments.windows(2).any(is_once)
    }

    /// The index of the segment with the function's own name: the last one that is neither a
    /// closure in it nor a shim. `None` if there is no such segment.
    fn function(&self) -> Option<usize> {
        let is_named = |segment: &Segment<'_>| !segment.is_body() && segment.part != Part::Shim;
        self.segments.iter().rposition(is_named)
    }

    /// The name of the function that a closure, or the body of an async function, stands in,
    /// without generic arguments; `None` for other functions.
    pub(crate) fn around_closure(&self) -> Option<String> {
        let at = self.segments.iter().position(Segment::is_body)?;
        Some(match self.language {
            Language::Rust => {
                let before = &self.text[..self.segments[at].start];
                plain(before.trim_end_matches("::"))
            }
            Language::Cpp => join(&self.segments[..at]),
        })
    }

    /// The name without generic arguments: `app::load` of `app::load<u8>` and of `app::load::<u8>`.
    pub(crate) fn without_arguments(&self) -> String {
        match self.language {
            Language::Rust => plain(self.text),
            Language::Cpp => join(&self.segments),
        }
    }
}

/// A name of Rust without generic arguments.
fn plain(name: &str) -> String {
    segment::without_arguments(&Tokens::new(name, Language::Rust))
}

/// Joins segments without their generic arguments.
fn join(segments: &[Segment<'_>]) -> String {
    let names: Vec<&str> = segments.iter().map(|segment| segment.plain).collect();
    names.join("::")
}

/// The path that a name of Rust begins with, whether or not it is in brackets:
/// `alloc::raw_vec::..` of `<alloc::raw_vec::..>::f`.
pub(crate) fn path(name: &str) -> &str {
    name.trim_start_matches(['<', '&'])
        .trim_start_matches("mut ")
}

pub(crate) fn begins_with(text: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| text.starts_with(prefix))
}

#[cfg(test)]
mod tests;

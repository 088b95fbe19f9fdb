//! The crate that a function of Rust belongs to, from its name alone.

use super::segment::{Part, Segment, segments};
use super::short::without_pointers;
use super::{FunctionName, begins_with};

/// Types inside types that are looked into.
const MOST_NESTED: usize = 16;

/// Returns `true` for crates of the standard library and those that it is built on.
pub(crate) fn is_std_crate(krate: &str) -> bool {
    matches!(
        krate,
        "core"
            | "alloc"
            | "std"
            | "proc_macro"
            | "test"
            | "hashbrown"
            | "compiler_builtins"
            | "panic_unwind"
            | "panic_abort"
            | "unwind"
            | "std_detect"
            | "__rustc"
    )
}

/// The crate that a type's path begins with: `alloc` of `alloc::vec::Vec<T>`; `None` for
/// primitives, parameters and tuples.
fn crate_of_type(of: &str, depth: usize) -> Option<&str> {
    if depth > MOST_NESTED {
        return None;
    }
    let segments = segments(without_pointers(of));
    let first = segments.first()?;
    if let Part::Impl { of, implements, .. } = first.part {
        let of = crate_of_type(of, depth + 1);
        return of.or_else(|| crate_of_type(implements?, depth + 1));
    }
    let is_identifier = first
        .plain
        .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && first
            .plain
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
    (segments.len() > 1 && is_identifier).then_some(first.plain)
}

/// Joins the words of a path of C++, without inline namespaces: `std::__cxx11`, `std::__1`.
pub(crate) fn path_without_versions<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words = words.filter(|word| !matches!(*word, "__cxx11" | "__1" | "__ndk1"));
    words.collect::<Vec<_>>().join("::")
}

impl<'a> FunctionName<'a> {
    /// The crate that the function belongs to; `None` if its name does not say.
    ///
    /// An impl stands in the crate of the type or in that of the trait. If the type belongs to the
    /// standard library or to nobody, only the crate of the trait can have written it.
    pub(crate) fn krate(&self) -> Option<&'a str> {
        let first = self.segments().first()?;
        let Part::Impl { of, implements, .. } = first.part else {
            let is_crate = self.segments().len() > 1 && !first.plain.starts_with(['{', '<', '_']);
            return (is_crate || first.plain == "__rustc").then_some(first.plain);
        };
        let of = crate_of_type(of, 0);
        let implemented = implements.and_then(|implements| crate_of_type(implements, 0));
        match (of, implemented) {
            (Some(of), Some(implemented)) if is_std_crate(of) && !is_std_crate(implemented) => {
                Some(implemented)
            }
            (Some(of), _) => Some(of),
            // Methods of primitives.
            (None, implemented) => implemented.or(Some("core")),
        }
    }

    /// Returns `true` for a function that the compiler puts between `alloc` and the global
    /// allocator.
    pub(crate) fn is_allocator_shim(&self) -> bool {
        let shims = [
            "__rust_alloc",
            "__rust_realloc",
            "__rust_dealloc",
            "__rdl_",
            "__rg_",
        ];
        begins_with(self.own_name(), &shims)
    }

    /// Returns `true` for functions of C and C++ that every program asks for memory: `malloc` and
    /// its relatives, and `operator new`.
    pub(crate) fn is_native_allocator(&self) -> bool {
        let name = self.text.split('(').next().unwrap_or_default().trim_end();
        let functions = [
            "malloc",
            "calloc",
            "realloc",
            "reallocarray",
            "aligned_alloc",
            "memalign",
            "posix_memalign",
            "valloc",
            "pvalloc",
            "operator new",
            "operator new[]",
        ];
        !self.is_rust() && functions.contains(&name)
    }

    /// Returns `true` for the allocators of the standard library of C++, which ask `operator new`
    /// for a container.
    pub(crate) fn is_cpp_allocator(&self) -> bool {
        const ALLOCATORS: [&str; 7] = [
            "std::allocator",
            "std::allocator_traits",
            "std::new_allocator",
            "std::__new_allocator",
            "__gnu_cxx::new_allocator",
            "__gnu_cxx::__alloc_traits",
            "std::allocate_at_least",
        ];
        if !self.is_native_std() {
            return false;
        }
        let segments = self.segments();
        let words = segments.iter().map(|segment| segment.plain);
        let class = words.take(segments.len().saturating_sub(1).max(2));
        let path = path_without_versions(class);
        let helpers = ["std::__libcpp_", "std::__allocate_at_least"];
        ALLOCATORS.contains(&path.as_str()) || begins_with(&path, &helpers)
    }

    /// Returns `true` for functions of the standard library of C++.
    pub(crate) fn is_native_std(&self) -> bool {
        !self.is_rust() && begins_with(self.text, &["std::", "__gnu_cxx::"])
    }

    /// Returns `true` if the function belongs to a crate's impl of a trait of another crate:
    /// `<app::City as prost::Message>::encode_raw`.
    pub(crate) fn is_of_foreign_trait(&self) -> bool {
        let own = self.krate();
        let mut traits = self.segments().iter().filter_map(Segment::implements);
        own.is_some()
            && traits.any(|implemented| {
                let of = crate_of_type(implemented, 0);
                of.is_some() && of != own
            })
    }
}

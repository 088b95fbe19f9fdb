//! The role of a function on a stack, by its name: it was called back, passes a call on, reads a
//! format or reports a panic.

use super::short::{begins_with, is_call, last_segment, path, segments, self_type, strip_generics};
use crate::profile::{Function, Origin, Role};

/// Crates that work for whoever calls them.
const SERVICES: [&str; 52] = [
    // Crates that read and write data formats, and those they are built on.
    "bincode",
    "bitcode",
    "borsh",
    "bson",
    "ciborium",
    "ciborium_ll",
    "csv",
    "csv_core",
    "erased_serde",
    "flexbuffers",
    "json5",
    "minicbor",
    "postcard",
    "prost",
    "quick_xml",
    "rkyv",
    "rmp",
    "rmp_serde",
    "ron",
    "serde",
    "serde_cbor",
    "serde_core",
    "serde_html_form",
    "serde_ignored",
    "serde_json",
    "serde_json5",
    "serde_path_to_error",
    "serde_qs",
    "serde_urlencoded",
    "serde_with",
    "serde_yaml",
    "serde_yaml_ng",
    "serde_yml",
    "simd_json",
    "sonic_rs",
    "speedy",
    "toml",
    "toml_edit",
    "toml_parser",
    "winnow",
    // Containers.
    "arrayvec",
    "bumpalo",
    "bytes",
    "dashmap",
    "hashbrown",
    "indexmap",
    "itertools",
    "once_cell",
    "slab",
    "smallvec",
    "thin_vec",
    "allocator_api2",
];

/// Traits whose methods run because something further out was called.
const CALLED_BACK: [&str; 8] = [
    "serde_core::de::Deserialize",
    "serde_core::de::DeserializeSeed",
    "serde_core::de::Visitor",
    "serde::de::Deserialize",
    "serde::de::DeserializeSeed",
    "serde::de::Visitor",
    "core::clone::Clone",
    "tracking_alloc_arena::deserialize::ArenaDeserialize",
];

/// Paths of what in the standard library only calls on.
const GLUE: &[&str] = &[
    "core::ops::",
    "core::iter::",
    "core::option::",
    "core::result::",
    "core::array::",
    "core::slice::",
    "core::cell::",
    "core::ptr::",
    "core::future::",
    "core::pin::",
    "std::panic::",
    "std::panicking::catch_unwind",
    "std::panicking::try",
    "std::thread::local",
    "std::sys::thread_local",
    "std::sys::backtrace::__rust_begin_short_backtrace",
];

/// Paths of what runs between a panic and its end.
const PANIC: &[&str] = &[
    "std::panicking::begin_panic",
    "std::panicking::panic_with_hook",
    "std::panicking::rust_panic",
    "std::panicking::default_hook",
    "std::panicking::panic_handler",
    "std::panicking::payload_as_str",
    "core::panicking::",
    "std::sys::backtrace::__rust_end_short_backtrace",
    "std::sys::backtrace::BacktraceLock",
    "std::sys::backtrace::_print",
    "__rustc::rust_begin_unwind",
];

/// Returns the role of a function.
pub(crate) fn role(function: &Function) -> Role {
    let name = function.name.as_str();
    match function.origin {
        Origin::Std if begins_with(name.trim_start_matches('<'), PANIC) => Role::Panic,
        Origin::Std if is_glue(name) => Role::Glue,
        Origin::Dependency if SERVICES.contains(&&*function.krate) => Role::Service,
        Origin::User | Origin::Dependency if function.is_derived || is_called_back(name) => {
            Role::Callback
        }
        _ => Role::Plain,
    }
}

/// A method of a trait that formats and containers call, or what a derive macro put beside it.
fn is_called_back(name: &str) -> bool {
    for segment in segments(name) {
        // What macros put into `const _: () = { .. };`.
        if segment == "_" {
            return true;
        }
        let implemented = self_type(segment).and_then(|(_, implemented)| implemented);
        let path = implemented.map(|path| path.split('<').next().unwrap_or(path));
        if path.is_some_and(|path| CALLED_BACK.contains(&path)) {
            return true;
        }
    }
    // Without linkage names only the method's own is told.
    let method = strip_generics(last_segment(name));
    let generic = last_segment(name).contains('<');
    generic && (method.starts_with("visit_") || method == "deserialize")
}

/// Returns `true` for work that one crate hands to another to run: a closure, or a future that is
/// polled.
pub(crate) fn is_handed_over(function: &Function) -> bool {
    let segments = segments(&function.name);
    let is_closure = segments.last().is_some_and(|last| last.starts_with('{'));
    let is_run = segments.iter().any(|segment| {
        let implemented = self_type(segment).and_then(|(_, implemented)| implemented);
        implemented
            .is_some_and(|path| begins_with(path, &["core::future::", "core::ops::function::"]))
    });
    is_closure || is_run
}

/// The call of a closure, or an adaptor of iterators, in the standard library.
fn is_glue(name: &str) -> bool {
    let called = strip_generics(last_segment(name));
    is_call(name) || matches!(called, "catch_unwind" | "do_call") || begins_with(path(name), GLUE)
}

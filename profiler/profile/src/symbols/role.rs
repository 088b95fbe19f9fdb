//! The role of a function on a stack, by its name: whether it was called back, passes a call on,
//! reads a format or reports a panic.

use super::wrappers;
use crate::name::{FunctionName, Part, begins_with, path_and_arguments};
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

/// Traits whose methods run because a function further out was called.
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

/// Paths of functions of the standard library that only pass a call on.
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

/// Paths of functions that run between a panic and its end.
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

/// Path of the standard library's own copy of the crate `backtrace`.
const BACKTRACE: &[&str] = &["std::backtrace_rs::"];

/// Returns the role of a function, given its parsed name.
pub(crate) fn role(function: &Function, name: &FunctionName<'_>) -> Role {
    match function.origin {
        Origin::Std if name.is_native_allocator() => Role::Allocator,
        Origin::User | Origin::Native if wrappers::is_allocator(name) => Role::Allocator,
        Origin::User | Origin::Native if wrappers::is_maker(name, &function.krate) => Role::Wrapper,
        Origin::Std if name.begins_with(PANIC) => Role::Panic,
        Origin::Std if name.begins_with(BACKTRACE) => Role::Backtrace,
        Origin::Std if is_glue(name) => Role::Glue,
        Origin::Dependency if SERVICES.contains(&&*function.krate) => Role::Service,
        Origin::User | Origin::Dependency if function.is_derived || is_called_back(name) => {
            Role::Callback
        }
        _ => Role::Plain,
    }
}

/// Returns `true` for a method of a trait that formats and containers call, and for what a derive
/// macro puts next to it.
fn is_called_back(name: &FunctionName<'_>) -> bool {
    // Macros write `const _: () = { .. };`.
    let is_of_macro = || name.segments().iter().any(|segment| segment.text == "_");
    let is_trait = |of: &str| CALLED_BACK.contains(&path_and_arguments(of).0);
    if name.is_rust() && (is_of_macro() || name.implements().any(is_trait)) {
        return true;
    }
    // Without a linkage name, only the method's own name is known.
    let method = name.own_name();
    name.last()
        .is_some_and(|last| last.plain.len() < last.text.len())
        && (method.starts_with("visit_") || method == "deserialize")
}

/// Returns `true` for work that one crate hands to another to run: a closure, or a future that is
/// polled.
pub(crate) fn is_handed_over(name: &FunctionName<'_>) -> bool {
    let is_made = name
        .last()
        .is_some_and(|last| !matches!(last.part, Part::Named | Part::Impl { .. }));
    let runs = ["core::future::", "core::ops::function::"];
    is_made || name.implements().any(|of| begins_with(of, &runs))
}

/// Returns `true` for the call of a closure, or an adaptor of iterators, in the standard library.
fn is_glue(name: &FunctionName<'_>) -> bool {
    name.is_call()
        || matches!(name.own_name(), "catch_unwind" | "do_call")
        || name.begins_with(GLUE)
}

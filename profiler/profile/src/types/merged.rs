//! Containers of code that the compiler merged.
//!
//! If two arms of a function end in equal instructions, LLVM keeps one copy. Its call of the
//! allocator has no line, and the functions inlined there are lost. The innermost frame is then the
//! function that holds both arms. This happens to serde's visitors in a format: `visit_str` and
//! `visit_borrowed_str` of one visitor both copy the text into a `String`, in `deserialize_str`,
//! `deserialize_any` and similar functions.
//!
//! Code is merged only if the code after it is equal as well, so both arms end in the same value.
//! The container is named only if a visitor can ask for no other one in that place. It must never
//! be named for a format that could ask for scratch memory of its own there. The scratch memory of
//! `serde_json` grows in functions that are not inlined (`Vec::reserve`), and so do its errors.
//! Lists and maps have frames of their own (`visit_seq`, `visit_map`).

use super::call::Call;
use super::container::Container;
use crate::containers::{PATH_BUF, STRING};
use crate::name::{FunctionName, begins_with, path, path_and_arguments, segments};

/// Visitors around a visitor. Names of hostile binaries may have any number.
const MOST_WRAPPED: usize = 8;

/// Returns the container that the merged code of a function asks for; `None` if there may be more
/// than one.
pub(super) fn container(call: &Call<'_>) -> Option<Container> {
    let reads_text = matches!(
        call.name,
        "deserialize_any"
            | "deserialize_str"
            | "deserialize_string"
            | "deserialize_identifier"
            | "__deserialize_content"
            | "__deserialize_content_v1"
    );
    let (visitor, before) = call.arguments.split_last()?;
    // The format is in the type (v0), or in the argument before the visitor, as its reader or its
    // error.
    let format = match (&call.of, before) {
        (_, [first, ..]) => first,
        (Some(of), []) => &**of,
        (None, []) => return None,
    };
    if !reads_text || !of_serde_json(format) {
        return None;
    }
    let of = match visited(visitor)? {
        "StringVisitor" | "StringInPlaceVisitor" | "CowStrVisitor" => &STRING,
        // Numbers kept as text (`arbitrary_precision`) are strings, too.
        "ValueVisitor" | "KeyClassifier" => &STRING,
        // JSON has no bytes, which serde's buffer would keep as a vector.
        "ContentVisitor" | "TagOrContentVisitor" => &STRING,
        "PathBufVisitor" => &PATH_BUF,
        _ => return None,
    };
    Some(Container::new(of, []))
}

/// Returns `true` if a function makes the buffer of a new vector or string, of any element. If it
/// is not inlined, it stands between merged code and the allocator, and says no more than the
/// allocator. Buffers that grow never come here.
pub(super) fn is_new_buffer(name: &FunctionName<'_>) -> bool {
    let methods = ["try_allocate_in", "with_capacity_in"];
    let mut segments = name.segments().iter();
    name.begins_with(&["alloc::raw_vec::RawVecInner"])
        && segments.any(|segment| begins_with(segment.plain, &methods))
}

/// Returns `true` if a type is serde_json's, or has such a type as its argument.
fn of_serde_json(of: &str) -> bool {
    let (of, arguments) = path_and_arguments(path(of));
    of.starts_with("serde_json::")
        || (is_serdes(of) && arguments.iter().any(|of| of.starts_with("serde_json::")))
}

fn is_serdes(path: &str) -> bool {
    begins_with(path, &["serde::", "serde_core::", "serde_json::"])
}

/// The name of a visitor of serde or serde_json, if need be inside other visitors, such as that of
/// `Profiled` or that of `serde_path_to_error`, through which axum reads.
fn visited(mut visitor: &str) -> Option<&str> {
    for _ in 0..MOST_WRAPPED {
        // `<serde_json::value::Value as ..>::deserialize::ValueVisitor`,
        // `serde_json::value::de::{impl#0}::..`.
        if is_serdes(path(visitor)) {
            return segments(visitor).last().map(|last| last.plain);
        }
        let (_, arguments) = path_and_arguments(visitor);
        visitor = arguments.first()?;
    }
    None
}

//! A function as rows and frames name it.

use serde::Serialize;

use crate::profile::{Frame, Origin, Profile};

/// A function and where in its source. Without a frame all but the function is empty.
#[derive(Serialize)]
pub(super) struct FunctionJson<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    #[serde(rename = "crate")]
    krate: &'a str,
    origin: Origin,
    /// `rust`, `c++` or `c`; null if it is unknown.
    language: Option<&'static str>,
}

impl<'a> FunctionJson<'a> {
    /// The function of a frame; `name` is it where there is no frame.
    pub(super) fn new(profile: &'a Profile, frame: Option<&'a Frame>, name: &'a str) -> Self {
        let function = frame.and_then(|frame| profile.functions().get(frame.function.0 as usize));
        FunctionJson {
            function: frame.map_or(name, |frame| profile.function_name(frame.function)),
            file: frame.and_then(|frame| frame.file.as_deref()),
            line: frame.and_then(|frame| frame.line),
            krate: function.map_or("", |function| &function.krate),
            origin: function.map_or(Origin::Unresolved, |function| function.origin),
            language: function.and_then(|function| {
                function.language_name(frame.and_then(|frame| frame.file.as_deref()))
            }),
        }
    }
}

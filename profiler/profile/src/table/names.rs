//! The names of frames in rows: function, file and line.

use std::borrow::Cow;

use crate::profile::{FrameId, Profile};
use crate::units::printable;

/// The name that blocks without a stack are charged to.
pub const NO_STACK: &str = "(no stack)";

/// The program, or what stands for its name; free of control characters.
pub fn program_name(profile: &Profile) -> Cow<'_, str> {
    match printable(&profile.process.program) {
        name if name.is_empty() => "(unknown program)".into(),
        name => name,
    }
}

/// `function (file:line)`, or what is known of it.
pub fn place(profile: &Profile, id: FrameId) -> String {
    let Some(frame) = profile.frames.get(id.0 as usize) else {
        return "[unnamed]".to_owned();
    };
    let name = profile.function_name(frame.function);
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{name} ({file}:{line})"),
        (Some(file), None) => format!("{name} ({file})"),
        (None, _) => name.to_owned(),
    }
}

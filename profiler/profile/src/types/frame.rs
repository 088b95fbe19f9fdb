//! A frame of a stack, as types are read from it.

use crate::profile::{Function, FunctionId};

/// A frame, as much of it as types need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackFrame<'a> {
    /// The function's number: functions of one number are one.
    pub id: FunctionId,
    /// The function.
    pub function: &'a Function,
    /// `true` if the compiler inlined it into the next outer frame.
    pub inlined: bool,
    /// `true` if debug information describes it: a symbol table knows no files.
    pub has_file: bool,
    /// `true` if debug information gives its instructions no line: the compiler made one piece of
    /// code of several that were equal, and what was inlined there is lost, and the file is not
    /// the function's own.
    pub merged: bool,
}

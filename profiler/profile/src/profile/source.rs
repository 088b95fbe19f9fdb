//! Source places of frames, as people read them: without the folder that all files of the program
//! share, and without the folders of registries and toolchains.

use super::{FrameId, Origin, Profile};
use crate::units::without_store;

/// The folder that holds the program's own source files, with a slash at its end; empty when there
/// is none.
pub(super) fn source_root(profile: &Profile) -> String {
    let own = profile.frames.iter().filter(|frame| {
        let function = profile.functions.get(frame.function.0 as usize);
        function.is_some_and(|function| function.origin == Origin::User)
    });
    let files = own.filter_map(|frame| frame.file.as_deref());
    // Generic code of others is of their files.
    let files = files.filter(|file| file.starts_with('/') && without_store(file) == *file);
    let folders = files.map(|file| &file[..file.rfind('/').map_or(0, |at| at + 1)]);
    let root = folders.reduce(common).unwrap_or_default();
    // `src/main.rs` says more than `main.rs`.
    root.find("/src/")
        .map_or(root, |at| &root[..at + 1])
        .to_owned()
}

/// Returns the common part of two folders, with a slash at its end.
fn common<'a>(one: &'a str, other: &'a str) -> &'a str {
    let pairs = one.bytes().zip(other.bytes());
    let same = pairs.take_while(|(one, other)| one == other).count();
    let end = one.as_bytes()[..same]
        .iter()
        .rposition(|&byte| byte == b'/');
    one.get(..end.map_or(0, |at| at + 1)).unwrap_or_default()
}

impl Profile {
    /// `src/main.rs:12` of a frame, its file alone without a line, nothing without a file. As
    /// recorded: not safe for a terminal before [`crate::units::printable`].
    pub fn source_of(&self, frame: FrameId) -> Option<String> {
        let frame = self.frames.get(frame.0 as usize)?;
        let file = without_store(frame.file.as_deref()?);
        let file = file.strip_prefix(self.source_root()).unwrap_or(file);
        Some(match frame.line {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        })
    }
}

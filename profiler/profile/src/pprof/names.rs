//! The names of frames and programs in the formats of other tools.

use crate::profile::{Frame, Label, Profile, Step};
use crate::table::program_name;
use crate::units::printable;

/// Returns the name of what a label stands for, in full.
pub fn name(profile: &Profile, label: Label) -> String {
    let name = label.name(profile);
    match printable(name.trim()).into_owned() {
        name if name.is_empty() => "[unnamed]".to_owned(),
        name => name,
    }
}

/// Returns the command line, words separated by blanks.
pub fn command(profile: &Profile) -> String {
    match profile.process.command.join(" ") {
        command if command.is_empty() => program_name(profile).into_owned(),
        command => printable(&command).into_owned(),
    }
}

/// Returns the source file of a frame.
pub fn file(frame: &Frame) -> Option<String> {
    let file = frame.file.as_deref()?;
    Some(printable(file).into_owned())
}

/// Returns the frame of a step that stands for a function; `None` of runs of frames and of what is
/// no frame.
pub fn frame_of<'a>(profile: &'a Profile, step: &Step) -> Option<&'a Frame> {
    let Label::Function(_) = step.label else {
        return None;
    };
    profile.frames.get(step.frame?.0 as usize)
}

/// Returns the module (index into [`Profile::modules`]) of a frame and the return address in it, as
/// the binary numbers its addresses; `None` where there is none.
pub fn address(profile: &Profile, frame: &Frame) -> Option<(usize, u64)> {
    let module = frame.module as usize;
    (frame.offset > 0 && module < profile.modules.len()).then_some((module, frame.offset))
}

//! The properties that recordings must share: build, mode, machine and the way to walk stacks.

use crate::units::printable;
use heapglass_profile::internal::hex_all;
use std::path::Path;
use tracking_alloc_recording::{ModuleValue, Recording, arch, mode, module_id, unwinder};

/// The build and the settings of a recording.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Build {
    mode: u32,
    arch: u32,
    unwinder: u32,
    /// Kind, length and words of the executable's identity.
    id: (u32, u32, [u64; 4]),
    /// The path of an executable without an identity.
    path: Vec<u8>,
}

impl Build {
    pub(super) fn of(recording: &Recording) -> Build {
        let header = &recording.header;
        let text = |reference: u32| recording.string_bytes(reference).unwrap_or_default();
        let executable = text(header.executable);
        let mut modules = recording.modules.iter().skip(1);
        let module = modules.find(|module| text(module.path) == executable);
        let id = |module: &ModuleValue| (module.id_kind, module.id_bytes, module.id);
        let id = module.map_or((module_id::NONE, 0, [0; 4]), id);
        Build {
            mode: header.mode,
            arch: header.arch,
            unwinder: header.unwinder,
            path: match id.0 {
                module_id::NONE => executable.to_owned(),
                _ => Vec::new(),
            },
            id,
        }
    }

    /// Returns the reason why a recording of `other` is not added to those of this build, of which
    /// `first` is one.
    pub(super) fn differs(&self, other: &Build, first: &str) -> Option<String> {
        let named = |of: fn(&Build) -> String| [of(other), of(self)];
        let (what, [found, expected]) = if self.mode != other.mode {
            (
                "mode",
                named(|build| format!("`{}`", mode_name(build.mode))),
            )
        } else if self.arch != other.arch {
            (
                "architecture",
                named(|build| arch_name(build.arch).to_owned()),
            )
        } else if self.unwinder != other.unwinder {
            let name = |build: &Build| unwinder_name(build.unwinder).to_owned();
            ("way to walk stacks", named(name))
        } else if self.id != other.id || self.path != other.path {
            ("build", named(Build::identity))
        } else {
            return None;
        };
        let hint = match (what, self.id.0, other.id.0) {
            ("build", module_id::BUILD_ID, module_id::BUILD_ID) => "",
            ("build", ..) => {
                ", and an executable without a build-id is known only by its file; link with \
                 --build-id"
            }
            _ => "",
        };
        Some(format!(
            "cannot be merged with {first}: its {what} is {found}, and that of {first} is \
             {expected}{hint}; merge recordings of one build and mode"
        ))
    }

    fn identity(&self) -> String {
        let (kind, length, words) = self.id;
        match kind {
            module_id::BUILD_ID => {
                let bytes: Vec<u8> = words
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .take(length as usize)
                    .collect();
                hex_all(&bytes)
            }
            module_id::FILE => format!("a file of {} bytes", words[0]),
            _ => {
                let path = String::from_utf8_lossy(&self.path);
                let name = Path::new(path.as_ref()).file_name().unwrap_or_default();
                format!("unknown ({})", printable(&name.to_string_lossy()))
            }
        }
    }
}

fn mode_name(mode: u32) -> String {
    mode::name(mode).map_or_else(|| format!("unknown ({mode})"), str::to_owned)
}

fn arch_name(arch: u32) -> &'static str {
    arch::name(arch).unwrap_or("unknown")
}

fn unwinder_name(unwinder: u32) -> &'static str {
    match unwinder {
        unwinder::FRAME_POINTERS => "frame pointers",
        unwinder::EH_FRAME => ".eh_frame",
        _ => "none",
    }
}

/// A text that the sum has only if all recordings have it.
#[derive(Debug, Default)]
pub(super) enum Same {
    /// There is no recording yet.
    #[default]
    Nothing,
    /// All recordings have this text.
    All(Vec<u8>),
    /// The recordings differ.
    Different,
}

impl Same {
    pub(super) fn add(&mut self, text: &[u8]) {
        match self {
            Same::Nothing => *self = Same::All(text.to_owned()),
            Same::All(known) if known != text => *self = Same::Different,
            Same::All(_) | Same::Different => {}
        }
    }

    /// Returns the text; empty if there is none.
    pub(super) fn text(&self) -> &[u8] {
        match self {
            Same::All(text) => text,
            Same::Nothing | Same::Different => &[],
        }
    }

    pub(super) fn is_different(&self) -> bool {
        matches!(self, Same::Different)
    }
}

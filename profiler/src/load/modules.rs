//! The loaded images of a recording, as symbols are asked for.

use super::error::Kind;
use super::{Error, Options};
use crate::profile::{Module, SymbolSource};
use crate::symbols::{self, Identity, ModuleRef, Progress, Symbols};
use std::path::Path;
use tracking_alloc_recording::{FrameValue, ModuleValue, Recording, module_id};

/// Modules in the order symbols are asked for: the main executable first.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Modules {
    /// Paths and identities, in order.
    refs: Vec<(String, Identity)>,
    /// Position of each module of the recording in `refs`; `u32::MAX` for module 0, which is "nowhere".
    pub(super) order: Vec<u32>,
}

impl Modules {
    pub(super) fn of(recording: &Recording) -> Self {
        let executable = recording
            .string(recording.header.executable)
            .unwrap_or_default();
        let path_of = |module: &ModuleValue| recording.string(module.path).unwrap_or_default();
        let mut indices: Vec<usize> = (1..recording.modules.len()).collect();
        indices.sort_by_key(|index| path_of(&recording.modules[*index]) != executable);
        let mut modules = Modules {
            refs: Vec::new(),
            order: vec![u32::MAX; recording.modules.len()],
        };
        for index in indices {
            let module = &recording.modules[index];
            modules.order[index] = modules.refs.len() as u32;
            modules.refs.push((path_of(module), identity(module)));
        }
        modules
    }

    /// Whether these begin with all that there are in `before`.
    pub(super) fn begin_with(&self, before: &Modules) -> bool {
        self.refs.starts_with(&before.refs) && self.order.starts_with(&before.order)
    }

    /// Looks all frames of the recording at `path` up.
    pub(super) fn resolve(
        &self,
        frames: &[FrameValue],
        path: &Path,
        options: &Options,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<Symbols, Error> {
        let refs = self.refs.iter().map(|(path, identity)| ModuleRef {
            path,
            identity: identity.clone(),
        });
        let refs: Vec<ModuleRef<'_>> = refs.collect();
        let frames = frames.iter();
        let frames = frames.map(|frame| (self.position(frame.module), frame.offset));
        let frames: Vec<(u32, u64)> = frames.collect();
        let symbols = symbols::resolve(&refs, &frames, &options.symbols, progress);
        symbols.map_err(|error| Error::new(path, Kind::Symbols(error)))
    }

    /// Where a module of the recording is among these; `u32::MAX` for none.
    pub(super) fn position(&self, module: u32) -> u32 {
        let position = self.order.get(module as usize);
        position.copied().unwrap_or(u32::MAX)
    }

    pub(super) fn path(&self, module: u32) -> &str {
        let known = self.refs.get(self.position(module) as usize);
        known.map_or("", |(path, _)| path)
    }

    pub(super) fn described(&self, symbols: &Symbols) -> Vec<Module> {
        let sources = symbols.modules.iter().cloned();
        let sources = sources.chain(std::iter::repeat(SymbolSource::NotNeeded));
        let describe = |((path, identity), symbols): (&(String, Identity), SymbolSource)| Module {
            path: path.clone(),
            build_id: match identity {
                Identity::BuildId(bytes) => symbols::hex_all(bytes),
                _ => String::new(),
            },
            symbols,
        };
        self.refs.iter().zip(sources).map(describe).collect()
    }
}

fn identity(module: &ModuleValue) -> Identity {
    let bytes = module.id.iter().flat_map(|word| word.to_le_bytes());
    match module.id_kind {
        module_id::BUILD_ID => Identity::BuildId(bytes.take(module.id_bytes as usize).collect()),
        module_id::FILE => Identity::File {
            size: module.id[0],
            mtime_ns: module.id[1],
        },
        _ => Identity::None,
    }
}

//! The loaded images of a recording, as symbols are asked for.

use super::Options;
use crate::profile::{Module, SymbolSource};
use crate::symbols::{self, Identity, ModuleRef, Progress, Symbols};
use tracking_alloc_recording::{FrameValue, ModuleValue, Recording, module_id};

/// Modules in the order symbols are asked for: the main executable first.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Modules {
    /// Paths and identities, in order.
    refs: Vec<(String, Identity)>,
    /// Position of each module of the recording in `refs`; module 0 is "nowhere".
    pub(super) order: Vec<Option<u32>>,
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
            order: vec![None; recording.modules.len()],
        };
        for index in indices {
            let module = &recording.modules[index];
            modules.order[index] = u32::try_from(modules.refs.len()).ok();
            modules.refs.push((path_of(module), identity(module)));
        }
        modules
    }

    /// Whether these begin with all that there are in `before`.
    pub(super) fn begin_with(&self, before: &Modules) -> bool {
        self.refs.starts_with(&before.refs) && self.order.starts_with(&before.order)
    }

    /// Looks all frames of a recording up.
    pub(super) fn resolve(
        &self,
        frames: &[FrameValue],
        options: &Options,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<Symbols, symbols::Error> {
        let refs: Vec<ModuleRef<'_>> = self
            .refs
            .iter()
            .map(|(path, identity)| ModuleRef {
                path,
                identity: identity.clone(),
            })
            .collect();
        let frames: Vec<(u32, u64)> = frames
            .iter()
            .map(|frame| {
                (
                    self.position(frame.module).unwrap_or(u32::MAX),
                    frame.offset,
                )
            })
            .collect();
        symbols::resolve(&refs, &frames, &options.symbols, progress)
    }

    pub(super) fn position(&self, module: u32) -> Option<u32> {
        self.order.get(module as usize).copied().flatten()
    }

    pub(super) fn path(&self, module: u32) -> &str {
        let position = self
            .position(module)
            .and_then(|position| self.refs.get(position as usize));
        position.map_or("", |(path, _)| path)
    }

    pub(super) fn described(&self, symbols: &Symbols) -> Vec<Module> {
        let describe = |(index, (path, identity)): (usize, &(String, Identity))| Module {
            path: path.clone(),
            build_id: match identity {
                Identity::BuildId(bytes) => {
                    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
                }
                _ => String::new(),
            },
            symbols: symbols
                .modules
                .get(index)
                .cloned()
                .unwrap_or(SymbolSource::NotNeeded),
        };
        self.refs.iter().enumerate().map(describe).collect()
    }
}

fn identity(module: &ModuleValue) -> Identity {
    let bytes: Vec<u8> = module
        .id
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    match module.id_kind {
        module_id::BUILD_ID => {
            Identity::BuildId(bytes[..(module.id_bytes as usize).min(bytes.len())].to_vec())
        }
        module_id::FILE => Identity::File {
            size: module.id[0],
            mtime_ns: module.id[1],
        },
        _ => Identity::None,
    }
}

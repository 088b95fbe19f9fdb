//! The names of a recording's addresses: those in the recording, else those of the binaries. The
//! names of a live recording are kept between reads.

use super::generated::Generated;
use super::modules::Modules;
use super::packed::Packed;
use super::{Error, OpenOptions};
use crate::profile::{SourceLines, SymbolSource};
use crate::symbols::{Progress, Symbols};
use std::collections::HashMap;
use std::path::Path;
use tracking_alloc_recording::{FrameValue, Recording};

/// The addresses whose names are looked up.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) modules: Modules,
    frames: Vec<FrameValue>,
    /// The symbols that the recording carries.
    packed: Option<Vec<u8>>,
    generated: Generated,
}

impl Addresses {
    /// Takes the addresses of a recording, and its symbols out of it.
    pub(super) fn of(recording: &mut Recording) -> Self {
        Addresses {
            modules: Modules::of(recording),
            frames: recording.frames.clone(),
            packed: recording.symbols.take(),
            generated: Generated::of(recording),
        }
    }

    /// Returns `true` if these begin with all that there are in `before`.
    fn begin_with(&self, before: &Addresses) -> bool {
        self.modules.begin_with(&before.modules)
            && self.frames.starts_with(&before.frames)
            && self.packed == before.packed
    }
}

/// Names, and what else is known where they come from.
#[derive(Default)]
pub(super) struct Names {
    pub(super) symbols: Symbols,
    /// The crates that a packed recording calls its own.
    pub(super) own: Vec<String>,
    /// The source lines that it carries.
    pub(super) sources: HashMap<String, SourceLines>,
}

impl Names {
    /// Returns `true` if these, of some addresses, begin with those of others.
    pub(super) fn begin_with(&self, of: &Addresses, before: (&Addresses, &Names)) -> bool {
        let (addresses, names) = before;
        of.begin_with(addresses)
            && self.symbols.frames.starts_with(&names.symbols.frames)
            && self.own == names.own
    }

    /// Looks all up.
    ///
    /// # Errors
    /// Returns an error if the recording carries symbols that cannot be read, or if
    /// [`binary`](crate::SymbolOptions::binary) is not the binary that ran.
    pub(super) fn find(
        of: &Addresses,
        path: &Path,
        options: &OpenOptions,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<Names, Error> {
        Ok(
            match Packed::carried(of.packed.as_deref(), path, options)? {
                Some(packed) => Names {
                    symbols: packed.symbols(of.frames.len(), of.modules.order.len()),
                    sources: packed.sources(),
                    own: packed.own,
                },
                None => Names {
                    symbols: of.generated.resolve(
                        (&of.modules, &of.frames),
                        path,
                        options,
                        progress,
                    )?,
                    ..Names::default()
                },
            },
        )
    }

    /// None yet.
    pub(super) fn none(of: &Addresses) -> Names {
        Names {
            symbols: Symbols {
                frames: vec![Vec::new(); of.frames.len()],
                modules: vec![SymbolSource::NotNeeded; of.modules.order.len()],
                notes: vec![
                    "names are still being read: functions are addresses, and types are not known"
                        .to_owned(),
                ],
            },
            ..Names::default()
        }
    }
}

//! The loaded images of a recording, in the form that symbol lookup needs.

use super::error::Kind;
use super::{Error, OpenOptions};
use crate::profile::{Module, Origin, SymbolSource};
use crate::symbols::{self, Classifier, Identity, ModuleRef, Progress, Symbols};
use crate::units::{Count, counted};
use std::path::Path;
use tracking_alloc_recording::{FrameValue, ModuleValue, Recording, module_id};

/// Modules in the order symbols are asked for: the main executable first.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Modules {
    /// Paths and identities, in order.
    refs: Vec<(String, Identity)>,
    /// Position of each module of the recording in `refs`; `u32::MAX` for module 0, which is
    /// "nowhere".
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

    /// Returns `true` if these begin with all that there are in `before`.
    pub(super) fn begin_with(&self, before: &Modules) -> bool {
        self.refs.starts_with(&before.refs) && self.order.starts_with(&before.order)
    }

    /// Looks all frames of the recording at `path` up.
    pub(super) fn resolve(
        &self,
        frames: &[FrameValue],
        path: &Path,
        options: &OpenOptions,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<Symbols, Error> {
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
            .map(|frame| (self.position(frame.module), frame.offset))
            .collect();
        let symbols = symbols::resolve(&refs, &frames, &options.symbols, progress);
        symbols.map_err(|error| Error::new(path, Kind::Symbols(error)))
    }

    /// Returns the position of a module of the recording; `u32::MAX` for none.
    pub(super) fn position(&self, module: u32) -> u32 {
        let position = self.order.get(module as usize);
        position.copied().unwrap_or(u32::MAX)
    }

    pub(super) fn path(&self, module: u32) -> &str {
        let known = self.refs.get(self.position(module) as usize);
        known.map_or("", |(path, _)| path)
    }

    /// Returns the paths of all modules.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.refs.iter().map(|(path, _)| path.as_str())
    }

    pub(super) fn described(&self, symbols: &Symbols) -> Vec<Module> {
        let sources = symbols
            .modules
            .iter()
            .cloned()
            .chain(std::iter::repeat(SymbolSource::NotNeeded));
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

    /// Advice for modules that were built without debug information. What the standard library
    /// calls never has any: no setting of the program's changes that.
    pub(super) fn without_debug(
        &self,
        recording: &Recording,
        symbols: &Symbols,
        classifier: &Classifier,
    ) -> Vec<String> {
        // Named by the symbol table alone, and all.
        let mut counts = vec![(0_usize, 0_usize); self.refs.len()];
        for ((raw, chain), frame) in (0..).zip(&symbols.frames).zip(&recording.frames) {
            let Some((bare, all)) = counts.get_mut(self.position(frame.module) as usize) else {
                continue;
            };
            *all += 1;
            if let [only] = chain.as_slice()
                && only.is_name_only()
                && classifier.origin_of_raw(raw, only, "") != Origin::Std
            {
                *bare += 1;
            }
        }
        let modules = self.refs.iter().zip(counts);
        // A few are the compiler's own shims. Our own library is nobody's to build again.
        modules
            .filter(|((path, _), (bare, all))| {
                bare * 10 > *all && !symbols::is_preload_library(path)
            })
            .map(|((path, _), (bare, all))| {
                let name = path.rsplit('/').next().unwrap_or_default();
                format!(
                    "{name}: lines and inlined functions are unknown for {} of {}; set debug = \"limited\" \
                     in its cargo profile (CARGO_PROFILE_RELEASE_DEBUG=limited for one build)",
                    Count(bare as u64),
                    counted(all as u64, "frame")
                )
            })
            .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::SourceFrame;

    /// The advice for a recording of these functions, each with its file if it has one, that call
    /// one another.
    fn advice(functions: &[(&str, Option<&str>)]) -> Vec<String> {
        advice_in("/opt/app", functions)
    }

    /// The same for functions of another image.
    fn advice_in(path: &str, functions: &[(&str, Option<&str>)]) -> Vec<String> {
        let frame = |(name, file): &(&str, Option<&str>)| SourceFrame {
            function: (*name).into(),
            raw: Some("_ZN3app4load17h0123456789abcdefE".into()),
            file: file.map(Into::into),
            line: file.map(|_| 7),
            ..SourceFrame::default()
        };
        let chains = functions.iter().map(|function| vec![frame(function)]);
        let symbols = Symbols {
            frames: chains.collect(),
            ..Symbols::default()
        };
        let modules = Modules {
            refs: vec![(path.to_owned(), Identity::None)],
            order: vec![u32::MAX, 0],
        };
        let frame = FrameValue {
            module: 1,
            ..FrameValue::default()
        };
        let mut recording = Recording::default();
        recording.frames = vec![frame; functions.len()];
        let nodes = (0..functions.len() as u32).map(|at| (at.saturating_sub(1), at));
        let classifier = Classifier::new(&symbols).with_stacks(&symbols, nodes);
        modules.without_debug(&recording, &symbols, &classifier)
    }

    #[test]
    fn functions_without_lines_are_advised_about_unless_they_are_of_std() {
        let main = ("app::main", Some("/app/src/main.rs"));
        let symbolizer = "std::backtrace_rs::symbolize::gimli::resolve";
        let symbolizer = (symbolizer, Some("/rustc/1/library/backtrace/src/lib.rs"));
        let [note] = &advice(&[main, ("app::load", None)])[..] else {
            panic!("one note");
        };
        assert!(note.starts_with("app: lines and inlined functions are unknown for 1 of 2 frames"));
        assert!(note.contains("debug = \"limited\""));
        let gimli = ("gimli::read::abbrev::Abbreviations::insert", None);
        assert_eq!(advice(&[main, symbolizer, gimli]), [""; 0]);
        assert_eq!(advice(&[main, gimli]).len(), 1, "a dependency");
        for own in [
            "/home/me/.cache/heapglass/libheapglass_preload-1.so",
            "/memfd:libheapglass_preload.so (deleted)",
        ] {
            assert_eq!(advice_in(own, &[main, gimli]), [""; 0]);
        }
    }
}

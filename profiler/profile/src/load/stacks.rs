//! Turns raw return addresses into named, trimmed stacks.

#[cfg(test)]
mod tests;

use super::counters::CountedSites;
use super::frames::{FrameNames, FrameTable};
use super::functions::Own;
use super::modules::Modules;
use super::names::Names;
use super::reader::{SiteStack, StacksRead, read};
use super::walks::Walks;
use super::{OpenOptions, arenas, losses, scope_tree};
use crate::interned::Interned;
use crate::profile::{
    Contents, Folding, FrameId, Language, Origin, Profile, ScopeKind, Site, Stack, StackNode,
    Stacks, TypeId, Wrappers,
};
use crate::symbols::{self, Classifier, Interpreter, SourceFrame};
use crate::types::{ContentNames, Types};
use std::mem::take;
use std::sync::Arc;
use tracking_alloc_recording::{FrameValue, Recording, SiteValue, unwinder};

/// The stacks that were read of a recording, kept while its program runs. The next time the
/// recording is loaded, only new stacks are read.
///
/// A cache is valid for its own recording only: see [`goes_on_in`](StackCache::goes_on_in).
#[derive(Default)]
pub(super) struct StackCache {
    own: Own,
    classifier: Classifier,
    nodes: Vec<StackNode>,
    records: Vec<SiteValue>,
    frames: FrameTable,
    types: Types,
    /// The innermost frames of stacks, each list once.
    inner: Interned<Vec<FrameId>>,
    /// The known sites by their number.
    sites: Vec<Option<KnownSite>>,
    folded: Option<Folded>,
}

/// The facts about a site that do not depend on its figures.
#[derive(Clone)]
struct KnownSite {
    stack: SiteStack,
    contents: Option<Contents>,
}

/// The folded stacks, and what they were folded of.
struct Folded {
    folding: Arc<Folding>,
    /// The numbers of the sites.
    sites: Vec<u32>,
    functions: usize,
    scopes: Vec<ScopeType>,
    wrappers: Wrappers,
}

/// The type that a scope gives to blocks whose stacks name none. A scope may get its type after it
/// was entered.
type ScopeType = (ScopeKind, Option<TypeId>);

impl StackCache {
    /// Returns `true` if all that was read of stacks holds in a recording: it begins with what
    /// there was then, and names are given the same way. What they are named by was compared
    /// before.
    fn goes_on_in(
        &self,
        recording: &Recording,
        nodes: &[StackNode],
        own: &Own,
        classifier: &Classifier,
    ) -> bool {
        nodes.starts_with(&self.nodes)
            && recording.sites.starts_with(&self.records)
            && self.own == *own
            && self.classifier == *classifier
    }

    fn site(&self, number: u32) -> Option<&KnownSite> {
        self.sites.get(number as usize)?.as_ref()
    }

    /// Numbers what the threads found, in the order of the sites: the same whatever the number of
    /// threads.
    fn put_together(&mut self, read: Vec<StacksRead>, numbers: &[u32]) {
        // They rise.
        let most = numbers.last().map_or(0, |most| *most as usize + 1);
        let length = self.sites.len().max(most);
        self.sites.resize(length, None);
        let mut left = numbers.iter();
        for read in read {
            let all: Vec<Contents> = read
                .contents
                .iter()
                .map(|names| contents(names, &mut self.types))
                .collect();
            let inner = read.inner.into_iter();
            let inner: Vec<u32> = inner.map(|frames| self.inner.number(frames)).collect();
            for (mut stack, number) in read.sites.into_iter().zip(left.by_ref()) {
                stack.inner = inner[stack.inner as usize];
                let contents = all.get(stack.contents as usize).copied();
                self.sites[*number as usize] = Some(KnownSite { stack, contents });
            }
        }
    }

    /// Writes what is known of the stacks of sites into them; `pieces` are those of the nodes.
    fn fill_sites(&self, numbers: &[u32], sites: &mut [Site], pieces: &mut Stacks) {
        let inner: Vec<u32> = self
            .inner
            .values
            .iter()
            .map(|frames| pieces.add_piece(frames))
            .collect();
        for (number, site) in numbers.iter().zip(sites) {
            let Some(KnownSite { stack, contents }) = self.site(*number) else {
                continue;
            };
            (site.scope, site.marks, site.contents) = (stack.scope, stack.marks, *contents);
            site.stack = Stack {
                node: stack.node,
                inner: inner[stack.inner as usize],
            };
            (site.shown, site.owner, site.group) = (stack.shown.clone(), stack.owner, stack.group);
        }
    }

    /// Folds the stacks of a profile. Stacks of sites known before are not folded again.
    fn fold(&mut self, profile: &Profile, sites: &[u32]) {
        let scopes: Vec<ScopeType> = profile
            .scopes
            .iter()
            .map(|scope| (scope.kind, scope.value_type))
            .collect();
        let known = self.folded.take().filter(|known| {
            // With other functions, other names tell two of them apart; with which type a stack
            // ends a scope may tell.
            known.functions == profile.functions.len()
                && known.wrappers == profile.wrappers
                && sites.starts_with(&known.sites)
                && scopes.starts_with(&known.scopes)
        });
        let mut folding = known.map(|known| known.folding).unwrap_or_default();
        if folding.len() < profile.sites.len() {
            Arc::make_mut(&mut folding).extend(profile);
        }
        profile.set_folding(folding.clone());
        // Rising numbers.
        let has_record = |last: &u32| (*last as usize) < self.records.len();
        let is_known = sites.last().is_none_or(has_record);
        self.folded = is_known.then_some(Folded {
            folding,
            sites: sites.to_vec(),
            functions: profile.functions.len(),
            scopes,
            wrappers: profile.wrappers.clone(),
        });
    }
}

/// Fills modules, functions, frames, stacks, sites and scopes of a profile that has the tree of its
/// stacks and the figures of its sites. What a cache knows of a recording that goes on is not read
/// again, and what was read is kept in it.
pub(super) fn fill(
    profile: &mut Profile,
    (recording, counted): (&Recording, &CountedSites),
    (modules, names): (&Modules, &Names),
    options: &OpenOptions,
    kept: Option<&mut StackCache>,
) {
    let symbols = &names.symbols;
    profile.modules = modules.described(symbols);
    profile.sources.clone_from(&names.sources);
    let nodes = profile
        .stacks
        .nodes
        .iter()
        .map(|node| (node.parent, node.piece));
    let classifier = Classifier::new(symbols).with_stacks(symbols, nodes);
    let mut notes = symbols.notes.clone();
    notes.extend(modules.without_debug(recording, symbols, &classifier));
    profile.lost.notes.splice(..0, notes);
    let own = own(profile, recording, (modules, names), &classifier, options);
    profile.capture.own_crates.clone_from(&own.crates);
    let nodes = take(&mut profile.stacks.nodes);
    let keeps = kept.is_some();
    let mut fresh = StackCache::default();
    let cache = kept.unwrap_or(&mut fresh);
    // Where no stacks were recorded, what a site is called depends on the scopes that there are.
    let has_stacks = recording.header.unwinder != unwinder::NONE;
    if !has_stacks || !cache.goes_on_in(recording, &nodes, &own, &classifier) {
        *cache = StackCache::default();
    }
    (cache.own, cache.classifier) = (own, classifier);
    profile.scopes = scope_tree::scopes(recording, &mut cache.types);
    profile.footprints = scope_tree::footprints(recording, &mut cache.types);
    let frame_names = FrameNames {
        recording,
        modules,
        symbols,
        own: &cache.own,
        classifier: &cache.classifier,
    };
    let is_new = |number: &u32| cache.site(*number).is_none();
    let numbers: Vec<u32> = counted.numbers.iter().copied().filter(is_new).collect();
    cache.frames.make_room(recording);
    let mut walks = Walks::new(&nodes, &mut cache.frames, &frame_names);
    let found: Vec<_> = numbers.iter().map(|number| walks.walk(*number)).collect();
    let read = read(&walks, &numbers, &found);
    drop(found);
    profile.stacks = walks.pieces();
    let is_bounded = walks.is_bounded;
    profile.lost.unresolved_frames = cache.frames.unresolved;
    let (functions, frames) = cache.frames.values();
    if keeps {
        (profile.functions, profile.frames) = (functions.clone(), frames.clone());
    } else {
        (profile.functions, profile.frames) = (take(functions), take(frames));
        cache.frames = FrameTable::default();
    }
    cache.put_together(read, &numbers);
    cache.fill_sites(&counted.numbers, &mut profile.sites, &mut profile.stacks);
    profile.arenas = arenas::arenas(recording, counted, &mut cache.types);
    if keeps {
        profile.types = cache.types.clone().into_values();
        cache.nodes.clone_from(&nodes);
    } else {
        profile.types = take(&mut cache.types).into_values();
    }
    profile.stacks.nodes = nodes;
    let own = &cache.own;
    profile.find_wrappers(
        |function| own.is_wrapper(function),
        |function| own.names(function),
    );
    losses::of_stacks(profile);
    if keeps && !is_bounded {
        cache.records.clone_from(&recording.sites);
        // What counts for a site whose record is not there yet is known then.
        cache.sites.truncate(cache.records.len());
        cache.fold(profile, &counted.numbers);
    } else {
        *cache = StackCache::default();
    }
}

/// Whose code is the program's own.
fn own(
    profile: &Profile,
    recording: &Recording,
    (modules, names): (&Modules, &Names),
    classifier: &Classifier,
    options: &OpenOptions,
) -> Own {
    let is_own = |(number, (chain, raw)): (u32, (&Vec<SourceFrame>, &FrameValue))| {
        let module = modules.path(raw.module);
        let origin = |frame| classifier.origin_of_raw(number, frame, module);
        chain.iter().any(|frame| origin(frame) == Origin::User)
    };
    let frames = names.symbols.frames.iter().zip(&recording.frames);
    let mut frames = (0..).zip(frames);
    let has_own = frames.any(is_own);
    // A name is that of a function if there is one that is not of Rust.
    let is_function = |name: &&String| {
        let mut all = names.symbols.frames.iter().flatten();
        all.any(|frame| {
            let raw = frame.raw.as_deref().unwrap_or(&frame.function);
            (*frame.function == ***name || raw == name.as_str())
                && symbols::language(frame) != Language::Rust
        })
    };
    let (functions, crates): (Vec<&String>, Vec<&String>) =
        options.own.iter().partition(is_function);
    let crates: Vec<String> = crates.into_iter().cloned().collect();
    let program = &profile.process.program;
    let frames = names.symbols.frames.iter().zip(&recording.frames);
    let named = frames.flat_map(|(chain, raw)| {
        let image = modules.path(raw.module).rsplit('/').next();
        let image = image.unwrap_or_default();
        chain.iter().map(move |frame| (image, &*frame.function))
    });
    let interpreter = Interpreter::of(program)
        .filter(|interpreter| interpreter.may_be(named))
        .map(|interpreter| interpreter.with_modules(modules.paths()));
    Own {
        crates: [&crates, &names.own, &profile.capture.own_crates]
            .into_iter()
            .find(|crates| !crates.is_empty())
            .cloned()
            .unwrap_or_default(),
        native: (!has_own && interpreter.is_none()).then(|| program.clone()),
        functions: functions.into_iter().cloned().collect(),
        interpreter,
        wrappers: options.wrappers.clone(),
    }
}

/// Returns the contents that a stack names, by numbers.
fn contents(names: &ContentNames, types: &mut Types) -> Contents {
    let mut number = |of: fn(&ContentNames) -> Option<&str>| {
        let name = of(names)?;
        if names.others.is_empty() {
            return Some(types.number(name));
        }
        let others = names.others.iter().map(|other| other.as_ref().and_then(of));
        let all: Vec<Option<&str>> = std::iter::once(Some(name)).chain(others).collect();
        Some(types.one_of(&all))
    };
    Contents {
        container: number(|names| Some(&names.container)).unwrap_or_default(),
        element: number(|names| names.element.as_deref()),
        owner: number(|names| names.owner.as_deref()),
        allocating: number(|names| names.allocating.as_deref()),
    }
}

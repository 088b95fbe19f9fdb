//! From raw return addresses to named, trimmed stacks.

#[cfg(test)]
mod tests;

use super::counters::Counted;
use super::frames::{FrameNames, FrameTable};
use super::functions::Own;
use super::modules::Modules;
use super::names::Names;
use super::reader::{SiteStack, StacksRead, read};
use super::walks::Walks;
use super::{Options, arenas, scopes};
use crate::interned::Interned;
use crate::profile::{
    Contents, Folding, FrameId, Origin, Profile, ScopeId, ScopeKind, StackMarks, StackNode, Stacks,
    TypeId,
};
use crate::symbols::{Classifier, SourceFrame};
use crate::types::{ContentNames, Types};
use std::mem::take;
use std::sync::Arc;
use tracking_alloc_recording::{FrameValue, Recording, SiteValue, unwinder};

/// What was read of the stacks of a recording, kept while its program runs: when it is loaded again, only what is new is
/// read.
///
/// Must never outlive what it was read from: see [`goes_on_in`](StackCache::goes_on_in).
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
    /// By number of the site.
    sites: Vec<Option<KnownSite>>,
    folded: Option<Folded>,
}

/// What is known of a site whatever is counted of it.
#[derive(Clone)]
struct KnownSite {
    stack: SiteStack,
    contents: Option<Contents>,
    scope: ScopeId,
    marks: StackMarks,
}

/// The folded stacks, and what they were folded of.
struct Folded {
    folding: Arc<Folding>,
    /// The numbers of the sites.
    sites: Vec<u32>,
    functions: usize,
    scopes: Vec<ScopeType>,
}

/// What a scope tells of the blocks of stacks that do not tell what they hold. A scope may learn its type late.
type ScopeType = (ScopeKind, Option<TypeId>);

impl StackCache {
    /// Whether all that was read of stacks holds in a recording: it begins with what there was then, and names are given
    /// the same way. What they are named by was compared before.
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

    /// Numbers what the threads found, in the order of the sites: the same whatever the number of threads.
    fn put_together(
        &mut self,
        read: Vec<StacksRead>,
        numbers: &[u32],
        found: &[(ScopeId, StackMarks)],
    ) {
        // They rise.
        let most = numbers.last().map_or(0, |most| *most as usize + 1);
        let length = self.sites.len().max(most);
        self.sites.resize(length, None);
        let mut left = numbers.iter().zip(found);
        for read in read {
            let told = read.told.iter();
            let contents: Vec<Contents> =
                told.map(|told| contents(told, &mut self.types)).collect();
            let inner = read.inner.into_iter();
            let inner: Vec<u32> = inner.map(|frames| self.inner.number(frames)).collect();
            for (mut stack, (number, (scope, marks))) in read.sites.into_iter().zip(left.by_ref()) {
                stack.inner = inner[stack.inner as usize];
                self.sites[*number as usize] = Some(KnownSite {
                    contents: contents.get(stack.told as usize).copied(),
                    stack,
                    scope: *scope,
                    marks: *marks,
                });
            }
        }
    }

    /// Writes what is known of the stacks of sites into them; `pieces` are those of the nodes.
    fn fill_sites(&self, counted: &mut Counted, pieces: &mut Stacks) {
        let inner = self.inner.values.iter();
        let inner: Vec<u32> = inner.map(|frames| pieces.add_piece(frames)).collect();
        for (number, site) in counted.numbers.iter().zip(&mut counted.sites) {
            let Some(known) = self.site(*number) else {
                continue;
            };
            let stack = &known.stack;
            (site.scope, site.marks, site.contents) = (known.scope, known.marks, known.contents);
            site.stack = Stacks::at(stack.node, inner[stack.inner as usize]);
            (site.shown, site.owner, site.group) = (stack.shown.clone(), stack.owner, stack.group);
        }
    }

    /// The folded stacks of a profile, of which those of sites known before are not folded again.
    fn fold(&mut self, profile: &Profile, sites: Vec<u32>) {
        let scopes = profile.scopes.iter();
        let scopes: Vec<ScopeType> = scopes.map(|scope| (scope.kind, scope.value_type)).collect();
        let known = self.folded.take().filter(|known| {
            // With other functions, other names tell two of them apart; whether a stack ends with a type a scope may tell.
            known.functions == profile.functions.len()
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
            sites,
            functions: profile.functions.len(),
            scopes,
        });
    }
}

/// Fills modules, functions, frames, stacks, sites and scopes of a profile. `nodes` is the tree that the stacks of the
/// recording are. What a cache knows of a recording that goes on is not read again, and what was read is kept in it.
pub(super) fn fill(
    profile: &mut Profile,
    (recording, nodes): (&Recording, Vec<StackNode>),
    mut counted: Counted,
    (modules, names): (&Modules, &Names),
    options: &Options,
    kept: Option<&mut StackCache>,
) {
    let symbols = &names.symbols;
    profile.modules = modules.described(symbols);
    profile.sources.clone_from(&names.sources);
    profile.lost.notes.extend(symbols.notes.iter().cloned());
    let classifier = Classifier::new(symbols);
    let own = own(profile, recording, (modules, names), &classifier, options);
    profile.capture.own_crates.clone_from(&own.crates);
    let known = kept.as_deref().is_some_and(|cache| {
        // Where no stacks were recorded, what a site is called depends on the scopes that there are.
        recording.header.unwinder != unwinder::NONE
            && cache.goes_on_in(recording, &nodes, &own, &classifier)
    });
    let mut fresh = StackCache::default();
    let (keeps, cache) = match kept {
        Some(kept) => (true, kept),
        None => (false, &mut fresh),
    };
    if !known {
        *cache = StackCache::default();
    }
    (cache.own, cache.classifier) = (own, classifier);
    profile.scopes = scopes::scopes(recording, &mut cache.types);
    profile.footprints = scopes::footprints(recording, &mut cache.types);
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
    let mut walks = Walks::new(recording, &nodes, &mut cache.frames, &frame_names);
    let found: Vec<_> = numbers.iter().map(|number| walks.walk(*number)).collect();
    let read = read(&walks, &numbers, &found);
    profile.stacks = walks.pieces();
    let is_bounded = walks.is_bounded;
    profile.lost.unresolved_frames = cache.frames.unresolved;
    let (functions, frames) = cache.frames.values();
    match keeps {
        true => (profile.functions, profile.frames) = (functions.clone(), frames.clone()),
        false => {
            (profile.functions, profile.frames) = (take(functions), take(frames));
            cache.frames = FrameTable::default();
        }
    }
    cache.put_together(read, &numbers, &found);
    cache.fill_sites(&mut counted, &mut profile.stacks);
    profile.arenas = arenas::arenas(recording, &counted, &mut cache.types);
    profile.sites = counted.sites;
    profile.types = match keeps {
        true => cache.types.clone().into_values(),
        false => take(&mut cache.types).into_values(),
    };
    if keeps {
        cache.nodes.clone_from(&nodes);
    }
    profile.stacks.set_nodes(nodes);
    if keeps && !is_bounded {
        cache.records.clone_from(&recording.sites);
        // What counts for a site whose record is not there yet is known then.
        cache.sites.truncate(cache.records.len());
        cache.fold(profile, counted.numbers);
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
    options: &Options,
) -> Own {
    let is_own = |(chain, raw): (&Vec<SourceFrame>, &FrameValue)| {
        let module = modules.path(raw.module);
        let origin = |frame| classifier.function(frame, module).origin;
        chain.iter().any(|frame| origin(frame) == Origin::User)
    };
    let mut frames = names.symbols.frames.iter().zip(&recording.frames);
    let has_own = frames.any(is_own);
    Own {
        crates: [&options.own, &names.own, &profile.capture.own_crates]
            .into_iter()
            .find(|crates| !crates.is_empty())
            .cloned()
            .unwrap_or_default(),
        native: (!has_own).then(|| profile.process.program.clone()),
    }
}

/// What a stack says, by numbers.
fn contents(told: &ContentNames, types: &mut Types) -> Contents {
    let mut number = |of: fn(&ContentNames) -> Option<&str>| {
        let name = of(told)?;
        if told.others.is_empty() {
            return Some(types.number(name));
        }
        let others = told.others.iter();
        let others = others.map(|other| other.as_ref().and_then(of));
        let all: Vec<Option<&str>> = std::iter::once(Some(name)).chain(others).collect();
        Some(types.one_of(&all))
    };
    Contents {
        container: number(|told| Some(&told.container)).unwrap_or_default(),
        element: number(|told| told.element.as_deref()),
        owner: number(|told| told.owner.as_deref()),
    }
}

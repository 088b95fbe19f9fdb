//! The figures of groups of sites in a snapshot.

use std::cmp::Reverse;
use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::finding::{Confidence, Finding, FromSnapshot, Kind, Place};
use super::group::{Group, can_call, can_change, own_crates};
use crate::containers::{BlockKind, block_kind};
use crate::profile::{Measure, Profile, TypeKind};
use crate::snapshot::{HolderName, RootKind, SiteFigures, Snapshot};
use crate::table::label_of;
use crate::units::{Bytes, counted, printable};

/// A snapshot shows what stays if it was taken in the last part of this many of the recording.
const NEAR_END: u64 = 50;

/// A snapshot whose figures are looked up by group.
pub(super) struct AtMoment<'a> {
    pub(super) profile: &'a Profile,
    pub(super) snapshot: &'a Snapshot,
    by_site: FxHashMap<u32, &'a SiteFigures>,
    /// The crates of the program.
    pub(super) own: HashSet<&'a str>,
    /// Bytes of each node of the tree of holders and those below it.
    held: Vec<u64>,
}

/// The blocks of a container, as far as its unused capacity is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The first elements are in use: `Vec`, `String`.
    List,
    /// hashbrown's buckets.
    Table,
    Other,
}

impl<'a> AtMoment<'a> {
    /// Returns the snapshots to look at: that with most live bytes, and the last one, which shows
    /// what stays. There is only one if they are the same.
    pub(super) fn all(profile: &'a Profile) -> Vec<AtMoment<'a>> {
        let snapshots = profile.snapshots();
        let largest = snapshots.iter().max_by_key(|snapshot| live_bytes(snapshot));
        let last = snapshots
            .iter()
            .max_by_key(|snapshot| snapshot.moment().time_ns)
            .filter(|last| largest.is_none_or(|largest| !std::ptr::eq(*last, largest)));
        let looked_at = largest.into_iter().chain(last);
        looked_at
            .map(|snapshot| AtMoment::of(profile, snapshot))
            .collect()
    }

    fn of(profile: &'a Profile, snapshot: &'a Snapshot) -> AtMoment<'a> {
        let sites = snapshot.sites().iter();
        let by_site = sites.filter_map(|(site, figures)| Some(((*site)?, figures)));
        AtMoment {
            profile,
            snapshot,
            by_site: by_site.collect(),
            own: own_crates(profile),
            held: snapshot.held().iter().map(|held| held.bytes).collect(),
        }
    }

    /// Returns `true` if this snapshot shows a finding.
    pub(super) fn is_of(&self, finding: &Finding) -> bool {
        let time_ns = self.snapshot.moment().time_ns;
        let snapshot = finding.snapshot.as_ref();
        snapshot.is_some_and(|snapshot| snapshot.time_ns == time_ns)
    }

    /// Returns `true` if the snapshot shows what is live at the end, or now.
    fn is_at_end(&self) -> bool {
        let moment = self.snapshot.moment();
        let duration_ns = self.profile.process().duration_ns;
        moment.is_exit() || moment.time_ns >= duration_ns - duration_ns / NEAR_END
    }

    /// Returns `true` if the program's peak came after this moment and is more than 1 % larger.
    pub(super) fn heap_grew_on(&self) -> bool {
        let later = self.profile.capture().peak_time_ns > self.snapshot.moment().time_ns;
        let live = live_bytes(self.snapshot);
        later && self.profile.totals().peak_bytes > live.saturating_add(live / 100)
    }

    /// Returns the figures of the sites of a group.
    pub(super) fn figures(&self, group: &Group) -> SiteFigures {
        self.figures_of(group.sites.iter().copied())
    }

    /// Returns the figures of some sites.
    pub(super) fn figures_of(&self, sites: impl Iterator<Item = usize>) -> SiteFigures {
        let mut sum = SiteFigures::default();
        let numbers = sites.filter_map(|site| u32::try_from(site).ok());
        let figures = numbers.filter_map(|site| self.by_site.get(&site));
        figures.for_each(|figures| sum.add(figures));
        sum
    }

    /// Returns a finding about a group, without its figures and texts.
    pub(super) fn finding(&self, kind: Kind, group: &Group) -> Finding {
        let mut place = group.place.clone();
        if place.field.is_none() {
            place.field = self.paths(group).into_iter().next();
        }
        self.finding_at(kind, place, self.holder(group))
    }

    /// Returns a finding about a place, without its figures and texts.
    pub(super) fn finding_at(&self, kind: Kind, place: Place, holder: Option<String>) -> Finding {
        let moment = self.snapshot.moment();
        Finding {
            kind,
            saves_bytes: 0,
            saves_blocks: 0,
            of_bytes: 0,
            measure: Measure::Live,
            snapshot: Some(FromSnapshot {
                label: moment.label.clone(),
                time_ns: moment.time_ns,
                live_bytes: live_bytes(self.snapshot),
                at_end: self.is_at_end(),
            }),
            confidence: Confidence::Exact,
            place,
            holder,
            evidence: Vec::new(),
            why: String::new(),
            remedy: String::new(),
            alternative_to: None,
        }
    }

    /// Returns the form of the blocks of a group, by the container that asked for them.
    pub(super) fn form(&self, group: &Group) -> Form {
        let site = group.sites(self.profile).next();
        let contents = site.and_then(|site| site.contents);
        let name = |of| Some(self.profile.named_type(of)?.full.as_str());
        let container = contents.and_then(|contents| name(Some(contents.container)));
        let allocating = contents.and_then(|contents| name(contents.allocating));
        match container.map(|container| block_kind(container, allocating)) {
            Some(BlockKind::List | BlockKind::Deque | BlockKind::Elements) => Form::List,
            Some(BlockKind::Table) => Form::Table,
            _ => Form::Other,
        }
    }

    /// Returns `true` if the program can call the methods of a group's containers.
    pub(super) fn can_call(&self, group: &Group) -> bool {
        let mut sites = group.sites(self.profile);
        sites.any(|site| can_call(self.profile, &self.own, site))
    }

    /// Returns `true` if the program can choose another type for a group: its own code asked for
    /// the blocks, or they are part of a type of its own.
    pub(super) fn can_change(&self, group: &Group) -> bool {
        let mut sites = group.sites(self.profile);
        sites.any(|site| can_change(self.profile, &self.own, site))
    }

    /// Returns the kind of the container of a group.
    pub(super) fn kind(&self, group: &Group) -> TypeKind {
        let container = group.container(self.profile);
        container.map_or(TypeKind::Other, |(_, kind)| kind)
    }

    /// Returns the places of a group's blocks by type and field, those with most bytes first, such
    /// as `Catalog.names[]`. There are none if types are not known. As recorded: not safe for a
    /// terminal.
    pub(super) fn paths(&self, group: &Group) -> Vec<String> {
        let mut paths: FxHashMap<&str, u64> = FxHashMap::default();
        for node in self.snapshot.holders() {
            if let HolderName::Site(Some(site), path) = &node.name
                && !path.is_empty()
                && group.has(*site)
            {
                let bytes = node.own.iter().map(|held| held.bytes);
                let sum = paths.entry(path).or_default();
                *sum = sum.saturating_add(bytes.fold(0, u64::saturating_add));
            }
        }
        let mut paths: Vec<(&str, u64)> = paths.into_iter().collect();
        paths.sort_unstable_by_key(|&(path, bytes)| (Reverse(bytes), path));
        paths.into_iter().map(|(path, _)| path.to_owned()).collect()
    }

    /// Returns who holds most of a group's blocks: the outermost blocks around them with the line
    /// that made these, or the thread or static that holds them directly. As recorded: not safe for
    /// a terminal.
    fn holder(&self, group: &Group) -> Option<String> {
        let nodes = self.snapshot.holders();
        let is_own = |site: Option<u32>| site.is_some_and(|site| group.has(site));
        let own = nodes.iter().enumerate().filter_map(|(number, node)| {
            let own = node.own.iter().filter(|held| is_own(held.site));
            let bytes = own.fold(0_u64, |sum, held| sum.saturating_add(held.bytes));
            (bytes > 0).then_some((number, bytes))
        });
        let mut most: FxHashMap<usize, u64> = FxHashMap::default();
        for (number, bytes) in own {
            let holder = self.outermost(number, &is_own);
            let sum = most.entry(holder).or_default();
            *sum = sum.saturating_add(bytes);
        }
        let largest = |most: FxHashMap<usize, u64>| {
            let most = most.into_iter();
            let (node, _) = most.max_by_key(|&(node, bytes)| (bytes, self.held.get(node)))?;
            self.holder_text(node)
        };
        largest(most).or_else(|| largest(self.slicers(&is_own)))
    }

    /// Returns the outermost nodes of blocks whose slices point into blocks of sites, with the
    /// number of these pointers.
    fn slicers(&self, is_own: &impl Fn(Option<u32>) -> bool) -> FxHashMap<usize, u64> {
        let slicers = self.snapshot.slicers().iter();
        let mut pointers: FxHashMap<u32, u64> = FxHashMap::default();
        for slicer in slicers.filter(|slicer| is_own(slicer.site)) {
            if let Some(by) = slicer.by {
                let sum = pointers.entry(by).or_default();
                *sum = sum.saturating_add(slicer.pointers);
            }
        }
        let mut nodes: FxHashMap<usize, u64> = FxHashMap::default();
        for (number, node) in self.snapshot.holders().iter().enumerate() {
            if let Some(pointers) = node.site().and_then(|site| pointers.get(&site)) {
                let sum = nodes.entry(self.outermost(number, is_own)).or_default();
                *sum = sum.saturating_add(*pointers);
            }
        }
        nodes
    }

    /// Returns the outermost node of blocks around a node. If these are of the group itself,
    /// returns what holds them.
    fn outermost(&self, number: usize, is_own: &impl Fn(Option<u32>) -> bool) -> usize {
        let nodes = self.snapshot.holders();
        let mut at = number;
        loop {
            let parent = nodes[at].parent as usize;
            let is_block = matches!(nodes[parent].name, HolderName::Site(..));
            if !is_block {
                return if is_own(nodes[at].site()) { parent } else { at };
            }
            at = parent;
        }
    }

    fn holder_text(&self, node: usize) -> Option<String> {
        match &self.snapshot.holders().get(node)?.name {
            HolderName::Site(site, path) => {
                let label = label_of(self.profile, (*site)? as usize)?;
                let what = if path.is_empty() { &label.what } else { path };
                Some(format!("{what} of {}", label.owner_and_source()))
            }
            HolderName::Outside(RootKind::Stack | RootKind::DeadStack, thread) => {
                Some(format!("the stack of {thread}"))
            }
            HolderName::Outside(RootKind::ThreadLocals, thread) => {
                Some(format!("a thread-local value of {thread}"))
            }
            HolderName::Outside(RootKind::Segment, name) => Some(format!("the statics of {name}")),
            _ => None,
        }
    }
}

fn live_bytes(snapshot: &Snapshot) -> u64 {
    snapshot.moment().live_bytes.max(snapshot.bytes())
}

/// Returns `3 blocks of Vec<Op>`, or `3 blocks` if their type is not known.
pub(super) fn blocks_of(count: u64, group: &Group) -> String {
    many_of(counted(count, "block"), group)
}

/// Returns `1.0 MiB of Vec<Op>`, or `1.0 MiB` if the type is not known.
pub(super) fn bytes_of(bytes: u64, group: &Group) -> String {
    many_of(Bytes(bytes).to_string(), group)
}

fn many_of(amount: String, group: &Group) -> String {
    match &group.place.type_name {
        Some(name) => format!("{amount} of {}", printable(name)),
        None => amount,
    }
}

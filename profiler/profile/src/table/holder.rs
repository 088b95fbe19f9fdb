//! Rows by holder: who holds the heap at the moment of a snapshot, as a tree.
//!
//! The tree is that of [`Snapshot::holders`], with holders that read the same below one holder as
//! one row. A name that is on the path already counts where the path ends, as sites do there: so no
//! path has a name twice, and a row retains exactly what its blocks hold alone.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use super::held::HeldFigures;
use super::held_rows::rows_of_sites;
use super::site::label_of;
use super::{By, SiteLabel, rows};
use crate::profile::{Frames, Measure, Profile};
use crate::snapshot::{Held, HolderName, HolderNode, RootKind, Snapshot};
use crate::units::Count;

/// A holder.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HolderRow {
    /// The name, as recorded: not safe for a terminal before [`crate::units::printable`].
    pub name: HolderRowName,
    /// The row that holds this one; `None` = nothing in the heap does.
    pub parent: Option<usize>,
    /// Its figures. Unused capacity is that of all blocks that it retains.
    pub held: HeldFigures,
    /// The sites of its blocks, indexes into [`Profile::sites`].
    pub sites: Vec<u32>,
    /// If several holders keep its blocks alive, these: rows with the number of their pointers to
    /// the blocks, those with most pointers first. Empty for others.
    pub held_by: Vec<(usize, u64)>,
}

/// The name of a holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HolderRowName {
    /// What holds blocks from outside the heap, or what stands for it: `statics of app`,
    /// `several holders`.
    Root(String),
    /// A place by type and field: `Catalog.products[].name`.
    Place {
        /// The whole place.
        path: String,
        /// The type that was allocated, if all blocks have one.
        type_key: Option<String>,
    },
    /// The blocks of sites that read the same.
    Site(SiteLabel),
    /// The row of a grouping, by its key.
    Row(String),
    /// Blocks of sites that the recording does not have.
    NoSite,
    /// Small holders, which are not kept apart.
    Small,
}

/// The first word in the name of a row of statics.
const STATICS: &str = "statics";
/// The row of blocks that nothing reached.
pub const NOT_REACHED: &str = "not reached at this moment";
/// The row of blocks whose owner was not seen.
pub const NOT_SEEN: &str = "held in a way not seen";
/// The row of blocks with several holders.
pub const SEVERAL: &str = "several holders";
/// The row of blocks whose holders are too small to be kept.
pub const SMALL: &str = "(small holders)";
/// The row of blocks whose site is not in the recording.
const NO_SITE: &str = "(site not in the recording)";

impl HolderRowName {
    /// Returns the name without the part that repeats the holder's: `.name` below
    /// `Catalog.products[]`.
    pub fn below(&self, holder: Option<&HolderRowName>) -> String {
        let around = match holder {
            Some(HolderRowName::Place { path, .. }) => path.as_str(),
            _ => "",
        };
        match self {
            HolderRowName::Root(name) | HolderRowName::Row(name) => name.clone(),
            HolderRowName::Place { path, .. } => match path.strip_prefix(around) {
                Some(rest) if rest.starts_with(['.', '[', '{', ':']) => rest.to_owned(),
                _ => path.clone(),
            },
            HolderRowName::Site(label) if label.what.is_empty() => label.owner.clone(),
            HolderRowName::Site(label) => label.what.clone(),
            HolderRowName::NoSite => NO_SITE.to_owned(),
            HolderRowName::Small => SMALL.to_owned(),
        }
    }
}

impl HolderRowName {
    /// Returns `true` if it stands for the statics of a loaded image.
    pub fn is_statics(&self) -> bool {
        matches!(self, HolderRowName::Root(name) if name.starts_with(STATICS))
    }

    /// Returns the kind of holder, a word of JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            HolderRowName::Root(_) => "root",
            HolderRowName::Place { .. } => "place",
            HolderRowName::Site(_) => "site",
            HolderRowName::Row(_) => "row",
            HolderRowName::NoSite => "no_site",
            HolderRowName::Small => "small",
        }
    }

    /// Returns the step of a path: the name with what tells it from others below one holder.
    pub fn step(&self, holder: Option<&HolderRowName>) -> String {
        match self {
            HolderRowName::Site(label) if !label.what.is_empty() => match &*label.owner {
                owner if owner.starts_with('(') => format!("{} {owner}", label.what),
                owner => format!("{} ({owner})", label.what),
            },
            _ => self.below(holder),
        }
    }
}

impl HolderRow {
    /// Returns the names of the holders from the outermost one to this one:
    /// `stack of main > Catalog.products[].name`.
    pub fn key(&self, rows: &[HolderRow]) -> String {
        let mut key = String::new();
        for step in self.steps(rows) {
            // Steps of one place are one word.
            if !key.is_empty() && !step.starts_with(['.', '[', '{']) {
                key.push_str(" > ");
            }
            key.push_str(&step);
        }
        key
    }

    /// Returns the names that the [key](HolderRow::key) is made of.
    pub fn steps(&self, rows: &[HolderRow]) -> Vec<String> {
        let path = self.path(rows);
        let above = std::iter::once(None).chain(path.iter().map(|row| Some(&row.name)));
        let steps = path.iter().zip(above);
        steps.map(|(row, above)| row.name.step(above)).collect()
    }

    /// Spells the holders if there are several: `stack of a, stack of b, stack of c and 5 more`.
    /// `None` if there is one. Not safe for a terminal before [`crate::units::printable`].
    pub fn several(&self, rows: &[HolderRow], most: usize) -> Option<String> {
        let names = self
            .held_by
            .iter()
            .take(most)
            .filter_map(|&(row, _)| Some(rows.get(row)?.name.step(None)));
        let mut text = names.collect::<Vec<_>>().join(", ");
        let rest = self.held_by.len().saturating_sub(most);
        if rest > 0 {
            text.push_str(&format!(" and {} more", Count(rest as u64)));
        }
        (!text.is_empty()).then_some(text)
    }

    /// Returns the rows from the outermost holder to this one.
    pub fn path<'a>(&'a self, rows: &'a [HolderRow]) -> Vec<&'a HolderRow> {
        let above = |row: &&'a HolderRow| rows.get(row.parent?);
        let mut path: Vec<&HolderRow> = std::iter::successors(Some(self), above).collect();
        path.reverse();
        path
    }
}

/// Rows as they are found, each with a key: holders of one key below one row are one row.
struct Paths<K> {
    rows: Vec<HolderRow>,
    keys: Vec<K>,
    known: HashMap<(Option<usize>, K), usize>,
}

impl<K> Default for Paths<K> {
    fn default() -> Self {
        Paths {
            rows: Vec::new(),
            keys: Vec::new(),
            known: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Paths<K> {
    /// Returns the row of a key below another row, and `false`; or the other row and `true` if the
    /// key is on its path already.
    fn below(
        &mut self,
        parent: Option<usize>,
        key: K,
        name: impl FnOnce(&K) -> HolderRowName,
    ) -> (usize, bool) {
        let mut above = parent;
        while let Some(at) = above.filter(|&at| self.keys[at] != key) {
            above = self.rows[at].parent;
        }
        if let Some(row) = above.and(parent) {
            return (row, true);
        }
        let row = *self
            .known
            .entry((parent, key))
            .or_insert_with_key(|(_, key)| {
                self.rows.push(HolderRow {
                    name: name(key),
                    parent,
                    held: HeldFigures::default(),
                    sites: Vec::new(),
                    held_by: Vec::new(),
                });
                self.keys.push(key.clone());
                self.rows.len() - 1
            });
        (row, false)
    }
}

/// Returns the holders of a snapshot, parents before children. Those that nothing holds add up to
/// the whole snapshot.
pub fn holders(profile: &Profile, snapshot: &Snapshot) -> Vec<HolderRow> {
    let nodes = snapshot.holders();
    let all_held = snapshot.held();
    let mut paths: Paths<Key> = Paths::default();
    let mut names = Names::new(profile);
    // The row of each node; the whole heap has none.
    let mut row_of: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
    for (number, node) in nodes.iter().enumerate() {
        if number == 0 {
            row_of.push(None);
            continue;
        }
        let parent = row_of[node.parent as usize];
        let key = names.key(&node.name);
        let (row, is_inside) = paths.below(parent, key, |key| names.name(key));
        row_of.push(Some(row));
        let of_row = &mut paths.rows[row];
        // What a node inside its own row retains is counted there already.
        if !is_inside {
            of_row.held.filled.add(&all_held[number]);
        }
        for own in &node.own {
            of_row.held.own.add(own);
            of_row.sites.extend(own.site);
        }
    }
    let mut rows = paths.rows;
    // Blocks that the whole heap holds itself.
    let whole = nodes.first().map(|whole| whole.own.as_slice());
    let mut rest = Held::default();
    for own in whole.unwrap_or_default() {
        rest.add(own);
    }
    if rest.blocks > 0 {
        rows.push(HolderRow {
            name: HolderRowName::Root(SEVERAL.to_owned()),
            parent: None,
            held: HeldFigures {
                own: rest.clone(),
                filled: rest,
                ..HeldFigures::default()
            },
            sites: Vec::new(),
            held_by: Vec::new(),
        });
    }
    add_several(nodes, &row_of, &mut rows);
    for row in &mut rows {
        row.held.retained_bytes = row.held.filled.bytes;
        row.held.unseen_bytes = row.held.filled.unseen_bytes;
        row.sites.sort_unstable();
        row.sites.dedup();
        let mut types = row.sites.iter().map(|&site| type_key(profile, site));
        if let HolderRowName::Place { type_key, .. } = &mut row.name {
            let first = types.next().flatten();
            *type_key = first.filter(|first| types.all(|other| other.as_ref() == Some(first)));
        }
    }
    rows
}

/// Returns the rows of a grouping by what holds them: below a row are the rows whose blocks it
/// holds. Holders that are no row, such as stacks and statics, are left out. A row that is on the
/// path already counts where the path ends, so all that stand for one row add up to what it
/// retains, and the outermost ones add up to the whole snapshot.
pub(crate) fn holders_by(
    profile: &Profile,
    snapshot: &Snapshot,
    by: By,
    frames: Frames,
) -> Vec<HolderRow> {
    let groups = rows(profile, by, Measure::Live, frames);
    let group_of_site = rows_of_sites(profile, by, &groups, frames);
    let group = |site: Option<u32>| group_of_site.get(site? as usize).copied().flatten();
    let name = |group: &Option<usize>| match *group {
        Some(group) => HolderRowName::Row(groups[group].key.clone()),
        None => HolderRowName::NoSite,
    };
    let mut paths: Paths<Option<usize>> = Paths::default();
    let nodes = snapshot.holders();
    // The row of each node, or of the nearest one around it that has a row.
    let mut row_of: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let around = row_of.get(node.parent as usize).copied().flatten();
        let row = match group(node.site()) {
            Some(group) => Some(paths.below(around, Some(group), name).0),
            None => around,
        };
        row_of.push(row);
        for own in &node.own {
            let (at, _) = paths.below(row, group(own.site), name);
            paths.rows[at].held.own.add(own);
            paths.rows[at].sites.extend(own.site);
        }
    }
    let mut found = paths.rows;
    for at in (0..found.len()).rev() {
        let own = found[at].held.own.clone();
        let held = &mut found[at].held;
        held.filled.add(&own);
        held.retained_bytes = held.filled.bytes;
        held.unseen_bytes = held.filled.unseen_bytes;
        let filled = held.filled.clone();
        if let Some(parent) = found[at].parent {
            found[parent].held.filled.add(&filled);
        }
        found[at].sites.sort_unstable();
        found[at].sites.dedup();
    }
    found
}

/// Adds to rows what holds their blocks if it is several holders, and to the row above them what
/// holds any of them. `row_of` has the row of each node.
fn add_several(nodes: &[HolderNode], row_of: &[Option<usize>], rows: &mut [HolderRow]) {
    let mut pointers: HashMap<usize, HashMap<usize, u64>> = HashMap::new();
    for (node, &row) in nodes.iter().zip(row_of) {
        for &(by, count) in &node.held_by {
            let by = row_of.get(by as usize).copied().flatten();
            let (Some(row), Some(by)) = (row, by) else {
                continue;
            };
            for row in [Some(row), rows[row].parent].into_iter().flatten() {
                let sum = pointers.entry(row).or_default().entry(by).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }
    for (row, by) in pointers {
        let mut by: Vec<(usize, u64)> = by.into_iter().collect();
        by.sort_unstable_by_key(|&(row, count)| (Reverse(count), row));
        rows[row].held_by = by;
    }
}

/// Returns the rows that have blocks of a site, those with most bytes first.
pub fn holders_of(rows: &[HolderRow], site: u32) -> Vec<usize> {
    let with_site = |row: &HolderRow| row.sites.binary_search(&site).is_ok();
    let mut found: Vec<usize> = (0..rows.len()).filter(|&at| with_site(&rows[at])).collect();
    found.sort_by_key(|&at| Reverse(rows[at].held.own.bytes));
    found
}

/// The key of holders that are one row.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Root(String),
    Place(String),
    Site(u32),
    NoSite,
    Small,
}

struct Names<'a> {
    profile: &'a Profile,
    labels: Vec<SiteLabel>,
    numbers: HashMap<SiteLabel, u32>,
    of_site: HashMap<u32, Option<u32>>,
}

impl Names<'_> {
    fn new(profile: &Profile) -> Names<'_> {
        Names {
            profile,
            labels: Vec::new(),
            numbers: HashMap::new(),
            of_site: HashMap::new(),
        }
    }

    fn key(&mut self, name: &HolderName) -> Key {
        match name {
            HolderName::Whole | HolderName::Several => Key::Root(SEVERAL.to_owned()),
            HolderName::Outside(kind, name) => Key::Root(outside(*kind, name)),
            HolderName::NotKnown => Key::Root(NOT_SEEN.to_owned()),
            HolderName::Nothing => Key::Root(NOT_REACHED.to_owned()),
            HolderName::Others => Key::Small,
            HolderName::Site(_, label) if !label.is_empty() => Key::Place(label.clone()),
            HolderName::Site(site, _) => {
                let site = site.and_then(|site| self.label(site));
                site.map_or(Key::NoSite, Key::Site)
            }
        }
    }

    /// Returns the number of a site's label.
    fn label(&mut self, site: u32) -> Option<u32> {
        if let Some(&known) = self.of_site.get(&site) {
            return known;
        }
        let number = label_of(self.profile, site as usize).map(|label| {
            *self.numbers.entry(label.clone()).or_insert_with(|| {
                self.labels.push(label);
                self.labels.len() as u32 - 1
            })
        });
        self.of_site.insert(site, number);
        number
    }

    fn name(&self, key: &Key) -> HolderRowName {
        match key {
            Key::Root(name) => HolderRowName::Root(name.clone()),
            Key::Place(path) => HolderRowName::Place {
                path: path.clone(),
                type_key: None,
            },
            Key::Site(number) => HolderRowName::Site(self.labels[*number as usize].clone()),
            Key::NoSite => HolderRowName::NoSite,
            Key::Small => HolderRowName::Small,
        }
    }
}

/// `statics of app`, `stack of main`, `thread-locals of worker`, `other memory`.
fn outside(kind: RootKind, name: &str) -> String {
    let what = match kind {
        RootKind::DeadStack if name.is_empty() => return "other memory".to_owned(),
        RootKind::Stack | RootKind::DeadStack => "stack",
        RootKind::ThreadLocals => "thread-locals",
        RootKind::Segment => STATICS,
    };
    // A segment may have the path of its file.
    match name.rsplit('/').next() {
        Some(name) if !name.is_empty() => format!("{what} of {name}"),
        _ => what.to_owned(),
    }
}

/// The key of the type that a site allocates.
fn type_key(profile: &Profile, site: u32) -> Option<String> {
    let id = profile.type_id_of(profile.sites.get(site as usize)?);
    id.map(|id| profile.type_key(Some(id)).to_owned())
}

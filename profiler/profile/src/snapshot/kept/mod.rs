//! Snapshots as recordings carry them: figures by site and holder, without the addresses, pointers
//! and contents that they were computed from.

mod holders;
mod make;
mod neighbours;
mod not_reached;
#[cfg(test)]
mod tests;
mod usable;

pub use holders::{Held, HolderName, HolderNode};
pub use make::Outside;
pub use neighbours::Neighbours;
pub use not_reached::{NotReached, confirmed};
pub use usable::{Usable, UsableClass};

use super::{FutureState, LargeLocal, LargeVariants, RootKind, SiteFigures};
use serde::{Deserialize, Serialize};

/// The version of the JSON that recordings carry.
const FORMAT: u32 = 1;
/// Snapshots of one recording. Of a file that has more, the first are read.
const MOST_SNAPSHOTS: usize = 1000;

/// The moment of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The cause: `peak`, `exit`, `request`, or the label that the program gave. As
    /// recorded: not safe for a terminal before [`printable`](crate::units::printable).
    pub label: String,
    /// Nanoseconds from the start of the recording.
    pub time_ns: u64,
    /// Live bytes, as the recorder counted them.
    pub live_bytes: u64,
    /// Live blocks, as the recorder counted them.
    pub live_blocks: u64,
    /// Nanoseconds for which the thread that made the copy was stopped.
    pub pause_ns: u64,
}

impl Moment {
    /// The label of snapshots that were taken when the program ended.
    pub const EXIT: &str = "exit";

    /// Returns `true` if the snapshot was taken when the program ended.
    pub fn is_exit(&self) -> bool {
        self.label == Moment::EXIT
    }
}

/// The knowledge about the blocks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Basis {
    /// Types, from debug information (`debug = 2`).
    Types,
    /// The containers that sites allocate (`debug = "limited"`).
    Shapes,
    /// Sizes and pointers only.
    #[default]
    Sizes,
}

impl Basis {
    /// Returns the word of JSON: `types`, `shapes` or `sizes`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns what was known of the blocks, for people.
    pub fn text(self) -> &'static str {
        match self {
            Basis::Types => "types from debug information",
            Basis::Shapes => "containers named by the stacks that allocated the blocks",
            Basis::Sizes => "sizes of blocks and pointers in them, without types",
        }
    }
}

/// Large texts from which the texts of other blocks were read, of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct InputFigures {
    /// The site, if it is in the profile.
    pub site: Option<u32>,
    /// The blocks of the large texts.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of those of these blocks that no other block refers to: only their owner, and what is
    /// outside the heap.
    pub unreferenced_bytes: u64,
    /// Blocks whose text was read from them.
    pub texts: u64,
    /// The bytes of these blocks.
    pub text_bytes: u64,
}

/// The texts of one site that were read from the large texts of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TextsRead {
    /// The site of the large texts, if it is in the profile.
    pub input: Option<u32>,
    /// The site of the texts, if it is in the profile.
    pub site: Option<u32>,
    /// Blocks.
    pub texts: u64,
    /// Their bytes.
    pub text_bytes: u64,
}

/// Blocks of one site that point into large blocks of another one, without owning these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Slicer {
    /// The site of the large blocks, if it is in the profile.
    pub site: Option<u32>,
    /// The site of the blocks that point into them, if it is in the profile.
    pub by: Option<u32>,
    /// Pointers.
    pub pointers: u64,
}

/// The heap of a program at one moment.
///
/// Sites are those of [`Profile::sites`](crate::profile::Profile::sites), by index. A site that is
/// not in the profile is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    pub(super) moment: Moment,
    pub(super) basis: Basis,
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    /// Bytes of lists and tables whose length is not known.
    pub(super) unknown_length_bytes: u64,
    /// The whole heap, then holders: parents come before their children.
    pub(super) holders: Vec<HolderNode>,
    /// Figures of all blocks of each site. Sites that are not in the profile are `None`.
    pub(super) sites: Vec<(Option<u32>, SiteFigures)>,
    pub(super) inputs: Vec<InputFigures>,
    pub(super) texts_read: Vec<TextsRead>,
    pub(super) slicers: Vec<Slicer>,
    pub(super) futures: Vec<FutureState>,
    pub(super) large_locals: Vec<LargeLocal>,
    pub(super) large_variants: Vec<LargeVariants>,
    /// `None` if the allocator is not known.
    pub(super) usable: Option<Usable>,
    pub(super) notes: Vec<String>,
    /// Sorted.
    pub(super) not_reached: Vec<NotReached>,
    pub(super) not_reached_is_cut: bool,
}

#[derive(Serialize, Deserialize)]
struct Table {
    format: u32,
    snapshots: Vec<Snapshot>,
}

impl Snapshot {
    /// Returns its moment.
    pub fn moment(&self) -> &Moment {
        &self.moment
    }

    /// Changes the label of a snapshot that was taken at what was the peak then, if the peak became
    /// more than ten times as large: no copy of it could be made.
    pub(crate) fn compare_with_peak(&mut self, peak_bytes: u64) {
        if self.moment.label == "peak" && self.moment.live_bytes < peak_bytes / 10 {
            self.moment.label = "before-peak".to_owned();
        }
    }

    /// Returns what was known of the blocks.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// Returns the number of blocks that were found.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the bytes of these blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes of lists and tables whose length is not known: all words inside count as
    /// pointers, and nothing is said of their unused capacity.
    pub fn unknown_length_bytes(&self) -> u64 {
        self.unknown_length_bytes
    }

    /// Returns what could not be read or is bounded, in sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds a sentence about what is missing or bounded.
    pub fn add_note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a sentence about the blocks in front of all others.
    pub fn add_first_note(&mut self, note: impl Into<String>) {
        self.notes.insert(0, note.into());
    }

    /// Returns what is known of all blocks of each site. A site that is not in the profile is
    /// `None`.
    pub fn sites(&self) -> &[(Option<u32>, SiteFigures)] {
        &self.sites
    }

    /// Returns the large texts from which the texts of other blocks were read, by site.
    pub fn inputs(&self) -> &[InputFigures] {
        &self.inputs
    }

    /// Returns the texts that were read from [`Snapshot::inputs`], by the sites of both.
    pub fn texts_read(&self) -> &[TextsRead] {
        &self.texts_read
    }

    /// Returns what points into the large blocks into which only slices point.
    pub fn slicers(&self) -> &[Slicer] {
        &self.slicers
    }

    /// Returns the usable bytes of the live blocks, by size class; `None` if the allocator is not
    /// known.
    pub fn usable(&self) -> Option<&Usable> {
        self.usable.as_ref()
    }

    /// Returns the futures by the await that they wait at, those with most bytes first; at most
    /// 1000. Their types need debug information (`debug = 2`).
    pub fn futures(&self) -> &[FutureState] {
        &self.futures
    }

    /// Returns the locals that make the blocks of futures larger, those with most bytes first; at
    /// most 100.
    pub fn large_locals(&self) -> &[LargeLocal] {
        &self.large_locals
    }

    /// Returns the enums of which rare variants make blocks larger, those with most bytes first; at
    /// most 100.
    pub fn large_variants(&self) -> &[LargeVariants] {
        &self.large_variants
    }

    /// Returns the blocks that nothing reached, in the order of their addresses; the first million
    /// of them. Their identities are for
    /// [`Analysis::unreachable_since`](super::Analysis::unreachable_since).
    pub fn not_reached(&self) -> &[NotReached] {
        &self.not_reached
    }

    /// Returns the snapshots that a table of a recording holds. Hostile input is an error.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Snapshot>, String> {
        let table: Table = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if table.format != FORMAT {
            return Err(format!(
                "format {}, but this heapglass reads format {FORMAT}",
                table.format
            ));
        }
        let mut snapshots = table.snapshots;
        snapshots.truncate(MOST_SNAPSHOTS);
        for snapshot in &mut snapshots {
            snapshot.check()?;
        }
        Ok(snapshots)
    }

    fn check(&mut self) -> Result<(), String> {
        if self.holders.is_empty() {
            self.holders.push(HolderNode::whole());
        }
        for (number, node) in (0_u32..).zip(&self.holders) {
            if node.parent >= number.max(1) {
                return Err(format!("holder {number} has holder {}", node.parent));
            }
            let mut others = node.held_by.iter();
            if let Some((by, _)) = others.find(|(by, _)| *by as usize >= self.holders.len()) {
                return Err(format!("holder {number} has holder {by}, which is none"));
            }
        }
        self.not_reached.sort_unstable();
        Ok(())
    }

    /// Returns snapshots as the bytes of a recording's table.
    pub fn table(snapshots: &[Snapshot]) -> Vec<u8> {
        let table = Table {
            format: FORMAT,
            snapshots: snapshots.to_vec(),
        };
        serde_json::to_vec(&table).unwrap_or_default()
    }

    /// Replaces the numbers of sites.
    pub(crate) fn renumber(&mut self, site: impl Fn(u32) -> Option<u32>) {
        for node in &mut self.holders {
            node.renumber(&site);
        }
        let inputs = self.inputs.iter_mut().map(|input| &mut input.site);
        let sites = self.sites.iter_mut().map(|(number, _)| number);
        let blocks = &mut self.not_reached;
        let blocks = blocks
            .iter_mut()
            .flat_map(|block| [&mut block.site, &mut block.outermost]);
        let slicers = &mut self.slicers;
        let slicers = slicers
            .iter_mut()
            .flat_map(|slicer| [&mut slicer.site, &mut slicer.by]);
        let texts_read = &mut self.texts_read;
        let texts_read = texts_read
            .iter_mut()
            .flat_map(|texts| [&mut texts.input, &mut texts.site]);
        let locals = self.large_locals.iter_mut().map(|local| &mut local.site);
        let variants = &mut self.large_variants;
        let variants = variants.iter_mut().map(|large| &mut large.site);
        for number in inputs
            .chain(sites)
            .chain(blocks)
            .chain(slicers)
            .chain(texts_read)
            .chain(locals)
            .chain(variants)
        {
            *number = number.and_then(&site);
        }
    }
}

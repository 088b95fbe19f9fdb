//! Figures of all blocks of a site.

use super::pages::PinnedPages;
use super::read::Table;
use super::{Analysis, Holder, Reach};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The knowledge about the blocks of one site. Each figure of blocks has its bytes beside it: those
/// of whole blocks, where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SiteFigures {
    /// All blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of blocks of which the unused capacity is known.
    pub known_bytes: u64,
    /// Unused capacity.
    pub unused_bytes: u64,
    /// Bytes of lists and tables whose length is not known.
    pub unknown_length_bytes: u64,
    /// Blocks of lists and tables that hold nothing.
    pub empty_blocks: u64,
    /// Their bytes.
    pub empty_bytes: u64,
    /// Blocks that equal an earlier one, at any site.
    pub repeated_blocks: u64,
    /// Their bytes.
    pub repeated_bytes: u64,
    /// Lists of records that equal an earlier one, at any site. A list inside another one that
    /// counts does not.
    pub repeated_lists: u64,
    /// These lists' blocks, and all blocks that would be freed with them.
    pub repeated_list_blocks: u64,
    /// The bytes of all these blocks.
    pub repeated_list_bytes: u64,
    /// Bytes of pages of zeros in the used part of blocks.
    pub zero_page_bytes: u64,
    /// Bytes of pages inside blocks that were never touched, or were given back. Where they are in
    /// the used part, they are pages of zeros too. 0 if it is not known.
    pub untouched_bytes: u64,
    /// Blocks whose text lies in a larger block of bytes.
    pub in_input_blocks: u64,
    /// Their bytes.
    pub in_input_bytes: u64,
    /// Tables.
    pub tables: u64,
    /// Entries of all tables.
    pub table_items: u64,
    /// Tables with 1 to 8 entries, by their number of entries.
    pub small_tables: [u64; 8],
    /// Bytes of tables with 1 to 8 entries.
    pub small_table_bytes: u64,
    /// Bytes of the entries in these tables: what lists of them would take.
    pub small_table_item_bytes: u64,
    /// Bytes that tables with entries would save, each made as small as its entries allow, as
    /// `shrink_to_fit` does.
    pub table_shrinks_bytes: u64,
    /// Large blocks into which only slices point.
    pub sliced_blocks: u64,
    /// Their bytes.
    pub sliced_bytes: u64,
    /// The bytes of theirs that slices cover.
    pub slice_bytes: u64,
    /// Blocks of an `Rc` or `Arc` whose value was dropped: only `Weak` pointers keep them.
    pub dropped_blocks: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Blocks that nothing reaches at this moment.
    pub not_reached_blocks: u64,
    /// Their bytes.
    pub not_reached_bytes: u64,
    /// Usable bytes that the allocator adds to the requested ones, at least. 0 if the allocator is
    /// not known.
    pub rounding_bytes: u64,
    /// The pages that the blocks keep. All 0 if it is not known which pages are resident.
    pub pinned: PinnedPages,
}

impl SiteFigures {
    /// Adds the figures of another site. No sum overflows, whatever a file claims.
    pub fn add(&mut self, other: &SiteFigures) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.blocks, other.blocks);
        add(&mut self.bytes, other.bytes);
        add(&mut self.known_bytes, other.known_bytes);
        add(&mut self.unused_bytes, other.unused_bytes);
        add(&mut self.unknown_length_bytes, other.unknown_length_bytes);
        add(&mut self.empty_blocks, other.empty_blocks);
        add(&mut self.empty_bytes, other.empty_bytes);
        add(&mut self.repeated_blocks, other.repeated_blocks);
        add(&mut self.repeated_bytes, other.repeated_bytes);
        add(&mut self.repeated_lists, other.repeated_lists);
        let blocks = other.repeated_list_blocks;
        add(&mut self.repeated_list_blocks, blocks);
        add(&mut self.repeated_list_bytes, other.repeated_list_bytes);
        add(&mut self.zero_page_bytes, other.zero_page_bytes);
        add(&mut self.untouched_bytes, other.untouched_bytes);
        add(&mut self.in_input_blocks, other.in_input_blocks);
        add(&mut self.in_input_bytes, other.in_input_bytes);
        add(&mut self.tables, other.tables);
        add(&mut self.table_items, other.table_items);
        let small = self.small_tables.iter_mut().zip(other.small_tables);
        small.for_each(|(sum, more)| add(sum, more));
        add(&mut self.small_table_bytes, other.small_table_bytes);
        let items = other.small_table_item_bytes;
        add(&mut self.small_table_item_bytes, items);
        add(&mut self.table_shrinks_bytes, other.table_shrinks_bytes);
        add(&mut self.sliced_blocks, other.sliced_blocks);
        add(&mut self.sliced_bytes, other.sliced_bytes);
        add(&mut self.slice_bytes, other.slice_bytes);
        add(&mut self.dropped_blocks, other.dropped_blocks);
        add(&mut self.dropped_bytes, other.dropped_bytes);
        add(&mut self.not_reached_blocks, other.not_reached_blocks);
        add(&mut self.not_reached_bytes, other.not_reached_bytes);
        add(&mut self.rounding_bytes, other.rounding_bytes);
        add(&mut self.pinned.pages, other.pinned.pages);
        add(&mut self.pinned.own_pages, other.pinned.own_pages);
        add(&mut self.pinned.page_bytes, other.pinned.page_bytes);
        add(&mut self.pinned.live_bytes, other.pinned.live_bytes);
    }
}

/// A table is large from this size on, bytes.
const LARGE: u64 = 64 * 1024;

/// Returns the bytes that a table of hashbrown saves by `shrink_to_fit`; 0 if the size of its block
/// is not that of such a table.
fn shrinks_by(bytes: u64, table: &Table) -> u64 {
    let items = u64::from(table.items);
    let Some(entry) = table.item_bytes.checked_div(items) else {
        return 0;
    };
    // A large table that would fill the smaller one has just grown for the next entry. Snapshots of
    // a peak are often taken then.
    let items = items + u64::from(bytes >= LARGE);
    // The width of a group of control bytes, which the entries are aligned to.
    let sizes = [16, 8].map(|group: u64| {
        move |buckets: u64| {
            let entries = buckets
                .checked_mul(entry)?
                .checked_next_multiple_of(group)?;
            entries.checked_add(buckets)?.checked_add(group)
        }
    });
    let buckets = (0..64).map(|shift| 1_u64 << shift);
    let found = sizes.into_iter().find_map(|size| {
        let buckets = buckets
            .clone()
            .find(|&buckets| size(buckets) == Some(bytes));
        Some((size, buckets?))
    });
    // Of eight buckets, seven may be in use; smaller tables have one that is free.
    let least = match items {
        0..=3 => 4,
        4..=7 => 8,
        8..=14 => 16,
        _ => (items * 8 / 7).next_power_of_two(),
    };
    let smaller = found.and_then(|(size, buckets)| size(least.min(buckets)));
    smaller.map_or(0, |smaller| bytes - smaller)
}

impl Analysis {
    /// Returns the figures of each site.
    pub fn by_site(&self) -> BTreeMap<u32, SiteFigures> {
        let mut sites: FxHashMap<u32, SiteFigures> = FxHashMap::default();
        for index in 0..self.heap.len() {
            let size = self.heap.size(index);
            let site = sites.entry(self.heap.site(index)).or_default();
            site.blocks += 1;
            site.bytes += size;
            if let Some(unused) = self.unused_bytes(index) {
                site.known_bytes += size;
                site.unused_bytes += unused;
            }
            if self.contents.has_unknown_length(index) {
                site.unknown_length_bytes += size;
            }
            if self.unused_bytes(index) == Some(size) {
                site.empty_blocks += 1;
                site.empty_bytes += size;
            }
            if self.equal_values.is_repeated(index) {
                site.repeated_blocks += 1;
                site.repeated_bytes += size;
            }
            if self.lies_in_input(index) {
                site.in_input_blocks += 1;
                site.in_input_bytes += size;
            }
            if self.is_dropped(index) {
                site.dropped_blocks += 1;
                site.dropped_bytes += size;
            }
            if self.reach(index) == Reach::NotReached {
                site.not_reached_blocks += 1;
                site.not_reached_bytes += size;
            }
        }
        let site_of = |block: u32| self.heap.site(block as usize);
        self.each_of_repeated_lists(|block, list| {
            let site = sites.entry(site_of(list)).or_default();
            site.repeated_lists += u64::from(block == list);
            site.repeated_list_blocks += 1;
            site.repeated_list_bytes += self.heap.size(block as usize);
        });
        for &(block, pages) in &self.contents.zero_pages {
            sites.entry(site_of(block)).or_default().zero_page_bytes +=
                u64::from(pages) * super::read::PAGE;
        }
        for table in &self.contents.tables {
            let site = sites.entry(site_of(table.block)).or_default();
            let bytes = self.heap.size(table.block as usize);
            site.tables += 1;
            site.table_shrinks_bytes += shrinks_by(bytes, table);
            site.table_items += u64::from(table.items);
            if table.items == 0 {
                site.empty_blocks += 1;
                site.empty_bytes += bytes;
            } else if let Some(count) = site.small_tables.get_mut(table.items as usize - 1) {
                *count += 1;
                site.small_table_bytes += bytes;
                site.small_table_item_bytes += table.item_bytes;
            }
        }
        for sliced in self
            .contents
            .sliced
            .iter()
            .filter(|sliced| !sliced.has_list)
        {
            let site = sites.entry(site_of(sliced.block as u32)).or_default();
            site.sliced_blocks += 1;
            site.sliced_bytes += self.heap.size(sliced.block);
            site.slice_bytes += sliced.covered_bytes;
        }
        if let Some(pages) = &self.contents.pages {
            for &(block, untouched) in &pages.untouched {
                sites.entry(site_of(block)).or_default().untouched_bytes +=
                    u64::from(untouched) * pages.page_bytes;
            }
            for (&site, &pinned) in &pages.by_site {
                sites.entry(site).or_default().pinned = pinned;
            }
        }
        sites.into_iter().collect()
    }
}

impl Analysis {
    /// Calls `each` with the blocks that would be freed with a list of records that equals an
    /// earlier one, and with this list, the outermost one.
    fn each_of_repeated_lists(&self, mut each: impl FnMut(u32, u32)) {
        const NOT_KNOWN: u32 = u32::MAX;
        const NONE: u32 = u32::MAX - 1;
        let is_repeated =
            |block: usize| self.equal_values.is_repeated(block) && self.contents.has_records(block);
        if !(0..self.heap.len()).any(is_repeated) {
            return;
        }
        let mut lists = vec![NOT_KNOWN; self.heap.len()];
        let mut open = Vec::new();
        for block in 0..self.heap.len() {
            let mut at = block;
            let mut list = loop {
                if lists[at] != NOT_KNOWN {
                    break lists[at];
                }
                open.push(at);
                match self.holder(at) {
                    Holder::Block(holder) => at = holder,
                    _ => break NONE,
                }
            };
            while let Some(at) = open.pop() {
                if list == NONE && is_repeated(at) {
                    list = at as u32;
                }
                lists[at] = list;
            }
            if list != NONE {
                each(block as u32, list);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of 32 bytes in 262,144 buckets, as when a table of 131,072 is copied to a larger
    /// one.
    #[test]
    fn a_table_that_has_just_grown_does_not_shrink() {
        let bytes = 262_144 * 33 + 16;
        let shrinks = |items: u32| {
            let table = Table {
                block: 0,
                items,
                item_bytes: u64::from(items) * 32,
            };
            shrinks_by(bytes, &table)
        };
        assert_eq!(shrinks(131_072 / 8 * 7), 0);
        assert_eq!(shrinks(131_072 / 8 * 7 - 1), 131_072 * 33);
    }
}

//! Figures of all blocks of a site.

use super::pages::PinnedPages;
use super::{Analysis, Reach};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of the blocks of one site. Each figure of blocks has its bytes beside it: those of
/// whole blocks, where nothing else is said.
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
    /// Blocks of lists and tables that hold nothing.
    pub empty_blocks: u64,
    /// Their bytes.
    pub empty_bytes: u64,
    /// Blocks that equal an earlier one, at any site.
    pub repeated_blocks: u64,
    /// Their bytes.
    pub repeated_bytes: u64,
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
    /// Large blocks into which only slices point.
    pub sliced_blocks: u64,
    /// Their bytes.
    pub sliced_bytes: u64,
    /// The bytes of theirs that slices cover.
    pub slice_bytes: u64,
    /// Blocks that nothing reaches at this moment.
    pub not_reached_blocks: u64,
    /// Their bytes.
    pub not_reached_bytes: u64,
    /// The pages that the blocks keep. All 0 if it is not known which pages are resident.
    pub pinned: PinnedPages,
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
            if self.reach(index) == Reach::NotReached {
                site.not_reached_blocks += 1;
                site.not_reached_bytes += size;
            }
        }
        let site_of = |block: u32| self.heap.site(block as usize);
        for &(block, pages) in &self.contents.zero_pages {
            sites.entry(site_of(block)).or_default().zero_page_bytes +=
                u64::from(pages) * super::read::PAGE;
        }
        for table in &self.contents.tables {
            let site = sites.entry(site_of(table.block)).or_default();
            let bytes = self.heap.size(table.block as usize);
            site.tables += 1;
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

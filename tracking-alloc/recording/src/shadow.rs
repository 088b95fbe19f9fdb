//! The words of the shadow map, and how a reader of the program's memory finds the blocks in it.
//! The words describe themselves: where a block begins, its owner, and its size.
//!
//! | granule | bit 0 | the rest |
//! |---|---|---|
//! | first | 1: a block begins here | kind (2 bits), 9 bits, site (20 bits) |
//! | second, of blocks above 16 bytes | 0 | 22 bits, lane + 1 (9 bits; 0 = birth not known) |
//! | third, above 32 bytes | 0 | 1 = it goes on, 30 bits of the size |
//! | fourth, from 1 GiB | 0 | 31 more bits of the size |
//!
//! | kind | the 9 bits | the 22 bits |
//! |---|---|---|
//! | small, up to 16 bytes | size - 1 (4 bits) | none |
//! | middle, 17 to 32 bytes | low bits of the birth number | size - 17 (4 bits), 18 bits of the birth number |
//! | long | low bits of the birth number | 22 bits of the birth number |
//!
//! A block of more than 16, 32 or 48 bytes covers two, three or four granules of its map, so no
//! other block of the map begins there.

use crate::layout::{HeaderValue, InFlightValue};
use std::io;

/// Number of bits of the birth number kept in the first word.
pub const LOW_BITS: u32 = 9;
/// Number of its bits kept in the second word of a middle block.
pub const MIDDLE_BITS: u32 = 18;
/// Number of its bits kept in the second word of a long block.
pub const LONG_BITS: u32 = 22;
/// Position of the lane in the second word.
pub const LANE_SHIFT: u32 = 23;
/// Position of the site in the first word.
pub const SITE_SHIFT: u32 = 12;
/// Number of bits of the size kept in the third word.
pub const SIZE_BITS: u32 = 30;
/// Bit of the third word: a fourth word follows.
pub const GOES_ON: u32 = 2;
/// Maximum size of a block with one granule.
pub const SMALL: usize = 16;
/// Maximum size of a block with two granules.
pub const MIDDLE: usize = 32;

/// The kind of a block, which tells its number of words. The third word tells if there is a fourth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Up to 16 bytes: one word.
    Small = 0,
    /// Up to 32 bytes: two words.
    Middle = 1,
    /// Larger: three or four words.
    Long = 2,
}

/// Returns `true` if a block begins at a word.
#[inline(always)]
pub fn begins(word: u32) -> bool {
    word & 1 != 0
}

/// Returns the kind of the block that begins with a first word.
#[inline(always)]
pub fn kind(first: u32) -> Kind {
    match first >> 1 & 3 {
        0 => Kind::Small,
        1 => Kind::Middle,
        _ => Kind::Long,
    }
}

/// Returns the site in a first word.
#[inline(always)]
pub fn site(first: u32) -> u32 {
    first >> SITE_SHIFT
}

/// Returns `true` if a third word announces a fourth.
#[inline(always)]
pub fn goes_on(third: u32) -> bool {
    third & GOES_ON != 0
}

/// Returns the size in a block's words. `words` returns the word at an index. The result is 0 if a
/// concurrent free tore the words.
#[inline]
pub fn bytes(first: u32, words: impl Fn(usize) -> u32) -> u64 {
    match kind(first) {
        Kind::Small => u64::from(first >> 3 & 15) + 1,
        Kind::Middle => u64::from(words(1) >> (1 + MIDDLE_BITS) & 15) + SMALL as u64 + 1,
        Kind::Long => {
            let third = words(2);
            let high = if goes_on(third) { words(3) >> 1 } else { 0 };
            u64::from(high) << SIZE_BITS | u64::from(third >> 2)
        }
    }
}

/// The known part of a birth number: the number of an allocation in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// The lane that the number belongs to.
    pub lane: u32,
    /// The number modulo 2^`bits`.
    pub number: u32,
    /// The number of its known bits.
    pub bits: u32,
}

/// Returns the birth number with `high_bits` bits from the second word.
#[inline(always)]
pub fn birth_number(first: u32, second: u32, high_bits: u32) -> u32 {
    let high = second >> 1 & ((1 << high_bits) - 1);
    high << LOW_BITS | first >> 3 & ((1 << LOW_BITS) - 1)
}

/// Returns the lane and the known part of the birth number in the first two words of a block.
/// Blocks of up to 16 bytes keep neither; their second word counts as 0.
#[inline(always)]
pub fn birth(first: u32, second: u32) -> Option<Birth> {
    let lane = (second >> LANE_SHIFT).checked_sub(1)?;
    let high_bits = if kind(first) == Kind::Middle {
        MIDDLE_BITS
    } else {
        LONG_BITS
    };
    Some(Birth {
        lane,
        number: birth_number(first, second, high_bits),
        bits: LOW_BITS + high_bits,
    })
}

/// A block in the memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// Its address.
    pub address: u64,
    /// Its size; 0 while it is being entered or freed.
    pub bytes: u64,
    /// The site that allocated it; 0 = not known.
    pub site: u32,
    /// Lane and number of its allocation in one word, equal for no two blocks of the same address
    /// and time; 0 = not known.
    pub birth: u64,
}

impl Block {
    /// Returns the block whose words in the map these are: up to four. Returns `None` if no block
    /// begins at the first.
    pub fn of_words(address: u64, words: &[u32]) -> Option<Block> {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let first = word(0);
        if !begins(first) {
            return None;
        }
        let second = if kind(first) == Kind::Small {
            0
        } else {
            word(1)
        };
        Some(Block {
            address,
            bytes: bytes(first, word),
            site: site(first),
            birth: birth_word(first, second),
        })
    }

    /// Returns the block that a lane was reallocating, by its old address and size. Returns `None`
    /// if there was none.
    pub fn in_flight(value: &InFlightValue) -> Option<Block> {
        (value.address != 0).then_some(Block {
            address: value.address,
            bytes: value.bytes,
            site: site(value.first),
            birth: birth_word(value.first, value.second),
        })
    }
}

fn birth_word(first: u32, second: u32) -> u64 {
    birth(first, second).map_or(0, |birth| {
        u64::from(birth.lane + 1) << 32 | u64::from(birth.number)
    })
}

/// Reads memory of the program: fills a buffer with the bytes from an address on.
pub type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> io::Result<()>;

/// Bytes of the map's words that one byte of [`HeaderValue::shadow_written_offset`] stands for.
const PAGE: usize = 4096;
const PAGE_WORDS: usize = PAGE / 4;
/// Further words of a block that begins with the last word of a page.
const SPARE_BYTES: usize = 12;
/// Number of root entries that are read at once.
const ENTRIES: usize = 64 << 10;
const SLOT_BYTES: usize = 24;

/// The shadow map and the side table of a program, as its header describes them.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    roots: [u64; 2],
    written_offset: u64,
    address_bits: u32,
    leaf_bits: u32,
    side_table: u64,
    side_shard_bytes: u64,
    side_shards: u64,
}

/// A piece of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leaf {
    /// The first address that it covers.
    pub first: u64,
    /// Its own address.
    place: u64,
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Map {
    /// Returns the map that a header describes. Returns `None` if there is none, or if its figures
    /// are not those of a map.
    pub fn new(header: &HeaderValue) -> Option<Map> {
        let (address_bits, leaf_bits) = (header.shadow_address_bits, header.shadow_leaf_bits);
        let is_map = header.shadow_roots.iter().all(|root| *root != 0)
            && (40..=56).contains(&address_bits)
            && (20..=32).contains(&leaf_bits)
            && address_bits - leaf_bits <= 24
            && header.shadow_written_offset >= 1 << (leaf_bits - 2)
            && header.shadow_written_offset <= 1 << (leaf_bits - 1)
            && header.side_shards <= 4096;
        is_map.then_some(Map {
            roots: header.shadow_roots,
            written_offset: header.shadow_written_offset,
            address_bits,
            leaf_bits,
            side_table: header.side_table,
            side_shard_bytes: header.side_shard_bytes.into(),
            side_shards: header.side_shards.into(),
        })
    }

    /// Returns the pieces of the map that exist, in order of the addresses that they cover.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be read, or if two pieces overlap.
    pub fn leaves(&self, read: Read<'_>) -> io::Result<Vec<Leaf>> {
        let count = 1_usize << (self.address_bits - self.leaf_bits);
        let mut leaves = Vec::new();
        let mut buffer = vec![0; 8 * ENTRIES.min(count)];
        for (odd, root) in (0..).zip(self.roots) {
            let mut at = 0;
            while at < count {
                let entries = ENTRIES.min(count - at);
                let bytes = &mut buffer[..8 * entries];
                read(root.wrapping_add(8 * at as u64), bytes)?;
                for (index, entry) in (at as u64..).zip(bytes.as_chunks::<8>().0) {
                    let place = u64::from_le_bytes(*entry);
                    if place != 0 {
                        let first = index << self.leaf_bits | odd << 3;
                        leaves.push(Leaf { first, place });
                    }
                }
                at += entries;
            }
        }
        let mut places: Vec<u64> = leaves.iter().map(|leaf| leaf.place).collect();
        places.sort_unstable();
        let overlaps = |two: &[u64]| two[1] - two[0] < self.written_offset;
        if places.windows(2).any(overlaps) {
            return Err(damaged("two pieces of the shadow map overlap"));
        }
        leaves.sort_unstable();
        Ok(leaves)
    }

    /// Passes the blocks of a piece to `found`, in order of their addresses, until it returns
    /// `false`.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be read.
    pub fn blocks(
        &self,
        leaf: Leaf,
        read: Read<'_>,
        found: &mut dyn FnMut(Block) -> bool,
    ) -> io::Result<()> {
        let mut written = vec![0; 1 << (self.leaf_bits - 4) >> PAGE_WORDS.ilog2()];
        read(leaf.place.wrapping_add(self.written_offset), &mut written)?;
        let mut bytes = [0; PAGE + SPARE_BYTES];
        let mut words = [0; (PAGE + SPARE_BYTES) / 4];
        let pages = (0_u64..).zip(written).filter(|(_, byte)| *byte != 0);
        for (page, _) in pages {
            read(leaf.place.wrapping_add(page * PAGE as u64), &mut bytes)?;
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            for index in (0..PAGE_WORDS).filter(|index| begins(words[*index])) {
                let granule = page * PAGE_WORDS as u64 + index as u64;
                let block = Block::of_words(leaf.first | granule << 4, &words[index..]);
                if !block.is_none_or(&mut *found) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns the block that begins at an address that the map covers.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be read.
    pub fn block_at(&self, address: u64, read: Read<'_>) -> io::Result<Option<Block>> {
        if address >> self.address_bits != 0 {
            return Ok(None);
        }
        let root = self.roots[(address >> 3 & 1) as usize];
        let mut entry = [0; 8];
        read(
            root.wrapping_add(address >> self.leaf_bits << 3),
            &mut entry,
        )?;
        let leaf = u64::from_le_bytes(entry);
        if leaf == 0 {
            return Ok(None);
        }
        let index = address >> 4 & ((1 << (self.leaf_bits - 4)) - 1);
        let mut bytes = [0; 16];
        read(leaf.wrapping_add(4 * index), &mut bytes)?;
        let words: [u32; 4] =
            std::array::from_fn(|at| u32::from_le_bytes(bytes.as_chunks::<4>().0[at]));
        Ok(Block::of_words(address, &words))
    }

    /// Passes the blocks of the side table to `found`, until it returns `false`.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be read, or if a shard claims more slots than can be.
    pub fn side_blocks(
        &self,
        read: Read<'_>,
        found: &mut dyn FnMut(Block) -> bool,
    ) -> io::Result<()> {
        const SLOTS: u64 = 4096;
        let mut buffer = vec![0; SLOTS as usize * SLOT_BYTES];
        for shard in 0..self.side_shards {
            let place = self.side_table.wrapping_add(shard * self.side_shard_bytes);
            let mut head = [0; 16];
            read(place, &mut head)?;
            let [slots, count] = words_of(&head);
            if count > 1 << 32 {
                return Err(damaged("the side table of the shadow map is too large"));
            }
            let mut at = 0;
            while at < count {
                let some = SLOTS.min(count - at);
                let bytes = &mut buffer[..some as usize * SLOT_BYTES];
                read(slots.wrapping_add(at * SLOT_BYTES as u64), bytes)?;
                for slot in bytes.as_chunks::<SLOT_BYTES>().0 {
                    let [address, bytes, owner] = words_of(slot);
                    let (first, second) = (owner as u32, (owner >> 32) as u32);
                    let block = Block {
                        address,
                        bytes,
                        site: site(first),
                        birth: birth_word(first, second),
                    };
                    if address != 0 && !found(block) {
                        return Ok(());
                    }
                }
                at += some;
            }
        }
        Ok(())
    }
}

fn words_of<const COUNT: usize>(bytes: &[u8]) -> [u64; COUNT] {
    let words = bytes.as_chunks::<8>().0;
    std::array::from_fn(|at| words.get(at).map_or(0, |word| u64::from_le_bytes(*word)))
}

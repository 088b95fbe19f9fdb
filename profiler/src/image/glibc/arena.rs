//! Arenas, the settings of malloc, and the heaps of arenas.

use super::super::error::Why;
use super::super::maps::Mapping;
use super::super::{Image, word_at};
use super::{ALIGNMENT, FLAGS, PAGE};
use std::ops::Range;

/// Offsets in `malloc_state`, and its size.
const FAST_BINS: u64 = 16;
const TOP: u64 = 96;
const BINS: u64 = 112;
const NEXT: u64 = 2160;
const SYSTEM_BYTES: u64 = 2184;
const STATE_BYTES: u64 = 2200;
/// Fast bins, and bins of two words each.
pub(super) const FAST_BIN_COUNT: usize = 10;
const BIN_COUNT: usize = 127;
/// The offset of the links in a chunk.
const BIN_LINKS: u64 = 16;
/// Bins that a thread may be changing.
const MOST_CHANGING: usize = 4;
/// Arenas and heaps that are read.
const MOST_ARENAS: usize = 1 << 14;
const MOST_HEAPS: usize = 1 << 18;
/// Heaps of thread arenas begin at multiples of this, unless huge pages are asked for.
const HEAP: u64 = 64 << 20;
/// The settings have this number of arenas for a processor, and of mappings at most.
const ARENA_TEST: u64 = 8;
const MOST_MAPPED: u32 = 65_536;
/// Bytes of the settings that are looked at.
const SETTINGS_BYTES: usize = 104;
/// Lists that are looked at in the search for the bins.
const MOST_LISTS: usize = 16 << 20;
/// The largest part of a file's memory that is searched.
const MOST_SEARCHED: u64 = 256 << 20;

/// An arena.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    pub(super) address: u64,
    pub(super) is_main: bool,
    pub(super) is_locked: bool,
    /// The first chunk of each fast bin; 0 if there is none.
    pub(super) fast_bins: [u64; FAST_BIN_COUNT],
    top: u64,
    system_bytes: u64,
}

/// The settings of malloc (`mp_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) mapped_chunks: u32,
    pub(super) mapped_bytes: u64,
    start: u64,
}

/// Memory full of chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) range: Range<u64>,
    /// The chunk with the memory that is left, at the end of the heap that an arena grows.
    pub(super) top: Option<u64>,
    /// The memory that is reserved for it.
    pub(super) reserved: Range<u64>,
}

/// Returns all arenas, the main one first.
pub(super) fn all(image: &Image) -> Result<Vec<Arena>, Why> {
    let main = main_arena(image)?;
    let mut arenas = Vec::new();
    let mut at = main;
    loop {
        let mut state = [0; STATE_BYTES as usize];
        let is_read = image.memory.read(at, &mut state);
        is_read.map_err(|_| Why::Missing(at..at.saturating_add(STATE_BYTES)))?;
        let word = |offset: u64| word_at(&state, offset as usize);
        arenas.push(Arena {
            address: at,
            is_main: at == main,
            is_locked: word(0) as u32 != 0,
            fast_bins: std::array::from_fn(|bin| word(FAST_BINS + 8 * bin as u64)),
            top: word(TOP),
            system_bytes: word(SYSTEM_BYTES),
        });
        at = word(NEXT);
        if at == main {
            return Ok(arenas);
        }
        if arenas.len() >= MOST_ARENAS || at % ALIGNMENT != 0 {
            let what = format!("the ring of arenas is broken at {at:#x}");
            return Err(Why::Contradiction(what));
        }
    }
}

/// Returns the address of the main arena: in the writable memory of libc, or in that of a static
/// executable.
fn main_arena(image: &Image) -> Result<u64, Why> {
    let is_libc = |mapping: &Mapping| {
        let file = mapping.name.rsplit('/').next().unwrap_or_default();
        file.starts_with("libc.so") || file.starts_with("libc-2")
    };
    let writable = |mapping: &&Mapping| {
        let bytes = mapping.range.end - mapping.range.start;
        mapping.is_writable && mapping.inode != 0 && bytes <= MOST_SEARCHED
    };
    let mappings = || image.mappings.iter().filter(writable);
    let executable = mappings().filter(|mapping| {
        !is_libc(mapping) && mapping.name.trim_end_matches(" (deleted)") == image.executable()
    });
    let all = mappings().filter(|mapping| is_libc(mapping));
    for mapping in all.chain(executable) {
        if let Some(bins) = bins(image, &mapping.range)? {
            return bins.checked_sub(BINS).ok_or(Why::NoArena);
        }
    }
    Err(Why::NoArena)
}

/// A list of chunks in two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    No,
    /// Its chunks are not in the image.
    Missing,
    Yes,
}

/// Returns the address of the bins of an arena in a range: 127 lists in a row, each of two words.
/// The first chunk of a list points back to its bin, and so does the last one. An empty bin points
/// to itself.
fn bins(image: &Image, range: &Range<u64>) -> Result<Option<u64>, Why> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    if image.memory.read(range.start, &mut bytes).is_err() {
        return Ok(None);
    }
    let words = bytes.len() / 8;
    let word = |index: usize| word_at(&bytes, 8 * index);
    let list = |index: usize| {
        let own = (range.start + 8 * index as u64).wrapping_sub(BIN_LINKS);
        let (first, last) = (word(index), word(index + 1));
        let back = image.word(first.wrapping_add(BIN_LINKS + 8));
        let forth = image.word(last.wrapping_add(BIN_LINKS));
        match (back, forth) {
            (Some(back), Some(forth)) if back == own && forth == own => List::Yes,
            (None, _) if image.mapping(first).is_some_and(|of| of.is_writable) => List::Missing,
            _ => List::No,
        }
    };
    // The words in front of the bins may look like one too.
    let mut best: Option<(usize, u64)> = None;
    let mut missing = None;
    let mut known: Vec<Option<List>> = vec![None; words];
    let mut looked_at = 0;
    // Words in a row that may be addresses of chunks.
    let mut in_row = 0;
    for end in 1..=words {
        let last = word(end - 1);
        let may_be = last != 0 && last % ALIGNMENT == 0;
        in_row = if may_be { in_row + 1 } else { 0 };
        let Some(first) = end
            .checked_sub(2 * BIN_COUNT)
            .filter(|_| in_row >= 2 * BIN_COUNT)
        else {
            continue;
        };
        let mut changing = 0;
        let bins = (0..BIN_COUNT).map_while(|bin| {
            let index = first + 2 * bin;
            let list = *known[index].get_or_insert_with(|| list(index));
            changing += usize::from(list == List::No);
            (changing <= MOST_CHANGING).then_some(list)
        });
        let bins: Vec<List> = bins.collect();
        looked_at += bins.len();
        if looked_at > MOST_LISTS {
            break;
        }
        let count = |kind: List| bins.iter().filter(|list| **list == kind).count();
        let lists = count(List::Yes);
        if lists + MOST_CHANGING >= BIN_COUNT && best.is_none_or(|(most, _)| lists > most) {
            best = Some((lists, range.start + 8 * first as u64));
        }
        // Some bins are empty, which tells these words from others.
        if lists > MOST_CHANGING && lists + count(List::Missing) + MOST_CHANGING >= BIN_COUNT {
            let at = bins.iter().position(|list| *list == List::Missing);
            missing = missing.or(at.map(|at| word(first + 2 * at)));
        }
    }
    match (best, missing) {
        (Some((_, bins)), _) => Ok(Some(bins)),
        (None, Some(at)) => Err(Why::Missing(at..at.saturating_add(32))),
        (None, None) => Ok(None),
    }
}

/// Returns the settings, which are near the main arena.
pub(super) fn settings(image: &Image, arenas: &[Arena]) -> Result<Settings, Why> {
    let unknown = || Why::Contradiction("the settings of malloc were not found".to_owned());
    let main = arenas.first().ok_or(Why::NoArena)?;
    let around = image.mapping(main.address).ok_or(Why::NoArena)?;
    let is_near = |mapping: &&Mapping| {
        let (range, near) = (&mapping.range, &around.range);
        mapping.is_writable
            && (range == near || range.start == near.end || range.end == near.start)
            && range.end - range.start <= MOST_SEARCHED
    };
    let mut best: Option<(u32, Settings)> = None;
    for mapping in image.mappings.iter().filter(is_near) {
        let mut bytes = vec![0; (mapping.range.end - mapping.range.start) as usize];
        if image.memory.read(mapping.range.start, &mut bytes).is_err() {
            continue;
        }
        let all = bytes.windows(SETTINGS_BYTES).step_by(8);
        for (likeness, settings) in all.filter_map(|bytes| settings_in(bytes, main)) {
            if best.is_none_or(|(most, _)| likeness > most) {
                best = Some((likeness, settings));
            }
        }
    }
    best.map(|(_, settings)| settings).ok_or_else(unknown)
}

/// Returns the settings in some bytes, and how sure it is that they are.
fn settings_in(bytes: &[u8], main: &Arena) -> Option<(u32, Settings)> {
    let half = |at: usize| (word_at(bytes, at & !7) >> (8 * (at & 4))) as u32;
    // The order of fields since 2.35, and before.
    let layouts = [[64, 80, 96], [44, 56, 72]];
    let found = layouts.into_iter().filter_map(|[most, mapped, start]| {
        let likeness = u32::from(word_at(bytes, 24) == ARENA_TEST) * 2
            + u32::from(half(most) == MOST_MAPPED) * 2
            + u32::from(word_at(bytes, 16).is_multiple_of(PAGE));
        let settings = Settings {
            mapped_chunks: half(most - 4),
            mapped_bytes: word_at(bytes, mapped),
            start: word_at(bytes, start),
        };
        // The heap begins so far before the end of the main arena as it has bytes.
        let span = main.top.checked_sub(settings.start)?;
        let is_start = settings.start != 0 && span <= main.system_bytes;
        let agrees = settings.mapped_bytes.is_multiple_of(PAGE)
            && (settings.mapped_chunks == 0) == (settings.mapped_bytes == 0);
        (likeness >= 2 && is_start && agrees).then_some((likeness, settings))
    });
    found.max_by_key(|(likeness, _)| *likeness)
}

/// Returns the heaps of all arenas, in the order of their addresses.
pub(super) fn regions(
    image: &Image,
    arenas: &[Arena],
    settings: &Settings,
) -> Result<Vec<Region>, Why> {
    let mut regions = Vec::new();
    for arena in arenas {
        if arena.is_main {
            regions.push(main_region(image, arena, settings)?);
        } else {
            thread_regions(image, arena, &mut regions)?;
        }
    }
    regions.sort_unstable_by_key(|region| region.range.start);
    let mut pairs = regions.windows(2);
    if pairs.any(|pair| pair[0].range.end > pair[1].range.start) {
        return Err(Why::Contradiction("heaps overlap".to_owned()));
    }
    Ok(regions)
}

fn main_region(image: &Image, main: &Arena, settings: &Settings) -> Result<Region, Why> {
    let range = settings.start.next_multiple_of(ALIGNMENT)..top_end(image, main)?;
    let bytes = range.end.saturating_sub(settings.start);
    // The start of the heap may be no page's start.
    if bytes.abs_diff(main.system_bytes) >= PAGE {
        return Err(Why::Contradiction(format!(
            "the main heap has {bytes} bytes, and its arena counts {}",
            main.system_bytes
        )));
    }
    Ok(Region {
        reserved: range.clone(),
        range,
        top: Some(main.top),
    })
}

fn top_end(image: &Image, arena: &Arena) -> Result<u64, Why> {
    let missing = || Why::Missing(arena.top..arena.top.saturating_add(16));
    let size = arena.top.checked_add(8).and_then(|at| image.word(at));
    let size = size.ok_or_else(missing)? & !FLAGS;
    let end = arena.top.checked_add(size);
    end.filter(|end| end - arena.top <= arena.system_bytes)
        .ok_or_else(|| {
            let what = format!("the top of the arena at {:#x} ends nowhere", arena.address);
            Why::Contradiction(what)
        })
}

/// Adds the heaps of a thread arena: that of `top`, then back along their list.
fn thread_regions(image: &Image, arena: &Arena, regions: &mut Vec<Region>) -> Result<(), Why> {
    let broken = |at: u64, what: &str| {
        Why::Contradiction(format!(
            "the heap at {at:#x} of the arena at {:#x} {what}",
            arena.address
        ))
    };
    // The arena lies behind the header of its first heap: 0x30 bytes since 2.35, 0x20 before.
    let header = arena.address % HEAP;
    if header != 0x20 && header != 0x30 {
        return Err(broken(arena.address, "begins elsewhere than known ones do"));
    }
    let first = arena.address - header;
    let mut at = arena.top - arena.top % HEAP;
    let mut top = Some(arena.top);
    let mut bytes = 0_u64;
    loop {
        let mut words = [0; 24];
        let is_read = image.memory.read(at, &mut words);
        is_read.map_err(|_| Why::Missing(at..at.saturating_add(24)))?;
        let [of, previous, size] = [0, 8, 16].map(|at| word_at(&words, at));
        if of != arena.address {
            return Err(broken(at, "belongs to another one"));
        }
        if size > HEAP || size % PAGE != 0 || regions.len() >= MOST_HEAPS {
            return Err(broken(at, "has a size that cannot be"));
        }
        let start = if at == first {
            (arena.address + STATE_BYTES).next_multiple_of(ALIGNMENT)
        } else {
            at + header
        };
        regions.push(Region {
            range: start..(at + size).max(start),
            top: top.take(),
            reserved: at..at.saturating_add(HEAP),
        });
        bytes = bytes.saturating_add(size);
        if at == first {
            break;
        }
        if previous % HEAP != 0 || bytes > arena.system_bytes {
            return Err(broken(at, "follows none"));
        }
        at = previous;
    }
    if bytes != arena.system_bytes {
        let what = format!("and others have {bytes} bytes, not {}", arena.system_bytes);
        return Err(broken(first, &what));
    }
    Ok(())
}

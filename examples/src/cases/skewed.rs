//! Programs whose samples say little: sizes of blocks differ much within a site, or sites are so
//! rare or so small that hardly any block is sampled. Each is the same in every run, so an exact
//! recording of it tells what the samples of another one should say.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::hint::black_box;

use crate::data::Random;

/// Number of mixes of sizes.
pub const KINDS: usize = 10;

/// Number of sites.
const SITES: usize = 20;

/// Blocks that may be kept.
const MOST_KEPT: usize = 400_000;

/// Defines one function for each site, so that each is a row of its own.
macro_rules! sites {
    ($($name:ident)*) => {
        $(
            #[inline(never)]
            fn $name(bytes: usize) -> Block {
                black_box(stringify!($name));
                Block::new(bytes)
            }
        )*
        const ALLOCATE: [fn(usize) -> Block; SITES] = [$($name),*];
    };
}
sites!(
    site_00 site_01 site_02 site_03 site_04 site_05 site_06 site_07 site_08 site_09
    site_10 site_11 site_12 site_13 site_14 site_15 site_16 site_17 site_18 site_19
);

/// A block of memory.
struct Block {
    start: *mut u8,
    layout: Layout,
}

impl Block {
    #[inline(always)]
    fn new(bytes: usize) -> Block {
        let layout = Layout::from_size_align(bytes.max(1), 8).expect("a small size");
        // SAFETY: the size is not 0.
        let start = black_box(unsafe { alloc(layout) });
        assert!(!start.is_null(), "out of memory");
        Block { start, layout }
    }

    #[inline(never)]
    fn grow_site(mut self, bytes: usize) -> Block {
        // SAFETY: the block is live, has this layout, and the size is not 0.
        let start = unsafe { realloc(self.start, self.layout, bytes) };
        assert!(!start.is_null(), "out of memory");
        self.start = black_box(start);
        self.layout = Layout::from_size_align(bytes, 8).expect("a small size");
        self
    }

    fn free(self) {
        // SAFETY: the block is live and has this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// The live blocks, in a list that never grows.
struct Kept {
    blocks: Vec<Block>,
    random: Random,
}

impl Kept {
    /// Keeps a part of the blocks, and frees the others.
    fn take(&mut self, block: Block, part: f64) {
        if part_of_one(&mut self.random) < part {
            if self.blocks.len() == MOST_KEPT {
                self.blocks.drain(..).for_each(Block::free);
            }
            self.blocks.push(block);
        } else {
            block.free();
        }
    }

    fn free_every_other(&mut self) {
        let mut number = 0;
        let freed = self.blocks.extract_if(.., |_| {
            number += 1;
            number % 2 == 0
        });
        freed.for_each(Block::free);
    }
}

/// A number above 0 and up to 1.
fn part_of_one(random: &mut Random) -> f64 {
    (random.below(1 << 30) + 1) as f64 / f64::from(1 << 30)
}

/// Allocates `blocks` blocks of a kind, and leaves what is kept behind.
pub(super) fn run(kind: usize, blocks: usize) {
    let mut random = Random::new(41);
    let mut kept = Kept {
        blocks: Vec::with_capacity(MOST_KEPT),
        random: Random::new(42),
    };
    for number in 0..blocks {
        let (site, bytes, part) = next(kind, number * 2 < blocks, &mut random);
        let mut block = ALLOCATE[site](bytes);
        if kind == 7 && number % 10 == 0 {
            for power in 5..13 {
                block = block.grow_site(1 << power);
            }
        }
        kept.take(block, part);
        if kind == 8 && number * 2 == blocks {
            kept.free_every_other();
        }
    }
    println!("live={}", kept.blocks.len());
    std::mem::forget(kept.blocks);
}

/// Returns the site and the size of the next block, and the part of such blocks that is kept.
fn next(kind: usize, is_first_half: bool, random: &mut Random) -> (usize, usize, f64) {
    let any = random.below(SITES);
    let is_rare = |random: &mut Random, one_in| random.below(one_in) == 0;
    match kind {
        // Each site has a size of its own.
        0 => (any, 8 << (any / 2), 0.3),
        // Few sites have most blocks. Sizes have a heavy tail (Pareto).
        1 => {
            let site = -part_of_one(random).ln() * 2.0;
            let bytes = 1.0 + 16.0 / part_of_one(random).powf(1.0 / 1.1);
            (site as usize % SITES, bytes.min(5e7) as usize, 0.3)
        }
        // Large blocks are rare among small ones.
        2 if is_rare(random, 2000) => (any, 200_000 + any * 10_000, 0.3),
        2 => (any, 16 + any, 0.3),
        // Most sites hardly ever allocate.
        3 if is_rare(random, 5000) => (3 + any % 17, random.below(4000) + 1, 0.3),
        3 => (any % 3, 24, 0.3),
        // Half of the sites have blocks of one byte.
        4 if any < 10 => (any, 1, 0.3),
        4 if is_rare(random, 300_000) => (any, 30_000_000, 0.3),
        4 => (any, 40, 0.3),
        // Sizes of all orders; each site keeps another part.
        5 => {
            let bytes = (part_of_one(random) * 12.0).exp();
            (any, bytes as usize, any as f64 / SITES as f64)
        }
        // Sizes around the mean of samples.
        6 => (any, 60_000 + any * 20_000, 0.01),
        // Some blocks grow.
        7 => (usize::from(is_rare(random, 10)), 32, 0.1),
        // The first half of the program leaves other blocks than the second.
        8 if is_first_half => (any, 1 + random.below(100), 0.9),
        8 => (any, 1 + random.below(5000), 0.05),
        // Each site has another part of larger blocks.
        _ if random.below(100) < any => (any, 1 + random.below(20_000), 0.2),
        _ => (any, 1 + random.below(16), 0.2),
    }
}

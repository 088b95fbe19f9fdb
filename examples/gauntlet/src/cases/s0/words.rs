//! The work of 0.1 to 0.7: a list of lists of five short strings each, in each kind of memory.

/// The text of each string.
pub(super) const WORD: &str = "helloworld";
/// Number of strings in an inner list.
pub(super) const WORDS: usize = 5;
/// Number of inner lists in the source's large run.
pub(super) const LISTS: usize = 1_000_000;

/// Builds the lists with the global allocator.
pub(super) fn global(lists: usize) -> Vec<Vec<Box<str>>> {
    let mut all = Vec::new();
    for _ in 0..lists {
        let mut list = Vec::new();
        for _ in 0..WORDS {
            list.push(Box::from(WORD));
        }
        all.push(list);
    }
    all
}

/// Returns the number of blocks that [`global`] allocates: each inner list grows from 4 to 8, and
/// the outer list doubles.
pub(super) fn global_blocks(lists: f64) -> f64 {
    lists * (WORDS + 2) as f64 + super::growths(4.0, lists)
}

/// Builds the lists in an arena, as vectors of type `$vec` whose elements come from `$word`. Drops
/// none of them, because an arena releases everything at once.
macro_rules! build_in {
    ($vec:ident in $arena:expr, $lists:expr, $word:expr) => {{
        let mut all = $vec::new_in($arena);
        for _ in 0..$lists {
            let mut list = $vec::new_in($arena);
            for _ in 0..crate::cases::s0::words::WORDS {
                list.push($word);
            }
            all.push(list);
        }
        let _never_dropped = std::mem::ManuallyDrop::new(std::hint::black_box(all));
    }};
}

pub(super) use build_in;

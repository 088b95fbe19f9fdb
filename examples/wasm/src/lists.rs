//! Builds a list of lists of five short strings each, on the heap and in arenas: the work of 0.1
//! and 0.6.

use allocator_api2::vec::Vec as ApiVec;
use bump_scope::BumpVec as ScopeVec;
use bumpalo::collections::Vec as BumpaloVec;

const WORD: &str = "helloworld";
const WORDS: usize = 5;

/// Builds the lists in an arena, as vectors of type `$vec` whose elements come from `$word`. Drops
/// none of them, because the arena releases everything at once.
macro_rules! build_in {
    ($vec:ident in $arena:expr, $lists:expr, $word:expr) => {{
        let mut all = $vec::new_in($arena);
        for _ in 0..$lists {
            let mut list = $vec::new_in($arena);
            for _ in 0..WORDS {
                list.push($word);
            }
            all.push(list);
        }
        let _never_dropped = std::mem::ManuallyDrop::new(std::hint::black_box(all));
    }};
}

pub(crate) fn global(lists: u32) -> Vec<Vec<Box<str>>> {
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

pub(crate) fn bumpalo(lists: u32) {
    let bump = bumpalo::Bump::new();
    build_in!(BumpaloVec in &bump, lists, &*bump.alloc_str(WORD));
}

/// Builds the lists in an arena of the size that the source calculates: the texts, their slices,
/// the inner lists and the head of the outer list. This omits the blocks that growing lists leave
/// behind.
pub(crate) fn bumpalo_sized(lists: u32) {
    let words = lists as usize * WORDS;
    let bytes = WORD.len() * words
        + size_of::<&str>() * words
        + size_of::<BumpaloVec<'_, &str>>() * lists as usize
        + size_of::<BumpaloVec<'_, BumpaloVec<'_, &str>>>();
    let bump = bumpalo::Bump::with_capacity(bytes);
    build_in!(BumpaloVec in &bump, lists, &*bump.alloc_str(WORD));
}

/// Uses allocator-api2's vector, like [`bump_scope_same`].
pub(crate) fn bumpalo_same(lists: u32) {
    let bump = bumpalo::Bump::new();
    build_in!(ApiVec in &bump, lists, &*bump.alloc_str(WORD));
}

pub(crate) fn bump_scope(lists: u32) {
    let bump: bump_scope::Bump = bump_scope::Bump::new();
    build_in!(ScopeVec in &bump, lists, bump.alloc_str(WORD));
}

pub(crate) fn bump_scope_same(lists: u32) {
    let bump: bump_scope::Bump = bump_scope::Bump::new();
    build_in!(ApiVec in &bump, lists, bump.alloc_str(WORD));
}

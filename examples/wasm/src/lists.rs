//! A list of lists of five short strings each, on the heap and in arenas: the work of 0.1 and 0.6.

use allocator_api2::vec::Vec as ApiVec;
use bump_scope::BumpVec as ScopeVec;
use bumpalo::collections::Vec as BumpaloVec;

const WORD: &str = "helloworld";
const WORDS: usize = 5;

/// Builds the lists in an arena, as vectors of type `$vec` that hold what `$word` makes. None of them is dropped: the arena
/// gives everything back at once.
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

/// In an arena as large as the source reckons: texts, their slices, the inner lists and the outer one's head. It leaves out
/// what lists leave behind when they grow.
pub(crate) fn bumpalo_sized(lists: u32) {
    let words = lists as usize * WORDS;
    let bytes = WORD.len() * words
        + size_of::<&str>() * words
        + size_of::<BumpaloVec<'_, &str>>() * lists as usize
        + size_of::<BumpaloVec<'_, BumpaloVec<'_, &str>>>();
    let bump = bumpalo::Bump::with_capacity(bytes);
    build_in!(BumpaloVec in &bump, lists, &*bump.alloc_str(WORD));
}

/// With allocator-api2's vector, as [`bump_scope_same`].
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

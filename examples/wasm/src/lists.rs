//! A list of lists of five short strings each, on the heap and in an arena: the work of 0.1.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

const WORD: &str = "helloworld";
const WORDS: usize = 5;

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

/// None of the lists is dropped: the arena gives everything back at once.
pub(crate) fn bumpalo(lists: u32) {
    let bump = Bump::new();
    let mut all = BumpVec::new_in(&bump);
    for _ in 0..lists {
        let mut list = BumpVec::new_in(&bump);
        for _ in 0..WORDS {
            list.push(&*bump.alloc_str(WORD));
        }
        all.push(list);
    }
    let _never_dropped = std::mem::ManuallyDrop::new(std::hint::black_box(all));
}

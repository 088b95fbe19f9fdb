//! Shared blocks count once. Borrowed blocks belong to another value.

use super::{exact, made, text};
use serde::Serialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tracking_alloc::footprint;

#[test]
fn shared_text_counts_once_with_its_head() {
    let found = exact(|| {
        let motto: Arc<str> = text(40).into();
        vec![motto.clone(), motto.clone(), motto]
    });
    // The header has two counters of 8 bytes.
    assert_eq!((found.blocks, found.block_bytes), (2, 3 * 16 + 40 + 16));
    assert_eq!((found.shared_blocks, found.shared_bytes), (2, 2 * 56));
    let found = exact(|| {
        let name: Rc<str> = text(5).into();
        (name.clone(), name, text(7))
    });
    assert_eq!((found.shared_blocks, found.shared_bytes), (1, 24));
}

#[test]
fn shared_values_count_once_with_all_that_is_in_them() {
    #[derive(Serialize)]
    struct Ship {
        name: String,
        crew: Vec<String>,
    }
    let found = exact(|| {
        let ship = Arc::new(Ship {
            name: text(11),
            crew: (1..6).map(text).collect(),
        });
        (ship.clone(), ship.clone(), ship)
    });
    assert_eq!(found.blocks, 8);
    // Each of the two others meets all of them again.
    assert_eq!(found.shared_blocks, 2 * 8);
    let found = exact(|| {
        let number = Arc::new(7u64);
        (number.clone(), number, Rc::new(3u32))
    });
    assert_eq!((found.blocks, found.shared_blocks), (2, 1));
    exact(|| Rc::new(RefCell::new(vec![text(3), text(4)])));
    exact(|| Arc::new(Mutex::new(text(30))));
}

#[test]
fn what_is_borrowed_belongs_to_somebody_else() {
    #[derive(Serialize)]
    struct Line<'a> {
        word: &'a str,
        perhaps: Cow<'a, str>,
        own: Cow<'a, str>,
        count: u32,
    }
    let input = made(|| text(1_000));
    let lines = made(|| {
        vec![
            Line {
                word: &input[3..7],
                perhaps: Cow::Borrowed(&input[9..20]),
                own: Cow::Owned(text(12)),
                count: 1,
            },
            Line {
                word: "static",
                perhaps: Cow::Borrowed("static too"),
                own: Cow::Owned(text(13)),
                count: 2,
            },
        ]
    });
    let found = footprint("lines", &lines).expect("something records");
    let each = size_of::<Line<'_>>() as u64;
    assert_eq!((found.blocks, found.block_bytes), (3, 2 * each + 25));
    assert_eq!((found.shared_blocks, found.shared_bytes), (2, 2_000));
    let words: Vec<&str> = input.as_bytes().chunks(10).map(|_| &input[..5]).collect();
    let found = footprint("words", &words).expect("something records");
    assert_eq!((found.blocks, found.block_bytes), (1, 100 * 16));
    assert_eq!(found.used_bytes, 1_600);
}

#[test]
fn a_reference_to_the_value_is_the_callers_own() {
    let value = made(|| vec![text(3), text(4)]);
    let direct = footprint("direct", &value);
    assert_eq!(
        footprint("reference", &&value).map(|found| found.blocks),
        direct.map(|found| found.blocks)
    );
    let boxed = made(|| Box::new(text(10)));
    assert_eq!(
        footprint("boxed", &boxed).map(|found| found.blocks),
        Some(2)
    );
    assert_eq!(
        footprint("inside", &*boxed).map(|found| found.blocks),
        Some(1)
    );
    assert_eq!(
        footprint("slice", &value[..]).map(|found| found.blocks),
        Some(2)
    );
}

//! Shared blocks count once. Borrowed blocks belong to another value.

use super::{exact, made, text};
use serde::Serialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tracking_alloc::{footprint, measure};

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

/// A text that is in memory of its own, or in that of another value, as `Cow` and the lists of
/// zero-copy formats keep it: a pointer, a length and a capacity, which is 0 if it is borrowed.
struct Piece {
    start: *const u8,
    length: usize,
    capacity: usize,
}

impl Piece {
    fn of(part: &[u8]) -> Piece {
        Piece {
            start: part.as_ptr(),
            length: part.len(),
            capacity: 0,
        }
    }

    fn own(text: String) -> Piece {
        let text = std::mem::ManuallyDrop::new(text.into_bytes());
        Piece {
            capacity: text.capacity(),
            ..Piece::of(&text)
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the tests keep what a piece points to.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.capacity > 0 {
            let start = self.start.cast_mut();
            // SAFETY: made by `own`.
            drop(unsafe { Vec::from_raw_parts(start, self.length, self.capacity) });
        }
    }
}

impl Serialize for Piece {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.bytes())
    }
}

/// A piece that is serialized `with` a function.
#[derive(Serialize)]
struct Wrapped {
    #[serde(serialize_with = "piece")]
    piece: Piece,
}

fn piece<S: serde::Serializer>(piece: &Piece, serializer: S) -> Result<S::Ok, S::Error> {
    piece.serialize(serializer)
}

#[test]
fn a_slice_of_the_input_does_not_own_it() {
    let input = made(|| text(402));
    let input = input.as_bytes();
    for (value, hidden) in [
        (vec![Piece::of(&input[2..50]), Piece::of(&input[60..61])], 2),
        (vec![Piece::of(&input[401..])], 1),
        (vec![Piece::own(text(30)), Piece::of(&input[8..16])], 1),
        (vec![Piece::own(text(30))], 0),
    ] {
        let own: u64 = value.iter().map(|piece| piece.capacity as u64).sum();
        let blocks = value.iter().filter(|piece| piece.capacity > 0).count() as u64;
        let value = made(|| value.into_boxed_slice());
        let found = footprint("pieces", &value).expect("something records");
        assert_eq!(
            (found.blocks, found.block_bytes, found.hidden_values),
            (1 + blocks, 24 * value.len() as u64 + own, hidden)
        );
    }
    let wrapped = Wrapped {
        piece: Piece::of(&input[8..16]),
    };
    let found = footprint("wrapped", &wrapped).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (0, 1));
    // With its input beside it, each block counts once, whatever comes first.
    let both = made(|| {
        let input = text(402);
        let piece = Piece::of(&input.as_bytes()[7..90]);
        (Piece::of(piece.bytes()), input, piece)
    });
    let found = footprint("both", &both).expect("something records");
    assert_eq!(
        (found.blocks, found.block_bytes, found.hidden_values),
        (1, 402, 0)
    );
}

#[test]
fn whatever_borrows_owns_only_its_own_blocks() {
    let input = made(|| text(500));
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        1 + (state >> 33) as usize % below as usize
    };
    for _ in 0..200 {
        let mut borrowed = 0;
        let (pieces, delta) = measure(|| {
            let mut each = || {
                let (from, length) = (random(399), random(100));
                let part = &input.as_bytes()[from..from + length];
                match random(3) {
                    1 => return (Piece::own(text(length)), None),
                    2 => borrowed += 1,
                    _ => {
                        borrowed += 1;
                        return (Piece::of(part), Some(Arc::<str>::from(text(length))));
                    }
                }
                (Piece::of(part), None)
            };
            (0..40).map(|_| each()).collect::<Vec<_>>()
        });
        let found = footprint("pieces", &pieces).expect("something records");
        assert_eq!(
            (found.blocks as i64, found.block_bytes as i64),
            (delta.live_blocks, delta.live_bytes)
        );
        assert_eq!(found.hidden_values, borrowed);
    }
}

//! Memory that must not be read, and blocks that must not count as the value's own.

use super::{and_dropped, bounded, dropped, made, text};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::alloc::Layout;
use std::cell::Cell;
use std::sync::{Arc, Weak};
use tracking_alloc::footprint;

/// glibc returns a block of this size to the system as soon as it is freed.
const LARGE: usize = 1 << 20;

#[derive(Serialize)]
struct Big {
    name: String,
    number: u64,
    #[serde(skip)]
    _more: [u64; 5],
}

fn big(length: usize) -> Big {
    Big {
        name: text(length),
        number: 7,
        _more: [0; 5],
    }
}

/// Creates a list in zeroed memory. Otherwise, words left by others after the value could lead to
/// live blocks, and the footprint would say that the value leads to more than was shown.
fn list_of_one<T>(value: T) -> Vec<T> {
    let capacity = LARGE / size_of::<T>();
    let layout = Layout::array::<T>(capacity).expect("a layout");
    // SAFETY: the layout is not empty, and a list takes memory of that layout.
    let mut list = unsafe {
        let memory = std::alloc::alloc_zeroed(layout);
        assert!(!memory.is_null());
        Vec::from_raw_parts(memory.cast(), 0, capacity)
    };
    list.push(value);
    list
}

#[test]
fn what_serializing_made_and_dropped_is_not_read_again() {
    /// Shows temporary lists of one element, whose size is not known.
    struct Computed(String);
    impl Serialize for Computed {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let mut lists = to.serialize_seq(None)?;
            lists.serialize_element(&list_of_one(big(self.0.len())))?;
            lists.serialize_element(&list_of_one(Box::new(7u64)))?;
            lists.serialize_element(&list_of_one(Box::new(big(3))))?;
            lists.serialize_element(&list_of_one((Some(text(3)), 1u8)))?;
            lists.serialize_element(&Box::new(list_of_one(text(4))))?;
            lists.serialize_element(&self.0)?;
            lists.end()
        }
    }
    for _ in 0..3 {
        let found = dropped(|| Computed(text(9)));
        assert_eq!((found.blocks, found.block_bytes), (1, 9), "{found:?}");
        dropped(|| vec![Computed(text(9)), Computed(text(10))]);
    }
}

#[test]
fn blocks_that_take_the_place_of_freed_ones_are_their_own() {
    /// Shows one large block after another. Each usually takes the place of the previous one, but
    /// is shorter.
    struct Shrinking(String);
    impl Serialize for Shrinking {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let mut lists = to.serialize_seq(None)?;
            for part in 1..9 {
                let numbers = vec![1u64; LARGE / part];
                lists.serialize_element(&numbers)?;
                drop(numbers);
                let mut texts = Vec::with_capacity(LARGE / part / 32);
                texts.extend([text(part), text(2)]);
                lists.serialize_element(&texts)?;
            }
            lists.serialize_element(&self.0)?;
            lists.end()
        }
    }
    let found = dropped(|| Shrinking(text(9)));
    assert_eq!((found.blocks, found.block_bytes), (1, 9), "{found:?}");
}

#[test]
fn what_lies_before_a_value_in_its_arena_is_no_part_of_it() {
    #[derive(Serialize)]
    struct Name<'b>(&'b str);
    #[derive(Serialize)]
    struct Person<'b> {
        names: &'b [Name<'b>],
        only: Option<&'b Person<'b>>,
    }
    let bump = made(|| bumpalo::Bump::with_capacity(10_000));
    // This arena fills downward, so texts lie before the list that was created first.
    let make = || {
        let names = bump.alloc_slice_fill_with(4, |_| Name(""));
        for name in names.iter_mut() {
            name.0 = bump.alloc_str("Ada Lovelace");
        }
        &*names
    };
    let inner = bump.alloc(Person {
        names: &[],
        only: None,
    });
    inner.names = make();
    let person = bump.alloc(Person {
        names: make(),
        only: Some(inner),
    });
    let found = footprint("in an arena", person).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (0, 0), "{found:?}");
    let names = make();
    let found = footprint("names", names).expect("something records");
    assert_eq!((found.blocks, found.used_bytes), (0, 0), "{found:?}");
    let only = made(|| vec![&names[0]]);
    let found = footprint("only", &only).expect("something records");
    assert_eq!((found.blocks, found.block_bytes), (1, 8), "{found:?}");
    assert!(found.used_bytes <= found.block_bytes, "{found:?}");
}

/// The ways in which handles serialize themselves.
#[derive(Clone, Copy)]
enum Shown {
    Bool(bool),
    Byte(u8),
    Short(u16),
    Number(u64),
    Nothing,
}

thread_local! {
    static SHOWN: Cell<Shown> = const { Cell::new(Shown::Nothing) };
}

/// A weak pointer of one word.
struct Handle<T>(#[expect(dead_code, reason = "only its address is looked at")] Weak<T>);

impl<T> Serialize for Handle<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match SHOWN.get() {
            Shown::Bool(value) => to.serialize_bool(value),
            Shown::Byte(value) => to.serialize_u8(value),
            Shown::Short(value) => to.serialize_u16(value),
            Shown::Number(value) => to.serialize_u64(value),
            Shown::Nothing => to.serialize_unit_struct("Handle"),
        }
    }
}

#[track_caller]
fn owns_nothing<T>(of: &Arc<T>, shown: Shown) {
    SHOWN.set(shown);
    let handle = Handle(Arc::downgrade(of));
    let found = footprint("handle", &handle).expect("something records");
    let owned = (found.blocks, found.block_bytes);
    assert_eq!((owned, found.hidden_values), ((0, 0), 1), "{found:?}");
    // In a list, where its size is known after all elements have been shown.
    let list = made(|| vec![Handle(Arc::downgrade(of))]);
    let found = footprint("handles", &list).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (1, 1), "{found:?}");
}

#[test]
fn a_weak_pointer_shown_as_a_number_does_not_own_what_it_points_to() {
    let node = made(|| Arc::new((text(20), 5u8, true, [0u16; 9])));
    let kept = Arc::clone(&node);
    let counters = [Arc::strong_count(&node), Arc::weak_count(&node) + 1];
    assert_eq!(counters, [2, 1]);
    owns_nothing(&node, Shown::Bool(true));
    owns_nothing(&node, Shown::Bool(false));
    owns_nothing(&node, Shown::Byte(5));
    owns_nothing(&node, Shown::Short(0));
    owns_nothing(&node, Shown::Number(0));
    // The counts of strong and of weak pointers.
    owns_nothing(&node, Shown::Number(2));
    owns_nothing(&node, Shown::Number(3));
    drop(kept);
}

#[test]
fn large_blocks_that_only_a_word_leads_to_are_not_looked_into() {
    let large = made(|| Arc::new((7u64, [7u64; 20_000])));
    owns_nothing(&large, Shown::Number(7));
    owns_nothing(&large, Shown::Nothing);

    /// Shows only the value behind the pointer.
    struct Behind<const N: usize>(Box<([u64; N], String)>);
    impl<const N: usize> Serialize for Behind<N> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_str(&self.0.1)
        }
    }
    let behind = |length| ([0; 8_200], text(length));
    bounded(1, 1, || Behind(Box::new(behind(5))));
    let behind = |length| ([0; 20], text(length));
    dropped(|| Behind(Box::new(behind(5))));

    /// Shows only its beginning. The contents of the rest are unknown.
    #[derive(Serialize)]
    struct Partly {
        head: Head,
        #[serde(skip)]
        _rest: Vec<u8>,
        #[serde(skip)]
        _room: [u64; 8_200],
    }
    #[derive(Serialize)]
    struct Head(u64, String);
    let (found, (blocks, _)) = and_dropped(|| {
        Box::new(Partly {
            head: Head(1, text(5)),
            _rest: vec![1],
            _room: [0; 8_200],
        })
    });
    assert_eq!((found.blocks, blocks, found.hidden_values), (2, 3, 1));
    // If it is shown completely, nothing must be searched.
    dropped(|| Box::new([[[1u64; 32]; 32]; 20]));
}

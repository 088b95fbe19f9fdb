//! Blocks whose content is not shown. They are counted if the shown parts prove them; otherwise the
//! figure is a lower bound. The figures are compared with the bytes that dropping the value frees.

use super::{bounded, dropped, lower_bound, made, text};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;
use tracking_alloc::footprint;

#[derive(Serialize)]
enum Expr {
    Nil,
    Num(f64),
    Name(String),
    Neg(Box<Expr>),
    Add(Box<Expr>, Box<Expr>),
    Both {
        left: Box<Expr>,
        right: Option<Box<Expr>>,
    },
}

#[derive(Clone, Copy, Serialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    A,
    B,
}

/// Uses a type parameter in three ways.
#[derive(Serialize)]
struct Three<T> {
    plain: T,
    boxed: Box<T>,
    shared: Arc<T>,
}

fn three<T>(make: impl Fn() -> T) -> Three<T> {
    Three {
        plain: make(),
        boxed: Box::new(make()),
        shared: Arc::new(make()),
    }
}

#[test]
fn the_index_of_an_index_map_is_hidden() {
    let found = bounded(1, 1, || {
        (0..1_000).map(|n| (n, n)).collect::<IndexMap<u32, u32>>()
    });
    assert_eq!(found.block_bytes, 1_000 * 16);
    bounded(1, 1, || (0..1_000).collect::<IndexSet<u32>>());
    bounded(51, 1, || {
        (0..50)
            .map(|n| (text(n + 1), n))
            .collect::<IndexMap<String, usize>>()
    });
    bounded(0, 1, || IndexMap::<String, u8>::with_capacity(20));
    bounded(3, 1, || {
        vec![IndexMap::from([(1u8, text(3))]), IndexMap::new()]
    });
}

#[test]
fn boxes_count_when_something_is_shown_in_them() {
    dropped(|| Expr::Add(Box::new(Expr::Num(1.0)), Box::new(Expr::Name(text(3)))));
    dropped(|| Expr::Both {
        left: Box::new(Expr::Name(text(9))),
        right: Some(Box::new(Expr::Num(2.0))),
    });
    dropped(|| {
        (0..100)
            .map(|n| Expr::Neg(Box::new(Expr::Num(n.into()))))
            .collect::<Vec<_>>()
    });
}

#[test]
fn boxes_of_variants_without_fields_are_hidden() {
    bounded(0, 1, || Expr::Neg(Box::new(Expr::Nil)));
    bounded(1, 1, || {
        Expr::Add(Box::new(Expr::Num(1.0)), Box::new(Expr::Nil))
    });
    bounded(2, 1, || Expr::Both {
        left: Box::new(Expr::Name(text(9))),
        right: Some(Box::new(Expr::Nil)),
    });
    let found = bounded(201, 50, || {
        let second = |n: u32| match n % 2 {
            0 => Expr::Nil,
            _ => Expr::Name(text(5)),
        };
        (0..100)
            .map(|n| Expr::Add(Box::new(Expr::Num(n.into())), Box::new(second(n))))
            .collect::<Vec<_>>()
    });
    let each = size_of::<Expr>() as u64;
    assert_eq!(found.block_bytes, 250 * each + 50 * 5);
    bounded(1, 2, || {
        [Kind::A, Kind::B]
            .map(Box::new)
            .into_iter()
            .collect::<Vec<_>>()
    });
    bounded(0, 2, || three(|| Kind::A));
}

#[test]
fn boxes_of_nothing_are_hidden() {
    bounded(0, 1, || Box::new(None::<String>));
    bounded(0, 1, || Arc::new(RwLock::new(None::<String>)));
    bounded(0, 1, || Rc::new(RefCell::new(None::<Rc<u8>>)));
    bounded(0, 1, || Arc::new(()));
    bounded(0, 1, || three(|| ()));
    bounded(0, 2, || three(|| None::<String>));
    bounded(0, 2, || three(String::new));
    #[derive(Serialize)]
    struct Empty {
        #[serde(skip)]
        _number: u32,
    }
    bounded(1, 1, || vec![Box::new(Empty { _number: 1 })]);
}

#[test]
fn boxes_of_numbers_count_and_those_of_values_made_to_be_serialized_are_hidden() {
    dropped(|| three(|| 7i128));
    dropped(|| three(|| -7i32));
    dropped(|| three(|| 'x'));
    dropped(|| three(|| 0.1f32));
    dropped(|| three(|| std::net::IpAddr::from([1, 2, 3, 4])));
    bounded(0, 2, || three(|| Duration::from_secs(1)));
}

#[test]
fn boxes_of_numbers_that_are_found_everywhere_are_hidden() {
    bounded(0, 2, || three(|| true));
    bounded(0, 2, || three(|| -7i16));
    bounded(0, 2, || three(|| 3u8));
    bounded(0, 2, || three(|| 0u64));
    bounded(0, 2, || three(|| 0.0f64));
    bounded(10, 1, || (0..10u64).map(Box::new).collect::<Vec<_>>());
    bounded(10, 1, || (0..10u64).map(Box::new).collect::<VecDeque<_>>());
    #[derive(Serialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "room for more than a byte")]
    enum Untagged {
        Boxed(Box<u8>),
        Text(String),
    }
    bounded(1, 2, || {
        vec![Untagged::Boxed(Box::new(5)), Untagged::Boxed(Box::new(0))]
    });
}

#[test]
fn the_first_element_counts_like_the_others() {
    dropped(|| {
        (1..11u64)
            .map(|n| (n, Box::new(n)))
            .collect::<HashMap<_, _>>()
    });
    dropped(|| {
        (1..11u64)
            .map(|n| (n, Arc::new(n)))
            .collect::<HashMap<_, _>>()
    });
    dropped(|| {
        (1..11u64)
            .map(|n| (n, Box::new(n)))
            .collect::<BTreeMap<_, _>>()
    });
    dropped(|| {
        (1..11u64)
            .map(|n| (Box::new(n), Arc::new(n)))
            .collect::<BTreeMap<_, _>>()
    });
    dropped(|| (1..11u64).map(Box::new).collect::<VecDeque<_>>());
    dropped(|| (1..11u64).map(Arc::new).collect::<VecDeque<_>>());
    dropped(|| (1..6u64).map(Box::new).collect::<BinaryHeap<_>>());
    dropped(|| (1..6u64).map(Arc::new).collect::<BinaryHeap<_>>());
    let spare = Vec::<u8>::with_capacity;
    dropped(|| HashMap::from([(1u8, spare(5))]));
    dropped(|| (1..10).map(|n| (n, spare(n))).collect::<HashMap<_, _>>());
    dropped(|| (1..30).map(|n| (n, spare(n))).collect::<BTreeMap<_, _>>());
    dropped(|| VecDeque::from([spare(3)]));
    dropped(|| BinaryHeap::from([spare(3), spare(4)]));
    dropped(|| BTreeMap::from([(1, spare(3))]));
    dropped(|| vec![Box::new(9u32)]);
}

#[test]
fn pointers_whose_size_nothing_tells_are_hidden() {
    // A table has gaps between elements, so some elements look larger than they are.
    let found = made(|| (0..30u64).map(Arc::new).collect::<HashSet<_>>());
    let found = footprint("set", &found).expect("something records");
    assert_eq!(found.blocks + found.hidden_values, 31, "{found:?}");
    // One entry in a table: there is nothing next to it.
    bounded(1, 1, || HashMap::from([(1u8, Box::new(5u64))]));
    bounded(1, 1, || HashSet::from([Box::new(1u8)]));
    // Old content of the table's memory, next to a key of one byte, may look like an address too.
    let found =
        lower_bound(|| HashMap::from([(Kind::A, Box::new(Kind::B)), (Kind::B, Box::new(Kind::B))]));
    assert!(
        found.blocks == 1 && (2..=4).contains(&found.hidden_values),
        "{found:?}"
    );
}

#[test]
fn elements_of_linked_lists_count_but_not_what_they_box() {
    bounded(3, 3, || (0..3u64).map(Box::new).collect::<LinkedList<_>>());
    dropped(|| LinkedList::from([Vec::<u8>::with_capacity(3), vec![]]));
    dropped(|| (1..9).map(text).collect::<LinkedList<_>>());
    bounded(2, 2, || LinkedList::from([Kind::A, Kind::B].map(Box::new)));
}

#[test]
fn pointers_count_with_what_was_shown_behind_them() {
    dropped(|| three(|| text(10)));
    dropped(|| three(|| vec![text(3), text(4)]));
    dropped(|| vec![Box::new(text(5))]);
    dropped(|| Arc::new(Mutex::new(text(5))));
    #[derive(Serialize)]
    struct New(Box<u64>);
    dropped(|| VecDeque::from([New(Box::new(1)), New(Box::new(2))]));
}

#[test]
fn pointers_to_pointers_and_to_spare_capacity_are_hidden() {
    let found = bounded(1, 2, || three(|| Vec::<u8>::with_capacity(10)));
    assert_eq!((found.block_bytes, found.used_bytes), (10, 0));
    bounded(1, 1, || vec![Box::new(Box::new(5u64))]);
    bounded(2, 1, || vec![Box::new(Box::new(text(5)))]);
    bounded(0, 1, || Arc::new(Mutex::new(Box::new(Arc::new(Kind::A)))));
    bounded(0, 1, || Box::new(Some(Box::new(Kind::A))));
    #[derive(Serialize)]
    struct New(Box<Kind>);
    bounded(1, 2, || {
        VecDeque::from([New(Box::new(Kind::A)), New(Box::new(Kind::B))])
    });
    bounded(0, 1, || Box::new(New(Box::new(Kind::A))));
}

#[test]
fn what_is_in_cells_and_locks_counts_when_it_is_shown() {
    dropped(|| Rc::new(Cell::new(5u64)));
    dropped(|| Arc::new(Mutex::new(HashMap::<u8, u8>::from([(1, 2)]))));
    dropped(|| Rc::new(RefCell::new(vec![text(3)])));
    bounded(0, 3, || {
        (
            RefCell::new(Box::new(7u8)),
            Mutex::new(Box::new(5u64)),
            RefCell::new(Vec::<u8>::with_capacity(3)),
        )
    });
    bounded(1, 1, || VecDeque::from([Mutex::new(Box::new(5u64))]));
}

#[test]
fn what_is_shared_still_counts_once() {
    let found = dropped(|| {
        let number = Arc::new(7u32);
        (number.clone(), Some(number.clone()), number)
    });
    assert_eq!((found.blocks, found.shared_blocks), (1, 2));
    let found = dropped(|| {
        let number = Rc::new(5u64);
        vec![Some(number.clone()), Some(number.clone()), Some(number)]
    });
    assert_eq!((found.blocks, found.shared_blocks), (2, 2));
    assert_eq!(found.shared_bytes, 2 * 24);
    bounded(0, 3, || {
        let kind = Arc::new(Kind::A);
        (kind.clone(), Some(kind.clone()), kind)
    });
}

#[test]
fn what_an_option_or_a_newtype_borrows_belongs_to_somebody_else() {
    #[derive(Serialize)]
    struct Word<'a>(&'a str);
    #[derive(Serialize)]
    struct Line<'a> {
        word: Option<&'a str>,
        number: Option<&'a u64>,
        new: Word<'a>,
    }
    let (words, number) = made(|| (text(50), Box::new(7u64)));
    let line = Line {
        word: Some(&words),
        number: Some(&number),
        new: Word(&words),
    };
    let found = footprint("line", &line).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (0, 0), "{found:?}");
    assert_eq!(found.shared_bytes, 50 + 50, "{found:?}");
}

#[test]
fn the_size_of_a_value_behind_two_references_is_not_known() {
    let value = made(|| vec![text(3)]);
    let found = footprint("reference", &&value).expect("something records");
    assert_eq!((found.inline_bytes, found.blocks), (0, 2));
}

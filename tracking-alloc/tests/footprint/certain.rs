//! Blocks that nothing in them is shown of: found where the type says that there is a pointer, and held against what
//! dropping the value gives back.

use super::{dropped, text};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

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

/// A type parameter in three ways.
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
fn the_index_of_an_index_map_counts() {
    let found = dropped(|| (0..1_000).map(|n| (n, n)).collect::<IndexMap<u32, u32>>());
    assert_eq!((found.blocks, found.block_bytes), (2, 34_448));
    dropped(|| (0..1_000).collect::<IndexSet<u32>>());
    dropped(|| {
        (0..50)
            .map(|n| (text(n), n))
            .collect::<IndexMap<String, usize>>()
    });
    dropped(|| IndexMap::<String, u8>::with_capacity(20));
    dropped(|| vec![IndexMap::from([(1u8, text(3))]), IndexMap::new()]);
}

#[test]
fn boxes_of_variants_without_fields_count() {
    let found = dropped(|| Expr::Neg(Box::new(Expr::Nil)));
    let each = size_of::<Expr>() as u64;
    assert_eq!((found.blocks, found.block_bytes), (1, each));
    assert_eq!(found.used_bytes, each);
    dropped(|| Expr::Add(Box::new(Expr::Num(1.0)), Box::new(Expr::Nil)));
    dropped(|| Expr::Both {
        left: Box::new(Expr::Name(text(9))),
        right: Some(Box::new(Expr::Nil)),
    });
    let found = dropped(|| {
        let second = |n: u32| match n % 2 {
            0 => Expr::Nil,
            _ => Expr::Name(text(5)),
        };
        (0..100)
            .map(|n| Expr::Add(Box::new(Expr::Num(n.into())), Box::new(second(n))))
            .collect::<Vec<_>>()
    });
    assert_eq!(found.blocks, 251);
    dropped(|| {
        [Kind::A, Kind::B]
            .map(Box::new)
            .into_iter()
            .collect::<Vec<_>>()
    });
    dropped(|| three(|| Kind::A));
}

#[test]
fn boxes_of_nothing_count() {
    dropped(|| Box::new(None::<String>));
    dropped(|| Arc::new(RwLock::new(None::<String>)));
    dropped(|| Rc::new(RefCell::new(None::<Rc<u8>>)));
    let found = dropped(|| Arc::new(()));
    assert_eq!((found.blocks, found.block_bytes), (1, 16));
    dropped(|| three(|| ()));
    dropped(|| three(|| None::<String>));
    dropped(|| three(String::new));
    #[derive(Serialize)]
    struct Empty {
        #[serde(skip)]
        _number: u32,
    }
    dropped(|| vec![Box::new(Empty { _number: 1 })]);
}

#[test]
fn boxes_of_values_made_for_the_occasion_count() {
    dropped(|| three(|| Duration::from_secs(1)));
    dropped(|| three(|| std::net::IpAddr::from([1, 2, 3, 4])));
    dropped(|| three(|| 7i128));
}

#[test]
fn the_first_element_counts_like_the_others() {
    dropped(|| HashMap::from([(1u8, Box::new(5u64))]));
    dropped(|| {
        (0..10u64)
            .map(|n| (n, Box::new(n)))
            .collect::<HashMap<_, _>>()
    });
    dropped(|| {
        (0..10u64)
            .map(|n| (n, Arc::new(n)))
            .collect::<HashMap<_, _>>()
    });
    dropped(|| {
        (0..10u64)
            .map(|n| (n, Box::new(n)))
            .collect::<BTreeMap<_, _>>()
    });
    dropped(|| {
        (0..10u64)
            .map(|n| (Box::new(n), Arc::new(n)))
            .collect::<BTreeMap<_, _>>()
    });
    dropped(|| (0..10u64).map(Box::new).collect::<HashSet<_>>());
    dropped(|| (0..10u64).map(Arc::new).collect::<HashSet<_>>());
    dropped(|| (0..10u64).map(Box::new).collect::<VecDeque<_>>());
    dropped(|| (0..10u64).map(Arc::new).collect::<VecDeque<_>>());
    dropped(|| (0..5u64).map(Box::new).collect::<BinaryHeap<_>>());
    dropped(|| (0..5u64).map(Arc::new).collect::<BinaryHeap<_>>());
    dropped(|| HashMap::from([(Kind::A, Box::new(Kind::B)), (Kind::B, Box::new(Kind::B))]));
    let spare = Vec::<u8>::with_capacity;
    dropped(|| HashMap::from([(1u8, spare(5))]));
    dropped(|| (1..10).map(|n| (n, spare(n))).collect::<HashMap<_, _>>());
    dropped(|| (1..30).map(|n| (n, spare(n))).collect::<BTreeMap<_, _>>());
    dropped(|| VecDeque::from([spare(3)]));
    dropped(|| BinaryHeap::from([spare(3), spare(4)]));
    dropped(|| HashSet::from([Box::new(1u8)]));
    dropped(|| BTreeMap::from([(1, spare(3))]));
}

#[test]
fn elements_of_linked_lists_count() {
    let found = dropped(|| (0..3u64).map(Box::new).collect::<LinkedList<_>>());
    assert_eq!((found.blocks, found.block_bytes), (6, 96));
    dropped(|| LinkedList::from([Vec::<u8>::with_capacity(3), vec![]]));
    dropped(|| LinkedList::from([Kind::A, Kind::B].map(Box::new)));
}

#[test]
fn pointers_to_pointers_and_to_spare_capacity_count() {
    let found = dropped(|| three(|| Vec::<u8>::with_capacity(10)));
    assert_eq!((found.blocks, found.block_bytes), (5, 3 * 10 + 24 + 40));
    assert_eq!(found.used_bytes, 24 + 40);
    let found = dropped(|| vec![Box::new(Box::new(5u64))]);
    assert_eq!((found.blocks, found.block_bytes), (3, 24));
    dropped(|| vec![Box::new(Box::new(text(5)))]);
    dropped(|| Arc::new(Mutex::new(Box::new(Arc::new(Kind::A)))));
    dropped(|| Box::new(Some(Box::new(Kind::A))));
    #[derive(Serialize)]
    struct New(Box<Kind>);
    dropped(|| VecDeque::from([New(Box::new(Kind::A)), New(Box::new(Kind::B))]));
    dropped(|| Box::new(New(Box::new(Kind::A))));
}

#[test]
fn what_is_in_cells_and_locks_counts() {
    let found = dropped(|| {
        (
            RefCell::new(Box::new(7u8)),
            Mutex::new(Box::new(5u64)),
            RefCell::new(Vec::<u8>::with_capacity(3)),
        )
    });
    assert_eq!((found.blocks, found.block_bytes), (3, 12));
    dropped(|| RwLock::new(Box::new(Kind::A)));
    dropped(|| Rc::new(Cell::new(5u64)));
    dropped(|| VecDeque::from([Mutex::new(Box::new(5u64))]));
    dropped(|| VecDeque::from([Mutex::new(RefCell::new(Box::new(Kind::A)))]));
    dropped(|| Arc::new(Mutex::new(HashMap::<u8, u8>::from([(1, 2)]))));
}

#[test]
fn what_is_shared_still_counts_once() {
    let found = dropped(|| {
        let kind = Arc::new(Kind::A);
        (kind.clone(), Some(kind.clone()), kind)
    });
    assert_eq!((found.blocks, found.shared_blocks), (1, 2));
    let found = dropped(|| {
        let number = Rc::new(5u64);
        vec![Some(number.clone()), Some(number.clone()), Some(number)]
    });
    assert_eq!((found.blocks, found.shared_blocks), (2, 2));
    assert_eq!(found.shared_bytes, 2 * 24);
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
    let (words, number) = super::made(|| (text(50), Box::new(7u64)));
    let line = Line {
        word: Some(&words),
        number: Some(&number),
        new: Word(&words),
    };
    let found = tracking_alloc::footprint("line", &line).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (0, 0), "{found:?}");
    assert_eq!(found.shared_bytes, 50 + 50, "{found:?}");
}

#[test]
fn a_reference_to_a_reference_has_the_size_of_the_value() {
    let value = super::made(|| vec![text(3)]);
    let found = tracking_alloc::footprint("reference", &&value).expect("something records");
    assert_eq!((found.inline_bytes, found.blocks), (24, 2));
}

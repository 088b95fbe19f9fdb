//! Loads of every container of the standard library, each with the types and bytes that it must
//! come to.
use std::borrow::Cow;
use std::collections::*;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use tracking_alloc::{Watch, load, report};

#[global_allocator]
static WATCH: Watch = Watch;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sailor { id: u64, rank: u32 }
#[derive(Clone)]
pub struct Crew { name: String, sailors: Vec<Sailor> }
pub trait Shape { fn area(&self) -> f64; }
pub struct Square(f64);
impl Shape for Square { fn area(&self) -> f64 { self.0 } }
pub enum Tree { Leaf, Node(Box<Tree>, Box<Tree>) }
fn tree(depth: u32) -> Tree { if depth == 0 { Tree::Leaf } else { Tree::Node(Box::new(tree(depth - 1)), Box::new(tree(depth - 1))) } }
pub mod generic {
    pub struct Stack<T> { items: Vec<T> }
    impl<T> Stack<T> {
        pub fn new() -> Self { Stack { items: Vec::new() } }
        pub fn put(&mut self, item: T) { self.items.push(item) }
    }
    pub fn dup<T: Clone>(items: &[T]) -> Vec<T> { items.to_vec() }
}


fn sailor(id: usize) -> Sailor { Sailor { id: id as u64, rank: 1 } }

/// Bytes that a buffer asks for, in total, while it grows by pushes to hold `count` elements of
/// `size` bytes.
fn grown(count: usize, size: usize) -> usize {
    let mut capacity = if size == 1 { 8 } else { 4 };
    let mut bytes = capacity * size;
    while capacity < count {
        capacity *= 2;
        bytes += capacity * size;
    }
    bytes
}
/// Bytes of a hash table for `count` entries of `size` bytes, made at once.
fn table(count: usize, size: usize) -> usize {
    let buckets = if count < 4 { 4 } else if count < 8 { 8 } else { (count * 8 / 7).next_power_of_two() };
    (buckets * size).next_multiple_of(16) + buckets + 16
}

/// Bytes of a B-tree filled in order, with leaves and inner nodes of these sizes.
fn sorted_tree(count: usize, leaf: usize, inner: usize) -> usize {
    let mut nodes = (count + 1).div_ceil(12);
    let mut bytes = nodes * leaf;
    while nodes > 1 {
        nodes = nodes.div_ceil(12);
        bytes += nodes * inner;
    }
    bytes
}

const VEC: &str = "alloc::vec::Vec<loads::Sailor>";
const STRING: &str = "alloc::string::String";

fn main() {
    let n = std::env::args().count() * 300;
    let text = std::env::args().next().unwrap();
    let len = text.len();

    load(&[(VEC, grown(n, 16))], || { let mut v = Vec::new(); for i in 0..n { v.push(sailor(i)); } v });
    load(&[("alloc::vec::Vec<u64>", 8 * n)], || Vec::<u64>::with_capacity(n));
    let sailors = load(&[(VEC, 16 * n)], || (0..n).map(sailor).collect::<Vec<_>>());
    load(&[(VEC, grown(n / 3, 16))], || (0..n).filter(|i| i % 3 == 0).map(sailor).collect::<Vec<_>>());
    load(&[(VEC, 16 * n)], || sailors.clone());
    load(&[(VEC, 16 * (n - 1))], || sailors[1..].to_vec());
    load(&[(VEC, 16 * n)], || { let mut v: Vec<Sailor> = Vec::new(); v.extend(sailors.iter().cloned()); v });
    load(&[("alloc::vec::Vec<u8>", 0)], || { let mut v: Vec<u8> = Vec::new(); for _ in 0..n { v.extend_from_slice(text.as_bytes()); } v });
    load(&[("alloc::vec::Vec<u32>", 4 * n)], || vec![7u32; n]);
    load(&[("alloc::vec::Vec<u8>", n)], || vec![0u8; n]);
    load(&[(VEC, 16 * n)], || { let mut v = Vec::new(); v.resize(n, sailor(1)); v });
    load(&[(VEC, 16 * n + 48)], || { let mut v: Vec<Sailor> = Vec::new(); v.reserve(n); v.push(sailor(1)); v.shrink_to(3); v });
    load(&[(VEC, grown(n, 16))], || { let mut v: Vec<Sailor> = Vec::new(); for i in 0..n { v.insert(0, sailor(i)); } v });
    load(&[(VEC, grown(n, 16))], || { let mut s = generic::Stack::new(); for i in 0..n { s.put(sailor(i)); } s });
    load(&[(VEC, 16 * n)], || generic::dup(&sailors));
    load(&[(VEC, 32 * n)], || [&sailors[..], &sailors[..]].concat());
    load(&[(VEC, grown(n, 16))], || (0..n).map(|i| if i > 90000 { Err(()) } else { Ok(sailor(i)) }).collect::<Result<Vec<_>, ()>>());
    load(&[("alloc::vec::Vec<(usize, loads::Sailor)>", 24 * n)], || sailors.iter().cloned().enumerate().collect::<Vec<(usize, Sailor)>>());
    load(&[("alloc::vec::Vec<[u16; 5]>", grown(n, 10))], || { let mut v = Vec::new(); for i in 0..n { v.push([i as u16; 5]); } v });
    load(&[("alloc::vec::Vec<(u8, &str)>", grown(n, 24))], || { let mut v: Vec<(u8, &str)> = Vec::new(); for i in 0..n { v.push((i as u8, &text)); } v });
    load(&[("alloc::vec::Vec<core::option::Option<alloc::boxed::Box<loads::Sailor>>>", grown(n, 8))], || { let mut v: Vec<Option<Box<Sailor>>> = Vec::new(); for _ in 0..n { v.push(None); } v });
    load(&[("alloc::vec::Vec<fn(usize) -> loads::Sailor>", grown(n, 8))], || { let mut v: Vec<fn(usize) -> Sailor> = Vec::new(); for _ in 0..n { v.push(sailor); } v });
    load(&[("alloc::vec::Vec<&dyn loads::Shape>", grown(n, 16))], || { let mut v: Vec<&dyn Shape> = Vec::new(); for _ in 0..n { v.push(&Square(1.0)); } v.len() });
    // What a trait gives and takes is part of its name. Each of another length: equal code becomes
    // one.
    load(&[("alloc::vec::Vec<alloc::boxed::Box<dyn core::ops::function::Fn<(usize,), Output = usize> + core::marker::Send>>", 16 * n)], || Vec::<Box<dyn Fn(usize) -> usize + Send>>::with_capacity(n));
    load(&[("alloc::vec::Vec<alloc::boxed::Box<dyn core::ops::function::Fn<(&str,), Output = &str>>>", 16 * (n + 1))], || Vec::<Box<dyn Fn(&str) -> &str>>::with_capacity(n + 1));
    load(&[("std::collections::hash::map::HashMap<u64, alloc::boxed::Box<dyn core::iter::traits::iterator::Iterator<Item = loads::Sailor>>>", table(3 * n, 24))], || HashMap::<u64, Box<dyn Iterator<Item = Sailor>>>::with_capacity(3 * n));
    load(&[("alloc::collections::vec_deque::VecDeque<core::pin::Pin<alloc::boxed::Box<dyn core::future::future::Future<Output = ()>>>>", 16 * (n + 2))], || VecDeque::<std::pin::Pin<Box<dyn Future<Output = ()>>>>::with_capacity(n + 2));
    load(&[(VEC, 48)], || vec![sailor(1), sailor(2), sailor(n)]);
    load(&[("alloc::vec::Vec<alloc::string::String>", 48), (STRING, 2 * len)], || vec![text.clone(), text.clone()]);
    load(&[("alloc::vec::Vec<[u16; 5]>", 20)], || vec![[n as u16; 5], [1; 5]]);
    load(&[("alloc::vec::Vec<&str>", 0)], || text.split('/').collect::<Vec<&str>>());
    load(&[("alloc::vec::Vec<alloc::vec::Vec<u32>>", 24 * n), ("alloc::vec::Vec<u32>", 2 * n * (n + 1))], || (0..n).map(|i| vec![i as u32; i + 1]).collect::<Vec<Vec<u32>>>());
    let nested: Vec<Vec<u64>> = (0..n).map(|i| vec![i as u64; 3]).collect();
    load(&[("alloc::vec::Vec<alloc::vec::Vec<u64>>", 24 * n), ("alloc::vec::Vec<u64>", 24 * n)], || nested.clone());
    load(&[(VEC, 16 * n), (STRING, len)], || black_box(&Crew { name: text.clone(), sailors: sailors.clone() }).name.len());
    let crew = Crew { name: text.clone(), sailors: sailors.clone() };
    load(&[(VEC, 16 * n), (STRING, len)], || black_box(&crew).clone());
    let words: Vec<String> = vec![text.clone(), text.clone(), text.clone()];
    load(&[("alloc::vec::Vec<alloc::string::String>", 72), (STRING, 3 * len)], || words.clone());
    load(&[("alloc::vec::Vec<alloc::string::String>", 24 * n), (STRING, 7 * n)], || (0..n).map(|_| String::with_capacity(7)).collect::<Vec<String>>());
    let paths = text.split('/').count();
    load(&[("alloc::vec::Vec<alloc::string::String>", grown(paths, 24)), (STRING, len + 1 - paths)], || text.split('/').map(str::to_owned).collect::<Vec<String>>());

    load(&[(STRING, len)], || text.to_owned());
    load(&[(STRING, len)], || text.clone());
    load(&[(STRING, 0)], || format!("{text}{n}"));
    load(&[(STRING, 0)], || { let mut s = String::new(); for _ in 0..n { s.push_str(&text); s.push('x'); } s });
    load(&[(STRING, 0)], || n.to_string());
    load(&[(STRING, len)], || text.to_string());
    load(&[(STRING, len - 4)], || String::from(&text[4..]));
    load(&[(STRING, 3 * len + 4)], || words.join(", "));
    load(&[(STRING, n * len)], || text.repeat(n));
    load(&[(STRING, 0)], || text.replace('/', "::"));
    load(&[(STRING, 0)], || text.to_lowercase());
    load(&[(STRING, 0)], || text.chars().rev().collect::<String>());
    load(&[(STRING, 0)], || String::from_utf8_lossy(&[0xffu8, 65, 66]).into_owned());
    load(&[(STRING, len)], || Cow::Borrowed(text.as_str()).into_owned());
    load(&[(STRING, 0)], || text.clone() + "tail of it");
    load(&[(STRING, 0)], || { use std::fmt::Write; let mut s = String::new(); for i in 0..n { write!(s, "{i},").unwrap(); } s });
    load(&[(STRING, 5 * n)], || String::with_capacity(5 * n));
    load(&[(VEC, 16 * n)], || Cow::Borrowed(&sailors[..]).into_owned());

    load(&[("alloc::collections::vec_deque::VecDeque<loads::Sailor>", grown(n, 16))], || { let mut v = VecDeque::new(); for i in 0..n { v.push_back(sailor(i)); } v });
    load(&[("alloc::collections::vec_deque::VecDeque<loads::Sailor>", 16 * n)], || VecDeque::<Sailor>::with_capacity(n));
    load(&[("alloc::collections::vec_deque::VecDeque<loads::Sailor>", 16 * n)], || (0..n).map(sailor).collect::<VecDeque<Sailor>>());
    load(&[("alloc::collections::binary_heap::BinaryHeap<loads::Sailor>", grown(n, 16))], || { let mut v = BinaryHeap::new(); for i in 0..n { v.push(sailor(i)); } v });
    load(&[("alloc::collections::linked_list::LinkedList<loads::Sailor>", 32 * n)], || { let mut v = LinkedList::new(); for i in 0..n { v.push_back(sailor(i)); } v });

    const MAP: &str = "std::collections::hash::map::HashMap<u64, loads::Sailor>";
    const SET: &str = "std::collections::hash::set::HashSet<loads::Sailor>";
    let map = load(&[(MAP, 0)], || { let mut v = HashMap::new(); for i in 0..n { v.insert(i as u64, sailor(i)); } v });
    load(&[(MAP, 0)], || { let mut v = HashMap::new(); for i in 0..n { v.entry(i as u64).or_insert_with(|| sailor(i)); } v });
    load(&[(MAP, table(n, 24))], || HashMap::<u64, Sailor>::with_capacity(n));
    load(&[(MAP, table(n, 24))], || (0..n).map(|i| (i as u64, sailor(i))).collect::<HashMap<_, _>>());
    load(&[(MAP, table(n, 24))], || map.clone());
    load(&[(SET, 0)], || { let mut v = HashSet::new(); for i in 0..n { v.insert(sailor(i)); } v });
    load(&[(SET, table(n, 16))], || (0..n).map(sailor).collect::<HashSet<_>>());
    load(&[("std::collections::hash::map::HashMap<u64, u8, core::hash::BuildHasherDefault<std::hash::random::DefaultHasher>>", 0)], || { let mut v: HashMap<u64, u8, std::hash::BuildHasherDefault<std::hash::DefaultHasher>> = HashMap::default(); for i in 0..n { v.insert(i as u64, 1); } v });
    load(&[("std::collections::hash::map::HashMap<alloc::string::String, alloc::vec::Vec<u16>>", table(1, 48)), (STRING, len), ("alloc::vec::Vec<u16>", 2 * n)], || { let mut v = HashMap::new(); v.insert(text.clone(), vec![1u16; n]); v });

    const TREE: &str = "alloc::collections::btree::map::BTreeMap<u64, loads::Sailor>";
    const TREE_SET: &str = "alloc::collections::btree::set::BTreeSet<loads::Sailor>";
    let tree_map = load(&[(TREE, 0)], || { let mut v = BTreeMap::new(); for i in 0..n { v.insert(i as u64, sailor(i)); } v });
    load(&[(TREE, 0)], || { let mut v = BTreeMap::new(); for i in 0..n { v.entry(i as u64).or_insert_with(|| sailor(i)); } v });
    load(&[(TREE, 0)], || tree_map.clone());
    load(&[(TREE, 280)], || { let mut v = BTreeMap::new(); v.insert(n as u64, sailor(n)); v });
    // Sorted in a vector first, which takes a buffer as large.
    load(&[("alloc::vec::Vec<(u64, loads::Sailor)>", 2 * 24 * n), (TREE, sorted_tree(n, 280, 376))], || (0..n).map(|i| (i as u64, sailor(i))).collect::<BTreeMap<_, _>>());
    load(&[(TREE_SET, 0)], || { let mut v = BTreeSet::new(); for i in 0..n { v.insert(sailor(i)); } v });

    load(&[("alloc::boxed::Box<loads::Sailor>", 16)], || Box::new(sailor(n)));
    load(&[("alloc::boxed::Box<[u64; 9]>", 72)], || Box::new([n as u64; 9]));
    load(&[("alloc::boxed::Box<loads::Tree>", (2 * 63) * 16)], || tree(6));
    load(&[("alloc::boxed::Box<loads::Square>", 8)], || { let b: Box<dyn Shape> = Box::new(Square(n as f64)); b });
    load(&[("alloc::boxed::Box<loads::main::{{closure}}::{{closure}}>", 8)], || { let b: Box<dyn Fn() -> usize> = Box::new(move || n); b });
    load(&[("alloc::boxed::Box<[loads::Sailor]>", 16 * n)], || Box::<[Sailor]>::from(&sailors[..]));
    let slice: Box<[Sailor]> = (0..n).map(sailor).collect();
    load(&[("alloc::boxed::Box<[loads::Sailor]>", 16 * n)], || slice.clone());
    load(&[("alloc::boxed::Box<[loads::Sailor]>", 16 * n)], || (0..n).map(sailor).collect::<Box<[Sailor]>>());
    load(&[("alloc::boxed::Box<str>", len)], || Box::<str>::from(text.as_str()));
    let boxed = Box::new(sailor(1));
    load(&[("alloc::boxed::Box<loads::Sailor>", 16)], || black_box(&boxed).clone());
    load(&[("alloc::rc::Rc<loads::Sailor>", 32)], || Rc::new(sailor(n)));
    load(&[("alloc::sync::Arc<loads::Sailor>", 32)], || Arc::new(sailor(n)));
    load(&[("alloc::sync::Arc<std::sync::poison::mutex::Mutex<alloc::vec::Vec<u8>>>", 48)], || Arc::new(std::sync::Mutex::new(Vec::<u8>::new())));
    load(&[("alloc::rc::Rc<str>", (16 + len).next_multiple_of(8))], || Rc::<str>::from(text.as_str()));
    load(&[("alloc::sync::Arc<str>", (16 + len).next_multiple_of(8))], || Arc::<str>::from(text.as_str()));
    load(&[("alloc::sync::Arc<[loads::Sailor]>", 16 + 16 * n)], || Arc::<[Sailor]>::from(&sailors[..]));
    load(&[(VEC, 16 * n), ("alloc::rc::Rc<[loads::Sailor]>", 16 + 16 * n)], || Rc::<[Sailor]>::from(sailors.clone()));
    load(&[("alloc::sync::Arc<loads::Square>", 24)], || { let b: Arc<dyn Shape> = Arc::new(Square(n as f64)); b });
    load(&[("alloc::rc::Rc<loads::Sailor>", 32)], || Rc::<Sailor>::new_cyclic(|_| sailor(3)));

    // Each of another length: functions with the same instructions become one, under one of their
    // names.
    load(&[("std::path::PathBuf", len - 1)], || std::path::Path::new(&text[1..]).to_path_buf());
    load(&[("std::path::PathBuf", 0)], || std::path::Path::new(&text).join("abc"));
    load(&[("std::path::PathBuf", len - 2)], || std::path::PathBuf::from(&text[2..]));
    load(&[("std::ffi::os_str::OsString", len - 3)], || std::ffi::OsStr::new(&text[3..]).to_os_string());
    load(&[("alloc::ffi::c_str::CString", len + 1)], || std::ffi::CString::new(text.as_str()).unwrap());
    report();
}

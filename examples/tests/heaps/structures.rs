//! Random structures of standard containers, and what they say of themselves.

use crate::allocator::{self, Inner, at};
use std::cell::RefCell;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The containers that allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Site {
    Vec = 1,
    String,
    OsString,
    PathBuf,
    VecDeque,
    BinaryHeap,
    HashMap,
    HashSet,
    Box,
    Rc,
    Arc,
    Cycle,
    Hidden,
}

impl Site {
    pub(crate) const ALL: [Site; 13] = [
        Site::Vec,
        Site::String,
        Site::OsString,
        Site::PathBuf,
        Site::VecDeque,
        Site::BinaryHeap,
        Site::HashMap,
        Site::HashSet,
        Site::Box,
        Site::Rc,
        Site::Arc,
        Site::Cycle,
        Site::Hidden,
    ];
    pub(crate) const LISTS: [Site; 6] = [
        Site::Vec,
        Site::String,
        Site::OsString,
        Site::PathBuf,
        Site::VecDeque,
        Site::BinaryHeap,
    ];
}

type Hasher = BuildHasherDefault<DefaultHasher>;

/// A value of some container.
enum Value {
    Number(#[expect(dead_code, reason = "is only in memory")] u64),
    String(String),
    Option(Option<String>),
    OsString(OsString),
    PathBuf(PathBuf),
    Vec(Vec<Value>),
    VecDeque(VecDeque<Value>),
    BinaryHeap(BinaryHeap<u64>),
    HashMap(HashMap<u64, Value, Hasher>),
    HashSet(HashSet<u32, Hasher>),
    Box(Box<Value>),
    Rc(Rc<Value>),
    Arc(Arc<Value>),
    /// A reference to a string that lives in another value.
    Borrowed(
        #[expect(dead_code, reason = "is only in memory")] &'static str,
        String,
    ),
}

/// Part of a cycle: two of them hold each other.
struct Node {
    next: RefCell<Option<Rc<Node>>>,
    _text: [u64; 2],
}

/// The figures that the containers give.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Truth {
    pub(crate) lists: u64,
    pub(crate) list_unused: u64,
    pub(crate) tables: u64,
    pub(crate) table_unused: u64,
    pub(crate) table_items: u64,
    pub(crate) empty_tables: u64,
    pub(crate) cycle_blocks: u64,
    pub(crate) hidden: u64,
}

/// Random structures, held by one list.
pub(crate) struct Structures {
    /// In a box, so that it does not move.
    root: Box<[Vec<Value>; 1]>,
    /// A node of each cycle. They are outside of what is analysed.
    cycles: Vec<Weak<Node>>,
    /// Pointers that no reader understands.
    hidden: Vec<usize>,
}

const KEY: usize = 0x5a5a_5a5a_5a5a_5a5a;

struct Maker {
    inner: Inner,
    state: u64,
}

impl Maker {
    fn below(&mut self, end: u64) -> u64 {
        // xorshift
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }

    fn at<T>(&self, site: Site, code: impl FnOnce() -> T) -> T {
        at(site as u32, self.inner, code)
    }

    fn string(&mut self) -> String {
        let (length, spare) = (self.below(40) as usize, self.below(30) as usize);
        let byte = b'a' + self.below(26) as u8;
        self.at(Site::String, || {
            let mut string = String::with_capacity(length + spare);
            string.extend((0..length).map(|_| char::from(byte)));
            string
        })
    }

    fn values(&mut self, depth: u32) -> Vec<Value> {
        let count = self.below(7);
        (0..count).map(|_| self.value(depth + 1)).collect()
    }

    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "only what is in memory matters"
    )]
    fn value(&mut self, depth: u32) -> Value {
        let kinds = if depth < 6 { 15 } else { 7 };
        let spare = self.below(6) as usize;
        match self.below(kinds) {
            0 => Value::Number(self.below(1 << 40)),
            1 => Value::String(self.string()),
            2 => {
                // What it held before stays in memory, behind a value that says that there is none.
                let mut option = Some(self.string());
                if self.below(2) == 0 {
                    option = None;
                }
                Value::Option(option)
            }
            3 => {
                let text = self.string();
                Value::OsString(self.at(Site::OsString, || {
                    let mut os = OsString::with_capacity(text.len() + spare);
                    os.push(&text);
                    os
                }))
            }
            4 => {
                let text = self.string();
                Value::PathBuf(self.at(Site::PathBuf, || {
                    let mut path = PathBuf::with_capacity(text.len() + spare);
                    path.push(&text);
                    path
                }))
            }
            5 => {
                let numbers: Vec<u64> = (0..self.below(9)).map(|at| at * 3).collect();
                Value::BinaryHeap(self.at(Site::BinaryHeap, || {
                    let mut heap = BinaryHeap::with_capacity(numbers.len() + spare);
                    heap.extend(numbers);
                    heap
                }))
            }
            6 => {
                let numbers: Vec<u32> = (0..self.below(30)).map(|at| at as u32).collect();
                let is_emptied = self.below(4) == 0;
                Value::HashSet(self.at(Site::HashSet, || {
                    let mut set: HashSet<u32, Hasher> = numbers.into_iter().collect();
                    if is_emptied {
                        set.clear();
                    }
                    set
                }))
            }
            7 | 8 => {
                let values = self.values(depth);
                let removed = self.below(3) as usize;
                let mut list = self.at(Site::Vec, || {
                    let mut list = Vec::with_capacity(values.len() + spare);
                    list.extend(values);
                    list
                });
                // The removed values stay behind the length, as words.
                list.truncate(list.len().saturating_sub(removed));
                Value::Vec(list)
            }
            9 => {
                let values = self.values(depth);
                let (back, front) = (self.below(3), self.below(3));
                let mut deque = self.at(Site::VecDeque, || {
                    let mut deque = VecDeque::with_capacity(values.len() + spare);
                    for (index, value) in values.into_iter().enumerate() {
                        if index % 2 == 0 {
                            deque.push_back(value);
                        } else {
                            deque.push_front(value);
                        }
                    }
                    deque
                });
                (0..back).for_each(|_| drop(deque.pop_back()));
                (0..front).for_each(|_| drop(deque.pop_front()));
                Value::VecDeque(deque)
            }
            10 | 11 => {
                let values = self.values(depth);
                let is_emptied = self.below(4) == 0;
                let seed = self.below(1 << 30);
                let mut map = self.at(Site::HashMap, || {
                    let mut map = HashMap::with_capacity_and_hasher(spare, Hasher::default());
                    map.extend((seed..).zip(values));
                    map
                });
                if is_emptied {
                    map.clear();
                }
                Value::HashMap(map)
            }
            12 => {
                let value = self.value(depth + 1);
                Value::Box(self.at(Site::Box, || Box::new(value)))
            }
            13 => {
                let value = self.value(depth + 1);
                if self.below(2) == 0 {
                    Value::Rc(self.at(Site::Rc, || Rc::new(value)))
                } else {
                    Value::Arc(self.at(Site::Arc, || Arc::new(value)))
                }
            }
            _ => {
                let mut string = self.string();
                if string.is_empty() {
                    string = self.at(Site::String, || String::from("text"));
                }
                // SAFETY: the text does not move with the string, lives as long as the value, and
                // is not read through the reference.
                let text = unsafe {
                    std::str::from_utf8_unchecked(std::slice::from_raw_parts(
                        string.as_ptr(),
                        string.len(),
                    ))
                };
                Value::Borrowed(text, string)
            }
        }
    }

    /// Two nodes that hold each other, and nothing holds them.
    fn cycle(&self) -> Weak<Node> {
        self.at(Site::Cycle, || {
            let node = |next| {
                let next = RefCell::new(next);
                let _text = [3; 2];
                Rc::new(Node { next, _text })
            };
            let first = node(None);
            let second = node(Some(Rc::clone(&first)));
            *first.next.borrow_mut() = Some(second);
            Rc::downgrade(&first)
        })
    }
}

impl Structures {
    /// Makes structures until an allocator has a number of live blocks.
    pub(crate) fn new(inner: Inner, blocks: usize, seed: u64) -> Structures {
        let mut maker = Maker {
            inner,
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        let mut values = Vec::new();
        let (mut cycles, mut hidden) = (Vec::new(), Vec::new());
        while allocator::count(inner) < blocks {
            for _ in 0..50 {
                values.push(maker.value(0));
                if maker.below(3) == 0 {
                    // Others will use this memory again.
                    drop(maker.value(0));
                }
            }
            cycles.push(maker.cycle());
            let boxed = maker.at(Site::Hidden, || Box::new([seed; 3]));
            hidden.push(Box::into_raw(boxed).expose_provenance() ^ KEY);
        }
        let list = maker.at(Site::Vec, || {
            let mut list = Vec::with_capacity(values.len());
            list.extend(values);
            list
        });
        Structures {
            root: Box::new([list]),
            cycles,
            hidden,
        }
    }

    /// Returns where the root is.
    pub(crate) fn address(&self) -> u64 {
        self.root.as_ptr().addr() as u64
    }

    /// Returns what the containers say.
    pub(crate) fn truth(&self) -> Truth {
        let mut truth = Truth {
            cycle_blocks: 2 * self.cycles.len() as u64,
            hidden: self.hidden.len() as u64,
            ..Truth::default()
        };
        let [root] = &*self.root;
        truth.list(root.len(), root.capacity(), size_of::<Value>());
        root.iter().for_each(|value| truth.value(value));
        truth
    }
}

impl Drop for Structures {
    fn drop(&mut self) {
        for node in self.cycles.iter().filter_map(Weak::upgrade) {
            node.next.take();
        }
        for &hidden in &self.hidden {
            let pointer = std::ptr::with_exposed_provenance_mut::<[u64; 3]>(hidden ^ KEY);
            // SAFETY: the pointer comes from a box, and is freed once.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
}

impl Truth {
    fn list(&mut self, length: usize, capacity: usize, element: usize) {
        if capacity > 0 {
            self.lists += 1;
            self.list_unused += ((capacity - length) * element) as u64;
        }
    }

    fn table(&mut self, items: usize, capacity: usize, element: usize) {
        if capacity > 0 {
            // One place in eight stays free, in small tables just one.
            let buckets = if capacity < 8 {
                capacity + 1
            } else {
                capacity / 7 * 8
            };
            self.tables += 1;
            self.table_items += items as u64;
            self.empty_tables += u64::from(items == 0);
            self.table_unused += ((buckets - items) * element) as u64;
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Number(_) | Value::Option(None) => {}
            Value::String(string) | Value::Option(Some(string)) | Value::Borrowed(_, string) => {
                self.list(string.len(), string.capacity(), 1);
            }
            Value::OsString(string) => self.list(string.len(), string.capacity(), 1),
            Value::PathBuf(path) => self.list(path.as_os_str().len(), path.capacity(), 1),
            Value::Vec(list) => {
                self.list(list.len(), list.capacity(), size_of::<Value>());
                list.iter().for_each(|value| self.value(value));
            }
            Value::VecDeque(deque) => {
                self.list(deque.len(), deque.capacity(), size_of::<Value>());
                deque.iter().for_each(|value| self.value(value));
            }
            Value::BinaryHeap(heap) => self.list(heap.len(), heap.capacity(), 8),
            Value::HashMap(map) => {
                self.table(map.len(), map.capacity(), size_of::<(u64, Value)>());
                map.values().for_each(|value| self.value(value));
            }
            Value::HashSet(set) => self.table(set.len(), set.capacity(), 4),
            Value::Box(value) => self.value(value),
            Value::Rc(value) => self.value(value),
            Value::Arc(value) => self.value(value),
        }
    }
}

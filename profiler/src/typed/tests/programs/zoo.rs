//! A program with containers of many kinds in random structures. It counts the truth about them,
//! and writes its memory to a file. Arguments: the file, the size.

mod watch;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::{self, Rc};
use std::sync::{Arc, Mutex, OnceLock, atomic::Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

#[global_allocator]
static WATCH: watch::Watch = watch::Watch;

/// What there is, counted by the program.
#[derive(Default, Debug)]
struct Truth {
    lists: usize,
    unused: usize,
    tables: usize,
    table_unused: usize,
    node_entries: usize,
    node_entry_bytes: usize,
    others: usize,
}

trait Count {
    fn count(&self, truth: &mut Truth);
}

macro_rules! plain {
    ($($of:ty),*) => { $(impl Count for $of { fn count(&self, _: &mut Truth) {} })* };
}
plain!(u8, u16, u32, u64, (), &'static str);

fn list<T: Count>(capacity: usize, all: impl ExactSizeIterator<Item = T>, truth: &mut Truth, size: usize) {
    if capacity * size > 0 {
        truth.lists += 1;
        truth.unused += (capacity - all.len()) * size;
    }
    all.for_each(|one| one.count(truth));
}

impl<T: Count> Count for &T { fn count(&self, truth: &mut Truth) { (**self).count(truth) } }
impl<T: Count> Count for Vec<T> {
    fn count(&self, truth: &mut Truth) { list(self.capacity(), self.iter(), truth, size_of::<T>()) }
}
impl<T: Count> Count for VecDeque<T> {
    fn count(&self, truth: &mut Truth) { list(self.capacity(), self.iter(), truth, size_of::<T>()) }
}
impl<T: Count> Count for BinaryHeap<T> {
    fn count(&self, truth: &mut Truth) { list(self.capacity(), self.iter(), truth, size_of::<T>()) }
}
impl<T: Count> Count for Box<[T]> {
    fn count(&self, truth: &mut Truth) { list(self.len(), self.iter(), truth, size_of::<T>()) }
}
impl Count for String {
    fn count(&self, truth: &mut Truth) { list(self.capacity(), self.as_bytes().iter(), truth, 1) }
}
impl Count for Box<str> {
    fn count(&self, truth: &mut Truth) { list(self.len(), self.as_bytes().iter(), truth, 1) }
}
/// The buffer, its capacity in bytes and what is left of it.
struct Rest<T> { all: std::vec::IntoIter<T>, capacity: usize }
impl<T: Count> Count for Rest<T> {
    fn count(&self, truth: &mut Truth) { list(self.capacity, self.all.as_slice().iter(), truth, size_of::<T>()) }
}
fn table(room: usize, items: usize, size: usize, truth: &mut Truth) {
    if room > 0 {
        let buckets = if room < 8 { room + 1 } else { room * 8 / 7 };
        truth.tables += 1;
        truth.table_unused += (buckets - items) * size;
    }
}
impl<K: Count, V: Count> Count for HashMap<K, V> {
    fn count(&self, truth: &mut Truth) {
        table(self.capacity(), self.len(), size_of::<(K, V)>(), truth);
        self.iter().for_each(|(key, value)| { key.count(truth); value.count(truth) });
    }
}
impl<K: Count> Count for HashSet<K> {
    fn count(&self, truth: &mut Truth) {
        table(self.capacity(), self.len(), size_of::<K>(), truth);
        self.iter().for_each(|key| key.count(truth));
    }
}
impl<K: Count, V: Count> Count for BTreeMap<K, V> {
    fn count(&self, truth: &mut Truth) {
        truth.node_entries += self.len();
        truth.node_entry_bytes += self.len() * (size_of::<K>() + size_of::<V>());
        self.iter().for_each(|(key, value)| { key.count(truth); value.count(truth) });
    }
}
impl<K: Count> Count for BTreeSet<K> {
    fn count(&self, truth: &mut Truth) {
        truth.node_entries += self.len();
        truth.node_entry_bytes += self.len() * size_of::<K>();
        self.iter().for_each(|key| key.count(truth));
    }
}
impl<T: Count> Count for LinkedList<T> {
    fn count(&self, truth: &mut Truth) {
        truth.others += self.len();
        self.iter().for_each(|one| one.count(truth));
    }
}
impl<T: Count> Count for Box<T> {
    fn count(&self, truth: &mut Truth) { truth.others += 1; (**self).count(truth) }
}
impl<T: Count> Count for Option<T> {
    fn count(&self, truth: &mut Truth) { self.iter().for_each(|one| one.count(truth)) }
}
impl<T: Count, E: Count> Count for Result<T, E> {
    fn count(&self, truth: &mut Truth) {
        match self { Ok(value) => value.count(truth), Err(error) => error.count(truth) }
    }
}
impl<T: Count, const N: usize> Count for [T; N] {
    fn count(&self, truth: &mut Truth) { self.iter().for_each(|one| one.count(truth)) }
}
impl Count for Cow<'static, str> {
    fn count(&self, truth: &mut Truth) { if let Cow::Owned(text) = self { text.count(truth) } }
}
impl<T: Count> Count for RefCell<T> { fn count(&self, truth: &mut Truth) { self.borrow().count(truth) } }
impl<T: Count> Count for Mutex<T> { fn count(&self, truth: &mut Truth) { self.lock().unwrap().count(truth) } }
/// A shared value has one counting holder.
struct Shared<T: ?Sized>(T);
impl<T: Count> Count for Shared<Rc<T>> {
    fn count(&self, truth: &mut Truth) { truth.others += 1; (*self.0).count(truth) }
}
impl<T: Count> Count for Shared<Arc<[T]>> {
    fn count(&self, truth: &mut Truth) { truth.others += 1; self.0.iter().for_each(|one| one.count(truth)) }
}
impl Count for Arc<str> { fn count(&self, truth: &mut Truth) { truth.others += 1 } }

#[derive(Debug)]
struct Product { id: u32, name: String, note: Option<String>, sizes: Vec<u16>, attributes: HashMap<String, String> }
impl Count for Product {
    fn count(&self, truth: &mut Truth) {
        assert!(self.id < u32::MAX);
        (&self.name, &self.note, &self.sizes, &self.attributes).0.count(truth);
        self.note.count(truth);
        self.sizes.count(truth);
        self.attributes.count(truth);
    }
}

enum Value { Null, Number(u64), Text(String), List(Vec<Value>), Object(BTreeMap<String, Value>), Boxed(Box<Value>), Large([u64; 12]) }
impl Count for Value {
    fn count(&self, truth: &mut Truth) {
        match self {
            Value::Null => {}
            Value::Number(number) => number.count(truth),
            Value::Text(text) => text.count(truth),
            Value::List(all) => all.count(truth),
            Value::Object(all) => all.count(truth),
            Value::Boxed(one) => one.count(truth),
            Value::Large(all) => all.count(truth),
        }
    }
}

trait Handler { fn total(&self) -> usize; fn parts(&self, truth: &mut Truth); }
struct Sum { texts: Vec<String>, at: Cell<u32> }
struct Zip { left: BTreeMap<u16, Box<u64>>, right: Box<[u8]> }
impl Handler for Sum {
    fn total(&self) -> usize { self.texts.len() + self.at.get() as usize }
    fn parts(&self, truth: &mut Truth) { self.texts.count(truth) }
}
impl Handler for Zip {
    fn total(&self) -> usize { self.left.len() + self.right.len() }
    fn parts(&self, truth: &mut Truth) { self.left.count(truth); self.right.count(truth) }
}
impl Count for Box<dyn Handler> {
    fn count(&self, truth: &mut Truth) { truth.others += 1; assert!(self.total() < 1 << 30); self.parts(truth) }
}
impl Count for Rc<dyn Handler> {
    fn count(&self, truth: &mut Truth) { truth.others += 1; self.parts(truth) }
}

struct Item { name: String, parent: RefCell<rc::Weak<Item>>, children: RefCell<Vec<Rc<Item>>> }
impl Count for Item {
    fn count(&self, truth: &mut Truth) {
        self.name.count(truth);
        let children = self.children.borrow();
        list(children.capacity(), [(); 0].iter().take(0), truth, 0);
        if children.capacity() > 0 {
            truth.lists += 1;
            truth.unused += (children.capacity() - children.len()) * 8;
        }
        for child in children.iter() { assert!(child.parent.borrow().upgrade().is_some()); truth.others += 1; child.count(truth) }
    }
}

/// Reachable from nothing but itself.
struct Ring { next: RefCell<Option<Rc<Ring>>>, text: String, list: Vec<Box<u32>> }

enum Slot { Full(Rc<Ring>, u64), Empty }
/// Things that held rings, and still have the pointers in places that nobody uses.
struct Stale { list: Vec<Rc<Ring>>, deque: VecDeque<Rc<Ring>>, slots: Vec<Slot>, tree: BTreeMap<u32, Rc<Ring>> }

type Task = Pin<Box<dyn Future<Output = usize>>>;

struct World {
    products: Vec<Product>,
    by_name: HashMap<String, Vec<u32>>,
    tags: HashSet<Box<str>>,
    tree: BTreeMap<u32, String>,
    names: BTreeSet<String>,
    queue: VecDeque<Option<Box<Product>>>,
    heap: BinaryHeap<u64>,
    chain: LinkedList<String>,
    boxes: Vec<Option<Box<[u64; 3]>>>,
    texts: Vec<Arc<str>>,
    slices: Vec<Box<[String]>>,
    shared: Vec<Shared<Arc<[String]>>>,
    cells: Vec<Shared<Rc<RefCell<Vec<String>>>>>,
    handlers: Vec<Box<dyn Handler>>,
    shared_handlers: Vec<Rc<dyn Handler>>,
    values: Vec<Value>,
    nested: Vec<Option<Option<String>>>,
    results: Vec<Result<String, Box<u64>>>,
    cows: Vec<Cow<'static, str>>,
    mutexes: Vec<Mutex<String>>,
    arrays: Vec<[Option<Box<u32>>; 3]>,
    rests: Vec<Rest<String>>,
    items: Vec<Rc<Item>>,
    borrowed: Vec<&'static str>,
    stale: Stale,
    tasks: Vec<Task>,
}

static SHOP: Mutex<Option<World>> = Mutex::new(None);
static CONFIG: OnceLock<HashMap<String, Vec<String>>> = OnceLock::new();
thread_local! {
    static LOCAL: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}
unsafe impl Send for World {}

struct Random(u64);
impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most.max(1)
    }
    fn text(&mut self) -> String {
        let mut text = String::with_capacity(self.below(60));
        for _ in 0..self.below(40) { text.push((b'a' + self.below(26) as u8) as char) }
        text
    }
    fn many<T>(&mut self, most: usize, mut one: impl FnMut(&mut Random) -> T) -> Vec<T> {
        let mut all = Vec::with_capacity(self.below(most + 1));
        for _ in 0..self.below(most + 1) { all.push(one(self)) }
        // What lies behind the length is stale.
        for _ in 0..self.below(3) { all.pop(); }
        all
    }
    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth > 5 { 4 } else { 8 }) {
            0 => Value::Null,
            1 => Value::Number(7),
            2 => Value::Text(self.text()),
            3 => Value::Large([1; 12]),
            4 => Value::Boxed(Box::new(self.value(depth + 1))),
            5 => Value::List(self.many(6, |random| random.value(depth + 1))),
            _ => Value::Object((0..self.below(25)).map(|at| (format!("k{at}"), self.value(depth + 2))).collect()),
        }
    }
    fn product(&mut self) -> Product {
        let attributes = (0..self.below(12)).map(|_| (self.text(), self.text())).collect();
        let mut product = Product { id: 7, name: self.text(), note: Some(self.text()), sizes: self.many(9, |_| 1), attributes };
        if self.below(2) == 0 { product.note = None }
        product
    }
    fn ring(&mut self) -> Rc<Ring> {
        let mut ring = || Rc::new(Ring { next: RefCell::default(), text: String::from("ring"), list: vec![Box::new(1)] });
        let all = [ring(), ring(), ring()];
        for at in 0..3 { *all[at].next.borrow_mut() = Some(all[(at + 1) % 3].clone()) }
        assert!(all[0].text.len() + all[0].list.len() > 0);
        all[self.below(3)].clone()
    }
    fn item(&mut self, parent: rc::Weak<Item>, depth: usize) -> Rc<Item> {
        let item = Rc::new(Item { name: self.text(), parent: RefCell::new(parent), children: RefCell::default() });
        let count = if depth < 3 { self.below(4) } else { 0 };
        let children = (0..count).map(|_| self.item(Rc::downgrade(&item), depth + 1)).collect();
        *item.children.borrow_mut() = children;
        item
    }
    fn handler<T: ?Sized>(&mut self, sum: impl Fn(Sum) -> T, zip: impl Fn(Zip) -> T) -> T where T: Sized {
        if self.below(2) == 0 {
            sum(Sum { texts: self.many(4, Random::text), at: Cell::new(1) })
        } else {
            zip(Zip { left: (0..self.below(30)).map(|at| (at as u16, Box::new(1))).collect(), right: self.many(9, |_| 1).into() })
        }
    }
}

/// Pending once.
struct Later(bool);
impl Future for Later {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}
async fn inner(text: String) -> usize {
    Later(false).await; // inner
    text.len()
}
async fn worker(count: usize, list: Vec<String>) -> usize {
    let buffer = [count as u8; 2000];
    let text = String::with_capacity(64);
    let first = inner(format!("{count}")).await; // first
    drop(list);
    let more = vec![text.clone(); 3];
    Later(false).await; // second
    first + more.len() + usize::from(buffer[count % 2000]) + text.len()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let size: usize = arguments[2].parse().unwrap();
    let mut random = Random(88172645463325252);
    let _ = LOCAL.with(|local| local.borrow().len());
    println!("program {}", arguments.len());
    let before = watch::LIVE.load(Relaxed);
    let mut world = World {
        products: (0..size).map(|_| random.product()).collect(),
        by_name: (0..size).map(|_| (random.text(), random.many(5, |_| 1))).collect(),
        tags: (0..size).map(|_| random.text().into_boxed_str()).collect(),
        tree: (0..size).map(|at| (at as u32 * 7919 % 10007, random.text())).collect(),
        names: (0..size).map(|_| random.text()).collect(),
        queue: VecDeque::new(),
        heap: (0..size as u64).collect(),
        chain: (0..size).map(|_| random.text()).collect(),
        boxes: (0..size).map(|at| (at % 3 > 0).then(|| Box::new([1; 3]))).collect(),
        texts: (0..size).map(|_| random.text().into()).collect(),
        slices: (0..size).map(|_| random.many(5, Random::text).into()).collect(),
        shared: (0..size).map(|_| Shared(random.many(5, Random::text).into())).collect(),
        cells: (0..size).map(|_| Shared(Rc::new(RefCell::new(random.many(5, Random::text))))).collect(),
        handlers: (0..size).map(|_| random.handler(|sum| Box::new(sum) as Box<dyn Handler>, |zip| Box::new(zip) as Box<dyn Handler>)).collect(),
        shared_handlers: (0..size).map(|_| random.handler(|sum| Rc::new(sum) as Rc<dyn Handler>, |zip| Rc::new(zip) as Rc<dyn Handler>)).collect(),
        values: (0..size).map(|_| random.value(0)).collect(),
        nested: (0..size).map(|at| match at % 3 { 0 => None, 1 => Some(None), _ => Some(Some(random.text())) }).collect(),
        results: (0..size).map(|at| if at % 2 == 0 { Ok(random.text()) } else { Err(Box::new(3)) }).collect(),
        cows: (0..size).map(|at| if at % 2 == 0 { Cow::Borrowed("text") } else { Cow::Owned(random.text()) }).collect(),
        mutexes: (0..size).map(|_| Mutex::new(random.text())).collect(),
        arrays: (0..size).map(|at| [0, 1, 2].map(|index| (at % 3 != index).then(|| Box::new(1)))).collect(),
        rests: (0..size).map(|_| {
            let all = random.many(9, Random::text);
            let capacity = all.capacity();
            let mut all = all.into_iter();
            for _ in 0..random.below(3) { all.next(); }
            Rest { all, capacity }
        }).collect(),
        items: (0..size / 4).map(|_| random.item(rc::Weak::new(), 0)).collect(),
        borrowed: Vec::new(),
        stale: Stale { list: Vec::new(), deque: VecDeque::new(), slots: Vec::new(), tree: BTreeMap::new() },
        tasks: Vec::new(),
    };
    for _ in 0..size {
        world.queue.push_back((random.below(4) > 0).then(|| Box::new(random.product())));
        if random.below(2) == 0 { world.queue.pop_front(); }
    }
    for at in 0..size as u32 { if at % 3 == 0 { world.tree.remove(&at); } }
    for product in &world.products {
        world.borrowed.push(unsafe { std::mem::transmute::<&str, &'static str>(&product.name[..]) });
    }
    // Rings, most of which are only in places that nobody uses.
    let rings = size / 2;
    let stale = &mut world.stale;
    for at in 0..rings {
        let ring = random.ring();
        match at % 4 {
            0 => stale.list.push(ring),
            1 => stale.deque.push_back(ring),
            2 => stale.slots.push(Slot::Full(ring, 1)),
            _ => { stale.tree.insert(at as u32, ring); }
        }
    }
    stale.list.clear();
    for _ in 0..stale.deque.len() { stale.deque.pop_front(); }
    for slot in &mut stale.slots { assert!(!matches!(slot, Slot::Full(_, 2))); *slot = Slot::Empty }
    let keys: Vec<u32> = stale.tree.keys().copied().collect();
    for key in keys { stale.tree.remove(&key); }
    let waker = Waker::noop();
    let mut context = Context::from_waker(waker);
    let (mut first, mut second) = (0, 0);
    for at in 0..size {
        let mut task: Task = Box::pin(worker(at, vec![String::from("list")]));
        assert!(task.as_mut().poll(&mut context).is_pending());
        if at % 3 == 0 { assert!(task.as_mut().poll(&mut context).is_pending()); second += 1 } else { first += 1 }
        world.tasks.push(task);
    }
    let mut truth = Truth::default();
    let World {
        products, by_name, tags, tree, names, queue, heap, chain, boxes, texts, slices, shared, cells, handlers,
        shared_handlers, values, nested, results, cows, mutexes, arrays, rests, items, borrowed, stale, tasks,
    } = &world;
    products.count(&mut truth);
    by_name.count(&mut truth);
    tags.count(&mut truth);
    tree.count(&mut truth);
    names.count(&mut truth);
    queue.count(&mut truth);
    heap.count(&mut truth);
    chain.count(&mut truth);
    boxes.count(&mut truth);
    texts.count(&mut truth);
    slices.count(&mut truth);
    shared.count(&mut truth);
    cells.count(&mut truth);
    handlers.count(&mut truth);
    shared_handlers.count(&mut truth);
    values.count(&mut truth);
    nested.count(&mut truth);
    results.count(&mut truth);
    cows.count(&mut truth);
    mutexes.count(&mut truth);
    arrays.count(&mut truth);
    rests.count(&mut truth);
    borrowed.count(&mut truth);
    truth.lists += [items.capacity(), stale.list.capacity(), stale.deque.capacity(), stale.slots.capacity(), tasks.capacity()]
        .iter().filter(|capacity| **capacity > 0).count();
    truth.unused += (items.capacity() - items.len()) * 8 + stale.list.capacity() * 8 + stale.deque.capacity() * 8
        + (stale.slots.capacity() - stale.slots.len()) * size_of::<Slot>() + (tasks.capacity() - tasks.len()) * 16;
    for item in items { truth.others += 1; item.count(&mut truth) }
    // In the first state a task has its text, the argument of `inner` and a list of one; in the second
    // its text, and a list of three empty ones.
    let texts_of_inner: usize = (0..first + second).filter(|at| at % 3 != 0).count();
    truth.others += tasks.len();
    truth.lists += tasks.len() + 3 * texts_of_inner + second;
    truth.unused += 64 * tasks.len();
    let inner_unused: usize = (0..tasks.len()).filter(|at| at % 3 != 0).map(|at| {
        let text = format!("{at}");
        text.capacity() - text.len()
    }).sum();
    truth.unused += inner_unused;
    CONFIG.get_or_init(|| (0..20).map(|at| (format!("key {at}"), vec![String::from("a"); 2])).collect());
    CONFIG.get().unwrap().count(&mut truth);
    LOCAL.with(|local| {
        local.borrow_mut().push(String::from("local"));
        local.borrow().count(&mut truth);
    });
    *SHOP.lock().unwrap() = Some(world);
    let live = watch::LIVE.load(Relaxed) - before;
    // Each ring is a shared value with a text, a list and a box.
    let unreachable = rings * 3 * 4;
    println!("lists {}", truth.lists);
    println!("unused {}", truth.unused);
    println!("tables {}", truth.tables);
    println!("table_unused {}", truth.table_unused);
    println!("node_entry_bytes {}", truth.node_entry_bytes);
    println!("nodes {}", live - unreachable - truth.lists - truth.tables - truth.others);
    println!("others {}", truth.others);
    println!("live {live}");
    println!("unreachable {unreachable}");
    println!("rings {rings}");
    println!("first {first}");
    println!("second {second}");
    watch::dump(&arguments[1]);
}

//! Values whose holders are easily missed: fields of packed structs, values that hold themselves,
//! boxed slices in tuples, slots of a queue that are empty again, pointers with a tag that are kept
//! as numbers, and values that may change while they are shared. Writes its memory to a file.
//! Arguments: the file, the number of values of each.

mod watch;

use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::mem::{MaybeUninit, forget};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

#[global_allocator]
static WATCH: watch::Watch = watch::Watch;

#[repr(C, packed)]
pub struct Packed {
    tag: u8,
    boxed: Box<[u8; 1000]>,
    list: Vec<u16>,
}

pub struct Itself {
    me: RefCell<Option<Rc<Itself>>>,
    pad: [u64; 20],
}

pub struct Closure {
    me: RefCell<Option<Rc<dyn Any>>>,
    pad: [u64; 30],
}

/// It knows itself without holding itself.
pub struct Aware {
    me: Weak<Aware>,
    pad: [u64; 40],
}

/// As in the crate `crossbeam-queue`.
pub mod seg_queue {
    use super::*;
    pub struct Slot<T> {
        pub value: UnsafeCell<MaybeUninit<T>>,
        pub state: AtomicUsize,
    }
}

/// Changed by code that shares it.
pub struct Session {
    hits: AtomicU64,
    pad: [u64; 50],
}
pub struct Counted {
    seen: Cell<u64>,
    pad: [u64; 52],
}
pub struct Outer {
    inner: Box<Mutex<u64>>,
    pad: [u64; 54],
}
/// Changed by nobody.
pub struct Fixed {
    name: Option<Box<u64>>,
    pad: [u64; 56],
}

/// Known to a table that holds none of them.
pub struct Viewer {
    name: Box<u64>,
    pad: [u64; 58],
}

/// A pointer in a number, with a mark in its low bits.
pub struct Tagged {
    number: AtomicUsize,
}

type Slots = Vec<seg_queue::Slot<String>>;
struct Shared<T>(T);
// SAFETY: there is one thread.
unsafe impl<T> Sync for Shared<T> {}
unsafe impl<T> Send for Shared<T> {}

static PACKED: Mutex<Vec<Packed>> = Mutex::new(Vec::new());
static SLICES: Mutex<Vec<(Box<[u32]>, u32)>> = Mutex::new(Vec::new());
static SLOTS: Shared<RefCell<Slots>> = Shared(RefCell::new(Vec::new()));
static TAKEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
static SESSIONS: Mutex<Vec<Arc<Session>>> = Mutex::new(Vec::new());
static COUNTED: Shared<RefCell<Vec<Rc<Counted>>>> = Shared(RefCell::new(Vec::new()));
static OUTER: Mutex<Vec<Arc<Outer>>> = Mutex::new(Vec::new());
static FIXED: Mutex<Vec<Arc<Fixed>>> = Mutex::new(Vec::new());
static VIEWERS: Mutex<Vec<std::sync::Weak<Viewer>>> = Mutex::new(Vec::new());
static DYNAMIC: Mutex<Vec<std::sync::Weak<dyn Any + Send + Sync>>> = Mutex::new(Vec::new());
static LISTS: Mutex<Vec<std::sync::Weak<[u64]>>> = Mutex::new(Vec::new());
static STAY: Mutex<Vec<Arc<Viewer>>> = Mutex::new(Vec::new());
static TAGGED: Mutex<Vec<Tagged>> = Mutex::new(Vec::new());

#[inline(never)]
fn leak(count: u64) {
    for _ in 0..count {
        let one = Rc::new(Itself { me: RefCell::new(None), pad: [1; 20] });
        *one.me.borrow_mut() = Some(Rc::clone(&one));
        let one = Rc::new(Closure { me: RefCell::new(None), pad: [1; 30] });
        *one.me.borrow_mut() = Some(one.clone());
        forget(Rc::new_cyclic(|me| Aware { me: me.clone(), pad: [1; 40] }));
    }
}

/// Every other text is taken out again; its words stay in the slot.
fn fill_slots(count: u64) {
    let mut slots = SLOTS.0.borrow_mut();
    for number in 0..count {
        let text = "x".repeat(3000);
        let mut slot = seg_queue::Slot { value: UnsafeCell::new(MaybeUninit::new(text)), state: 1.into() };
        if number % 2 == 0 {
            // SAFETY: it was just written, and its state says that it is taken.
            TAKEN.lock().unwrap().push(unsafe { slot.value.get_mut().assume_init_read() });
            *slot.state.get_mut() |= 2;
        }
        slots.push(slot);
    }
}

/// Every third viewer stays. All others are dropped, and are still in the tables.
fn come_and_go(count: u64) {
    for number in 0..count {
        let viewer = Arc::new(Viewer { name: Box::new(number), pad: [6; 58] });
        VIEWERS.lock().unwrap().push(Arc::downgrade(&viewer));
        if number % 3 == 0 {
            STAY.lock().unwrap().push(viewer);
        }
        let dynamic: Arc<dyn Any + Send + Sync> = Arc::new([number; 60]);
        DYNAMIC.lock().unwrap().push(Arc::downgrade(&dynamic));
        let list: Arc<[u64]> = Arc::from(vec![number; 67]);
        LISTS.lock().unwrap().push(Arc::downgrade(&list));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: u64 = arguments[2].parse().unwrap();
    for number in 0..count {
        let list = (0..500).collect();
        let packed = Packed { tag: number as u8, boxed: Box::new([7; 1000]), list };
        PACKED.lock().unwrap().push(packed);
        let length = 700 + 3 * number as usize;
        SLICES.lock().unwrap().push((vec![number as u32; length].into(), 7));
        SESSIONS.lock().unwrap().push(Arc::new(Session { hits: AtomicU64::new(0), pad: [5; 50] }));
        COUNTED.0.borrow_mut().push(Rc::new(Counted { seen: Cell::new(0), pad: [5; 52] }));
        OUTER.lock().unwrap().push(Arc::new(Outer { inner: Box::new(Mutex::new(0)), pad: [5; 54] }));
        FIXED.lock().unwrap().push(Arc::new(Fixed { name: Some(Box::new(77)), pad: [5; 56] }));
    }
    for number in 0..count {
        let pointer = Box::into_raw(Box::new([9_u64; 60]));
        let number = AtomicUsize::new(pointer as usize | number as usize % 8);
        TAGGED.lock().unwrap().push(Tagged { number });
    }
    fill_slots(count);
    come_and_go(count);
    leak(count);
    println!("itself {}", size_of::<Itself>() + 16);
    println!("closure {}", size_of::<Closure>() + 16);
    println!("aware {}", size_of::<Aware>() + 16);
    println!("session {}", size_of::<Session>() + 16);
    println!("counted {}", size_of::<Counted>() + 16);
    println!("outer {}", size_of::<Outer>() + 16);
    println!("viewer {}", size_of::<Viewer>() + 16);
    println!("dynamic {}", 60 * 8 + 16);
    println!("counted_list {}", 67 * 8 + 16);
    println!("fixed {}", size_of::<Fixed>() + 16);
    watch::dump(&arguments[1]);
    let packed = PACKED.lock().unwrap();
    let used = packed.iter().map(|packed| packed.tag as usize + packed.boxed.len());
    std::hint::black_box((used.sum::<usize>(), &packed[0].tag));
    for packed in &*packed {
        let list = &raw const packed.list;
        // SAFETY: it is a list of numbers, which is not dropped.
        std::hint::black_box(unsafe { list.read_unaligned().leak() });
    }
    let tagged = TAGGED.lock().unwrap();
    let tags = tagged.iter().map(|tagged| tagged.number.load(std::sync::atomic::Ordering::Relaxed) % 8);
    std::hint::black_box(tags.sum::<usize>());
    std::hint::black_box((&SLICES, &SESSIONS, &OUTER, &FIXED, &TAKEN));
    std::hint::black_box((&VIEWERS, &DYNAMIC, &LISTS, &STAY));
    std::hint::black_box((SLOTS.0.borrow().as_ptr(), COUNTED.0.borrow().as_ptr()));
}

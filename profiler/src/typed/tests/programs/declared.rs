//! Lists in a container of the program's own. Writes its memory to a file.
//! Arguments: the file, the number of pools.

mod watch;

use std::alloc::{Layout, alloc};
use std::sync::Mutex;

#[global_allocator]
static WATCH: watch::Watch = watch::Watch;

pub mod own {
    pub struct Pool<T> {
        pub first: *mut T,
        pub room: usize,
        pub used: usize,
        pub made: u32,
    }
    // SAFETY: a pool owns its values.
    unsafe impl<T: Send> Send for Pool<T> {}
}

const ROOM: usize = 100;

static POOLS: Mutex<Vec<own::Pool<Box<u64>>>> = Mutex::new(Vec::new());

fn pool(number: usize) -> own::Pool<Box<u64>> {
    let used = number % ROOM;
    // SAFETY: the layout is not empty.
    let first: *mut Box<u64> = unsafe { alloc(Layout::array::<Box<u64>>(ROOM).unwrap()) }.cast();
    // Addresses of live blocks lie beyond the length too.
    for at in 0..ROOM {
        // SAFETY: the block has room for all.
        unsafe { first.add(at).write(Box::new(at as u64)) };
    }
    for at in used..ROOM {
        // SAFETY: it was written above, and is never used again.
        drop(unsafe { first.add(at).read() });
    }
    own::Pool { first, room: ROOM, used, made: number as u32 }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let size: usize = arguments[2].parse().unwrap();
    *POOLS.lock().unwrap() = (0..size).map(pool).collect();
    let used: u64 = POOLS.lock().unwrap().iter().map(|pool| pool.used as u64).sum();
    println!("used {used}\nunused {}", (size as u64 * ROOM as u64 - used) * 8);
    watch::dump(&arguments[1]);
    for pool in &*POOLS.lock().unwrap() {
        std::hint::black_box((pool.first, pool.room, pool.used, pool.made));
    }
}

//! Each worker keeps a thread-local scratch buffer; one large request on each makes all large.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;

thread_local! { static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) }; }
fn render(size: usize) -> usize {
    SCRATCH.with(|s| {
        let mut s = s.borrow_mut();
        s.clear();
        s.resize(size, 1);
        s.iter().map(|b| *b as usize).sum()
    })
}
fn main() {
    let (done, all) = mpsc::channel();
    let workers: Vec<_> = (0..24)
        .map(|w| {
            let (tx, rx) = mpsc::channel::<usize>();
            let done = done.clone();
            thread::Builder::new()
                .name(format!("worker-{w}"))
                .spawn(move || {
                    for size in rx {
                        done.send(render(size)).unwrap()
                    }
                })
                .unwrap();
            tx
        })
        .collect();
    for r in 0..50 {
        for (i, w) in workers.iter().enumerate() {
            w.send(if r == i { 3_000_000 } else { 2000 }).unwrap()
        }
    }
    println!(
        "{}",
        (0..50 * 24).map(|_| all.recv().unwrap()).sum::<usize>()
    );
    std::process::exit(0);
}

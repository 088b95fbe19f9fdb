//! A lease of memory is turned into a number and forgotten; what it shares is forgotten with it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Budget {
    name: String,
    used: AtomicUsize,
    history: Vec<u64>,
}
struct Lease {
    budget: Arc<Budget>,
    size: usize,
}
impl Lease {
    fn into_size(self) -> usize {
        let n = self.size;
        std::mem::forget(self);
        n
    }
}
impl Drop for Lease {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.size, Ordering::Relaxed);
    }
}
fn open(invocation: u64) -> Arc<Budget> {
    Arc::new(Budget {
        name: format!("invocation-{invocation}"),
        used: AtomicUsize::new(0),
        history: vec![invocation; 60],
    })
}
fn lease(b: &Arc<Budget>, size: usize) -> Lease {
    b.used.fetch_add(size, Ordering::Relaxed);
    Lease {
        budget: b.clone(),
        size,
    }
}
fn invoke(n: u64) -> usize {
    let budget = open(n);
    let keep = lease(&budget, 100);
    let moved = lease(&budget, 40 + n as usize % 9).into_size();
    keep.budget.history.len() + moved + budget.name.len()
}
fn main() {
    let mut sum = 0;
    for n in 0..60_000 {
        sum += invoke(n);
        if n % 300 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(7))
        }
    }
    println!("{sum}");
}

//! Workers create messages, and the main thread receives and drops them: tests the rows of threads.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use std::sync::mpsc::sync_channel;

fn main() {
    let (tx, rx) = sync_channel::<Vec<u8>>(4);
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let tx = tx.clone();
            std::thread::Builder::new()
                .name("maker".into())
                .spawn(move || {
                    for i in 0..2000usize {
                        tx.send(vec![i as u8; 10_000]).unwrap()
                    }
                })
                .unwrap()
        })
        .collect();
    drop(tx);
    let n: usize = rx.iter().map(|v| v.len()).sum();
    for w in workers {
        w.join().unwrap()
    }
    println!("{n}");
}

//! Pool threads take turns at one large job each and keep a few blocks of it: every thread's malloc
//! arena stays large.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

#[expect(
    clippy::vec_box,
    reason = "each block is the report's: an allocation of its own"
)]
fn job(number: usize) -> Vec<Box<[u8; 200]>> {
    let all: Vec<Box<[u8; 200]>> = (0..60_000)
        .map(|index| Box::new([(index + number) as u8; 200]))
        .collect();
    let kept = all.into_iter().enumerate();
    kept.filter(|(index, _)| index % 1500 == 1499)
        .map(|(_, block)| block)
        .collect()
}

fn main() {
    let mut kept = Vec::new();
    let workers: Vec<_> = (0..12)
        .map(|worker| {
            let (jobs, of_worker) = mpsc::channel::<usize>();
            let (done, results) = mpsc::channel();
            thread::Builder::new()
                .name(format!("pool-{worker}"))
                .spawn(move || {
                    for number in of_worker {
                        done.send(job(number)).expect("the main thread waits");
                    }
                })
                .expect("a thread");
            (jobs, results)
        })
        .collect();
    for (number, (jobs, results)) in workers.iter().enumerate() {
        jobs.send(number).expect("the worker waits");
        kept.extend(results.recv().expect("a result"));
    }
    thread::sleep(Duration::from_millis(300));
    let bytes: usize = kept.iter().map(|block| block.len()).sum();
    println!("{} blocks kept, {bytes} bytes", kept.len());
    std::process::exit(0);
}

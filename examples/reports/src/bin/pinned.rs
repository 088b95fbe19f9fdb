//! Of 200 MB of small blocks every hundredth is kept, so that nearly all pages stay.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    let all: Vec<Box<[u8; 100]>> = (0..2_000_000).map(|i| Box::new([i as u8; 100])).collect();
    let kept: Vec<Box<[u8; 100]>> = all
        .into_iter()
        .enumerate()
        .filter(|(i, _)| i % 100 == 0)
        .map(|(_, b)| b)
        .collect::<Vec<_>>();
    for i in 0..300 {
        std::hint::black_box(vec![0u8; 1000 + i]);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    println!("{}", kept.len());
    std::process::exit(0);
}

//! Holds many boxes, of 24 bytes or, with the argument `before`, of 25. It holds them over the
//! system's allocator until its input ends.

use std::hint::black_box;
use std::io::Read;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

const BOXES: usize = 20_000;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("before") {
        hold(boxes::<25>());
    } else {
        hold(boxes::<24>());
    }
}

#[inline(never)]
fn boxes<const BYTES: usize>() -> Vec<Box<[u8; BYTES]>> {
    (0..BOXES).map(|at| Box::new([at as u8; BYTES])).collect()
}

fn hold<T>(data: T) {
    let end = std::thread::spawn(|| {
        // An error is an end too.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    });
    println!("ready");
    while !end.is_finished() {
        // Large enough that the recorder looks for a request.
        black_box(vec![7_u8; 1 << 16]);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    black_box(&data);
}

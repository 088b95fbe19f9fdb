//! Holds many boxes, of 24 bytes or, with the argument `before`, of 25. It holds them over the
//! system's allocator until its input ends.

use heapglass_examples::cases::hold;

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

//! A cache keeps a short key sliced out of each network buffer.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use bytes::{Bytes, BytesMut};
use std::collections::HashMap;

fn receive(n: u32) -> Bytes {
    let mut b = BytesMut::with_capacity(32 * 1024);
    b.extend_from_slice(format!("key-{n:08}").as_bytes());
    b.resize(20_000, b'x');
    b.freeze()
}
fn parse_key(frame: &Bytes) -> Bytes {
    frame.slice(0..12)
}
fn index(n: u32) -> HashMap<Bytes, u32> {
    let mut seen = HashMap::new();
    for i in 0..n {
        let frame = receive(i);
        if i % 4 == 0 {
            seen.insert(parse_key(&frame), i);
        }
    }
    seen
}
fn main() {
    let seen = index(8000);
    println!(
        "{} keys of {} bytes",
        seen.len(),
        seen.keys().map(Bytes::len).sum::<usize>()
    );
    // The cache is live at the end.
    std::process::exit(0);
}

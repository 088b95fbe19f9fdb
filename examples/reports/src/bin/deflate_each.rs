//! Every connection has its own compressor and decompressor, made when it opens.

use flate2::{Compress, Compression, Decompress, FlushCompress};
use std::collections::HashMap;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Connection {
    out: Compress,
    input: Decompress,
    sent: u64,
}
fn open() -> Connection {
    Connection {
        out: Compress::new(Compression::default(), false),
        input: Decompress::new(false),
        sent: 0,
    }
}
fn send(c: &mut Connection, text: &str, buf: &mut [u8]) {
    c.out
        .compress(text.as_bytes(), buf, FlushCompress::Sync)
        .unwrap();
    c.sent = c.out.total_out();
}
fn main() {
    let mut open_connections = HashMap::new();
    let mut buf = vec![0; 4096];
    for i in 0..600u64 {
        let mut c = open();
        send(&mut c, &format!("{{\"hello\":{i}}}"), &mut buf);
        open_connections.insert(i, c);
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    println!(
        "{}",
        open_connections
            .values()
            .map(|c| c.sent + c.input.total_in())
            .sum::<u64>()
    );
}

//! Long-lived connections; each once got one large message, and small ones since.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{DuplexStream, duplex};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Peer {
    total: u64,
}
async fn peer(stream: DuplexStream) -> u64 {
    let mut io = Framed::new(stream, LengthDelimitedCodec::new());
    let mut p = Peer { total: 0 };
    while let Some(Ok(message)) = io.next().await {
        p.total += message.len() as u64
    }
    p.total
}
async fn run(n: usize) -> u64 {
    let mut tasks = Vec::new();
    let mut clients = Vec::new();
    for _ in 0..n {
        let (a, b) = duplex(16 * 1024);
        tasks.push(tokio::spawn(peer(b)));
        clients.push(Framed::new(a, LengthDelimitedCodec::new()));
    }
    for c in &mut clients {
        c.send(Bytes::from(vec![7; 300_000])).await.unwrap()
    }
    for round in 0..20u8 {
        for c in &mut clients {
            c.send(Bytes::from(vec![round; 40])).await.unwrap()
        }
    }
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    drop(clients);
    let mut sum = 0;
    for t in tasks {
        sum += t.await.unwrap()
    }
    sum
}
fn main() {
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    println!("{}", rt.block_on(run(300)));
}

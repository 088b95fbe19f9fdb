//! Hundreds of thousands of connections with an unbounded channel each; one had a short backlog
//! once.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Msg = [u8; 256];
struct Peer {
    tx: UnboundedSender<Msg>,
    rx: UnboundedReceiver<Msg>,
}
fn connect() -> Peer {
    let (tx, rx) = unbounded_channel();
    Peer { tx, rx }
}
fn backlog(p: &mut Peer, n: usize) {
    for i in 0..n {
        p.tx.send([i as u8; 256]).unwrap()
    }
    while p.rx.try_recv().is_ok() {}
}
fn main() {
    let mut peers: Vec<Peer> = (0..3000).map(|_| connect()).collect();
    for p in &mut peers {
        backlog(p, 200)
    }
    println!("{}", peers.len());
    std::process::exit(0);
}

//! Each connection is one task; one branch of the handler keeps a scratch buffer in its future
//! across an await. Its remedy has no buffer any more before the await.
//!
//! It is a package of its own, because locals of futures need `debug = 2`.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

async fn read_frame(n: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(1)).await;
    n
}
async fn parse_upload(n: u64) -> u64 {
    let mut scratch = [0u8; 12 * 1024];
    scratch[(n % 1000) as usize] = 1;
    let m = read_frame(n).await;
    scratch.iter().map(|b| *b as u64).sum::<u64>() + m
}
async fn parse_small_upload(n: u64) -> u64 {
    let sum = {
        let mut scratch = [0u8; 12 * 1024];
        scratch[(n % 1000) as usize] = 1;
        scratch.iter().map(|b| *b as u64).sum::<u64>()
    };
    sum + read_frame(n).await
}
async fn ping(n: u64) -> u64 {
    read_frame(n).await
}
async fn handle(n: u64, stop: Arc<Notify>) -> u64 {
    let first = if n.is_multiple_of(100) {
        parse_upload(n).await
    } else {
        ping(n).await
    };
    stop.notified().await;
    first
}
async fn handle_small(n: u64, stop: Arc<Notify>) -> u64 {
    let first = if n.is_multiple_of(100) {
        parse_small_upload(n).await
    } else {
        ping(n).await
    };
    stop.notified().await;
    first
}
async fn serve<F>(clients: u64, handle: fn(u64, Arc<Notify>) -> F) -> u64
where
    F: Future<Output = u64> + Send + 'static,
{
    let stop = Arc::new(Notify::new());
    let tasks: Vec<_> = (0..clients)
        .map(|n| tokio::spawn(handle(n, stop.clone())))
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    // The first fall from the peak, while all clients wait.
    drop(std::hint::black_box(vec![0u8; 256 << 10]));
    let waker = stop.clone();
    let w = tokio::spawn(async move {
        loop {
            waker.notify_waiters();
            tokio::time::sleep(Duration::from_millis(5)).await
        }
    });
    let mut sum = 0;
    for t in tasks {
        sum += t.await.unwrap()
    }
    w.abort();
    sum
}
/// Serves 4,000 clients, with the fault or with its remedy.
pub fn run(has_remedy: bool) {
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let sum = if has_remedy {
        rt.block_on(serve(4000, handle_small))
    } else {
        rt.block_on(serve(4000, handle))
    };
    println!("{sum}");
}

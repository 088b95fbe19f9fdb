//! A server puts each request's task into a `JoinSet`, and joins only when it stops. The argument
//! is the number of requests.

use std::time::Duration;
use tokio::task::JoinSet;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Reply {
    body: Vec<u8>,
    status: u16,
}

async fn request(number: u64) -> Reply {
    tokio::task::yield_now().await;
    Reply {
        body: vec![number as u8; 300],
        status: 200,
    }
}

async fn serve(requests: u64) -> u64 {
    let mut set = JoinSet::new();
    for number in 0..requests {
        set.spawn(request(number));
        if number % 500 == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let mut sum = 0;
    while let Some(reply) = set.join_next().await {
        let reply = reply.expect("no task panics");
        sum += reply.body.len() as u64 + u64::from(reply.status);
    }
    sum
}

fn main() {
    let requests = std::env::args().nth(1);
    let requests = requests.map_or(50_000, |number| number.parse().expect("a number"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    println!("{}", runtime.block_on(serve(requests)));
}

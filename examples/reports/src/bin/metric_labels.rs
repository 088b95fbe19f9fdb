//! A counter is labelled with the raw path of each request.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use std::time::Duration;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    method: String,
    path: String,
    status: u16,
}
struct App {
    requests: Family<Labels, Counter>,
    cache: Vec<String>,
}
fn handle(app: &mut App, n: u64) -> usize {
    let path = format!("/user/{}/order/{n}", n % 977);
    app.requests
        .get_or_create(&Labels {
            method: "GET".into(),
            path: path.clone(),
            status: 200,
        })
        .inc();
    let body = format!("order {n} {}", "x".repeat((n % 500) as usize));
    app.cache[(n % 64) as usize] = body;
    path.len()
}
fn main() {
    let mut registry = Registry::default();
    let mut app = App {
        requests: Family::default(),
        cache: vec![String::new(); 64],
    };
    registry.register("requests", "Requests", app.requests.clone());
    let mut sum = 0;
    for n in 0..60_000 {
        sum += handle(&mut app, n);
        if n % 300 == 0 {
            std::thread::sleep(Duration::from_millis(8))
        }
    }
    println!("{sum}");
}

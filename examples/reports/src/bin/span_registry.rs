//! A subscriber that is a bare registry never removes closed spans. The argument is the number of
//! requests.

use tracing::{Span, info_span};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn request(number: u64) -> u64 {
    let span: Span = info_span!("request", id = number, path = "/items");
    let _guard = span.enter();
    lookup(number)
}

fn lookup(number: u64) -> u64 {
    let span = info_span!("lookup", number);
    span.in_scope(|| number.wrapping_mul(31))
}

fn main() {
    let requests = std::env::args().nth(1);
    let requests = requests.map_or(200_000, |number| number.parse().expect("a number"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry()).expect("the first");
    let sums = (0..requests).map(request);
    println!("{}", sums.fold(0, u64::wrapping_add));
}

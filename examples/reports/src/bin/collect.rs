//! A list of texts is filled to the end: there is nothing to find but its growth.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    let v: Vec<String> = (0..1_000_000)
        .map(|i| format!("item {i} of a list that is full at the end"))
        .collect();
    println!("{} of {}", v.len(), v.capacity());
}

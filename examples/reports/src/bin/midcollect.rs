//! A list is filled by `collect`, and a snapshot falls into the middle.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Row {
    header: [u8; 4096],
    name: String,
}
fn row(i: usize) -> Row {
    std::thread::sleep(std::time::Duration::from_millis(8));
    Row {
        header: [i as u8; 4096],
        name: format!("row {i} {}", "x".repeat(i * 40)),
    }
}
fn main() {
    let v: Vec<Row> = (0..400).map(row).collect();
    println!(
        "{} rows of {} places; {}",
        v.len(),
        v.capacity(),
        v.iter()
            .map(|r| r.name.len() + r.header[7] as usize)
            .sum::<usize>()
    );
}

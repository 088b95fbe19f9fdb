//! Collects all records of a table as StringRecord, to sort them by one column.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use std::fmt::Write;

fn table(n: usize) -> String {
    let mut s = String::from("id,name,qty\n");
    for i in 0..n {
        writeln!(s, "{},n{},{}", (i * 7919) % n, i % 50, i % 9).unwrap()
    }
    s
}
fn load(text: &str) -> Vec<csv::StringRecord> {
    let mut r = csv::Reader::from_reader(text.as_bytes());
    r.records().map(|r| r.unwrap()).collect()
}
fn sort(mut rows: Vec<csv::StringRecord>) -> Vec<csv::StringRecord> {
    rows.sort_by_key(|r| r[0].parse::<u64>().unwrap());
    rows
}
fn main() {
    let text = table(150_000);
    let rows = sort(load(&text));
    println!(
        "{} rows from {} bytes, first {:?}",
        rows.len(),
        text.len(),
        &rows[0]
    );
}

//! A validator collects one anyhow error for each bad row. With backtraces on, each holds its own.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use anyhow::{Context, Result, bail};

fn check(n: u64) -> Result<u64> {
    if n % 2 == 1 {
        bail!("odd value {n}")
    }
    Ok(n)
}
fn row(n: u64) -> Result<u64> {
    check(n).with_context(|| format!("row {n}"))
}
fn validate(n: u64) -> Vec<anyhow::Error> {
    (0..n).filter_map(|i| row(i).err()).collect()
}
fn main() {
    let e = validate(40_000);
    println!("{} errors, last {}", e.len(), e.last().unwrap());
}

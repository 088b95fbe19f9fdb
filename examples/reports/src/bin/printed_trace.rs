//! Prints the backtrace of one error: std then reads and keeps the symbols of the whole program.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use anyhow::{Result, bail};

fn check(n: u64) -> Result<u64> {
    if n % 2 == 1 {
        bail!("odd value {n}")
    }
    Ok(n)
}
fn report(error: &anyhow::Error) -> usize {
    format!("{error:?}").len()
}
fn main() {
    let error = check(1).expect_err("odd");
    println!("{} bytes", report(&error));
}

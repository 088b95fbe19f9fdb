//! `shop CATALOG.json [--profiled]`

use std::error::Error;
use std::fs;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let path = words
        .next()
        .ok_or("usage: shop CATALOG.json [--profiled]")?;
    let text = fs::read_to_string(path)?;
    let catalog = match words.next().as_deref() {
        Some("--profiled") => shop::parse_profiled(&text)?,
        _ => shop::parse(&text)?,
    };
    println!(
        "{} products worth {:.2}, {} stars, {} of oak",
        catalog.products.len(),
        catalog.worth(),
        catalog.stars(),
        catalog.saying("oak")
    );
    Ok(())
}

//! A web shop's loader, in two builds. With the feature `changed`, one function copies data that it
//! only read before.

use std::collections::BTreeMap;

use serde::Deserialize;
use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

#[derive(Deserialize)]
struct Product {
    sku: String,
    tags: Vec<String>,
}

#[inline(never)]
fn parse(text: &str) -> Vec<Product> {
    serde_json::from_str(text).expect("JSON")
}

#[inline(never)]
fn by_tag(products: &[Product]) -> BTreeMap<&str, Vec<&Product>> {
    let mut found: BTreeMap<&str, Vec<&Product>> = BTreeMap::new();
    for product in products {
        for tag in &product.tags {
            found.entry(tag).or_default().push(product);
        }
    }
    found
}

#[cfg(not(feature = "changed"))]
#[inline(never)]
fn longest(products: &[Product]) -> usize {
    products.iter().map(|one| one.sku.len()).max().unwrap_or(0)
}

#[cfg(feature = "changed")]
#[inline(never)]
fn longest(products: &[Product]) -> usize {
    let names: Vec<String> = products.iter().map(|one| one.sku.to_uppercase()).collect();
    std::hint::black_box(&names);
    names.iter().map(String::len).max().unwrap_or(0)
}

#[inline(never)]
fn labels(products: &[Product]) -> Vec<String> {
    let label = |one: &Product| format!("{} ({})", one.sku, one.tags.len());
    let labels = products.iter().map(label).collect();
    // Work after the call. Otherwise it is a tail call in some builds, and this function is not on
    // the stack.
    std::hint::black_box(labels)
}

fn main() {
    let product = r#"{"sku": "kettle-0042", "tags": ["kitchen", "steel"]}"#;
    let text = format!("[{}]", vec![product; 500].join(", "));
    let products = parse(&text);
    let (tags, longest) = (by_tag(&products), longest(&products));
    let labels = labels(&products);
    println!("{} {longest} {}", tags.len(), labels.len());
}

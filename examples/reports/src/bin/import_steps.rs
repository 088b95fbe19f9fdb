//! An import has four steps; what each step made lives to the end of the function.

use serde_json::Value;
use std::fmt::Write;
use std::io::Read;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Row {
    id: u64,
    name: String,
    severity: f64,
}
fn packed(n: usize) -> Vec<u8> {
    let mut s = String::from("[");
    for i in 0..n {
        if i > 0 {
            s.push(',')
        }
        write!(
            s,
            r#"{{"id":{i},"name":"ADV-{i}","severity":{}.5,"text":"{}"}}"#,
            i % 10,
            "lorem ipsum dolor ".repeat(8)
        )
        .unwrap()
    }
    s.push(']');
    let mut z = flate2::read::DeflateEncoder::new(s.as_bytes(), flate2::Compression::fast());
    let mut out = Vec::new();
    z.read_to_end(&mut out).unwrap();
    out
}
fn inflate(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::DeflateDecoder::new(bytes)
        .read_to_end(&mut out)
        .unwrap();
    out
}
fn rows(doc: &Value) -> Vec<Row> {
    doc.as_array()
        .unwrap()
        .iter()
        .map(|v| Row {
            id: v["id"].as_u64().unwrap(),
            name: v["name"].as_str().unwrap().to_string(),
            severity: v["severity"].as_f64().unwrap(),
        })
        .collect()
}
fn import(bytes: Vec<u8>) -> usize {
    let plain = inflate(&bytes);
    let text = String::from_utf8(plain.clone()).unwrap();
    let doc: Value = serde_json::from_str(&text).unwrap();
    let rows = rows(&doc);
    std::thread::sleep(std::time::Duration::from_millis(100));
    rows.iter()
        .map(|r| r.id as usize + r.name.len() + r.severity as usize)
        .sum::<usize>()
        + plain.len()
}
fn main() {
    println!("{}", import(packed(60_000)))
}

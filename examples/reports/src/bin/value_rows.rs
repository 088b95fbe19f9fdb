//! A document store keeps what it parsed as serde_json::Value, and a second copy made by to_value.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

#[derive(Serialize)]
struct Sample {
    timestamp: u64,
    sensor_name: String,
    reading: f64,
    quality: u8,
    unit: String,
    flags: Vec<u8>,
}

fn input(rows: usize) -> String {
    let mut s = String::from("[");
    for i in 0..rows {
        if i > 0 {
            s.push(',')
        }
        write!(s, r#"{{"timestamp":{},"sensor_name":"s-{}","reading":{}.5,"quality":{},"unit":"celsius","flags":[1,2,3]}}"#,
            1_700_000_000 + i, i % 97, i, i % 5).unwrap();
    }
    s.push(']');
    s
}
fn load(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
fn snapshot(rows: usize) -> Vec<Value> {
    (0..rows)
        .map(|i| {
            serde_json::to_value(Sample {
                timestamp: i as u64,
                sensor_name: format!("s-{}", i % 97),
                reading: i as f64,
                quality: 1,
                unit: "celsius".into(),
                flags: vec![1, 2, 3],
            })
            .unwrap()
        })
        .collect()
}
fn main() {
    let text = input(30_000);
    let doc = load(&text);
    let copy = snapshot(10_000);
    println!(
        "{} {} {}",
        text.len(),
        doc.as_array().unwrap().len(),
        copy.len()
    );
}

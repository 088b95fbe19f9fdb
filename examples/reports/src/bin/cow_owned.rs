//! Fields are Cow<str> to borrow from the text, and yet all are owned.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use serde::Deserialize;
use std::borrow::Cow;
use std::fmt::Write;

#[derive(Deserialize)]
struct Line<'a> {
    host: Cow<'a, str>,
    #[serde(borrow)]
    path: Cow<'a, str>,
    agent: Cow<'a, str>,
    tags: Vec<Cow<'a, str>>,
}
fn log(n: usize) -> String {
    let mut s = String::from("[");
    for i in 0..n {
        if i > 0 {
            s.push(',')
        }
        write!(s, r#"{{"host":"host-{}.example","path":"/a/b/c/{i}","agent":"Mozilla/5.0 (X11; Linux) {}","tags":["t1","t2"]}}"#, i % 20, i % 7).unwrap()
    }
    s + "]"
}
fn read(text: &str) -> Vec<Line<'_>> {
    serde_json::from_str(text).unwrap()
}
fn main() {
    let text = log(60_000);
    let lines = read(&text);
    println!(
        "{} {}",
        lines.len(),
        lines
            .iter()
            .map(|l| l.host.len() + l.path.len() + l.agent.len() + l.tags.len())
            .sum::<usize>()
    );
}

//! A rule engine compiles one regex per rule and matches on many threads.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use regex::Regex;
use std::sync::{Arc, Barrier};

struct Rule {
    name: String,
    re: Regex,
}
fn compile(n: usize) -> Vec<Rule> {
    (0..n)
        .map(|i| Rule {
            name: format!("rule-{i}"),
            re: Regex::new(&format!(
                r"(?i)\buser{i}[\w.]{{2,30}}@(\w+\.)+(com|org|net{i})\b"
            ))
            .unwrap(),
        })
        .collect()
}
fn scan(rules: &[Rule], text: &str) -> usize {
    rules
        .iter()
        .filter(|r| r.re.find_iter(text).count() > 0 && !r.name.is_empty())
        .count()
}
fn main() {
    let rules = Arc::new(compile(40));
    let text: Arc<String> = Arc::new(
        (0..120)
            .map(|i| format!("x user{i}.name.of.somebody@mail{i}.example.com y "))
            .collect(),
    );
    let gate = Arc::new(Barrier::new(3));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (rules, text, gate) = (rules.clone(), text.clone(), gate.clone());
            std::thread::spawn(move || {
                gate.wait();
                scan(&rules, &text)
            })
        })
        .collect();
    println!(
        "{}",
        threads
            .into_iter()
            .map(|t| t.join().unwrap())
            .sum::<usize>()
    );
}

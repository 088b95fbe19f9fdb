//! Situations that must not make an event much slower than it is elsewhere, as ratios: medians of
//! runs in turn.
//!
//! `cargo cliffs`; `-- --runs N` changes how often (9), `-- --program PATH`
//! measures another build of the program `cliffs`.

mod common;

use common::median;
use std::process::Command;

/// A situation, what it is compared with, the title, and the ratio that we hold ourselves to.
const RATIOS: [(&str, &str, &str, f64); 8] = [
    ("stats", "small", "stats() before the recording", 1.3),
    ("steady", "small", "a load that stays at its maximum", 1.3),
    ("elsewhere", "small", "another thread inside measure()", 1.3),
    ("last 300", "small", "the 301st live thread", 3.0),
    ("last 599", "small", "the 600th live thread", 3.0),
    ("last 2200", "small", "the 2,201st live thread", 5.0),
    (
        "large 2",
        "large",
        "40 KiB events beside 2 idle threads",
        2.0,
    ),
    (
        "large 200",
        "large",
        "40 KiB events beside 200 idle threads",
        2.0,
    ),
];

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let runs = common::runs(&words, 9);
    let program =
        common::after(&words, "--program").map_or(env!("CARGO_BIN_EXE_cliffs"), String::as_str);
    let mut situations: Vec<(&str, Vec<f64>)> = Vec::new();
    for (situation, base, ..) in RATIOS {
        for name in [base, situation] {
            if situations.iter().all(|(known, _)| *known != name) {
                situations.push((name, Vec::new()));
            }
        }
    }
    for _ in 0..runs {
        for (situation, samples) in &mut situations {
            samples.push(measure(program, situation));
        }
    }
    let of = |name: &str| {
        let found = situations.iter().find(|(known, _)| *known == name);
        found.map_or(f64::NAN, |(_, samples)| median(samples.iter().copied()))
    };
    println!(
        "{:<42} {:>9} {:>9} {:>7}",
        "situation", "ns", "base ns", "ratio"
    );
    for (situation, base, title, most) in RATIOS {
        let (ns, base) = (of(situation), of(base));
        println!(
            "{title:<42} {ns:>9.1} {base:>9.1} {:>6.2}x (at most {most:.1}x)",
            ns / base
        );
    }
}

/// Nanoseconds per event of one run.
fn measure(program: &str, situation: &str) -> f64 {
    let output = Command::new(program)
        .args(situation.split(' '))
        .env_remove("HEAPGLASS_OUT")
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{situation}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("a number")
}

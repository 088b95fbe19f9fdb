//! The work: the same process is measured with and without a recording that samples.

use std::hint::black_box;
use std::time::Instant;

/// Allocates 1,600 blocks, frees half of them from the front and the rest from the back.
fn churn(rounds: usize) -> usize {
    for _ in 0..rounds {
        let mut list: Vec<Vec<u8>> = Vec::with_capacity(1600);
        for index in 0..1600 {
            list.push(black_box(Vec::with_capacity([16, 64, 256][index % 3])));
        }
        list.drain(..800).for_each(drop);
        while list.pop().is_some() {}
    }
    rounds * 3202
}

/// Parses and drops a document as a tree of values.
fn json(rounds: usize) -> usize {
    let item = r#"{"id":12345,"name":"a name of some length","tags":["one","two","three"],"at":[1.5,2.5]}"#;
    let text = format!("[{}]", vec![item; 200].join(","));
    for _ in 0..rounds {
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        drop(black_box(value));
    }
    rounds * 200 * 2 * 13
}

/// Does work of some size, and returns the number of events.
type Work = fn(usize) -> usize;

fn cpu_ns() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: a place for the result, all of whose bytes may be zero.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// Runs one workload once if its name is the first argument and prints its CPU time in ns an event.
/// Otherwise runs every workload in turn with and without samples, in processes of their own, and
/// prints the medians.
pub(crate) fn main() {
    let works: [(&str, Work, usize); 2] = [("churn", churn, 2_000), ("json", json, 1_500)];
    let wanted = std::env::args().nth(1);
    if let Some((_, work, rounds)) = works.iter().find(|work| Some(work.0) == wanted.as_deref()) {
        work(rounds / 20);
        let before = cpu_ns();
        let events = work(*rounds);
        println!("{}", (cpu_ns() - before) / events as f64);
        return;
    }
    let runs = wanted.and_then(|runs| runs.parse().ok()).unwrap_or(15);
    let program = std::env::current_exe().expect("this program");
    let out = std::env::temp_dir().join(format!("sample-cost-{}.hg", std::process::id()));
    let begun = Instant::now();
    for (name, ..) in works {
        // Without a recording, with samples, and with counts too.
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..runs {
            for (kind, times) in times.iter_mut().enumerate() {
                let mut command = std::process::Command::new(&program);
                command.arg(name).env_remove("HEAPGLASS_OUT");
                if kind > 0 {
                    let _ = std::fs::remove_file(&out);
                    command.env("HEAPGLASS_OUT", &out);
                    command.env("HEAPGLASS_MODE", "sample");
                    command.env("HEAPGLASS_SAMPLE_COUNTS", (kind - 1).to_string());
                }
                let output = command.output().expect("it runs");
                let text = String::from_utf8_lossy(&output.stdout);
                times.push(text.trim().parse::<f64>().expect("a time"));
            }
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let [off, on, counts] = times.each_mut().map(median);
        println!(
            "{name}: off {off:.2} ns an event, samples {on:.2} ({:.3}), with counts {counts:.2} ({:.3})",
            on / off,
            counts / off
        );
    }
    let _ = std::fs::remove_file(&out);
    println!("{:.0} s", begun.elapsed().as_secs_f64());
}

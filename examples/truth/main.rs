//! Random programs whose truth is known, and a judge of what snapshots and advice say about them.
//!
//! `cargo run --package heapglass-examples --bin truth -- 1 10`; `README.md` has the rest.

mod judge;
mod leaks;
mod program;
mod shapes;
mod silence;

use judge::{Judge, LEVELS};
use program::{Generator, Program};
use std::process::ExitCode;

const USAGE: &str = "\
usage: truth [FROM TO] [--level full|limited|lines] [--generator ordinary|wide] [--jobs N]
       truth silence [KIND] [--level full|limited|lines] [--jobs N]
       truth print GENERATOR SEED | truth print silence KIND NUMBER";

fn main() -> ExitCode {
    match work(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("truth: {error}");
            ExitCode::from(2)
        }
    }
}

/// Does what the words ask for. Returns `true` if all verdicts are right.
fn work(words: &[String]) -> Result<bool, String> {
    let mut plain = Vec::new();
    let (mut levels, mut generators) = (LEVELS.to_vec(), Generator::ALL.to_vec());
    let mut jobs = std::thread::available_parallelism().map_or(1, |jobs| jobs.get());
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let mut value = || {
            rest.next()
                .ok_or_else(|| format!("{word} needs a value\n{USAGE}"))
        };
        match word {
            "--level" => {
                let name = value()?;
                levels.retain(|level| level.name == name);
            }
            "--generator" => {
                let name = value()?;
                generators.retain(|generator| generator.name() == name);
            }
            "--jobs" => jobs = value()?.parse().map_err(|_| USAGE.to_owned())?,
            _ => plain.push(word),
        }
    }
    if levels.is_empty() || generators.is_empty() {
        return Err(USAGE.to_owned());
    }
    let number = |word: &str| word.parse::<u64>().map_err(|_| USAGE.to_owned());
    match plain[..] {
        ["print", "silence", kind, at] => {
            let all = silence::programs(Some(kind));
            let program = all.get(number(at)? as usize).ok_or(USAGE)?;
            println!("{}", program.source);
            Ok(true)
        }
        ["print", name, seed] => {
            let generator = Generator::ALL.into_iter().find(|each| each.name() == name);
            let program = Program::new(generator.ok_or(USAGE)?, number(seed)?);
            println!("{}", program.source);
            Ok(true)
        }
        ["silence", ref kind @ ..] if kind.len() < 2 => {
            let programs = silence::programs(kind.first().copied());
            if programs.is_empty() {
                return Err(format!("there is no such kind: {kind:?}\n{USAGE}"));
            }
            Ok(Judge::new(jobs)?.silence(&programs, &levels))
        }
        [] => Ok(Judge::new(jobs)?.random(&generators, 1, 10, &levels)),
        [from, to] => {
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(USAGE.to_owned());
            }
            Ok(Judge::new(jobs)?.random(&generators, from, to, &levels))
        }
        _ => Err(USAGE.to_owned()),
    }
}

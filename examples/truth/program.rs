//! Random programs, with what is true of them.

use crate::leaks::{self, Leak};
use crate::shapes::{self, Make, Shape};
use heapglass_examples::data::Random;
use std::fmt::Write;

/// The source of a program, and its truth: everything that it allocates is held until its end,
/// except for `leak`, and is full, except for `unused` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) shapes: Vec<&'static str>,
    pub(crate) leak: Option<Leak>,
    pub(crate) unused: usize,
    pub(crate) has_thread_locals: bool,
    /// Kinds of findings that are true of it.
    pub(crate) kinds: Vec<&'static str>,
}

/// The two generators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generator {
    /// Three to seven of the containers of every first program, in locals of `main`.
    Ordinary,
    /// All shapes, held in different places, with a leak in every second program.
    Wide,
}

impl Generator {
    pub(crate) const ALL: [Generator; 2] = [Generator::Ordinary, Generator::Wide];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Generator::Ordinary => "ordinary",
            Generator::Wide => "wide",
        }
    }
}

/// The place where a program holds its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Locals of `main`.
    Locals,
    /// Locals of `main`, each made by a function of its own.
    Functions,
    /// A struct in a local of `main`, which another function works on.
    Struct,
    /// The same in a box.
    Boxed,
    /// Locals of a thread with a name.
    Thread,
}

/// Kinds that are true of every program: the loop below makes a buffer and drops it.
const TRUE: [&str; 3] = ["temporary", "allocator_rounding", "freed_together"];

pub(crate) const HEADER: &str = "#![allow(warnings)]
use std::borrow::Cow; use std::cell::{Cell, RefCell}; use std::collections::*; use std::future::Future; use std::hint::black_box;
use std::pin::Pin; use std::rc::{Rc, Weak}; use std::sync::{Arc, LazyLock, Mutex, OnceLock, RwLock, mpsc}; use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker}; use std::time::{Duration, Instant};

/// A text of exactly `length` bytes, different for each pair of numbers.
fn text(kind: usize, number: usize, length: usize) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(length);
    write!(text, \"{kind:>0$}\", 10).unwrap();
    write!(text, \"{number:>0$}\", length - 10).unwrap();
    text
}

/// The milliseconds that the program runs.
fn runs() -> Duration { Duration::from_millis(std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1000)) }
";

impl Program {
    pub(crate) fn new(generator: Generator, seed: u64) -> Program {
        let mut random = Random::new(seed);
        let random = &mut random;
        // The first numbers of neighbouring seeds are alike.
        (0..8).for_each(|_| _ = random.bits());
        match generator {
            Generator::Ordinary => {
                let all: Vec<Make> = (0..3 + random.below(5))
                    .map(|_| shapes::ORDINARY[random.below(shapes::ORDINARY.len())])
                    .collect();
                Program::of(format!("ordinary {seed}"), random, &all, Held::Locals, None)
            }
            Generator::Wide => {
                let all: Vec<Make> = (0..3 + random.below(5))
                    .map(|_| {
                        let among = shapes::ORDINARY.len() / 3 + shapes::WIDE.len();
                        let at = random.below(among);
                        shapes::WIDE.get(at).copied().unwrap_or_else(|| {
                            shapes::ORDINARY[random.below(shapes::ORDINARY.len())]
                        })
                    })
                    .collect();
                let held = [
                    Held::Locals,
                    Held::Functions,
                    Held::Struct,
                    Held::Boxed,
                    Held::Thread,
                ];
                let held = held[random.below(held.len())];
                let leak = seed.is_multiple_of(2).then(|| Leak::any(random));
                Program::of(format!("wide {seed}"), random, &all, held, leak)
            }
        }
    }

    fn of(
        name: String,
        random: &mut Random,
        all: &[Make],
        held: Held,
        leak: Option<Leak>,
    ) -> Program {
        let shapes: Vec<Shape> = all
            .iter()
            .zip(1..)
            .map(|(make, at)| make(random, at))
            .collect();
        let mut source = format!("// {name}, held in {held:?}\n{HEADER}\n");
        for shape in &shapes {
            source += &shape.items;
            source += "\n";
        }
        if let Some(leak) = &leak {
            source += &leak.items;
        }
        let mut uses = Vec::new();
        for (at, shape) in (1..).zip(&shapes) {
            let place = match held {
                Held::Struct | Held::Boxed => format!("state.v{at}"),
                _ => format!("v{at}"),
            };
            // Without a use, only the end of the program needs the variable.
            if let Some(text) = shape.uses.get(random.below(shape.uses.len() + 1)) {
                uses.push(text.replace("$v", &place));
            }
        }
        let size = [16, 64, 100, 200, 333][random.below(5)];
        let mut turns = String::new();
        let _ = writeln!(
            turns,
            "    let (mut acc, mut turn, begin, time) = (0usize, 0u64, Instant::now(), runs());
    while begin.elapsed() < time {{
        for _ in 0..300 {{ drop(black_box(vec![1u8; {size}])); }}
        turn += 1;"
        );
        for text in &uses {
            let _ = writeln!(turns, "        {text}");
        }
        turns += "        std::thread::sleep(Duration::from_millis(5));\n    }\n    black_box((acc, turn));\n";
        let lose = leak.as_ref().map_or(String::new(), |leak| {
            format!(
                "    for i in 0..{} {{ {}(black_box(i)); }}\n",
                leak.calls,
                leaks::FUNCTION
            )
        });
        let numbered = || (1..).zip(&shapes);
        match held {
            Held::Locals | Held::Thread => {
                source += "fn work() {\n";
                for (at, shape) in numbered() {
                    let _ = writeln!(source, "    let mut v{at}: {} = {};", shape.of, shape.make);
                }
                source += &(lose + &turns);
                for (at, _) in numbered() {
                    let _ = match random.below(3) {
                        0 => writeln!(source, "    drop(v{at});"),
                        1 => writeln!(source, "    black_box(&v{at});"),
                        // The end of the function drops it.
                        _ => Ok(()),
                    };
                }
                source += "}\n";
                source += match held {
                    Held::Thread => {
                        "fn main() { std::thread::Builder::new().name(\"busy\".into()).spawn(work).unwrap().join().unwrap(); }\n"
                    }
                    _ => "fn main() { work(); }\n",
                };
            }
            Held::Functions => {
                for (at, shape) in numbered() {
                    let _ = writeln!(
                        source,
                        "#[inline(never)] fn make{at}() -> {} {{ {} }}",
                        shape.of, shape.make
                    );
                }
                source += "fn main() {\n";
                for (at, _) in numbered() {
                    let _ = writeln!(source, "    let mut v{at} = make{at}();");
                }
                source += &(lose + &turns);
                for (at, _) in numbered() {
                    let _ = writeln!(source, "    black_box(&v{at});");
                }
                source += "}\n";
            }
            Held::Struct | Held::Boxed => {
                source += "struct State {\n";
                for (at, shape) in numbered() {
                    let _ = writeln!(source, "    v{at}: {},", shape.of);
                }
                source += "}\n#[inline(never)] fn run(state: &mut State) {\n";
                source += &turns;
                source += "}\nfn main() {\n    let mut state = ";
                source += if held == Held::Boxed {
                    "Box::new(State {\n"
                } else {
                    "State {\n"
                };
                for (at, shape) in numbered() {
                    let _ = writeln!(source, "        v{at}: {},", shape.make);
                }
                source += if held == Held::Boxed {
                    "    });\n"
                } else {
                    "    };\n"
                };
                source += &lose;
                source += "    run(black_box(&mut state));\n}\n";
            }
        }
        let kinds = TRUE
            .into_iter()
            .chain(shapes.iter().flat_map(|shape| shape.kinds.iter().copied()));
        Program {
            name,
            source,
            shapes: shapes.iter().map(|shape| shape.name).collect(),
            unused: shapes.iter().map(|shape| shape.unused).sum(),
            has_thread_locals: shapes.iter().any(|shape| shape.is_thread_local),
            kinds: kinds.collect(),
            leak,
        }
    }
}

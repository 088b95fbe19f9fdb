//! 0.21: zero-copy keeps its buffer alive: the bytes of the input compared with the bytes
//! referenced.

use super::people::{self, PEOPLE, Person};
use crate::{Case, Judged, Variant, Window};

/// One person in this many is kept.
const ONE_IN: usize = 100;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.21",
    system: "zero-copy keeps its buffer alive",
    headline: "zero-copy makes no sense where a buffer of 100 MB is kept to avoid copies of 1 MB",
    variants: &[
        Variant::new("owned", |window| {
            let bytes = input(window);
            window.work(|| {
                let input = bytes.clone();
                let kept: Vec<String> = kept(&input).map(str::to_owned).collect();
                kept
            });
        }),
        Variant::new("borrowed", |window| {
            let bytes = input(window);
            let mut referenced = 0;
            window.work(|| {
                let held = Held::new(bytes.clone());
                referenced = held.names.iter().map(|name| name.len()).sum();
                held
            });
            window.note("bytes held by the input", bytes.len() as f64);
            window.note("bytes referenced", referenced as f64);
        }),
    ],
    judge: |found| {
        let of = |name| found.of("borrowed", name);
        let list = of("live_bytes") - of("bytes held by the input");
        let holds = list >= 0.0 && found.of("owned", "live_bytes") < of("live_bytes") / 10.0;
        let why = format!(
            "borrowing {:.0} bytes of names holds {:.0} bytes of input, {:.0} times as much; owned, everything retained \
             is {:.0} bytes",
            of("bytes referenced"),
            of("bytes held by the input"),
            of("bytes held by the input") / of("bytes referenced"),
            found.of("owned", "live_bytes"),
        );
        Judged::facts(holds, why)
    },
};

fn input(window: &mut Window) -> Vec<u8> {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    bytes
}

/// Returns the last names of one person in a hundred.
fn kept(input: &[u8]) -> impl Iterator<Item = &str> {
    let people: Vec<Person<&str>> = people::decoded(input);
    people
        .into_iter()
        .step_by(ONE_IN)
        .map(|person| person.last_name)
}

/// Names together with the input that contains them.
struct Held {
    /// The first field, so that it is dropped before the input that it points into.
    names: Vec<&'static str>,
    _input: Box<[u8]>,
}

impl Held {
    fn new(input: Vec<u8>) -> Self {
        let input = input.into_boxed_slice();
        let names = kept(&input)
            // SAFETY: the names lie in the box's memory. That memory is neither changed nor moved
            // nor given out of `Held`, and it is dropped after the names. `names` never leaves this
            // file.
            .map(|name| unsafe { std::mem::transmute::<&str, &'static str>(name) })
            .collect();
        Held {
            names,
            _input: input,
        }
    }
}

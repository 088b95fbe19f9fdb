//! 3.16: errors as places that allocate: a text, a box, or a value.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use std::fmt;
use std::hint::black_box;
use std::io;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.16",
    system: "error types: enum, String, Box<dyn Error>, io::Error, serde_json::Error",
    headline: "where you're allocating in your apps: error types (no figure)",
    variants: &[
        Variant::new("enum", |window| each(window, |at| Err::<(), _>(Enum(at)))),
        Variant::new("String", |window| {
            each(window, |at| Err::<(), _>(format!("no record {at}")))
        }),
        Variant::new("Box<dyn Error> of an enum", |window| {
            each(window, |at| {
                Err::<(), Box<dyn std::error::Error>>(Box::new(Enum(at)))
            })
        }),
        Variant::new("Box<dyn Error> of a text", |window| {
            each(window, |_| {
                Err::<(), Box<dyn std::error::Error>>("no record".into())
            })
        }),
        Variant::new("io::Error of a kind", |window| {
            each(window, |_| {
                Err::<(), _>(io::Error::from(io::ErrorKind::NotFound))
            })
        }),
        Variant::new("io::Error with a text", |window| {
            each(window, |_| {
                Err::<(), _>(io::Error::new(io::ErrorKind::NotFound, "no record"))
            })
        }),
        Variant::new("serde_json::Error", |window| {
            each(window, |_| serde_json::from_str::<u32>(black_box("x")))
        }),
    ],
    judge: |found| {
        let blocks =
            |variant: &str| found.of(variant, "total_blocks") / found.of(variant, "records");
        let holds = PREDICTED
            .iter()
            .all(|(variant, predicted)| blocks(variant) == *predicted);
        let each = PREDICTED.map(|(variant, _)| format!("{variant} {:.0}", blocks(variant)));
        let why = format!(
            "blocks an error, which is dropped at once: {}. An error with a text in an io::Error takes {} as long as an enum",
            each.join(", "),
            times(found.times("io::Error with a text", "enum")),
        );
        Judged::facts(holds, why)
    },
};

/// The blocks of each error. A text in a `dyn Error` is a `String` and the box of its type; an
/// `io::Error` with it is a third block.
const PREDICTED: [(&str, f64); 7] = [
    ("enum", 0.0),
    ("String", 1.0),
    ("Box<dyn Error> of an enum", 1.0),
    ("Box<dyn Error> of a text", 2.0),
    ("io::Error of a kind", 0.0),
    ("io::Error with a text", 3.0),
    ("serde_json::Error", 1.0),
];

const ERRORS: usize = 10_000;

/// An error without a block of its own.
#[derive(Debug)]
struct Enum(usize);

impl fmt::Display for Enum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no record {}", self.0)
    }
}

impl std::error::Error for Enum {}

/// Makes and drops one error after another.
fn each<T, E>(window: &mut Window, fails: impl Fn(usize) -> Result<T, E>) {
    let errors = window.scaled(ERRORS);
    window.input(0, errors);
    window.work(|| {
        for at in 0..errors {
            drop(black_box(fails(black_box(at))));
        }
    });
}

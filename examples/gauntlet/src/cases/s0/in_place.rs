//! 0.17: `deserialize_in_place`: the second pass reuses the allocations of the first.

use super::people;
use super::times;
use crate::{Case, Claim, Judged, Variant, Window};
use serde::{Deserialize, Serialize};
use tracking_alloc::Profiled;

/// Number of records in a full run.
const RECORDS: usize = 1_000;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.17",
    system: "deserialize_in_place (serde_derive's feature): what a second pass allocates",
    headline: "reading into what is there is twice as fast under the system's allocator, about 10 % faster under mimalloc; it \
               emits twice as much code",
    variants: &[
        Variant::new("pass 1", anew).under("glibc"),
        Variant::new("pass 2, in place", in_place).under("glibc"),
        Variant::new("pass 1, mimalloc", anew).under("mimalloc"),
        Variant::new("pass 2, in place, mimalloc", in_place).under("mimalloc"),
        // The code of both includes that of preparing the input.
        Variant::new(PREPARED, |window| {
            let bytes = records(window);
            window.work(|| bytes.len());
        })
        .under("glibc"),
    ],
    judge: |found| {
        let records = found.of("pass 1", "records");
        let blocks = |variant| found.of(variant, "total_blocks");
        let holds = blocks("pass 1") == records + 1.0
            && blocks("pass 1, mimalloc") == records + 1.0
            && blocks("pass 2, in place") == 0.0
            && blocks("pass 2, in place, mimalloc") == 0.0;
        // The second pass reads into what `Deserialize` has read, so it reaches both.
        let code = |variant| found.of(variant, "code_bytes") - found.of(PREPARED, "code_bytes");
        let why = format!(
            "pass 1 allocates {:.0} blocks, pass 2 in place none; anew takes {} as long under glibc, {} under mimalloc",
            blocks("pass 1"),
            times(found.times("pass 1", "pass 2, in place")),
            times(found.times("pass 1, mimalloc", "pass 2, in place, mimalloc")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times(
                    "times as long anew as in place, under the system's allocator",
                    2.0,
                ),
                found.times("pass 1", "pass 2, in place"),
            )
            .claim(
                Claim::times("the same under mimalloc", 1.1).within(0.1),
                found.times("pass 1, mimalloc", "pass 2, in place, mimalloc"),
            )
            .claim(
                Claim::times("times the code by both ways to read as by one", 2.0).within(0.25),
                code("pass 2, in place") / code("pass 1"),
            )
            .because("both ways share the code that reads a field")
    },
};

const PREPARED: &str = "not read";

#[derive(Serialize, Deserialize)]
struct Record {
    id: u64,
    name: String,
    balance: i64,
}

fn records(window: &mut Window) -> Vec<u8> {
    let count = window.scaled(RECORDS);
    let names = people::names(count, 5);
    let record = |(id, name)| Record {
        id: id as u64,
        name,
        balance: id as i64 * 17 - 5_000,
    };
    let records: Vec<Record> = names.into_iter().enumerate().map(record).collect();
    let bytes = people::encoded(&records);
    window.input(bytes.len(), count);
    bytes
}

fn anew(window: &mut Window) {
    let bytes = records(window);
    let mut value = Vec::new();
    window.work(|| value = people::decoded::<Profiled<Vec<Record>>>(&bytes).0);
}

fn in_place(window: &mut Window) {
    let bytes = records(window);
    let mut value: Profiled<Vec<Record>> = people::decoded(&bytes);
    window.work(|| {
        let mut postcard = postcard::Deserializer::from_bytes(&bytes);
        Profiled::deserialize_in_place(&mut postcard, &mut value).expect("it was read before");
    });
}

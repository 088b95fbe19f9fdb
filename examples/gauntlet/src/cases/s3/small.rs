//! 3.4: crates of small strings and small sets: the cost of an element.

use super::nested::strings;
use crate::{Case, Judged, Variant, Window};
use inlinable_string::InlinableString;
use smallstr::SmallString;
use std::collections::HashSet;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.4",
    system: "tinyset, string, inlinable_string, smallstr, kstring",
    headline: "no figures: small collections and strings need no block of their own",
    variants: &[
        Variant::new("String", |window| each(window, str::to_owned)),
        Variant::new("string over Bytes", shared),
        Variant::new("inlinable_string", |window| {
            each(window, |name| InlinableString::from(name))
        }),
        Variant::new("smallstr", |window| {
            each(window, |name| SmallString::<[u8; 16]>::from(name))
        }),
        Variant::new("string over arrays", |window| each(window, on_the_stack)),
        Variant::new("kstring", |window| each(window, kstring::KString::from_ref)),
        Variant::new("kstring Ref", |window| {
            let strings = strings(window);
            window.work(|| collected(&strings, kstring::KStringRef::from_ref));
        }),
        Variant::new("kstring Cow", |window| {
            let strings = strings(window);
            window.work(|| collected(&strings, kstring::KStringCow::<'_>::from_ref));
        }),
        Variant::new("HashSet<u32>", |window| {
            sets(window, |numbers| numbers.collect::<HashSet<u32>>())
        }),
        Variant::new("tinyset", |window| {
            sets(window, |numbers| numbers.collect::<tinyset::SetU32>())
        }),
    ],
    judge: |found| {
        let blocks = |variant: &str| found.of(variant, "total_blocks");
        let each = |variant: &str| found.of(variant, "live_bytes") / found.of(variant, "records");
        let inline = [
            "inlinable_string",
            "smallstr",
            "string over arrays",
            "kstring",
            "kstring Ref",
            "kstring Cow",
        ];
        let holds = blocks("String") == found.of("String", "records") + 1.0
            && inline.iter().all(|variant| blocks(variant) == 1.0)
            && each("tinyset") < each("HashSet<u32>");
        let why = format!(
            "bytes an element, itself included: String {:.1}, slices of one Bytes {:.1} ({:.0} blocks in all), inline \
             where it fits: inlinable_string {:.1}, smallstr {:.1}, string over arrays of 16 bytes {:.1} (all of an array is \
             the string, so the rest of it is zeros), kstring {:.1}, borrowed: its Ref {:.1}, its Cow {:.1} (1 block, the \
             vector of them); a set of four numbers: HashSet {:.1}, tinyset {:.1}",
            each("String"),
            each("string over Bytes"),
            blocks("string over Bytes"),
            each("inlinable_string"),
            each("smallstr"),
            each("string over arrays"),
            each("kstring"),
            each("kstring Ref"),
            each("kstring Cow"),
            each("HashSet<u32>"),
            each("tinyset"),
        );
        Judged::facts(holds, why)
    },
};

/// Creates one of each string, in existing room.
fn each<S>(window: &mut Window, make: impl Fn(&str) -> S) {
    let strings = strings(window);
    window.work(|| collected(&strings, &make));
}

fn collected<'a, S>(strings: &'a [String], make: impl Fn(&'a str) -> S) -> Vec<S> {
    let mut all = Vec::with_capacity(strings.len());
    strings.iter().for_each(|string| all.push(make(string)));
    all
}

/// An array longer than the longest string, `foobar49999`.
type OnTheStack = [u8; 16];

/// Returns a string that fills the array: the bytes after the text are zeros.
fn on_the_stack(text: &str) -> string::String<OnTheStack> {
    let mut bytes = OnTheStack::default();
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    string::TryFrom::try_from(bytes).expect("text and zeros are UTF-8")
}

/// Creates slices of one buffer, which counts its owners.
fn shared(window: &mut Window) {
    let strings = strings(window);
    let joined = strings.concat();
    window.work(|| {
        let buffer = bytes::Bytes::from(joined.clone());
        let mut all = Vec::with_capacity(strings.len());
        let mut at = 0;
        for string in &strings {
            let slice = buffer.slice(at..at + string.len());
            at += string.len();
            // A slice of a string at character boundaries is a string.
            all.extend(
                string::TryFrom::try_from(slice)
                    .ok()
                    .map(|string: string::String<bytes::Bytes>| string),
            );
        }
        all
    });
}

const SETS: usize = 10_000;

/// Creates many sets of four small numbers.
fn sets<S>(window: &mut Window, collect: impl Fn(std::iter::StepBy<std::ops::Range<u32>>) -> S) {
    let sets = window.scaled(SETS);
    window.input(0, sets);
    window.work(|| {
        let mut all = Vec::with_capacity(sets);
        (0..sets as u32).for_each(|at| all.push(collect((at % 50..at % 50 + 12).step_by(3))));
        all
    });
}

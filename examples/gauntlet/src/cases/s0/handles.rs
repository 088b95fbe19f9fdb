//! 0.10: six-byte handles in place of `String`: a length and a place, in buckets of 64 KiB, later in one flat `Vec`.

use super::people::{self, PEOPLE};
use super::times;
use crate::{Case, Claim, Judged, Variant, Window};

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.10",
    system: "six-byte string handles over 64 KiB buckets, or over one flat Vec<u8>",
    headline: "a handle of 6 bytes, 3x smaller than String",
    variants: &[
        Variant::new("String", |window| {
            let bytes = input(window);
            note(window, size_of::<String>());
            window.work(|| {
                let (count, texts) = people::read_texts(&bytes);
                let mut strings = Vec::with_capacity(count);
                strings.extend(texts.map(|text| String::from_utf8_lossy(text).into_owned()));
                strings
            });
        }),
        Variant::new("buckets", |window| {
            let bytes = input(window);
            note(window, size_of::<Handle>());
            window.work(|| store(&bytes, Buckets::default(), Buckets::add));
        }),
        Variant::new("flat", |window| {
            let bytes = input(window);
            note(window, size_of::<FlatHandle>());
            let mut copied = 0;
            window.work(|| {
                let stored = store(&bytes, Flat::default(), Flat::add);
                copied = stored.0.copied;
                stored
            });
            window.note("bytes copied by growth at most", copied as f64);
        }),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let names = of("String", "records");
        let kept = |variant| of(variant, "live_bytes") / names;
        let usable = |variant| of(variant, "usable_bytes") / names;
        let (three, flat) = (
            usable("String") / usable("buckets"),
            usable("String") / usable("flat"),
        );
        let holds = of("buckets", "inline bytes") == 6.0
            && of("flat", "inline bytes") == 6.0
            && of("String", "live_blocks") == names + 1.0
            && of("buckets", "live_blocks") < names / 1_000.0
            && of("flat", "live_blocks") == 2.0;
        let why = format!(
            "a record retains {:.1} bytes as String, {:.1} in buckets, {:.1} flat: {:.1} times less in buckets by what was \
             asked for, {three:.1} (flat {flat:.1}) by what the blocks really hold; flat growth copies {:.0} bytes at most; \
             String takes {} as long as buckets",
            kept("String"),
            kept("buckets"),
            kept("flat"),
            kept("String") / kept("buckets"),
            of("flat", "bytes copied by growth at most"),
            times(found.times("String", "buckets")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times("times the bytes inline by String as by the handle", 3.0),
                of("String", "inline bytes") / of("buckets", "inline bytes"),
            )
            .because("24 bytes are four times 6: three times smaller by the difference")
    },
};

fn input(window: &mut Window) -> Vec<u8> {
    let names = window.scaled(2 * PEOPLE);
    let bytes = people::encoded_names(names);
    window.input(bytes.len(), names);
    bytes
}

/// Of each record.
fn note(window: &mut Window, inline_bytes: usize) {
    window.note("inline bytes", inline_bytes as f64);
}

/// Reads the names, keeps them in `store` and a handle of each.
fn store<S, H>(bytes: &[u8], mut store: S, add: fn(&mut S, &[u8]) -> H) -> (S, Vec<H>) {
    let (count, texts) = people::read_texts(bytes);
    let mut handles = Vec::with_capacity(count);
    handles.extend(texts.map(|text| add(&mut store, text)));
    (store, handles)
}

/// A string in a bucket.
#[expect(dead_code, reason = "what a program would read a string by")]
struct Handle {
    len: u16,
    start: u16,
    bucket: u16,
}

const BUCKET: usize = 64 << 10;

#[derive(Default)]
struct Buckets(Vec<Vec<u8>>);

impl Buckets {
    /// # Panics
    /// With a string of 64 KiB, or with more than 4 GiB of them.
    fn add(&mut self, text: &[u8]) -> Handle {
        if self
            .0
            .last()
            .is_none_or(|bucket| BUCKET - bucket.len() < text.len())
        {
            self.0.push(Vec::with_capacity(BUCKET));
        }
        let bucket = self.0.len() - 1;
        let bytes = &mut self.0[bucket];
        let narrow = |number: usize| {
            u16::try_from(number).expect("strings fit in buckets, and buckets in a u16")
        };
        let handle = Handle {
            len: narrow(text.len()),
            start: narrow(bytes.len()),
            bucket: narrow(bucket),
        };
        bytes.extend_from_slice(text);
        handle
    }
}

/// A string in the flat store: its place in two halves, so that the handle has six bytes, not eight.
#[expect(dead_code, reason = "what a program would read a string by")]
struct FlatHandle {
    len: u16,
    start_high: u16,
    start_low: u16,
}

#[derive(Default)]
struct Flat {
    bytes: Vec<u8>,
    /// By growth, if each moved.
    copied: usize,
}

impl Flat {
    /// # Panics
    /// With a string of 64 KiB, or with more than 4 GiB of them.
    fn add(&mut self, text: &[u8]) -> FlatHandle {
        let start = u32::try_from(self.bytes.len()).expect("less than 4 GiB");
        let capacity = self.bytes.capacity();
        self.bytes.extend_from_slice(text);
        if self.bytes.capacity() != capacity {
            self.copied += capacity;
        }
        FlatHandle {
            len: u16::try_from(text.len()).expect("less than 64 KiB"),
            start_high: (start >> 16) as u16,
            start_low: start as u16,
        }
    }
}

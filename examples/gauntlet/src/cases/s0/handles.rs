//! 0.10: six-byte handles instead of `String`: a length and a position, in buckets of 64 KiB, and
//! later in one flat `Vec`.

use super::people::{self, PEOPLE};
use super::times;
use crate::{Case, Claim, Judged, Variant, Window};

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.10",
    system: "six-byte string handles over 64 KiB buckets, or over one flat Vec<u8>",
    headline: "a string handle of 6 bytes is three times smaller than String; handles alone are of no use, they must be resolved",
    variants: &[
        Variant::new("String", |window| {
            let bytes = input(window);
            note(window, size_of::<String>());
            window.work(|| {
                let (count, texts) = people::read_texts(&bytes);
                let mut strings = Vec::with_capacity(count);
                strings.extend(texts.map(|text| validated(text).to_owned()));
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
        // The list of texts that a program would work with.
        Variant::new("buckets, hydrated", |window| {
            let bytes = input(window);
            let (store, handles) = store(&bytes, Buckets::default(), Buckets::add);
            hydrate(window, &bytes, &handles, |handle| store.get(handle));
        }),
        Variant::new("flat, hydrated", |window| {
            let bytes = input(window);
            let (store, handles) = store(&bytes, Flat::default(), Flat::add);
            hydrate(window, &bytes, &handles, |handle| store.get(handle));
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
            && of("flat", "live_blocks") == 2.0
            && ["buckets, hydrated", "flat, hydrated"]
                .iter()
                .all(|variant| {
                    of(variant, "resolved as read") == names
                        && of(variant, "total_blocks") == 1.0
                        && of(variant, "total_bytes") == names * size_of::<&str>() as f64
                });
        let why = format!(
            "a record retains {:.1} bytes as String, {:.1} in buckets, {:.1} flat: {:.1} times less in buckets by what was \
             asked for, {three:.1} (flat {flat:.1}) by what the blocks really hold; flat growth copies {:.0} bytes at most; \
             String takes {} as long as buckets, both validate. Handles alone say nothing: to resolve all of them into a \
             list of `&str` takes a block of {:.0} bytes and {:.0} % of the time of storing them in buckets, {:.0} % flat",
            kept("String"),
            kept("buckets"),
            kept("flat"),
            kept("String") / kept("buckets"),
            of("flat", "bytes copied by growth at most"),
            times(found.times("String", "buckets")),
            of("buckets, hydrated", "total_bytes"),
            found.times("buckets, hydrated", "buckets").value * 100.0,
            found.times("flat, hydrated", "flat").value * 100.0,
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

/// Notes the bytes of each record.
fn note(window: &mut Window, inline_bytes: usize) {
    window.note("inline bytes", inline_bytes as f64);
}

/// Returns these bytes as text. Each way to store them validates them once.
fn validated(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("names are text")
}

/// Reads the names, keeps them in `store`, and keeps a handle to each.
fn store<S, H>(bytes: &[u8], mut store: S, add: fn(&mut S, &str) -> H) -> (S, Vec<H>) {
    let (count, texts) = people::read_texts(bytes);
    let mut handles = Vec::with_capacity(count);
    handles.extend(texts.map(|text| add(&mut store, validated(text))));
    (store, handles)
}

/// Resolves every handle.
fn hydrate<'a, H>(
    window: &mut Window,
    bytes: &[u8],
    handles: &'a [H],
    get: impl Fn(&'a H) -> &'a str,
) {
    let (_, texts) = people::read_texts(bytes);
    let same = handles.iter().zip(texts);
    let same = same.filter(|(handle, text)| get(handle).as_bytes() == *text);
    window.note("resolved as read", same.count() as f64);
    window.work(|| {
        let mut resolved = Vec::with_capacity(handles.len());
        resolved.extend(handles.iter().map(&get));
        resolved
    });
}

/// A string in a bucket.
struct Handle {
    len: u16,
    start: u16,
    bucket: u16,
}

const BUCKET: usize = 64 << 10;

#[derive(Default)]
struct Buckets(Vec<String>);

impl Buckets {
    /// # Panics
    /// If the string has 64 KiB or more, or all strings have more than 4 GiB.
    fn add(&mut self, text: &str) -> Handle {
        if self
            .0
            .last()
            .is_none_or(|bucket| BUCKET - bucket.len() < text.len())
        {
            self.0.push(String::with_capacity(BUCKET));
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
        bytes.push_str(text);
        handle
    }

    /// # Panics
    /// If the handle is from another store.
    fn get(&self, handle: &Handle) -> &str {
        let start = usize::from(handle.start);
        &self.0[usize::from(handle.bucket)][start..start + usize::from(handle.len)]
    }
}

/// A string in the flat store. Its position is stored in two halves, so that the handle has six
/// bytes instead of eight.
struct FlatHandle {
    len: u16,
    start_high: u16,
    start_low: u16,
}

#[derive(Default)]
struct Flat {
    bytes: String,
    /// Bytes copied by growth, if each growth moved the buffer.
    copied: usize,
}

impl Flat {
    /// # Panics
    /// If the string has 64 KiB or more, or all strings have more than 4 GiB.
    fn add(&mut self, text: &str) -> FlatHandle {
        let start = u32::try_from(self.bytes.len()).expect("less than 4 GiB");
        let capacity = self.bytes.capacity();
        self.bytes.push_str(text);
        if self.bytes.capacity() != capacity {
            self.copied += capacity;
        }
        FlatHandle {
            len: u16::try_from(text.len()).expect("less than 64 KiB"),
            start_high: (start >> 16) as u16,
            start_low: start as u16,
        }
    }

    /// # Panics
    /// If the handle is from another store.
    fn get(&self, handle: &FlatHandle) -> &str {
        let start = usize::from(handle.start_high) << 16 | usize::from(handle.start_low);
        &self.bytes[start..start + usize::from(handle.len)]
    }
}

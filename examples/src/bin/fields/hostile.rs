//! Data and types that are made to do harm: deep, wide, or with names that no terminal should
//! print.

use super::formats::{Cbor, Format, Json, RmpArray, Toml, Yaml};
use super::types::{FlattenMap, Person};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use tracking_alloc::{Profiled, phase};

/// Nested lists.
#[derive(Debug, Default, PartialEq, Serialize, DeriveDeserialize)]
struct Nest {
    name: String,
    inner: Vec<Nest>,
}

impl Nest {
    fn new(levels: usize) -> Nest {
        (0..levels).fold(Nest::default(), |inner, level| Nest {
            name: level.to_string(),
            inner: vec![inner],
        })
    }
}

/// Reads data nested to 0.9 of the depth at which the bare format gives up. The depth is found by
/// trying.
pub(super) fn deep(format: &str) {
    match format {
        "json" => nested::<Json>(),
        "rmp-array" => nested::<RmpArray>(),
        "cbor" => nested::<Cbor>(),
        "toml" => nested::<Toml>(),
        "yaml" => nested::<Yaml>(),
        _ => panic!("no format with a limit is called {format:?}"),
    }
}

/// Larger than any default, so that only the format's own limit counts while it is looked for.
const LARGE_STACK: usize = 256 << 20;

/// The default stack of a main thread. Without optimization, each level of rmp-serde takes a few
/// kilobytes, bare or profiled.
const USUAL_STACK: usize = 8 << 20;

fn nested<F: Format>() {
    let levels = on_stack(LARGE_STACK, || {
        let reads = |levels: usize| {
            F::encode(&Nest::new(levels))
                .and_then(|input| F::decode::<Nest>(&input))
                .is_ok()
        };
        let (mut good, mut bad) = (1, 4_096);
        assert!(reads(good) && !reads(bad), "{} has a limit", F::NAME);
        while bad - good > 1 {
            let middle = good.midpoint(bad);
            *(if reads(middle) { &mut good } else { &mut bad }) = middle;
        }
        good
    });
    let tried = levels * 9 / 10;
    let input = on_stack(LARGE_STACK, move || {
        F::encode(&Nest::new(tried)).expect("written")
    });
    on_stack(USUAL_STACK, move || {
        let _phase = phase("deep");
        let read = F::decode::<Profiled<Nest>>(&input).expect("what the bare format reads");
        let mut depth = 0;
        let mut at = &read.0;
        while let Some(inner) = at.inner.first() {
            (at, depth) = (inner, depth + 1);
        }
        assert_eq!(depth, tried);
        std::mem::forget(read);
    });
    println!("limit={levels} levels={tried}");
}

/// Runs `work` on a thread with a stack of `bytes`.
fn on_stack<R: Send + 'static>(bytes: usize, work: impl FnOnce() -> R + Send + 'static) -> R {
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(work);
    thread.expect("a thread").join().expect("it ends")
}

thread_local! {
    static DEEPEST: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Nested lists that remember how far down the stack they were read.
struct Sounding(#[expect(dead_code, reason = "it is there to be nested")] Vec<Sounding>);

impl<'de> Deserialize<'de> for Sounding {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let here = 0u8;
        let address = std::ptr::from_ref(std::hint::black_box(&here)).addr();
        DEEPEST.set(DEEPEST.get().min(address));
        Vec::deserialize(from).map(Sounding)
    }
}

/// Prints the bytes of stack that each of `levels` levels takes, bare and profiled, in JSON without
/// its limit.
pub(super) fn stack(levels: usize) {
    let input = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let used = |profiled: bool, levels: usize, input: String| {
        on_stack(LARGE_STACK, move || {
            let _phase = phase("stack");
            let here = 0u8;
            let top = std::ptr::from_ref(std::hint::black_box(&here)).addr();
            let mut deserializer = serde_json::Deserializer::from_str(&input);
            deserializer.disable_recursion_limit();
            if profiled {
                let read = Profiled::<Sounding>::deserialize(&mut deserializer);
                std::mem::forget(read.expect("lists"));
            } else {
                std::mem::forget(Sounding::deserialize(&mut deserializer).expect("lists"));
            }
            (top - DEEPEST.get()) / levels
        })
    };
    println!(
        "bare={} profiled={}",
        used(false, levels, input.clone()),
        used(true, levels, input)
    );
}

macro_rules! lists {
    ($inner:ty;) => { $inner };
    ($inner:ty; $level:tt $($more:tt)*) => { lists!(Vec<$inner>; $($more)*) };
}

/// 80 nested types, all different. That is deeper than the tree of scopes may be.
type Eighty = lists!(String;
    0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0
    0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0);

/// Reads a value of [`Eighty`].
pub(super) fn types_in_types() {
    let input = format!("{}\"innermost\"{}", "[".repeat(80), "]".repeat(80));
    let (_, bare) = tracking_alloc::measure(|| {
        std::mem::forget(serde_json::from_str::<Eighty>(&input).expect("lists"));
    });
    {
        let _phase = phase("types");
        std::mem::forget(serde_json::from_str::<Profiled<Eighty>>(&input).expect("lists"));
    }
    println!(
        "total_bytes={} total_blocks={}",
        bare.total_bytes, bare.total_blocks
    );
}

/// Reads `keys` distinct keys, each with its own text, through a map and through a flattened map.
/// One key is 64 KiB long.
pub(super) fn keys(keys: usize) {
    let mut input = String::from("{\"title\":\"wide\"");
    for key in 0..keys {
        input.push_str(&format!(",\"key-{key}\":\"{key}\""));
    }
    input.push_str(&format!(",\"{}\":\"long\"}}", "k".repeat(64 << 10)));
    let (_, bare) = tracking_alloc::measure(|| {
        let read = serde_json::from_str::<BTreeMap<String, String>>(&input);
        assert_eq!(read.expect("a map").len(), keys + 2);
    });
    let (_, bare_flat) = tracking_alloc::measure(|| {
        let read = serde_json::from_str::<FlattenMap>(&input);
        assert_eq!(read.expect("a map").rest.len(), keys + 1);
    });
    {
        let _phase = phase("map");
        let read = serde_json::from_str::<Profiled<BTreeMap<String, String>>>(&input);
        assert_eq!(read.expect("a map").0.len(), keys + 2);
    }
    {
        let _phase = phase("flattened");
        let read = serde_json::from_str::<Profiled<FlattenMap>>(&input);
        assert_eq!(read.expect("a map").0.rest.len(), keys + 1);
    }
    {
        let _phase = phase("typed");
        // The first thousand keys are enough.
        let input = &input[..input.find(",\"key-1000\"").unwrap_or(input.len() - 1)];
        let read = serde_json::from_str::<Profiled<Typed>>(&format!("{input}}}"));
        assert!(read.expect("a map").0.0.len() > keys.min(1_000));
    }
    println!(
        "map_bytes={} map_blocks={} flattened_bytes={} flattened_blocks={}",
        bare.total_bytes, bare.total_blocks, bare_flat.total_bytes, bare_flat.total_blocks
    );
}

/// A map read through an identifier type of its own, as in a hand-written `Deserialize`. Its keys
/// are data.
struct Typed(HashMap<String, String>);

impl<'de> Deserialize<'de> for Typed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Typed;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Typed, A::Error> {
                let mut read = HashMap::new();
                while let Some((key, value)) = map.next_entry()? {
                    read.insert(key, value);
                }
                Ok(Typed(read))
            }
        }
        from.deserialize_struct("Typed", &["title"], Reader)
    }
}

/// Names created at run time: control characters, direction marks, 64 KiB.
const NAMES: [&str; 6] = [
    "new\nline",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "back\u{8}\u{8}space\rreturn",
    "\u{202e}reversed\u{2066}",
    "nul\0byte\u{9b}31m\u{7f}",
];

struct Named(Vec<String>);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Named;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("names")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Named, A::Error> {
                let mut read = Vec::new();
                while let Some(text) = seq.next_element()? {
                    read.push(text);
                }
                Ok(Named(read))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
                let mut read = Vec::new();
                while let Some((_, text)) = map.next_entry::<String, String>()? {
                    read.push(text);
                }
                Ok(Named(read))
            }
        }
        let mut names: Vec<&'static str> = NAMES.to_vec();
        names.push("long".repeat(16 << 10).leak());
        from.deserialize_struct("Named", names.leak(), Reader)
    }
}

/// Reads a struct with such names, by name and in order, in a phase with such a name.
pub(super) fn names() {
    let _phase = phase("phase\n\u{1b}[2Jcleared");
    let texts: Vec<String> = (0..=NAMES.len())
        .map(|number| format!("text {number}"))
        .collect();
    let input = serde_json::to_string(&texts).expect("JSON");
    let read = serde_json::from_str::<Profiled<Named>>(&input).expect("a list");
    assert_eq!(read.0.0, texts);
    std::mem::forget(read);
    let long = "long".repeat(16 << 10);
    let by_name: BTreeMap<&str, &str> = NAMES
        .iter()
        .map(|name| (*name, "text"))
        .chain([(long.as_str(), "text")])
        .collect();
    let input = serde_json::to_string(&by_name).expect("JSON");
    let read = serde_json::from_str::<Profiled<Named>>(&input).expect("a map");
    assert_eq!(read.0.0.len(), by_name.len());
    std::mem::forget(read);
}

/// Enters `inner` phases in each of `outer` phases, with data in each. These are more scopes than
/// there may be.
pub(super) fn phases(outer: usize, inner: usize) {
    let input = serde_json::to_vec(&Person::new("Katherine")).expect("JSON");
    for outer in 0..outer {
        let name = format!("outer-{outer}");
        let _outer = phase(&name);
        for inner in 0..inner {
            let name = format!("inner-{inner}");
            let _inner = phase(&name);
            let read = serde_json::from_slice::<Profiled<Person>>(&input);
            assert_eq!(read.expect("a person").0.tags.len(), 2);
        }
    }
    let (_, one) = tracking_alloc::measure(|| serde_json::from_slice::<Person>(&input));
    println!("person_bytes={}", one.total_bytes);
}

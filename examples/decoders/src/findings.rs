//! The findings for a reader, with the figures.

use crate::hostile::Attack;
use crate::measure::Figures;
use crate::page::Measured;
use crate::text::{bytes, percent, ratio, wrapped};
use std::fmt::Write as _;

impl Measured {
    /// Returns the figures of a format, with the bytes that each typed value needs.
    fn of(&self, format: &str) -> Vec<(&'static str, u64, &Figures)> {
        let figures = self.sets.iter().filter_map(|(set, value, rows)| {
            let row = rows.iter().find(|row| row.format == format)?;
            Some((set.name, *value, row.figures.as_ref().ok()?))
        });
        figures.collect()
    }

    /// Returns the smallest and largest peak of a format against the typed value.
    fn against_value(&self, format: &str) -> String {
        range(
            self.of(format)
                .iter()
                .map(|(_, value, figures)| (figures.peak, *value)),
        )
    }

    /// Returns the smallest and largest peak of a format for each byte on the wire.
    fn against_wire(&self, format: &str) -> String {
        range(
            self.of(format)
                .iter()
                .map(|(_, _, figures)| (figures.peak, figures.wire)),
        )
    }

    /// Returns the largest share of unused capacity that a format keeps, and of which data set.
    fn most_unused(&self, format: &str) -> (String, &'static str) {
        let share =
            |figures: &Figures| figures.unused.unwrap_or(0) * 10_000 / figures.retained.max(1);
        let of = self.of(format);
        let most = of.iter().max_by_key(|(_, _, figures)| share(figures));
        most.map_or((String::new(), ""), |(set, _, figures)| {
            (percent(figures.unused.unwrap_or(0), figures.retained), *set)
        })
    }
}

fn range(quotients: impl Iterator<Item = (u64, u64)>) -> String {
    let mut all: Vec<(u64, u64)> = quotients.collect();
    all.sort_by(|a, b| (a.0 as f64 / a.1 as f64).total_cmp(&(b.0 as f64 / b.1 as f64)));
    let text = |of: Option<&(u64, u64)>| of.map_or_else(String::new, |of| ratio(of.0, of.1));
    let (least, most) = (text(all.first()), text(all.last()));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// Returns the head of the page.
pub(crate) fn head(measured: &Measured) -> String {
    let m = measured;
    let (postcard, postcard_set) = m.most_unused("postcard");
    let (json, json_set) = m.most_unused("serde_json");
    let (prost, prost_set) = m.most_unused("prost");
    let hostile = |attacks: &[Attack], format: &str| {
        let attack = attacks.iter().find(|attack| attack.format == format);
        attack.map_or((String::new(), String::new(), 0), |attack| {
            (
                ratio(attack.peak, attack.wire),
                bytes(attack.peak),
                attack.wire,
            )
        })
    };
    let believers: Vec<&Attack> = m
        .hostile
        .prefixes
        .iter()
        .filter(|attack| attack.peak >= 1 << 30)
        .collect();
    // "nanoserde, binary" would read as two in a sentence.
    let name = |attack: &&Attack| match attack.format.split_once(", ") {
        Some((name, kind)) => format!("{name} ({kind})"),
        None => attack.format.to_owned(),
    };
    let names: Vec<String> = believers.iter().map(name).collect();
    let longest = believers.iter().map(|attack| attack.wire).max();
    let mut out = format!(
        "# What a decoder costs in memory\n\n\
         Seven data sets, decoded by 21 crates into the same Rust types, and counted by `tracking_alloc::measure`. All \
         figures are exact, and the same in every run.\n\n\
         **How a decoder grows a list decides its memory, not how compact its format is.** A decoder that allocates as many \
         elements as the length prefix says allocates the value and nothing else: bincode, nanoserde (binary), rkyv and wincode \
         peak at {} times the value in every data set. A decoder that reads through serde reserves at most 1 MiB for a list and \
         then doubles it: postcard, rmp-serde and musli have equal figures, peak at {} times the value, and keep up to \
         {postcard} of the result as unused capacity ({postcard_set}). A decoder of a format without lengths doubles from the \
         start: serde_json and sonic-rs keep up to {json} ({json_set}), and so does prost, whose messages have no number of \
         elements (up to {prost}, {prost_set}). facet-json leaves almost none, but peaks at {} times the value on the way. \
         bincode and its like also allocate the fewest blocks: one for each text and list that is not empty.\n\n",
        m.against_value("bincode"),
        m.against_value("postcard"),
        m.against_value("facet-json"),
    );
    let (tape, _, _) = hostile(&m.hostile.small_maps, "simd-json, tape");
    let (value, _, _) = hostile(&m.hostile.small_maps, "serde_json, Value");
    let (cbor, _, _) = hostile(&m.hostile.small_maps, "ciborium, Value");
    let (flatten, _, _) = hostile(&m.hostile.buffered, "serde_json");
    let (absent, _, _) = hostile(&m.hostile.absent, "postcard");
    let (bits, _, _) = hostile(&m.hostile.absent, "bitcode");
    let (_, reserved, prefix) = hostile(&m.hostile.prefixes, "rmp-serde");
    let (_, careful, _) = hostile(&m.hostile.prefixes, "postcard");
    let _ = write!(
        out,
        "**What lies between the input and the value costs most.** simd-json peaks at {} bytes for each byte of JSON, also when \
         it decodes into types, because it makes an index and a tape first; toml peaks at {}. serde_json needs {} for the same \
         result, and sonic-rs as much. A document without types is as expensive: `serde_json::Value` peaks at {} bytes for each \
         byte of JSON, {} times the typed value. Reading in place (rkyv, flatbuffers, capnp) allocates nothing.\n\n",
        m.against_wire("simd-json"),
        m.against_wire("toml"),
        m.against_wire("serde_json"),
        m.against_wire("serde_json, Value"),
        m.against_value("serde_json, Value"),
    );
    let _ = write!(
        out,
        "**The worst case is far from the usual case.** For a length prefix of at most {} bytes that nothing follows, {} \
         allocate 1 GiB. Decoders that reserve by serde's rule allocate {reserved} (rmp-serde, {prefix} bytes), and postcard \
         {careful}, because it compares the claim with the rest of the input. Valid input is \
         enough, too. A list of maps of one entry takes {value} bytes for each wire byte in `serde_json::Value`, {tape} in simd-json's \
         tape and {cbor} in `ciborium::Value`. `flatten` behind an internal tag takes {flatten} in serde_json. A list of `None`, \
         where a present value is large, takes {absent} in postcard and {bits} in bitcode, which writes each as a bit. A limit on \
         the length of the input does not bound this well; [`Budget`](tests.md) bounds the bytes for each byte of input.\n\n",
        longest.unwrap_or(0),
        names.join(" and "),
    );
    out += "\
## How to read the tables

- *wire*: length of the encoded data. It is in memory already and not counted. simd-json writes into it.
- *blocks*, *total*: allocations, and their bytes. A list that grows counts again each time, with its new size.
- *peak*: the largest number of bytes that were allocated at the same time. This is what a decoder costs. While a block
  moves to grow, the allocator may hold the old and the new one; only the new one is counted.
- *retained*: bytes that the result holds.
- *unused*: bytes of the result that a copy of it does without: capacity of lists and texts. `?`: the result borrows or
  shares memory, so a copy tells nothing. Free places in the nodes of a `BTreeMap` are not among them.
- *waste*: the share of the peak that the result does not need: unused capacity, and what was freed before the end.
- The pictures divide the peak into these parts. The red line is what the typed value needs: the bytes of a copy.

prost has types of its own, with wider numbers and an `Option` around each nested message; all others decode into the same
types. A cell of `-` is explained under [Not measured](#not-measured).

Each decoder ran once before it was counted, because some keep tables that they make the first time (facet-json:
up to 100 KiB). Requested bytes are counted, not what an allocator adds to them.
";
    wrapped(&out)
}

/// Returns the end of the page.
pub(crate) fn tail() -> String {
    let mut out = String::from(
        "\
## Not measured

- quick-xml, minecraft_savedata: `None` is written as an empty element, which is read as a value.
- quick-xml, mk48: an optional enum is written as text that is not read as a variant.
- quick-xml, geojson: an element cannot hold lists of lists.
- csv, all but log, mesh, airlines and requests: a row holds no list. Rows are written without headers, because nested
  structs have none.
- miniserde, minecraft_savedata: it has no tuples of three.
- flatbuffers and capnp, all but requests: what they allocate does not depend on the data, so one schema is enough.
- wincode refuses lists of more than 4 MiB by default; its limit is 64 MiB here. The hostile inputs use its default.
- simd-json chooses code for the processor; all variants reserve memory in the same steps.
- facet: only its JSON.
- bitcode, a length that nothing follows: its lengths are packed, so none was forged.

## Reproduce

```sh
cargo decoders                # prints this page
cargo decoders log mk48       # prints the tables of two data sets
cargo decoders --publish      # writes this page and its pictures
cargo decoders --check        # fails if the page differs
```

log, mesh, minecraft_savedata and mk48 have the shapes and sizes of the data sets of the public [Rust \
         serialization benchmark](https://github.com/djkoloski/rust_serialization_benchmark); the values are from \
         generators of our own, with fixed seeds. The others are generated for other examples of heapglass. The program \
         is `examples/decoders`, and a test compares this page with it. Builds with and without optimization give the \
         same figures. Growth of lists is a decision of Rust's library, and figures may change with its version. Measured with ",
    );
    out += &versions();
    out += ".\n";
    wrapped(&out)
}

/// Returns the versions of the formats, from the lock file of this workspace.
fn versions() -> String {
    let crates = [
        "bincode",
        "bitcode",
        "borsh",
        "capnp",
        "ciborium",
        "csv",
        "facet-json",
        "flatbuffers",
        "miniserde",
        "musli",
        "nanoserde",
        "postcard",
        "prost",
        "quick-xml",
        "rkyv",
        "rmp-serde",
        "serde",
        "serde_json",
        "simd-json",
        "sonic-rs",
        "toml",
        "wincode",
    ];
    let lock: toml::Table = toml::from_str(include_str!("../Cargo.lock")).unwrap_or_default();
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let version = |name: &&str| {
        let named = packages?
            .iter()
            .find(|package| package["name"].as_str() == Some(*name))?;
        Some(format!("{name} {}", named["version"].as_str()?))
    };
    crates
        .iter()
        .filter_map(version)
        .collect::<Vec<_>>()
        .join(", ")
}

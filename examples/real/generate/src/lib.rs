//! Generators of input files. The same arguments give the same bytes.

use std::io::{self, Write};

/// Writes a feature collection of multi-polygons with at least `bytes` bytes. Each coordinate lies
/// in six arrays and two objects.
pub fn geojson<W: Write>(out: W, bytes: u64) -> io::Result<()> {
    let mut out = Counted { out, written: 0 };
    let mut random = Random(1);
    write!(out, "{{\"type\":\"FeatureCollection\",\"features\":[")?;
    let mut id = 0;
    while out.written < bytes {
        if id > 0 {
            write!(out, ",")?;
        }
        write!(
            out,
            "\n{{\"type\":\"Feature\",\"id\":{id},\"properties\":{{\"name\":\"lot {id}\",\"zone\":\"{}\",\"storeys\":{}}},\
             \"geometry\":{{\"type\":\"MultiPolygon\",\"coordinates\":[",
            ["residential", "industrial", "park"][random.below(3) as usize],
            random.below(12)
        )?;
        list(&mut out, 1 + random.below(3), |out| {
            write!(out, "[")?;
            list(out, 1 + random.below(2), |out| {
                write!(out, "[")?;
                list(out, 5 + random.below(12), |out| {
                    let (degrees, east) = (random.below(180), random.below(100_000_000));
                    let (north, height) = (random.below(100_000_000), random.below(300));
                    write!(out, "[-{degrees}.{east:08},37.{north:08},{height}.0]")
                })?;
                write!(out, "]")
            })?;
            write!(out, "]")
        })?;
        write!(out, "]}}}}")?;
        id += 1;
    }
    writeln!(out, "\n]}}")?;
    out.flush()
}

/// Writes products with maps, lists of records and lists of words.
pub fn catalog<W: Write>(out: W, products: u64) -> io::Result<()> {
    let mut out = Counted { out, written: 0 };
    let mut random = Random(2);
    write!(out, "{{\"products\":[")?;
    for id in 0..products {
        if id > 0 {
            write!(out, ",")?;
        }
        let color = random.word();
        write!(
            out,
            "\n{{\"id\":{id},\"sku\":\"{color}-{id:05}\",\"name\":\"{color} {}\",\"description\":\"A {} {} for the {}, delivered within a week.\",\
             \"price\":{}.{:02},\"stock\":{},\"attributes\":{{",
            random.word(),
            random.word(),
            random.word(),
            random.word(),
            random.below(500),
            random.below(100),
            random.below(1000)
        )?;
        let names = ["material", "origin", "finish"];
        let mut name = names.iter();
        list(&mut out, 1 + random.below(3), |out| {
            let name = name.next().unwrap_or(&"other");
            write!(out, "\"{name}\":\"{}\"", random.word())
        })?;
        write!(out, "}},\"reviews\":[")?;
        list(&mut out, random.below(4), |out| {
            write!(
                out,
                "{{\"user\":\"{}{}\",\"stars\":{},\"text\":\"{} and {}\"}}",
                random.word(),
                random.below(100),
                1 + random.below(5),
                random.word(),
                random.word()
            )
        })?;
        write!(out, "],\"tags\":[")?;
        list(&mut out, 1 + random.below(3), |out| {
            write!(out, "\"{}\"", random.word())
        })?;
        write!(out, "]}}")?;
    }
    writeln!(out, "\n]}}")?;
    out.flush()
}

/// Writes `count` items, separated by commas.
fn list<W: Write>(
    out: &mut Counted<W>,
    count: u64,
    mut item: impl FnMut(&mut Counted<W>) -> io::Result<()>,
) -> io::Result<()> {
    for index in 0..count {
        if index > 0 {
            write!(out, ",")?;
        }
        item(out)?;
    }
    Ok(())
}

/// Counts the bytes written.
struct Counted<W> {
    out: W,
    written: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 16] = [
            "oak", "walnut", "steel", "linen", "copper", "ceramic", "velvet", "bamboo", "table",
            "lamp", "kettle", "drawer", "kitchen", "garden", "hallway", "porch",
        ];
        WORDS[self.below(16) as usize]
    }
}

//! 3.10: formats that are read in place, on one batch of log records: the allocations of the
//! access, and the memory that a reader keeps. arrow needs the feature `peers`.

use super::no_copy_scroll as scrolled;
use crate::cases::s4::log::{Log, many};
use crate::cases::s4::{capnproto, flat};
use crate::cases::said::times;
use crate::{Case, Found, Judged, Variant, Window};
use capnp::Word;
use rkyv::rancor::Error;
use rkyv::util::AlignedVec;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.10",
    system: "flatbuffers, capnp, rkyv, scroll, arrow (feature peers): 1,000 log records read where they lie",
    headline: "no-copy: no figures",
    variants: &[
        Variant::new("bincode, values built", |window| {
            let bytes = bincode(window);
            window.work(|| {
                let logs: Vec<Log<String>> = read(&bytes);
                (logs.iter().map(Log::weight).sum::<u64>(), logs)
            });
        }),
        Variant::new("flatbuffers", |window| {
            let bytes = flatbuffers(window);
            access(window, &bytes, flat::weight);
        }),
        Variant::new("flatbuffers with its buffer", |window| {
            let bytes = flatbuffers(window);
            kept(window, &bytes, flat::weight);
        }),
        Variant::new("capnp", |window| {
            let words = capnp(window);
            access(window, Word::words_to_bytes(&words), capnproto::weight);
        }),
        Variant::new("capnp with its buffer", |window| {
            let words = capnp(window);
            kept(window, Word::words_to_bytes(&words), capnproto::weight);
        }),
        Variant::new("rkyv", |window| {
            let bytes = rkyv(window);
            access(window, &bytes, rkyv_weight);
        }),
        Variant::new("rkyv with its buffer", |window| {
            let bytes = rkyv(window);
            kept(window, &bytes, rkyv_weight);
        }),
        Variant::new("scroll", |window| {
            let bytes = scroll(window);
            access(window, &bytes, scrolled::weight);
        }),
        Variant::new("scroll with its buffer", |window| {
            let bytes = scroll(window);
            kept(window, &bytes, scrolled::weight);
        }),
        #[cfg(feature = "peers")]
        Variant::new("arrow", |window| {
            let bytes = arrow(window);
            let batch = super::no_copy_arrow::opened(&bytes);
            window.work(|| super::no_copy_arrow::weight(&batch));
        }),
        #[cfg(feature = "peers")]
        Variant::new("arrow with its buffer", |window| {
            let bytes = arrow(window);
            window.work(|| {
                let batch = super::no_copy_arrow::opened(&bytes);
                (super::no_copy_arrow::weight(&batch), batch)
            });
        }),
    ],
    judge,
};

/// The formats that are always built.
const FORMATS: [&str; 4] = ["flatbuffers", "capnp", "rkyv", "scroll"];

fn judge(found: &Found<'_>) -> Judged {
    let kept = |format: &str| format!("{format} with its buffer");
    let in_place = |format: &&str| {
        found.of(format, "total_blocks") == 0.0
            && found.of(&kept(format), "total_blocks") == 1.0
            && found.of(&kept(format), "live_bytes") == found.of(format, "input_bytes")
    };
    let baseline = "bincode, values built";
    // The list, and ten texts per record.
    let built = 1.0 + 10.0 * found.of(baseline, "records");
    let arrow = found.of("arrow", "total_blocks");
    let holds = FORMATS.iter().all(in_place)
        && found.of(baseline, "total_blocks") == built
        && (arrow.is_nan() || arrow == 0.0);
    let of_format = |format: &str| {
        format!(
            "{format} {} B, built values take {} as long",
            found.of(&kept(format), "live_bytes"),
            times(found.times(baseline, format)),
        )
    };
    let arrow = match arrow.is_nan() {
        true => "arrow was not built: it needs --features peers".to_owned(),
        false => format!(
            "arrow {arrow} on access, {} blocks and {} B to open its {} B, whatever the number of rows",
            found.of(&kept("arrow"), "total_blocks"),
            found.of(&kept("arrow"), "total_bytes"),
            found.of("arrow", "input_bytes"),
        ),
    };
    let why = format!(
        "0 blocks on access against {built}; each keeps its whole buffer, where the values take {} B: {}; {arrow}",
        found.of(baseline, "live_bytes"),
        FORMATS.map(of_format).join("; "),
    );
    Judged::facts(holds, why)
}

/// Returns the records, and the sum that each format must give.
fn records(window: &Window) -> (Vec<Log<&'static str>>, u64) {
    let logs = many(window.scaled(1_000));
    let weight = logs.iter().map(Log::weight).sum();
    (logs, weight)
}

/// Notes the length of the input, and checks the format's sum.
fn input(window: &mut Window, bytes: &[u8], sums: (u64, u64)) {
    assert_eq!(sums.0, sums.1, "the format holds other records");
    window.input(bytes.len(), window.scaled(1_000));
}

/// Reads all of it in place.
fn access(window: &mut Window, bytes: &[u8], weight: impl Fn(&[u8]) -> u64) {
    window.work(|| weight(bytes));
}

/// Copies the bytes as from a file, reads all of them, and keeps them, because values borrow from
/// them.
fn kept(window: &mut Window, bytes: &[u8], weight: impl Fn(&[u8]) -> u64) {
    window.work(|| {
        let mut kept = AlignedVec::<16>::with_capacity(bytes.len());
        kept.extend_from_slice(bytes);
        (weight(&kept), kept)
    });
}

fn bincode(window: &mut Window) -> Vec<u8> {
    let (logs, weight) = records(window);
    let bytes = bincode::serde::encode_to_vec(&logs, bincode::config::standard())
        .expect("the records can be written");
    let read: Vec<Log<&str>> = read(&bytes);
    let found = read.iter().map(Log::weight).sum();
    input(window, &bytes, (found, weight));
    bytes
}

fn read<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> T {
    let read = bincode::serde::borrow_decode_from_slice(bytes, bincode::config::standard());
    read.expect("they are these records").0
}

fn flatbuffers(window: &mut Window) -> AlignedVec {
    let (logs, weight) = records(window);
    let mut bytes = AlignedVec::new();
    bytes.extend_from_slice(&flat::write_all(&logs));
    input(window, &bytes, (flat::weight(&bytes), weight));
    bytes
}

fn capnp(window: &mut Window) -> Vec<Word> {
    let (logs, weight) = records(window);
    let words = capnproto::words(&logs);
    let bytes = Word::words_to_bytes(&words);
    input(window, bytes, (capnproto::weight(bytes), weight));
    words
}

fn rkyv(window: &mut Window) -> AlignedVec {
    let (logs, weight) = records(window);
    let logs: Vec<Log<String>> = logs.iter().map(Log::owned).collect();
    let bytes = rkyv::to_bytes::<Error>(&logs).expect("the records can be written");
    input(window, &bytes, (rkyv_weight(&bytes), weight));
    bytes
}

fn rkyv_weight(bytes: &[u8]) -> u64 {
    let logs = rkyv::access::<rkyv::Archived<Vec<Log<String>>>, Error>(bytes);
    let logs = logs.expect("they are these records");
    logs.iter().map(|log| log.weight()).sum()
}

fn scroll(window: &mut Window) -> Vec<u8> {
    let (logs, weight) = records(window);
    let bytes = scrolled::written(&logs);
    input(window, &bytes, (scrolled::weight(&bytes), weight));
    bytes
}

#[cfg(feature = "peers")]
fn arrow(window: &mut Window) -> Vec<u8> {
    use super::no_copy_arrow as arrow;
    let (logs, weight) = records(window);
    let bytes = arrow::written(&logs);
    input(
        window,
        &bytes,
        (arrow::weight(&arrow::opened(&bytes)), weight),
    );
    bytes
}

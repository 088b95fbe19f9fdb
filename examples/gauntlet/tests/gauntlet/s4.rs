//! Tests the gauntlet's cases of "Rewriting Rust serialization part 2: performance", and the
//! formats that are read without copying: the counts that the log record's structure predicts, at a
//! tenth of the size.

use crate::runner::run;

/// A tenth of the repetitions of a record in one window.
const TIMES: u64 = 1_000;
/// A tenth of the batch.
const BATCH: u64 = 100;

#[test]
fn the_record_is_605_bytes_of_json_and_10_blocks_as_string_0_as_str_40_as_value() {
    let case = run(&["4.2", "4.5"]);
    for (id, variant, blocks, bytes) in [
        ("4.5", "String, deserialize", 10, 236),
        ("4.5", "&str, deserialize", 0, 0),
        ("4.2", "Value, deserialize", 40, 3_692),
        ("4.5", "serialize into a kept buffer", 0, 0),
        ("4.5", "serialize, with capacity", 1, 605),
    ] {
        let figure = |name| case.figure(id, variant, name);
        assert_eq!(figure("total_blocks"), blocks * TIMES, "{variant}");
        assert_eq!(figure("total_bytes"), bytes * TIMES, "{variant}");
    }
    case.holds("4.2");
    case.holds("4.5");
}

#[test]
fn text_without_a_tree_is_one_block_and_a_message_into_what_is_kept_none() {
    let case = run(&["4.1", "4.3"]);
    for (id, variant, blocks) in [
        ("4.1", "serde_json DOM, deserialize", 40),
        ("4.1", "serde_json without DOM, deserialize", 1),
        ("4.3", "deserialize", 10),
        ("4.3", "deserialize into a kept message", 0),
        ("4.3", "deserialize, texts as Bytes", 0),
        ("4.3", "serialize", 1),
        ("4.3", "serialize into a kept buffer", 0),
    ] {
        assert_eq!(
            case.figure(id, variant, "total_blocks"),
            blocks * TIMES,
            "{id} {variant}"
        );
    }
    case.holds("4.1");
    case.holds("4.3");
}

#[test]
fn a_capnp_message_is_read_without_a_block() {
    let case = run(&["4.4"]);
    for variant in [
        "deserialize in place, all fields read",
        "deserialize in place, opened alone",
        "serialize, written alone",
    ] {
        assert_eq!(case.figure("4.4", variant, "total_blocks"), 0, "{variant}");
    }
    case.holds("4.4");
}

#[test]
fn postcard_is_273_bytes_a_record_and_every_format_builds_the_same_10_blocks() {
    let case = run(&["4.6"]);
    // The case itself rejects a record of another length.
    assert!(case.figure("4.6", "postcard, serialize", "peak_bytes") >= 273);
    for format in ["postcard", "bincode", "rmp", "rkyv"] {
        let variant = format!("{format}, deserialize");
        assert_eq!(
            case.figure("4.6", &variant, "total_blocks"),
            10 * TIMES,
            "{format}"
        );
        assert_eq!(
            case.figure("4.6", &variant, "total_bytes"),
            236 * TIMES,
            "{format}"
        );
    }
    for variant in [
        "postcard, deserialize &str",
        "rkyv, checked and read in place",
        "flatbuffers, checked and read in place",
    ] {
        assert_eq!(case.figure("4.6", variant, "total_blocks"), 0, "{variant}");
    }
    case.holds("4.6");
}

#[test]
fn formats_without_copying_allocate_nothing_on_access_and_retain_their_buffer() {
    let case = run(&["3.10"]);
    for format in ["flatbuffers", "capnp", "rkyv", "scroll"] {
        let kept = format!("{format} with its buffer");
        assert_eq!(case.figure("3.10", format, "total_blocks"), 0, "{format}");
        assert_eq!(case.figure("3.10", &kept, "live_blocks"), 1, "{format}");
        // More than the texts, less than their JSON: the verdict compares it with the buffer's
        // length.
        let buffer = case.figure("3.10", &kept, "live_bytes");
        assert!(
            (236 * BATCH..605 * BATCH).contains(&buffer),
            "{format}: {buffer}"
        );
    }
    let built = case.figure("3.10", "bincode, values built", "total_blocks");
    assert_eq!(built, 1 + 10 * BATCH);
    case.holds("3.10");
}

#[cfg(not(feature = "peers"))]
#[test]
fn what_was_not_built_is_said_with_its_feature() {
    let folder = tempfile::tempdir().expect("a folder");
    for id in ["3.10", "4.1"] {
        let output = heapglass_limits::Command::new(env!("CARGO_BIN_EXE_gauntlet"))
            .args(["run", id, "--quick", "--no-times"])
            .env("CARGO_TARGET_DIR", folder.path())
            .output()
            .expect("the runner runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("--features peers"), "{said}");
    }
}

#[cfg(feature = "peers")]
#[test]
fn peers_count_what_they_counted_and_arrow_reads_its_columns_without_a_block() {
    let case = run(&["3.10", "4.1"]);
    for (variant, blocks, bytes) in [
        ("simd-json DOM, deserialize", 50 * TIMES, 10_122 * TIMES),
        ("simd-json tape, deserialize", 9 * TIMES, 8_366 * TIMES),
        ("simd-json DOM, serialize", TIMES, 1_024 * TIMES),
        // Plus one block, once.
        ("sonic-rs DOM, deserialize", 4 * TIMES + 1, 2_241_864),
        ("sonic-rs &str types, deserialize", 0, 0),
        ("sonic-rs DOM, serialize", 4 * TIMES, 1_920 * TIMES),
    ] {
        let figure = |name| case.figure("4.1", variant, name);
        assert_eq!(figure("total_blocks"), blocks, "{variant}");
        assert_eq!(figure("total_bytes"), bytes, "{variant}");
    }
    // The descriptions of 23 columns: as many for 1,000 rows as for the 100 here.
    assert_eq!(
        case.figure("3.10", "arrow with its buffer", "total_blocks"),
        147
    );
    assert_eq!(case.figure("3.10", "arrow", "total_blocks"), 0);
    case.holds("3.10");
    case.holds("4.1");
}

#[test]
fn zerovec_reads_the_record_and_many_of_them_where_they_lie() {
    let case = run(&["4.7"]);
    case.holds("4.7");
    let blocks = |variant| case.figure("4.7", variant, "total_blocks");
    assert_eq!(blocks("postcard, deserialize"), 10 * TIMES);
    assert_eq!(blocks("zerovec, checked and read in place"), 0);
    assert_eq!(blocks("zerovec, a vector of them"), 0);
    assert_eq!(blocks("postcard, a vector of them"), 1 + 10 * BATCH);
}

#[test]
fn thrift_makes_a_block_of_each_text_and_when_it_writes_of_each_name() {
    let case = run(&["4.8"]);
    // As many blocks as JSON by its type; the source has fewer.
    case.counts_hold("4.8");
    assert_eq!(case.claims("4.8"), ["reproduced", "contradicted"]);
    let of = |variant, name| case.figure("4.8", variant, name);
    assert_eq!(of("binary, deserialize", "total_blocks"), 10 * TIMES);
    assert_eq!(of("binary, deserialize", "total_bytes"), 236 * TIMES);
    let names = of("binary, serialize", "total_blocks") - of("binary, serialize", "grows");
    // 25 fields, 3 structs, and the buffer.
    assert_eq!(names, (25 + 3 + 1) * TIMES);
}

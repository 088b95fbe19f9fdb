//! The gauntlet's cases of "Allocating less: really thin Rust cloud apps": the counts that their structure predicts, at
//! a tenth of the size, and dhat-rs on the same.

use crate::runner::run;

/// A tenth of the file's lines.
const LINES: u64 = 440;

#[test]
fn the_other_tools_count_what_we_count() {
    run(&["3.2"]).holds("3.2");
}

#[test]
fn short_strings_take_what_doubling_predicts() {
    let case = run(&["3.3"]);
    case.holds("3.3");
    // `foobar` and the digits of 0 to 4,999; vectors with room for 8,192; 65,536 B of text in one.
    let text = 5_000 * 6 + 10 + 90 * 2 + 900 * 3 + 4_000 * 4;
    assert_eq!(
        case.figure("3.3", "Vec<String>", "live_bytes"),
        text + 8_192 * 24
    );
    assert_eq!(
        case.figure("3.3", "Nested", "live_bytes"),
        65_536 + 8_192 * 8
    );
}

#[test]
fn a_line_is_44_blocks_as_value_5_typed_0_borrowed_and_fewer_by_the_json_crate() {
    let case = run(&["3.7", "3.8"]);
    case.holds("3.7");
    assert_eq!(case.figure("3.7", "value", "total_blocks"), 44 * LINES);
    assert_eq!(case.figure("3.7", "typed", "total_blocks"), 5 * LINES);
    assert_eq!(case.figure("3.7", "borrowed", "total_blocks"), 0);
    case.holds("3.8");
    assert_eq!(case.figure("3.8", "json", "grows"), 5 * LINES);
}

#[test]
fn dhat_counts_the_airlines_to_the_byte_as_we_do() {
    let (ours, dhat) = (run(&["3.8"]), run(&["3.8", "--with", "dhat"]));
    for variant in ["serde_json", "json"] {
        for name in ["total_bytes", "total_blocks", "peak_bytes", "live_bytes"] {
            let (ours, dhat) = (
                ours.figure("3.8", variant, name),
                dhat.figure("3.8", variant, name),
            );
            assert_eq!(ours, dhat, "{variant}: {name}");
        }
    }
}

#[test]
fn the_signature_decides_how_many_blocks_a_call_needs() {
    let case = run(&["3.11"]);
    case.holds("3.11");
    assert_eq!(case.figure("3.11", "Vec<String>", "total_blocks"), 1_001);
    assert_eq!(case.figure("3.11", "&[&str]", "total_blocks"), 1);
    assert_eq!(case.figure("3.11", "iterator", "total_blocks"), 0);
}

//! Tests the gauntlet's cases of "Allocating less: really thin Rust cloud apps": the counts that
//! their structure predicts, at a tenth of the size, and dhat-rs on the same.

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
    // Contrary to the source, types do not go through Values; this is exact. The whole is not
    // judged on a tenth of the lines.
    case.counts_hold("3.7");
    let share_of_blocks = case.claims("3.7")[2];
    let (last, others) = (case.claims("3.7")[4], case.claims("3.7")[3]);
    assert_eq!(
        (share_of_blocks, others, last),
        ("reproduced", "not judged", "contradicted")
    );
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

#[test]
fn futures_take_clones_a_share_or_messages() {
    let case = run(&["3.13"]);
    case.holds("3.13");
    // Ten futures and their list; with a clone, also the list and its thousand names.
    let blocks = |variant| case.figure("3.13", variant, "total_blocks");
    assert_eq!(blocks("clone"), 1 + 10 * (1 + 1 + 1_000));
    assert_eq!(blocks("Arc"), 1 + 10);
    assert_eq!(blocks("actor"), 1 + 10 + 3);
}

#[test]
fn heaptrack_and_dhat_count_whole_processes_as_we_do() {
    let case = run(&["3.14"]);
    case.holds("3.14");
    for tool in ["heaptrack", "DHAT"] {
        let more =
            |whose: &str, name: &str| case.note("3.14", tool, &format!("{whose}_{name}_more"));
        if more("theirs", "total_bytes").is_none() {
            assert!(
                case.says("3.14")
                    .contains(&format!("{tool} is not installed"))
            );
            heapglass_examples::skip::skipped(format_args!("{tool} is not installed"));
            continue;
        }
        for name in ["total_bytes", "total_blocks", "peak_bytes"] {
            assert_eq!(more("theirs", name), more("ours", name), "{tool}: {name}");
        }
        // 44 blocks per line, and the growing list.
        let blocks = more("theirs", "total_blocks");
        assert!(
            blocks.is_some_and(|blocks| blocks > 44.0 * 44.0),
            "{blocks:?}"
        );
    }
}

#[test]
fn tcmalloc_counts_as_the_others_or_is_said_not_to_be_built() {
    let case = run(&["3.15"]);
    case.holds("3.15");
    assert_eq!(
        case.says("3.15").contains("not built"),
        !cfg!(feature = "tcmalloc")
    );
}

#[test]
fn errors_and_keys_allocate_what_their_types_say() {
    let case = run(&["3.1", "3.16", "3.17"]);
    for id in ["3.1", "3.16", "3.17"] {
        case.holds(id);
    }
    // The headers are 72 bytes; free buckets come on top.
    assert_eq!(case.claims("3.1"), ["reproduced", "stronger"]);
}

//! Tests the gauntlet's cases of "Zero-copy deserialization part 2: zerovec": the counts that their
//! structure predicts, at a tenth of the size.

use crate::runner::run;

/// A tenth of the repetitions of a benchmark in one window.
const TIMES: u64 = 1_000;
/// A tenth of the people, and of the archive's entries.
const PEOPLE: u64 = 100;

#[test]
fn a_vec_of_numbers_is_one_block_of_their_size_and_a_zerovec_none() {
    let case = run(&["1.1", "1.2", "1.3"]);
    for (id, bytes) in [("1.1", 100 * 4), ("1.2", 15 * 4), ("1.3", 20 * 4)] {
        case.holds(id);
        assert_eq!(case.figure(id, "vec", "total_blocks"), TIMES, "{id}");
        assert_eq!(case.figure(id, "vec", "total_bytes"), TIMES * bytes, "{id}");
        assert_eq!(case.figure(id, "vec", "peak_bytes"), bytes, "{id}");
        assert_eq!(case.figure(id, "zerovec", "total_blocks"), 0, "{id}");
    }
}

#[test]
fn reading_what_is_there_allocates_nothing() {
    let case = run(&["1.4", "1.5", "1.8"]);
    for (id, variants) in [
        ("1.4", ["slice", "zerovec", "zerovec unaligned"].as_slice()),
        ("1.5", &["slice", "zerovec", "zerovec, ever others"]),
        (
            "1.8",
            &["vec, 1", "varzerovec, 10", "varzerovec, ever others"],
        ),
    ] {
        case.holds(id);
        for variant in variants {
            assert_eq!(
                case.figure(id, variant, "total_blocks"),
                0,
                "{id} {variant}"
            );
        }
    }
}

#[test]
fn numbers_are_written_into_a_block_of_their_size_and_a_copy_is_another() {
    let case = run(&["1.6"]);
    case.holds("1.6");
    // 8 bytes of length, 80 of numbers, 45 of chars.
    for (variant, bytes) in [
        ("u32 slice", 8 + 80),
        ("u32 slice, copied first", 80 + 8 + 80),
        ("u32 zerovec", 8 + 80),
        ("char slice", 8 + 45),
        ("char slice, copied first", 60 + 8 + 45),
        ("char zerovec", 8 + 45),
    ] {
        let total = case.figure("1.6", variant, "total_bytes");
        assert_eq!(total, TIMES * bytes, "{variant}");
        assert_eq!(case.figure("1.6", variant, "grows"), 0, "{variant}");
    }
    assert_eq!(case.figure("1.6", "u32 slice, in place", "total_blocks"), 0);
}

#[test]
fn a_hundred_strings_are_101_blocks_as_vec_of_string_1_as_vec_of_str_0_as_varzerovec() {
    let case = run(&["1.7"]);
    case.holds("1.7");
    for (variant, blocks) in [
        ("vec of String", 101),
        ("vec of &str", 1),
        ("varzerovec", 0),
    ] {
        assert_eq!(
            case.figure("1.7", variant, "total_blocks"),
            blocks * TIMES,
            "{variant}"
        );
    }
    assert_eq!(
        case.figure("1.7", "vec of &str", "total_bytes"),
        TIMES * 100 * 16
    );
}

#[test]
fn a_hash_map_is_its_table_and_two_blocks_an_entry_and_a_zero_map_none() {
    let case = run(&["1.9"]);
    case.holds("1.9");
    assert_eq!(
        case.figure("1.9", "hashmap", "total_blocks"),
        TIMES * (1 + 2 * 16)
    );
    // 16 languages, each with a tenth of 8,192 numbers: few enough that the table never grows.
    let entries = 16 * 819;
    assert_eq!(
        case.figure("1.9", "hashmap large", "total_blocks"),
        1 + 2 * entries
    );
    assert_eq!(case.figure("1.9", "zeromap large", "total_blocks"), 0);
}

#[test]
fn a_cow_that_serde_was_not_told_to_borrow_owns_its_text() {
    let case = run(&["1.10"]);
    case.holds("1.10");
    assert_eq!(case.figure("1.10", "owned", "total_blocks"), 3 + 2 * PEOPLE);
    assert_eq!(
        case.figure("1.10", "make_ule, make_varule", "total_blocks"),
        0
    );
    assert_eq!(case.figure("1.10", "yoke", "total_blocks"), 1);
    assert_eq!(case.figure("1.10", "cow", "total_blocks"), 1);
    assert_eq!(
        case.figure("1.10", "cow without borrow", "total_blocks"),
        1 + PEOPLE
    );
}

#[test]
fn rkyv_allocates_nothing_on_access_and_retains_the_archive() {
    let case = run(&["1.11"]);
    case.holds("1.11");
    assert_eq!(
        case.figure("1.11", "bincode", "total_blocks"),
        1 + 5 * PEOPLE
    );
    assert_eq!(case.figure("1.11", "rkyv checked", "total_blocks"), 0);
    assert_eq!(
        case.figure("1.11", "rkyv with its archive", "total_blocks"),
        1
    );
}

#[test]
fn the_articles_struct_is_its_vectors_and_strings_or_no_block_and_has_one_human_readable_form() {
    let case = run(&["1.12"]);
    case.holds("1.12");
    let blocks = |variant| case.figure("1.12", variant, "total_blocks");
    assert_eq!(blocks("owned"), 103 * TIMES);
    assert_eq!(blocks("zerovec"), 0);
    assert_eq!(blocks("ten, make_varule"), 0);
    // Growing vectors: to 128 numbers, 16 chars and 128 strings.
    assert_eq!(blocks("owned, JSON"), (6 + 3 + 6 + 100) * TIMES);
    // Also the vector that the boxed strings are written to.
    assert_eq!(blocks("zerovec, JSON"), (6 + 3 + 6 + 100 + 1) * TIMES);
}

#[test]
fn vectors_in_vectors_are_a_block_each_or_none() {
    let case = run(&["1.13"]);
    case.holds("1.13");
    assert_eq!(case.figure("1.13", "vec", "total_blocks"), 111 * TIMES);
    // Ten and a hundred lists of three words each, and a thousand numbers.
    let bytes = (10 + 100) * 24 + 1_000 * 4;
    assert_eq!(case.figure("1.13", "vec", "total_bytes"), bytes * TIMES);
    assert_eq!(case.figure("1.13", "varzerovec", "total_blocks"), 0);
}

#[test]
fn the_first_change_of_a_borrowed_vector_copies_it_and_pushing_grows_one_buffer() {
    let case = run(&["1.14"]);
    case.holds("1.14");
    let blocks = |variant| case.figure("1.14", variant, "total_blocks");
    assert_eq!(blocks("first change, varzerovec"), TIMES);
    assert_eq!(blocks("push 100, vec"), 106 * TIMES);
    assert_eq!(blocks("push 100, varzerovec"), 8 * TIMES);
    assert_eq!(blocks("add to each, zerovec"), 0);
}

#[test]
fn a_lite_map_is_one_vector_and_its_texts_or_one_block_when_it_borrows() {
    let case = run(&["1.15"]);
    case.holds("1.15");
    let entries = 16 * 819;
    let of = |variant, name| case.figure("1.15", variant, name);
    assert_eq!(of("litemap", "total_blocks"), TIMES * (1 + 2 * 16));
    assert_eq!(of("litemap large", "total_blocks"), 1 + 2 * entries);
    assert_eq!(of("litemap of &str, large", "total_bytes"), 32 * entries);
    assert_eq!(of("zeromap", "total_blocks"), 0);
}

#[test]
fn wider_positions_take_two_more_bytes_for_each_string() {
    run(&["1.16"]).holds("1.16");
}

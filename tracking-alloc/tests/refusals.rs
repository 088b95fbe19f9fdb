//! What the derive refuses, and what it says then. Refresh with `TRYBUILD=overwrite cargo test -p tracking-alloc --test refusals`.

#[test]
fn types_that_own_global_memory_and_misspelled_attributes_are_refused() {
    trybuild::TestCases::new().compile_fail("tests/refusals/*.rs");
}

#[test]
fn derived_code_needs_no_unsafe_and_no_other_dependency() {
    trybuild::TestCases::new().pass("tests/refusals/pass/*.rs");
}

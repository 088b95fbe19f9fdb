//! The errors of the derive. These tests are here and not in tracking-alloc, because trybuild
//! checks all dependencies of the package's tests, and tracking-alloc's tests have many.
//!
//! Refresh with `TRYBUILD=overwrite cargo test -p tracking-alloc-derive --test refusals`.

// The unit tests of these modules run here. If the crate, a procedural macro, had tests of its own,
// every dependency of tests would be built a second time.
#[path = "../src/case.rs"]
#[expect(dead_code, reason = "the crate uses the rest")]
mod case;
#[path = "../src/global.rs"]
mod global;

#[test]
fn types_that_own_global_memory_and_misspelled_attributes_are_refused() {
    trybuild::TestCases::new().compile_fail("tests/refusals/*.rs");
}

//! What the derive refuses, and what it says then. Here and not in tracking-alloc, whose tests have many dependencies:
//! all that the package's tests depend on is checked for this.
//!
//! Refresh with `TRYBUILD=overwrite cargo test -p tracking-alloc-derive --test refusals`.

// The unit tests of these modules run here: with tests of its own the crate, a procedural macro, would have every
// dependency of tests built a second time.
#[path = "../src/case.rs"]
#[expect(dead_code, reason = "the crate uses the rest")]
mod case;
#[path = "../src/global.rs"]
mod global;

#[test]
fn types_that_own_global_memory_and_misspelled_attributes_are_refused() {
    trybuild::TestCases::new().compile_fail("tests/refusals/*.rs");
}

//! Tests everything that is computed from a profile: analyses, tables, trees, pictures, reports,
//! exports, comparisons and budgets. The profiles are those of the fixture.

mod advice;
mod arenas;
mod calltree;
mod check;
mod diff;
mod export;
mod fields;
mod flamegraph;
mod folding;
mod held_diff;
mod leaks;
mod phases;
mod question;
mod report;
mod source;
mod table;

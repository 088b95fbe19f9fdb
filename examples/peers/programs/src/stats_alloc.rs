//! The work under `stats_alloc`, which also prints the number of events.

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOC: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let work = peers_work::prepare(peers_work::Readers::PLAIN);
    let region = Region::new(ALLOC);
    let outcome = work.run();
    let change = region.change();
    let events = change.allocations + change.reallocations + change.deallocations;
    outcome.print_with_counts(change.allocations as u64, events as u64);
}

//! 2.14: two calls of the Allocator API: `vec.allocator()` and `to_vec_in`. They are those of the
//! stand-in on stable.

use super::verbose::VerboseAllocator;
use crate::{Case, Judged, Variant, Window};
use allocator_api2_04::SliceExt;
use allocator_api2_04::alloc::Global;
use allocator_api2_04::vec::Vec as VecIn;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.14",
    system: "vec.allocator() and to_vec_in, by allocator-api2 on stable",
    headline: "vec.allocator() returns the allocator of a Vec; to_vec_in copies a slice into another allocator (no figures)",
    variants: &[
        Variant::new("to_vec", |window| {
            let numbers = numbers(window);
            window.work(|| numbers.to_vec());
        }),
        Variant::new(COPIED, |window| {
            let numbers = numbers(window);
            let allocator = VerboseAllocator::over(Global);
            window.work(|| SliceExt::to_vec_in(numbers.as_slice(), &allocator));
            allocator.note(window);
        }),
        Variant::new(GIVEN, |window| {
            let numbers = numbers(window);
            let allocator = VerboseAllocator::over(Global);
            let first = SliceExt::to_vec_in(numbers.as_slice(), &allocator);
            let is_same = std::ptr::eq(*first.allocator(), &raw const allocator);
            window.note("is the same", f64::from(u8::from(is_same)));
            window.work(|| {
                let mut second = VecIn::new_in(*first.allocator());
                second.push(1);
                second
            });
            allocator.note(window);
        }),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let bytes = of("to_vec", "records") * size_of::<u32>() as f64;
        let holds = of("to_vec", "total_bytes") == bytes
            && of(COPIED, "total_blocks") == 1.0
            && of(COPIED, "told_allocs") == 1.0
            && of(COPIED, "told_bytes") == bytes
            && of(GIVEN, "is the same") == 1.0
            && of(GIVEN, "told_allocs") == 2.0;
        let why = format!(
            "to_vec_in asks the given allocator once, for exactly {:.0} B, as to_vec asks the global one; vec.allocator() is \
             the allocator that the Vec was given: a second Vec with it makes the second of {:.0} allocations there",
            of(COPIED, "told_bytes"),
            of(GIVEN, "told_allocs"),
        );
        Judged::facts(holds, why)
    },
};

const COPIED: &str = "to_vec_in";
const GIVEN: &str = "vec.allocator()";

fn numbers(window: &mut Window) -> Vec<u32> {
    let numbers = window.scaled(100_000);
    window.input(0, numbers);
    (0..numbers as u32).collect()
}

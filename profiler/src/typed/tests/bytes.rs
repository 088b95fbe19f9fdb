//! Slices of the crate `bytes`: which part of their buffers they refer to.

use super::*;

const BYTES: &str = include_str!("programs/bytes.rs");
const SLICES: u64 = 40;

#[test]
fn a_slice_covers_its_part_of_the_buffer() {
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        let run = Run::new(
            BYTES,
            SLICES as usize,
            &[level, "--crate-name=bytes", "-oprogram"],
        );
        assert_eq!(run.truth("slices"), SLICES);
        // Only their site tells the type of the buffers.
        let heap = run.dump.heap_by(|size| (size == 16 << 10).into());
        let list = SiteType {
            container: "alloc::vec::Vec<u8, alloc::alloc::Global>".to_owned(),
            element: Some("u8".to_owned()),
        };
        let (analysis, _) = run.analysed(heap, &[None, Some(list)]);
        let sliced = analysis.sliced();
        assert_eq!(sliced.len() as u64, SLICES, "{level}: {sliced:?}");
        for one in sliced {
            assert_eq!((one.covered_bytes, one.has_list), (16, false), "{level}");
        }
    }
}

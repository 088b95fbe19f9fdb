//! 0.26: references that stay valid while an arena grows. An arena that takes `&self` hands them
//! out at once; a store that takes `&mut self` can only hand out positions, which are resolved
//! later.

use super::people::{self, PEOPLE};
use super::{growths, times};
use crate::{Case, Judged, Variant, Window};
use bumpalo::Bump;

/// The case.
///
/// A store that takes `&mut self` cannot be added to while a text in it is used, wherever the text
/// lies:
/// ```compile_fail,E0499
/// struct Store(Vec<Box<str>>);
/// impl Store {
///     fn add(&mut self, text: &str) -> &str {
///         self.0.push(text.into());
///         &self.0[self.0.len() - 1]
///     }
/// }
/// let mut store = Store(Vec::new());
/// let (first, second) = (store.add("a"), store.add("b"));
/// assert_ne!(first, second);
/// ```
/// One that takes `&self` can:
/// ```
/// let bump = bumpalo::Bump::new();
/// let (first, second) = (bump.alloc_str("a"), bump.alloc_str("b"));
/// assert_ne!(first, second);
/// ```
pub(super) const CASE: Case = Case {
    id: "0.26",
    system: "references that stay valid: bumpalo by &self, positions in one flat Vec by &mut self",
    headline: "a chunk is not copied when the arena grows, so references stay valid and adding takes &self; a store that takes \
               &mut self forbids references that would stay valid, too (no figure)",
    variants: &[
        Variant::new(FLAT, |window| {
            let bytes = input(window);
            let mut valid = 0;
            window.work(|| {
                let (count, texts) = people::read_texts(&bytes);
                let (mut flat, mut ends) = (Vec::new(), Vec::with_capacity(count));
                for text in texts {
                    flat.extend_from_slice(text);
                    ends.push(flat.len());
                }
                let mut resolved = Vec::with_capacity(count);
                let mut start = 0;
                for end in &ends {
                    resolved.push(&flat[start..*end]);
                    start = *end;
                }
                valid = still(&bytes, &resolved);
                drop(resolved);
                (flat, ends)
            });
            window.note(VALID, valid as f64);
        }),
        Variant::new(ARENA, |window| {
            let bytes = input(window);
            let mut valid = 0;
            window.work(|| {
                let bump = Bump::new();
                let (count, texts) = people::read_texts(&bytes);
                let mut kept = Vec::with_capacity(count);
                for text in texts {
                    kept.push(&*bump.alloc_slice_copy(text));
                }
                valid = still(&bytes, &kept);
                drop(kept);
                bump
            });
            window.note(VALID, valid as f64);
        }),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let names = of(ARENA, "records");
        // The flat Vec grows; both lists of it, and the arena's one, have their capacity.
        let flat = growths(8.0, of(FLAT, "text bytes"));
        let holds = of(ARENA, VALID) == names
            && of(FLAT, VALID) == names
            && of(ARENA, "grows") == 0.0
            && of(ARENA, "total_blocks") < 32.0
            && of(FLAT, "total_blocks") >= 2.0 + flat / 2.0
            && of(FLAT, "grows") == of(FLAT, "total_blocks") - 3.0;
        let why = format!(
            "the arena grows to {:.0} chunks while {names:.0} references into it are kept, and all still read what was \
             added; the flat Vec grows {:.0} times, copies {:.0} bytes at most and is resolved in a second pass; that takes \
             {} as long. The borrow checker refuses references while something is added by &mut self (tested)",
            of(ARENA, "total_blocks") - 1.0,
            of(FLAT, "grows"),
            of(FLAT, "copied_bytes"),
            times(found.times(FLAT, ARENA)),
        );
        Judged::facts(holds, why)
    },
};

const FLAT: &str = "flat Vec, &mut self";
const ARENA: &str = "bumpalo, &self";
const VALID: &str = "read as added";

fn input(window: &mut Window) -> Vec<u8> {
    let names = window.scaled(2 * PEOPLE);
    let bytes = people::encoded_names(names);
    window.input(bytes.len(), names);
    let text: usize = people::read_texts(&bytes).1.map(<[u8]>::len).sum();
    window.note("text bytes", text as f64);
    bytes
}

/// Returns the number of texts that are those of the input.
fn still(bytes: &[u8], kept: &[&[u8]]) -> usize {
    let texts = people::read_texts(bytes).1.zip(kept);
    texts.filter(|(text, kept)| text == *kept).count()
}

//! Rare variants that make all values of an enum large, and what boxing their fields saves.
//!
//! All values of an enum have the size of its largest variant. If the fields of a large variant are
//! in a box, the enum has room for the other variants and a pointer. How small it gets is up to the
//! compiler, so its size is bounded from above: the other variants stay as they are if there is a
//! tag, and get one if the tag was hidden in the large variant.

use super::TypedLayouts;
use super::types::{Kind, Member, Type, TypeId, Types, Variant};
use crate::snapshot::{Heap, LargeVariants};
use heapglass_profile::internal::{normal, path_and_arguments, short};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// A variant is rare if at most one value in this number is of it.
const RARE: u64 = 10;
/// Enums that are listed.
const MOST_LISTED: usize = 100;
/// The size of a pointer, bytes.
const POINTER: u64 = 8;

/// The values of a variant, and the bytes of its fields.
#[derive(Clone, Copy, Debug)]
struct Counted<'a> {
    variant: &'a Variant,
    values: u64,
    fields: Fields,
}

/// The fields of a variant.
#[derive(Clone, Copy, Debug, Default)]
struct Fields {
    /// The end of the last one, from the start of the enum.
    end: u64,
    /// The size of a struct of them.
    bytes: u64,
    align: u64,
}

impl TypedLayouts {
    /// Returns the enums of which rare variants make live blocks larger, those with most bytes
    /// first.
    pub(super) fn large_variants_in_blocks(&self, heap: &Heap) -> Vec<LargeVariants> {
        let types = &*self.types;
        let mut counts: FxHashMap<TypeId, Vec<(&Variant, u64)>> = FxHashMap::default();
        self.counted(|of, variant, values| {
            if !types.get(of).is_future {
                let of = types.canonical(of);
                counts.entry(of).or_default().push((variant, values));
            }
        });
        if counts.is_empty() {
            return Vec::new();
        }
        let blocks = self.blocks_by_type(heap);
        let mut all: Vec<LargeVariants> = Vec::new();
        for (of, values) in counts {
            let Some(sites) = blocks.get(&of) else {
                continue;
            };
            // The sites with most bytes come first.
            let mut found = LargeVariants {
                site: sites.first().map(|(site, _)| *site),
                ..LargeVariants::default()
            };
            for (_, blocks) in sites {
                found.places = found.places.saturating_add(blocks.values);
                found.block_bytes = found.block_bytes.saturating_add(blocks.bytes);
            }
            all.extend(self.boxed(of, &values, found));
        }
        all.sort_by_cached_key(|large| (Reverse(large.saves_bytes), large.type_name.clone()));
        all.truncate(MOST_LISTED);
        all
    }

    /// Returns what boxing the largest variants of an enum saves: as many of them as save most.
    fn boxed(
        &self,
        of: TypeId,
        values: &[(&Variant, u64)],
        found: LargeVariants,
    ) -> Option<LargeVariants> {
        let types = &*self.types;
        let this = types.get(of);
        let mut all: Vec<Counted<'_>> = Vec::new();
        for variant in types.variants(this) {
            let known = values.iter().find(|(known, _)| known.name == variant.name);
            all.push(Counted {
                variant,
                values: known.map_or(0, |(_, values)| *values),
                fields: fields_of(types, variant)?,
            });
        }
        all.sort_by_key(|counted| Reverse(counted.fields.bytes));
        let sum: u64 = all.iter().map(|counted| counted.values).sum();
        // A block that was read twice was counted twice.
        if sum == 0 || sum > found.places {
            return None;
        }
        let mut best: Option<LargeVariants> = None;
        for count in 1..all.len() {
            let (large, others) = all.split_at(count);
            let large_values: u64 = large.iter().map(|counted| counted.values).sum();
            if large_values.saturating_mul(RARE) > sum {
                break;
            }
            let boxed_bytes = boxed_size(types, this, others)?;
            let smaller = this.size.saturating_sub(boxed_bytes);
            let boxes = large.iter().map(|counted| {
                let bytes = counted.fields.bytes;
                bytes.saturating_mul(counted.values)
            });
            let boxes = boxes.fold(0, u64::saturating_add);
            let saves_bytes = smaller.saturating_mul(found.places).saturating_sub(boxes);
            if saves_bytes > best.as_ref().map_or(0, |best| best.saves_bytes) {
                best = Some(LargeVariants {
                    variants: large
                        .iter()
                        .map(|counted| types.text(counted.variant.name).to_owned())
                        .collect(),
                    variant_bytes: large[0].fields.bytes,
                    others_bytes: others[0].fields.bytes,
                    boxed_bytes,
                    large_values,
                    saves_bytes,
                    ..found.clone()
                });
            }
        }
        let krate = types.path(this.scope).last().unwrap_or_default();
        let (krate, _) = path_and_arguments(krate);
        best.map(|best| LargeVariants {
            type_name: short(&normal(&types.full_name(of))),
            krate: normal(krate),
            value_bytes: this.size,
            values: sum,
            ..best
        })
    }
}

/// Returns the size of an enum whose other variants have a pointer, at most.
fn boxed_size(types: &Types, this: &Type, others: &[Counted<'_>]) -> Option<u64> {
    if types.is_std(this)
        && let [none] = others
        && none.fields.bytes == 0
        && types.variants(this).len() == 2
    {
        // An `Option`: null stands for `None`.
        return Some(POINTER);
    }
    let (start, tag) = this.discriminant?;
    let tag_end = start.checked_add(types.size(tag)?)?;
    let align = others.iter().map(|other| other.fields.align);
    let align = align.max().unwrap_or(1).max(POINTER);
    let is_hidden = types.variants(this).iter().any(|variant| {
        let fields = types.members(types.get(variant.of)).iter();
        fields.clone().any(|field| {
            let at = variant.offset.saturating_add(field.offset);
            let end = at.saturating_add(types.size(field.of).unwrap_or(0));
            at < tag_end && start < end
        })
    });
    let end = if !is_hidden {
        let ends = others.iter().map(|other| other.fields.end);
        let pointer = tag_end.checked_next_multiple_of(POINTER)?;
        ends.max().unwrap_or(0).max(pointer.checked_add(POINTER)?)
    } else {
        let bytes = others.iter().map(|other| other.fields.bytes);
        align.checked_add(bytes.max().unwrap_or(0).max(POINTER))?
    };
    end.checked_next_multiple_of(align)
}

/// Returns what the fields of a variant take. Returns `None` if their sizes are not known.
fn fields_of(types: &Types, variant: &Variant) -> Option<Fields> {
    let members = types.members(types.get(variant.of));
    let mut fields = Fields {
        align: 1,
        ..Fields::default()
    };
    for Member { offset, of, .. } in members {
        let bytes = types.size(*of)?;
        let end = variant.offset.checked_add(*offset)?.checked_add(bytes)?;
        fields.end = fields.end.max(end);
        fields.bytes = fields.bytes.checked_add(bytes)?;
        fields.align = fields.align.max(align_of(types, *of));
    }
    // Sorted by alignment, they need no padding between them.
    fields.bytes = fields.bytes.checked_next_multiple_of(fields.align)?;
    Some(fields)
}

/// Returns the alignment of a type, at most.
fn align_of(types: &Types, mut of: TypeId) -> u64 {
    // Arrays of arrays; more of them than this are not written by people.
    for _ in 0..16 {
        let this = types.get(of);
        match this.kind {
            Kind::Array { .. } => of = this.target,
            Kind::Pointer => return POINTER,
            _ if this.align > 0 => return u64::from(this.align),
            Kind::Plain => return this.size.clamp(1, 16).next_power_of_two(),
            _ => return POINTER,
        }
    }
    POINTER
}

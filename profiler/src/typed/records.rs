//! Records: values that can be compared field by field.

use super::types::{Kind, TypeId, Types};

/// Fields that are looked at in one type.
const MOST_FIELDS: u32 = 4096;
/// Smaller values are no records: states, numbers.
const LEAST_RECORD: u64 = 16;

/// Returns `true` for a struct, tuple or enum of which all bytes are understood.
pub(super) fn is_record(types: &Types, of: TypeId) -> bool {
    let this = types.get(of);
    let mut left = MOST_FIELDS;
    this.kind == Kind::Structure
        && this.size >= LEAST_RECORD
        && !types.is_std(this)
        && !has_union(types, of, &mut left)
}

/// Returns `true` if a union may lie in a value: which bytes of it count is not known.
fn has_union(types: &Types, of: TypeId, left: &mut u32) -> bool {
    let this = types.get(of);
    let Some(less) = left.checked_sub(1) else {
        return true;
    };
    *left = less;
    match this.kind {
        Kind::Plain | Kind::Pointer => false,
        Kind::Array { .. } => has_union(types, this.target, left),
        Kind::Union => true,
        Kind::Structure => {
            let mut fields = types.members(this).iter();
            let mut variants = types.variants(this).iter();
            fields.any(|field| has_union(types, field.of, left))
                || variants.any(|variant| has_union(types, variant.of, left))
        }
    }
}

//! Types with interior mutability: code may change their values through a shared reference.

use super::types::{Kind, Type, TypeId, Types};
use rustc_hash::FxHashMap;

/// Types inside each other that are looked into. More are not written by people.
const MOST_DEPTH: u32 = 256;

/// The types that were looked at.
#[derive(Debug, Default)]
pub(super) struct Interior {
    known: FxHashMap<TypeId, bool>,
}

impl Interior {
    /// Returns `true` if code may change values of a type through a shared reference, or if debug
    /// information does not tell. What a pointer leads to is not a part of the value.
    pub(super) fn may_change(&mut self, types: &Types, of: TypeId) -> bool {
        self.inside(types, of, 0)
    }

    fn inside(&mut self, types: &Types, of: TypeId, depth: u32) -> bool {
        let of = types.canonical(of);
        if let Some(known) = self.known.get(&of) {
            return *known;
        }
        if of == 0 || depth > MOST_DEPTH {
            return true;
        }
        // No type contains itself; one that does is damaged.
        self.known.insert(of, true);
        let this = types.get(of);
        let may_change = match this.kind {
            Kind::Plain | Kind::Pointer => false,
            Kind::Array { .. } => self.inside(types, this.target, depth + 1),
            Kind::Structure | Kind::Union if types.is_at(this, "core::cell::UnsafeCell") => true,
            Kind::Structure if types.never_changes(this) => false,
            Kind::Structure | Kind::Union => {
                let is_told = this.size == 0 || has_parts(types, this);
                let fields = types.members(this).iter().map(|member| member.of);
                let variants = types.variants(this).iter();
                let variants = variants.flat_map(|variant| {
                    let fields = types.members(types.get(variant.of)).iter();
                    fields.map(|member| member.of)
                });
                let mut all = fields.chain(variants);
                !is_told || all.any(|of| self.inside(types, of, depth + 1))
            }
        };
        self.known.insert(of, may_change);
        may_change
    }
}

fn has_parts(types: &Types, this: &Type) -> bool {
    !types.members(this).is_empty() || !types.variants(this).is_empty()
}

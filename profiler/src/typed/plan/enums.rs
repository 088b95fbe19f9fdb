//! Plans for enums and for the states of futures.

use super::super::types::{Member, TypeId, Types, Variant};
use super::{CountedEnum, Item, MOST_PATH, Mode, Path, Planner, field, fit, is_numbers, with};
use heapglass_profile::internal::{normal, short};

/// An enum smaller than this has no large variant.
const LEAST_COUNTED: u64 = 16;
impl Planner<'_> {
    /// An enum with fields.
    pub(super) fn choice(
        &mut self,
        of: TypeId,
        at: u64,
        path: &Path,
        mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let types = self.types;
        let this = types.get(of);
        let all = types.variants(this);
        let Some((offset, discriminant)) = this.discriminant else {
            // An enum with one variant that has values has no discriminant.
            return match all {
                [one] => {
                    let path = self.variant_path(of, one, path);
                    self.variant(of, one, at, &path, mode, depth, out)
                }
                _ => Some(()),
            };
        };
        let bytes = types.size(discriminant)?;
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return (bytes == 0).then_some(());
        }
        offset.checked_add(bytes).filter(|&end| end <= this.size)?;
        let mask = u64::MAX >> (64 - 8 * bytes);
        let is_counted = this.is_future || (depth == 0 && at == 0 && this.size >= LEAST_COUNTED);
        let mut variants = Vec::new();
        for variant in all {
            let mut items = Vec::new();
            let path = self.variant_path(of, variant, path);
            self.variant(of, variant, at, &path, mode, depth, &mut items)?;
            variants.push((variant.value.map(|value| value & mask), items));
        }
        // `Option<Box<T>>`: a null pointer points to nothing in any case.
        if let [(Some(0), none), (None, some)] | [(None, some), (Some(0), none)] = &mut variants[..]
            && none.is_empty()
            && bytes == 8
            && !is_counted
            && matches!(&some[..], [Item::Pointer { at: place, .. }] if u64::from(*place) == at + offset)
        {
            out.append(some);
            return Some(());
        }
        for (variant, (_, items)) in all.iter().zip(&mut variants) {
            let fields = types.members(types.get(variant.of)).iter();
            let mut parts = vec![(offset, discriminant)];
            for field in fields {
                parts.push((variant.offset.checked_add(field.offset)?, field.of));
            }
            self.gaps(this, parts, at, mode, items)?;
        }
        if !is_counted && variants.iter().all(|(_, items)| is_numbers(items)) {
            out.extend(variants.into_iter().flat_map(|(_, items)| items));
            return Some(());
        }
        let counters = is_counted.then(|| self.counters(of, all.len()));
        out.push(Item::Choice {
            discriminant: fit(at.checked_add(offset)?)?,
            bytes: bytes as u8,
            variants: (variants.into_iter())
                .map(|(value, items)| (value, items.into()))
                .collect(),
            counters,
        });
        Some(())
    }

    fn counters(&mut self, of: TypeId, variants: usize) -> u32 {
        let of = self.types.canonical(of);
        if let Some(first) = self.enums.get(&of) {
            return *first;
        }
        let first = self.plans.counters;
        self.plans.counters += variants as u32;
        self.enums.insert(of, first);
        self.plans.enums.push(CountedEnum { of, first });
        first
    }

    fn variant_path(&self, of: TypeId, variant: &Variant, path: &Path) -> Path {
        let types = self.types;
        let this = types.get(of);
        if this.is_future {
            return Path {
                of: 0,
                owner: format!("{} ({})", self.future_name(of), state(types, variant)),
                text: String::new(),
                is_root: true,
            };
        }
        if types.is_std(this) {
            return path.clone();
        }
        with(path, &format!("::{}", types.text(variant.name)))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all of them differ between the callers"
    )]
    fn variant(
        &mut self,
        of: TypeId,
        variant: &Variant,
        at: u64,
        path: &Path,
        mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let types = self.types;
        let this = types.get(of);
        let start = at.checked_add(variant.offset)?;
        if this.is_future {
            let others = types.variants(this).len() as u32;
            self.left = self.left.checked_sub(others / 8)?;
        }
        for member in live_fields(types, of, variant) {
            let place = start.checked_add(member.offset)?;
            let size = types.size(member.of)?;
            if place.checked_add(size)? > at.checked_add(this.size)? {
                return None;
            }
            if size == 0 {
                continue;
            }
            let name = types.text(member.name);
            let is_only = name == "__0" && types.members(types.get(variant.of)).len() == 1;
            let path = if is_only || name == "__awaitee" || types.is_std(this) {
                path.clone()
            } else {
                with(path, &field(name))
            };
            self.value(member.of, place, &path, mode, depth + 1, out)?;
        }
        Some(())
    }
}

/// Returns the fields of a variant that hold values.
///
/// An async function moves its arguments out of where they were before its first await. They are
/// still listed for all states, after the locals, and not always with their own offsets.
pub(in crate::typed) fn live_fields<'t>(
    types: &'t Types,
    of: TypeId,
    variant: &'t Variant,
) -> impl Iterator<Item = &'t Member> {
    let this = types.get(of);
    let name_of = |variant: &Variant| types.text(types.get(variant.of).name);
    let own = name_of(variant);
    let is_over = this.is_future && matches!(own, "Returned" | "Panicked");
    let moves = this.is_future
        && own.starts_with("Suspend")
        && types.text(this.name).starts_with("{async_fn_env");
    let mut others = types.variants(this).iter();
    let returned = others.find(|other| moves && name_of(other) == "Returned");
    let arguments = returned.map_or(&[][..], |other| types.members(types.get(other.of)));
    let fields = types.members(types.get(variant.of));
    let locals = fields.len().saturating_sub(arguments.len());
    let names = |fields: &'t [Member]| fields.iter().map(|field| field.name);
    let are_arguments = names(&fields[locals..]).eq(names(arguments));
    let live = if are_arguments { locals } else { fields.len() };
    fields[..live].iter().filter(move |_| !is_over)
}

/// Returns the name of an async function or block.
pub(in crate::typed) fn future_name(types: &Types, of: TypeId) -> String {
    let this = types.get(of);
    let mut path: Vec<&str> = types.path(this.scope).collect();
    path.reverse();
    let own = types.text(this.name);
    let function = short(&normal(&path.join("::")));
    let mut text = if own.starts_with("{async_fn_env") {
        function
    } else if own.starts_with("{async") {
        format!("{function}::{{async block}}")
    } else {
        format!("{function}::{{generator}}")
    };
    if text.len() > MOST_PATH {
        text = text.chars().take(MOST_PATH / 4).collect();
    }
    text
}

/// Returns the state of a future for people.
pub(in crate::typed) fn state(types: &Types, variant: &Variant) -> String {
    let name = types.text(types.get(variant.of).name);
    match name {
        "Unresumed" => "not started".to_owned(),
        "Returned" => "done".to_owned(),
        "Panicked" => "panicked".to_owned(),
        _ if variant.line == 0 => format!("state {}", types.text(variant.name)),
        _ => format!("await at {}:{}", types.text(variant.file), variant.line),
    }
}

//! Fields that were visited in place (`deserialize_in_place`), but whose old values were dropped
//! and replaced by new ones.
//!
//! That is what serde does for each type that does not say how to fill an old value: `Option`,
//! maps, `Box`, enums and structs without such a derive.

use std::collections::BTreeMap;

use super::finding::{Confidence, Finding, Kind};
use super::group::{own_crates, place_of};
use super::methods::fills_in_place;
use crate::profile::{Figures, Measure, Profile, Scope, ScopeId, ScopeKind};
use crate::units::{Bytes, Count, printable};

/// Fewer visits are no loop.
const LOOP: u64 = 16;

/// The new allocations of a field.
#[derive(Default)]
struct Anew {
    figures: Figures,
    /// The site with most of these bytes.
    largest: Option<(u64, usize)>,
}

/// Returns a finding for each field whose values are made anew at most visits.
pub(super) fn find(profile: &Profile) -> Vec<Finding> {
    let inner = has_places_in_place(profile);
    let mut by_field: BTreeMap<u32, Anew> = BTreeMap::new();
    for (index, site) in profile.sites().iter().enumerate() {
        let Some(scope) = replaced(profile, &inner, site.scope) else {
            continue;
        };
        let anew = by_field
            .entry(profile.fields().field_of(scope))
            .or_default();
        anew.figures.add(&site.figures);
        let bytes = site.figures.total_bytes;
        if anew.largest.is_none_or(|(most, _)| bytes > most) {
            anew.largest = Some((bytes, index));
        }
    }
    let found = by_field.into_iter();
    let found = found.filter_map(|(field, anew)| finding(profile, field, &anew));
    found.collect()
}

/// Returns, for each scope, `true` if a place directly inside it is visited in place.
fn has_places_in_place(profile: &Profile) -> Vec<bool> {
    let mut has = vec![false; profile.scopes().len()];
    let inner = profile.scopes().iter().filter(|scope| scope.in_place);
    for scope in inner.filter(|scope| scope.kind != ScopeKind::Root) {
        if let Some(outer) = has.get_mut(scope.parent as usize) {
            *outer = true;
        }
    }
    has
}

/// Returns the scope visited in place whose value was replaced when a block was allocated in
/// `scope`.
fn replaced(profile: &Profile, inner: &[bool], scope: ScopeId) -> Option<ScopeId> {
    let mut around = profile.scopes_around(scope);
    let (id, found) = around.find(|(_, scope)| scope.in_place || !scope.kind.is_field())?;
    let fills_its_parts = inner.get(id.0 as usize).copied().unwrap_or(false);
    let falls_back = found.in_place && !found.recursive && !found.folded && !fills_its_parts;
    (falls_back && !is_filled(profile, found)).then_some(id)
}

fn is_filled(profile: &Profile, scope: &Scope) -> bool {
    let Some(name) = profile.named_type(scope.value_type) else {
        return true;
    };
    // Arrays and tuples are filled as well. A filled value allocates only if its old value was too
    // small.
    name.full.starts_with(['[', '(']) || fills_in_place(&name.full)
}

fn finding(profile: &Profile, field: u32, anew: &Anew) -> Option<Finding> {
    let figures = &anew.figures;
    let place = profile.fields().get(field)?;
    let visits = place.in_place_values;
    let grown = figures.grows.saturating_add(figures.shrinks);
    let blocks = figures.total_blocks.saturating_sub(grown);
    // The blocks of the values that are kept are needed once.
    let kept = figures.peak_blocks.max(figures.live_blocks);
    let kept_bytes = figures.peak_bytes.max(figures.live_bytes);
    let saves_blocks = blocks.saturating_sub(kept);
    if visits < LOOP || saves_blocks < visits / 2 || figures.freed_blocks < saves_blocks {
        return None;
    }
    let (_, largest) = anew.largest?;
    let mut at = place_of(profile, largest)?;
    at.field = Some(place.path.clone());
    let value_type = profile.named_type(place.value_type);
    let type_name = value_type.map_or_else(|| "value".into(), |name| printable(&name.short));
    // Nobody can write an implementation for a type of another crate.
    let krate = value_type.and_then(|name| name.full.split("::").next());
    let is_own = krate.is_some_and(|krate| own_crates(profile).contains(krate));
    Some(Finding {
        kind: Kind::InPlaceFellBack,
        saves_bytes: figures.total_bytes.saturating_sub(kept_bytes),
        saves_blocks,
        of_bytes: figures.total_bytes,
        measure: Measure::Total,
        snapshot: None,
        holder: None,
        alternative_to: None,
        // New values may be larger than the old ones.
        confidence: Confidence::Estimate,
        place: at,
        evidence: vec![
            ("values_in_place", visits),
            ("blocks_anew", blocks),
            ("bytes_anew", figures.total_bytes),
        ],
        why: format!(
            "`{}` was visited in place {} times, and {} blocks of {} were allocated anew for it.",
            printable(&place.path),
            Count(visits),
            Count(blocks),
            Bytes(figures.total_bytes),
        ),
        remedy: if is_own {
            format!(
                "serde drops the old `{type_name}` and makes a new one. Derive it with \
                 serde_derive's feature `deserialize_in_place`, write a \
                 `Deserialize::deserialize_in_place` that fills the old value, or use a type that \
                 has one, such as `String` or `Vec`."
            )
        } else {
            format!(
                "serde drops the old `{type_name}` and makes a new one. Use a type that is filled \
                 in place, such as `String` or `Vec`, or one of your own with a \
                 `Deserialize::deserialize_in_place` that fills the old value."
            )
        },
    })
}

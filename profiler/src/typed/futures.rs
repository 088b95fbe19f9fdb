//! The locals that futures hold across an await, and what each of them adds to live blocks.
//!
//! A future has room for its largest state. So the size of a block without a local is computed from
//! the types: the local is taken out of each state that holds it, what lies behind it moves up, and
//! the largest state that remains is the size of the future. The same is done with each type around
//! the future, up to that of the block.

use super::TypedLayouts;
use super::plan::{self, COUNTS, Contents};
use super::types::{Kind, Member, NameId, Type, TypeId, Types, Variant};
use crate::snapshot::{FutureState, Heap, LargeLocal};
use heapglass_profile::internal::normal;
use heapglass_profile::internal::path_and_arguments;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// States that are listed, those with most bytes.
const MOST_STATES: usize = 1000;
/// Locals that are listed of one state.
const MOST_LOCALS: usize = 32;
/// Smaller locals are not called large.
const LEAST_LOCAL: u64 = 128;
/// Locals whose share is computed, the largest.
const MOST_TRIED: usize = 1000;
/// Locals that are listed as large.
const MOST_LARGE: usize = 100;
/// Values inside each other.
const MOST_DEPTH: u32 = 256;
/// Types that are looked at. A damaged file may claim more of them than there are.
const MOST_FIELDS: u64 = 1 << 24;

/// A local, by the future that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LocalId {
    future: TypeId,
    name: NameId,
    of: TypeId,
}

/// Live blocks of one type and site.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocks {
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    /// Places for values of the type in these blocks.
    pub(super) values: u64,
}

impl TypedLayouts {
    /// Returns the futures by the await that they wait at, those with most bytes first.
    pub(super) fn futures_by_await(&self) -> Vec<FutureState> {
        let mut all = Vec::new();
        self.counted(|of, variant, futures| {
            let this = self.types.get(of);
            if !this.is_future {
                return;
            }
            let fields = plan::live_fields(&self.types, of, variant);
            let locals = fields.filter_map(|field| {
                let bytes = self.types.size(field.of).filter(|&bytes| bytes > 0)?;
                let name = match self.types.text(field.name) {
                    "__awaitee" => "(awaited)",
                    // Temporary values, and whether they are to be dropped.
                    name if name.starts_with("__") => "(temporary)",
                    name => name,
                };
                Some((name.to_owned(), bytes))
            });
            let mut locals: Vec<_> = locals.collect();
            locals.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
            locals.truncate(MOST_LOCALS);
            all.push(FutureState {
                function: plan::future_name(&self.types, of),
                state: plan::state(&self.types, variant),
                futures,
                future_bytes: this.size,
                locals,
            });
        });
        all.sort_by_cached_key(|state| {
            let bytes = state.futures.saturating_mul(state.future_bytes);
            (Reverse(bytes), state.function.clone(), state.state.clone())
        });
        all.truncate(MOST_STATES);
        all
    }

    /// Returns the locals that make blocks larger, those with most bytes first.
    pub(super) fn locals_in_blocks(&self, heap: &Heap) -> Vec<LargeLocal> {
        let types = &*self.types;
        if !types.has_futures() {
            return Vec::new();
        }
        let blocks = self.blocks_by_type(heap);
        let mut left = MOST_FIELDS;
        // The block types around each future.
        let mut around: FxHashMap<TypeId, Vec<TypeId>> = FxHashMap::default();
        for &of in blocks.keys() {
            let mut seen = FxHashSet::default();
            add_types_inside(types, of, 0, &mut seen, &mut left);
            for inside in seen {
                if types.get(inside).is_future {
                    around.entry(inside).or_default().push(of);
                }
            }
        }
        let mut holding: FxHashMap<TypeId, Vec<(NameId, u64)>> = FxHashMap::default();
        self.counted(|of, variant, futures| {
            if types.get(of).is_future {
                let of = types.canonical(of);
                holding.entry(of).or_default().push((variant.name, futures));
            }
        });
        let mut locals: Vec<(u64, LocalId)> = Vec::new();
        for &future in around.keys() {
            locals.extend(locals_of(types, future));
        }
        locals.sort_unstable_by_key(|&(bytes, id)| (Reverse(bytes), id.future, id.name, id.of));
        locals.truncate(MOST_TRIED);
        let mut all: Vec<LargeLocal> = Vec::new();
        for (bytes, local) in locals {
            let mut without = Without {
                types,
                local,
                known: FxHashMap::default(),
                left: &mut left,
            };
            let mut large = LargeLocal::default();
            let mut most = 0;
            for of in around.get(&local.future).into_iter().flatten() {
                let saved = without.saved(*of, 0);
                if saved == 0 {
                    continue;
                }
                for (site, found) in blocks.get(of).into_iter().flatten() {
                    let saves = saved.saturating_mul(found.values);
                    large.blocks += found.blocks;
                    large.block_bytes = large.block_bytes.saturating_add(found.bytes);
                    large.saves_bytes = large.saves_bytes.saturating_add(saves);
                    if saves > most {
                        (most, large.site) = (saves, Some(*site));
                    }
                }
            }
            if large.saves_bytes > 0 {
                let holding = holding.get(&local.future).map_or(&[][..], Vec::as_slice);
                all.push(self.described(large, bytes, local, holding));
            }
        }
        all.sort_by_cached_key(|large| {
            let place = (large.function.clone(), large.local.clone());
            (Reverse(large.saves_bytes), place)
        });
        all.truncate(MOST_LARGE);
        all
    }

    /// Adds the names and the futures that hold a local.
    fn described(
        &self,
        large: LargeLocal,
        bytes: u64,
        local: LocalId,
        holding: &[(NameId, u64)],
    ) -> LargeLocal {
        let types = &*self.types;
        let this = types.get(local.future);
        let variants = types.variants(this).iter();
        let awaits: Vec<&Variant> = variants
            .filter(|variant| holds(types, local, variant))
            .collect();
        let futures = holding
            .iter()
            .filter(|(name, _)| awaits.iter().any(|variant| variant.name == *name));
        let first = awaits.iter().min_by_key(|variant| variant.line);
        let krate = types.path(this.scope).last().unwrap_or_default();
        let (krate, _) = path_and_arguments(krate);
        LargeLocal {
            local: types.text(local.name).to_owned(),
            local_bytes: bytes,
            function: plan::future_name(types, local.future),
            krate: normal(krate),
            file: first.map_or("", |at| types.text(at.file)).to_owned(),
            line: first.map_or(0, |at| at.line),
            futures: futures.fold(0, |sum, (_, futures)| sum + futures),
            ..large
        }
    }

    /// Returns the live blocks whose values have a type, by type and site.
    pub(super) fn blocks_by_type(&self, heap: &Heap) -> FxHashMap<TypeId, Vec<(u32, Blocks)>> {
        let mut sums: FxHashMap<(u32, u32), (u64, u64)> = FxHashMap::default();
        for block in 0..heap.len() {
            let shape = self.shape_of(heap, block);
            if shape != 0 {
                let sum = sums.entry((shape, heap.site(block))).or_default();
                sum.0 += 1;
                sum.1 = sum.1.saturating_add(heap.size(block));
            }
        }
        let mut found: FxHashMap<TypeId, Vec<(u32, Blocks)>> = FxHashMap::default();
        for ((shape, site), (blocks, bytes)) in sums {
            let Some(shape) = self.plans.shapes.get(shape as usize) else {
                continue;
            };
            let (of, values) = match shape.contents {
                Contents::Value(of) | Contents::CountedValue(of) => (of, blocks),
                // A block is not smaller by its unused capacity: each place is.
                Contents::Elements(of) => (of, bytes.checked_div(shape.size).unwrap_or(0)),
                Contents::CountedElements(of) => {
                    let places = bytes.saturating_sub(COUNTS.saturating_mul(blocks));
                    (of, places.checked_div(shape.size).unwrap_or(0))
                }
                Contents::Table(_) | Contents::Static(_) | Contents::Local(_) => continue,
            };
            if of != 0 {
                let found = found.entry(self.types.canonical(of)).or_default();
                let sum = Blocks {
                    blocks,
                    bytes,
                    values,
                };
                found.push((site, sum));
            }
        }
        found.values_mut().for_each(|sites| {
            sites.sort_unstable_by_key(|(site, found)| (Reverse(found.bytes), *site));
        });
        found
    }
}

/// Returns the locals of a future that are large enough.
fn locals_of(types: &Types, future: TypeId) -> Vec<(u64, LocalId)> {
    let this = types.get(future);
    let waiting = types.variants(this).iter();
    let waiting = waiting.filter(|variant| is_waiting(types, variant));
    let fields = waiting.flat_map(|variant| plan::live_fields(types, future, variant));
    let mut locals: FxHashMap<LocalId, u64> = FxHashMap::default();
    for field in fields {
        let bytes = types.size(field.of).unwrap_or(0);
        // What is awaited is a future of its own. Temporary values have no name.
        if bytes >= LEAST_LOCAL && !types.text(field.name).starts_with("__") {
            let local = LocalId {
                future,
                name: field.name,
                of: types.canonical(field.of),
            };
            locals.insert(local, bytes);
        }
    }
    locals.into_iter().map(|(id, bytes)| (bytes, id)).collect()
}

fn is_waiting(types: &Types, variant: &Variant) -> bool {
    let name = types.text(types.get(variant.of).name);
    name.starts_with("Suspend")
}

fn is_local(types: &Types, local: LocalId, member: &Member) -> bool {
    member.name == local.name && types.canonical(member.of) == local.of
}

fn holds(types: &Types, local: LocalId, variant: &Variant) -> bool {
    is_waiting(types, variant)
        && plan::live_fields(types, local.future, variant)
            .any(|member| is_local(types, local, member))
}

/// Adds the types of all values that lie in a value of a type, itself included.
fn add_types_inside(
    types: &Types,
    of: TypeId,
    depth: u32,
    seen: &mut FxHashSet<TypeId>,
    left: &mut u64,
) {
    let of = types.canonical(of);
    let this = types.get(of);
    if matches!(this.kind, Kind::Pointer | Kind::Plain)
        || depth > MOST_DEPTH
        || *left == 0
        || !seen.insert(of)
    {
        return;
    }
    *left -= 1;
    if let Kind::Array { .. } = this.kind {
        return add_types_inside(types, this.target, depth + 1, seen, left);
    }
    for member in types.members(this) {
        add_types_inside(types, member.of, depth + 1, seen, left);
    }
    for variant in types.variants(this) {
        for member in plan::live_fields(types, of, variant) {
            add_types_inside(types, member.of, depth + 1, seen, left);
        }
    }
}

/// A part of a value.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u64,
    end: u64,
    /// The bytes by which it is smaller.
    saved: u64,
}

/// Computes the sizes of types without a local.
struct Without<'a> {
    types: &'a Types,
    local: LocalId,
    known: FxHashMap<TypeId, u64>,
    left: &'a mut u64,
}

impl Without<'_> {
    /// Returns the bytes by which a value of a type is smaller.
    fn saved(&mut self, of: TypeId, depth: u32) -> u64 {
        let types = self.types;
        let of = types.canonical(of);
        let this = types.get(of);
        if matches!(this.kind, Kind::Pointer | Kind::Plain) || depth > MOST_DEPTH || *self.left == 0
        {
            return 0;
        }
        if let Some(known) = self.known.get(&of) {
            return *known;
        }
        *self.left -= 1;
        self.known.insert(of, 0);
        let saved = match this.kind {
            Kind::Array { count } => self.saved(this.target, depth + 1).saturating_mul(count),
            _ => self.saved_of_structure(of, this, depth),
        };
        self.known.insert(of, saved);
        saved
    }

    fn saved_of_structure(&mut self, of: TypeId, this: &Type, depth: u32) -> u64 {
        let types = self.types;
        let mut shared = Vec::new();
        for member in types.members(this) {
            shared.extend(self.part(member, 0, depth));
        }
        // The state of a future lies behind what several states hold, and moves up with it.
        let discriminant = this.discriminant.filter(|_| !this.is_future);
        if let Some((start, discriminant)) = discriminant {
            let end = start.saturating_add(types.size(discriminant).unwrap_or(0));
            shared.push(Part {
                start,
                end,
                saved: 0,
            });
        }
        let mut alternatives: Vec<Vec<Part>> = Vec::new();
        if this.kind == Kind::Union {
            alternatives.extend(shared.drain(..).map(|part| vec![part]));
        }
        for variant in types.variants(this) {
            let mut parts = shared.clone();
            let may_hold = of == self.local.future && is_waiting(types, variant);
            for member in plan::live_fields(types, of, variant) {
                let part = self.part(member, variant.offset, depth);
                let is_taken = may_hold && is_local(types, self.local, member);
                parts.extend(part.map(|part| Part {
                    saved: if is_taken {
                        part.end - part.start
                    } else {
                        part.saved
                    },
                    ..part
                }));
            }
            alternatives.push(parts);
        }
        if alternatives.is_empty() {
            alternatives.push(shared);
        }
        if alternatives.iter().flatten().all(|part| part.saved == 0) {
            return 0;
        }
        let ends = alternatives.iter().map(|parts| end(parts));
        let end = ends.max().unwrap_or(0);
        let align = u64::from(this.align.max(1));
        let size = end.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        this.size.saturating_sub(size)
    }

    fn part(&mut self, member: &Member, offset: u64, depth: u32) -> Option<Part> {
        let start = offset.checked_add(member.offset)?;
        let end = start.checked_add(self.types.size(member.of)?)?;
        let saved = self.saved(member.of, depth + 1).min(end - start);
        Some(Part { start, end, saved })
    }
}

/// Returns the end of parts after those that are smaller let what is behind them move up.
fn end(parts: &[Part]) -> u64 {
    let smaller: Vec<&Part> = parts.iter().filter(|part| part.saved > 0).collect();
    let ends = parts
        .iter()
        .filter(|part| part.saved < part.end - part.start);
    let ends = ends.map(|part| {
        let before = smaller.iter().filter(|other| other.end <= part.start);
        let before = before.fold(part.saved, |sum, other| sum.saturating_add(other.saved));
        part.end.saturating_sub(before)
    });
    ends.max().unwrap_or(0)
}

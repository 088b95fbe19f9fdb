//! The sums of arenas by name, of their rows by scope, and of the values that they never drop.
//!
//! The maximum of one instance or one moment is the largest of all recordings; the maximum of all
//! live instances together is a sum of peaks.

use super::tables::{Numbers, Ordered, Tables, check};
use std::collections::BTreeMap;
use tracking_alloc_recording::{ArenaRowValue, ArenaValue, ArenaValuesValue, MAX_NAMED, Recording};

/// The sums.
#[derive(Debug, Default)]
pub(super) struct Arenas {
    /// By name and crate.
    arenas: BTreeMap<(Vec<u8>, Vec<u8>), Arena>,
}

#[derive(Debug, Default)]
struct Arena {
    sum: ArenaValue,
    /// By scope.
    rows: BTreeMap<u32, ArenaRowValue>,
    /// Number and bytes, by scope, type and site.
    values: BTreeMap<(u32, u32, u32), (u64, u64)>,
}

impl Arenas {
    /// Adds the arenas of a recording.
    ///
    /// # Errors
    /// Returns a sentence if the sum would exceed a limit of the format.
    pub(super) fn add(
        &mut self,
        recording: &Recording,
        tables: &mut Tables,
        numbers: &mut Numbers<'_>,
    ) -> Result<(), String> {
        let text = |reference: u32| {
            recording
                .string_bytes(reference)
                .unwrap_or_default()
                .to_owned()
        };
        let keys: Vec<_> = recording
            .arenas
            .iter()
            .map(|arena| (text(arena.name), text(arena.krate)))
            .collect();
        for (key, arena) in keys.iter().zip(&recording.arenas) {
            let sum = &mut self.arenas.entry(key.clone()).or_default().sum;
            add(sum, arena);
        }
        check("arenas", self.arenas.len(), MAX_NAMED)?;
        let scope = |numbers: &Numbers<'_>, scope: u32| {
            let number = numbers.scopes.get(scope as usize).copied();
            number.unwrap_or(0)
        };
        for row in &recording.arena_rows {
            let arena = keys
                .get(row.arena as usize)
                .and_then(|key| self.arenas.get_mut(key));
            if let Some(arena) = arena {
                let sum = arena.rows.entry(scope(numbers, row.scope)).or_default();
                add_row(sum, row);
            }
        }
        for values in &recording.arena_values {
            let Some(arena) = keys
                .get(values.arena as usize)
                .and_then(|key| self.arenas.get_mut(key))
            else {
                continue;
            };
            let site = match values.site {
                0 => 0,
                site => tables.site(numbers, site)?,
            };
            let type_name = tables.string(recording, values.type_name);
            let key = (scope(numbers, values.scope), type_name, site);
            let (count, bytes) = arena.values.entry(key).or_default();
            *count = count.saturating_add(values.count);
            *bytes = bytes.saturating_add(values.bytes);
        }
        Ok(())
    }

    /// Returns the records. `sites` has the position of each site.
    pub(super) fn records(
        &self,
        ordered: &mut Ordered,
        sites: &[u32],
    ) -> (Vec<ArenaValue>, Vec<ArenaRowValue>, Vec<ArenaValuesValue>) {
        let (mut arenas, mut rows, mut all_values) = (Vec::new(), Vec::new(), Vec::new());
        for (number, ((name, krate), arena)) in (0..).zip(&self.arenas) {
            arenas.push(ArenaValue {
                name: ordered.strings.put(name),
                krate: ordered.strings.put(krate),
                ..arena.sum
            });
            let of_arena = arena.rows.iter().map(|(scope, row)| ArenaRowValue {
                arena: number,
                scope: ordered.scopes_of[*scope as usize],
                ..*row
            });
            let start = rows.len();
            rows.extend(of_arena);
            rows[start..].sort_by_key(|row: &ArenaRowValue| row.scope);
            let of_arena =
                arena
                    .values
                    .iter()
                    .map(|((scope, type_name, site), sum)| ArenaValuesValue {
                        arena: number,
                        scope: ordered.scopes_of[*scope as usize],
                        type_name: ordered.texts[*type_name as usize],
                        site: sites.get(*site as usize).copied().unwrap_or(0),
                        count: sum.0,
                        bytes: sum.1,
                    });
            let start = all_values.len();
            all_values.extend(of_arena);
            all_values[start..].sort_by_key(|values: &ArenaValuesValue| {
                (values.scope, values.type_name, values.site)
            });
        }
        (arenas, rows, all_values)
    }
}

fn add(sum: &mut ArenaValue, more: &ArenaValue) {
    macro_rules! sums {
        ($($field:ident),*) => { $(sum.$field = sum.$field.saturating_add(more.$field);)* };
    }
    sums!(
        made,
        dropped,
        resets,
        allocated_bytes,
        allocated_bytes_including_metadata,
        chunks,
        used_bytes,
        padding_bytes,
        abandoned_bytes,
        bypassed_bytes,
        unused_tail_bytes,
        most_allocated_bytes,
        total_chunks,
        total_allocated_bytes,
        total_used_bytes,
        total_used_blocks,
        grows,
        grows_in_place,
        copied_bytes,
        limit_reached,
        dropped_allocated_bytes,
        dropped_used_bytes,
        dropped_padding_bytes,
        dropped_abandoned_bytes,
        dropped_bypassed_bytes,
        dropped_unused_tail_bytes
    );
    macro_rules! largest {
        ($($field:ident),*) => { $(sum.$field = sum.$field.max(more.$field);)* };
    }
    // The parts of the largest instance stay together.
    let size = |arena: &ArenaValue| {
        let allocated = arena.largest_allocated_bytes;
        (
            allocated,
            allocated.checked_sub(arena.largest_unused_tail_bytes),
        )
    };
    if size(more) > size(sum) {
        macro_rules! taken_over {
            ($($field:ident),*) => { $(sum.$field = more.$field;)* };
        }
        taken_over!(
            largest_allocated_bytes,
            largest_used_bytes,
            largest_padding_bytes,
            largest_abandoned_bytes,
            largest_bypassed_bytes,
            largest_unused_tail_bytes
        );
    }
    largest!(most_instance_bytes, most_occupied_bytes, most_chunks);
}

fn add_row(sum: &mut ArenaRowValue, more: &ArenaRowValue) {
    // As for its report: what is below zero was read while it was written.
    sum.live_bytes = sum.live_bytes.saturating_add(more.live_bytes.max(0));
    sum.live_blocks = sum.live_blocks.saturating_add(more.live_blocks.max(0));
    // A net, which may be below zero in one scope.
    sum.bypassed_bytes = sum.bypassed_bytes.wrapping_add(more.bypassed_bytes);
    for (sum, more) in [
        (&mut sum.total_bytes, more.total_bytes),
        (&mut sum.total_blocks, more.total_blocks),
        (&mut sum.copied_bytes, more.copied_bytes),
        (&mut sum.grows, more.grows),
    ] {
        *sum = sum.saturating_add(more);
    }
}

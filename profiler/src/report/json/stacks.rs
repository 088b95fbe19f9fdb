//! Frames and stacks of site rows: each once, in tables that rows refer to by index.

use std::collections::HashMap;

use serde::Serialize;

use super::function::FunctionJson;
use crate::profile::{FrameId, Frames, Profile};
use crate::table::{Detail, Row};
use heapglass_profile::internal::Interned;

/// A frame.
#[derive(Serialize)]
pub(super) struct FrameJson<'a> {
    #[serde(flatten)]
    place: FunctionJson<'a>,
    inlined: bool,
    /// The other functions whose machine code this is.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    aliases: &'a [String],
}

/// The tables, and what each row refers to.
#[derive(Default)]
pub(super) struct Stacks<'a> {
    pub(super) frames: Vec<FrameJson<'a>>,
    /// Outermost frame first.
    pub(super) stacks: Vec<Vec<usize>>,
    /// The stacks of each row, the one with most of the measure first.
    of_rows: Vec<Vec<usize>>,
}

impl<'a> Stacks<'a> {
    pub(super) fn of(profile: &'a Profile, rows: &'a [Row], shown: Frames) -> Self {
        let mut tables = Stacks::default();
        let mut frames: HashMap<FrameId, usize> = HashMap::new();
        let mut stacks: Interned<Vec<usize>> = Interned::new();
        for row in rows {
            let mut of_row: Interned<usize> = Interned::new();
            let mut add = |stack| of_row.number(stacks.number(stack) as usize);
            if let Detail::Site(detail) = &row.detail {
                let sites = detail.sites.iter();
                for site in sites.filter_map(|&site| profile.sites().get(site)) {
                    let stack = profile.frames_of(site, shown);
                    let numbers = stack.into_iter().filter_map(|id| {
                        let frame = profile.frames().get(id.0 as usize)?;
                        Some(*frames.entry(id).or_insert_with(|| {
                            tables.frames.push(FrameJson {
                                place: FunctionJson::new(profile, Some(frame), ""),
                                inlined: frame.inlined,
                                aliases: &profile.function(id).aliases,
                            });
                            tables.frames.len() - 1
                        }))
                    });
                    let numbers: Vec<usize> = numbers.collect();
                    if numbers.is_empty() && detail.place.is_some() {
                        tables.frames.push(FrameJson {
                            place: FunctionJson::new(profile, None, &row.key),
                            inlined: false,
                            aliases: &[],
                        });
                        add(vec![tables.frames.len() - 1]);
                        break;
                    }
                    add(numbers);
                }
            }
            tables.of_rows.push(of_row.values);
        }
        tables.stacks = stacks.values;
        tables
    }

    /// The stacks of a row, that with most of the measure first.
    pub(super) fn of_row(&self, row: usize) -> &[usize] {
        self.of_rows.get(row).map_or(&[], Vec::as_slice)
    }
}

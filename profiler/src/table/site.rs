//! Rows by site: a stack in a phase and a field, its blocks of one type.

use std::collections::HashMap;

use super::{Detail, Row, place};
use crate::profile::{FrameId, FunctionId, Profile, ScopeId, Site, TypeId};

/// What makes two sites look the same.
type Look = (ScopeId, [bool; 5], Option<TypeId>, Vec<usize>, Vec<FrameId>);

pub(super) fn rows(profile: &Profile, keep_all: bool) -> Vec<Row> {
    let (fields, chunks) = (profile.fields(), profile.chunk_sites());
    // Frames at the same line of the same function look alike: one number for each look.
    let mut looks: HashMap<(FunctionId, Option<&str>, Option<u32>), FrameId> = HashMap::new();
    let looks: Vec<FrameId> = profile
        .frames
        .iter()
        .enumerate()
        .map(|(i, frame)| {
            *looks
                .entry((frame.function, frame.file.as_deref(), frame.line))
                .or_insert(FrameId(i as u32))
        })
        .collect();
    let look = |id: &FrameId| looks.get(id.0 as usize).copied();
    let mut rows: Vec<Row> = Vec::new();
    // With room for all: to make a larger map is to hash every stack again.
    let mut known: HashMap<Look, usize> = HashMap::with_capacity(profile.sites.len());
    for (index, site) in profile.sites.iter().enumerate() {
        let frames: Vec<FrameId> = shown(site, keep_all).iter().filter_map(look).collect();
        let m = site.marks;
        let marks = [m.cut, m.foreign, m.deep, m.folded, m.synthetic];
        let type_id = profile.type_id_of(site);
        let chunk_of = chunks.get(&index).cloned().unwrap_or_default();
        let look_of_site = (site.scope, marks, type_id, chunk_of, frames);
        if let Some(&row) = known.get(&look_of_site) {
            let row = &mut rows[row];
            row.figures.add(&site.figures);
            if let Detail::Site { sites, .. } = &mut row.detail {
                sites.push(index);
            }
            continue;
        }
        let (chunk_of, frames) = (look_of_site.3.clone(), look_of_site.4.clone());
        known.insert(look_of_site, rows.len());
        let owner = site
            .owner
            .and_then(|owner| site.stack.get(owner))
            .and_then(look)
            .or(frames.last().copied());
        let key = match (owner, profile.place_of(site)) {
            (Some(owner), _) => place(profile, owner),
            (None, Some(scope)) => scope.name(profile).into_owned(),
            (None, None) => "(no stack)".to_owned(),
        };
        let field = fields.field_of(site.scope);
        let field = Some(field).filter(|&field| field != 0);
        rows.push(Row {
            key,
            figures: site.figures,
            detail: Detail::Site {
                frames,
                owner,
                scope: site.scope,
                place: profile.place_of(site),
                field: field.map(|field| fields.nodes[field as usize].path.clone()),
                type_key: type_id.map(|id| profile.type_key(Some(id)).to_owned()),
                chunk_of,
                marks: m,
                sites: vec![index],
            },
        });
    }
    rows
}

/// The frames of a site that its row shows.
fn shown(site: &Site, keep_all: bool) -> &[FrameId] {
    // A synthetic site has nothing to trim.
    if site.marks.synthetic {
        &site.stack
    } else {
        site.frames(keep_all)
    }
}

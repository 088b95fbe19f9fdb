//! Sites of a recording without stacks: what they are called instead.
//!
//! Must never look like a stack: one frame, in parentheses, of no file and no known code.

use crate::profile::{Frame, FrameId, Function, FunctionId, Origin, Profile};

/// Calls each site by its phase and field, `(in load > Fleet.vessels[].name)`, where there are no stacks to tell sites
/// apart by. Outside of all phases and fields it stays "(no stack)".
pub(super) fn name_sites(profile: &mut Profile) {
    let named = profile.clone();
    let (phases, fields) = (named.phases(), named.fields());
    for index in 0..profile.sites.len() {
        let Some(site) = profile
            .sites
            .get(index)
            .filter(|site| !site.marks.synthetic)
        else {
            continue;
        };
        let scope = site.scope;
        let phase = (phases.phase_of(scope).0 != 0).then(|| phases.path(&named, scope));
        let field = match fields.field_of(scope) {
            0 => None,
            field => fields
                .nodes
                .get(field as usize)
                .map(|field| field.path.clone()),
        };
        let (name, short) = match (phase, field) {
            (Some(phase), Some(field)) => (format!("{phase} > {field}"), field),
            (Some(one), None) | (None, Some(one)) => (one.clone(), one),
            (None, None) => continue,
        };
        let (Ok(function), Ok(frame)) = (
            u32::try_from(profile.functions.len()),
            u32::try_from(profile.frames.len()),
        ) else {
            return;
        };
        profile.functions.push(Function {
            name: format!("(in {name})"),
            short: format!("(in {short})"),
            krate: String::new(),
            origin: Origin::Unresolved,
        });
        profile.frames.push(Frame {
            function: FunctionId(function),
            ..Frame::default()
        });
        if let Some(site) = profile.sites.get_mut(index) {
            site.stack = vec![FrameId(frame)];
            site.shown = 0..1;
            site.owner = Some(0);
        }
    }
}

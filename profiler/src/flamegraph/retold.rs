//! The picture by field and by type: the profile told again, with fields and types in place of functions, so that one
//! tree, one layout and one script serve all pictures.
//!
//! Must keep every site, in its order and with its figures: totals agree.

mod arenas;

use std::collections::HashMap;

use super::{By, palette};
use crate::calltree::{CallTree, Label, NodeId};
use crate::fields::{Field, Fields};
use crate::profile::{
    Frame, FrameId, Function, FunctionId, Profile, ScopeKind, Site, StackMarks, TypeId, TypeKind,
};
use crate::types::{self, Keys, type_of};

/// What a frame of the picture stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    /// A field, by the last step of its path.
    Field(u32),
    /// A field, by its whole path.
    Path(u32),
    /// What blocks hold.
    Type(Option<TypeId>),
    /// The type that was being built.
    Owner(TypeId),
    /// The function a site is charged to.
    Function(Option<FunctionId>),
    /// An arena (index into [`Profile::arenas`]).
    Arena(usize),
    /// Something about an arena, in brackets.
    Note(&'static str),
}

/// A profile told again.
pub(super) struct Retold {
    pub(super) profile: Profile,
    /// The colour of each of its functions.
    colours: Vec<palette::Rgb>,
    /// Whether the program deserialized anything as `Profiled<T>`.
    pub(super) has_fields: bool,
}

impl Retold {
    /// By field: the path from the root inward, then the type. By type: the type, the field (outside all data, the type
    /// that was being built), the function.
    pub(super) fn new(profile: &Profile, by: By) -> Retold {
        let fields = Fields::of(profile);
        let rows = types::table(profile, &fields);
        let mut told = Told {
            profile,
            fields: &fields,
            keys: Keys::of(profile, &rows),
            retold: Retold {
                profile: Profile {
                    totals: profile.totals,
                    scopes: profile.scopes.clone(),
                    ..Profile::default()
                },
                colours: Vec::new(),
                has_fields: !fields.is_empty(),
            },
            known: HashMap::new(),
        };
        for site in &profile.sites {
            let stack = told.stack(site, by);
            told.retold.profile.sites.push(Site {
                shown: 0..stack.len(),
                owner: stack.len().checked_sub(1),
                stack,
                scope: site.scope,
                contents: None,
                marks: StackMarks::default(),
                figures: site.figures,
            });
        }
        told.retold
    }

    /// The colour of a node of a tree of this profile.
    pub(super) fn colour(&self, tree: &CallTree, id: NodeId) -> palette::Rgb {
        match tree.node(id).label {
            Label::Function(function) => self
                .colours
                .get(function.0 as usize)
                .copied()
                .unwrap_or(palette::ROOT),
            _ => palette::of_node(tree, id, &self.profile),
        }
    }
}

/// A profile in the making.
struct Told<'a> {
    profile: &'a Profile,
    fields: &'a Fields,
    keys: Keys,
    retold: Retold,
    known: HashMap<What, FrameId>,
}

impl Told<'_> {
    fn stack(&mut self, site: &Site, by: By) -> Vec<FrameId> {
        let field = self.fields.field_of(site.scope);
        let id = type_of(self.profile, site).map(|(id, _)| id);
        if by == By::Field {
            let mut stack = self.path(field);
            stack.push(self.frame(What::Type(id)));
            return stack;
        }
        let owner = site.contents.and_then(|contents| contents.owner);
        let place = match owner {
            Some(owner) if field == 0 => What::Owner(owner),
            _ => What::Path(field),
        };
        let function = site
            .owner
            .and_then(|owner| site.stack.get(owner))
            .and_then(|frame| self.profile.frames.get(frame.0 as usize))
            .map(|frame| frame.function);
        [What::Type(id), place, What::Function(function)]
            .map(|what| self.frame(what))
            .to_vec()
    }

    /// The fields from the root to `field`.
    fn path(&mut self, field: u32) -> Vec<FrameId> {
        let mut path = vec![self.frame(What::Field(field))];
        let mut at = field;
        while let Some(known) = self.field(at)
            && known.parent != 0
        {
            at = known.parent;
            path.push(self.frame(What::Field(at)));
        }
        path.reverse();
        path
    }

    fn field(&self, number: u32) -> Option<&Field> {
        self.fields.nodes.get(number as usize)
    }

    /// The frame of `what`, made when new: one function and one frame for each.
    fn frame(&mut self, what: What) -> FrameId {
        if let Some(&known) = self.known.get(&what) {
            return known;
        }
        let (function, colour) = self.function(what);
        let number = self.retold.profile.functions.len() as u32;
        self.retold.profile.functions.push(function);
        self.retold.colours.push(colour);
        self.retold.profile.frames.push(Frame {
            function: FunctionId(number),
            ..Frame::default()
        });
        self.known.insert(what, FrameId(number));
        FrameId(number)
    }

    /// Names and colour of a frame.
    fn function(&self, what: What) -> (Function, palette::Rgb) {
        let named = |name: &str, short: &str| Function {
            name: name.to_owned(),
            short: short.to_owned(),
            ..Function::default()
        };
        let type_name = |id: Option<TypeId>| self.profile.types.get(id?.0 as usize);
        let kind = |id| type_name(id).map(|name| name.kind);
        match what {
            What::Field(number) | What::Path(number) => {
                let Some(field) = self.field(number) else {
                    return (named("?", "?"), palette::ROOT);
                };
                let short = match what {
                    What::Path(_) => &field.path,
                    _ => &field.step,
                };
                let of_type = type_name(field.value_type)
                    .map(|name| format!(": {}", name.full))
                    .unwrap_or_default();
                let name = format!("{}{of_type}", field.path);
                (named(&name, short), of_field(field, kind(field.value_type)))
            }
            What::Type(id) => {
                let key = self.keys.key(self.profile, id);
                let full = type_name(id).map_or(key, |name| &name.full);
                (named(full, key), palette::of_kind(kind(id)))
            }
            What::Owner(id) => {
                let key = self.keys.key(self.profile, Some(id));
                let full = type_name(Some(id)).map_or(key, |name| &name.full);
                let (full, short) = (format!("while building {full}"), format!("in {key}"));
                (named(&full, &short), palette::of_kind(kind(Some(id))))
            }
            What::Arena(index) => {
                let arena = self.profile.arenas.get(index);
                let name = arena.map_or("?", |arena| &arena.name);
                let krate = arena.map_or("", |arena| &arena.krate);
                let full = format!("arena {name} of {krate}");
                (named(&full, name), palette::ARENA)
            }
            // Not the colour of marks: here the legend says that is a buffer of serde.
            What::Note(note) => (named(note, note), palette::ROOT),
            What::Function(function) => {
                match function.and_then(|id| self.profile.functions.get(id.0 as usize)) {
                    Some(function) => (function.clone(), palette::of_function(function)),
                    None => (named("[no stack]", "[no stack]"), palette::ROOT),
                }
            }
        }
    }
}

fn of_field(field: &Field, kind: Option<TypeKind>) -> palette::Rgb {
    match field.kind {
        ScopeKind::Buffered | ScopeKind::FromBuffer => palette::MARK,
        _ => palette::of_kind(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calltree;
    use crate::sample;

    #[test]
    fn a_profile_told_again_keeps_every_site_and_its_figures() {
        let profile = sample::fleet();
        for by in [By::Field, By::Type] {
            let retold = Retold::new(&profile, by);
            let figures = |profile: &Profile| -> Vec<_> {
                profile.sites.iter().map(|site| site.figures).collect()
            };
            assert_eq!(figures(&retold.profile), figures(&profile));
            let tree = CallTree::build(&retold.profile, &calltree::Options::default());
            assert_eq!(*tree.total(NodeId::ROOT), profile.totals);
        }
    }

    #[test]
    fn a_field_in_the_picture_holds_what_its_row_holds() {
        let profile = sample::fleet();
        let fields = Fields::of(&profile);
        let retold = Retold::new(&profile, By::Field);
        let tree = CallTree::build(&retold.profile, &calltree::Options::default());
        for field in &fields.nodes {
            let sum = tree
                .ids()
                .filter(|&id| {
                    let name = tree.name(id, &retold.profile);
                    name == field.path || name.starts_with(&format!("{}: ", field.path))
                })
                .map(|id| tree.total(id).total_bytes)
                .sum::<u64>();
            assert_eq!(sum, field.with_inner.total_bytes, "{}", field.path);
        }
    }
}

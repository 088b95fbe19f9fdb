//! A profile told again, with fields, types and arenas in place of functions, so that one call tree, one layout and one
//! search serve the flamegraphs of all of them.
//!
//! Must keep every site, in its order and with its figures: totals agree.

mod arenas;

use crate::profile::fields::{Field, Fields};
use crate::profile::{Frame, FrameId, Function, FunctionId, Profile, Site, StackMarks, TypeId};
use std::collections::HashMap;

/// What a function of a profile told again stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A field (index into [`Fields::nodes`]), by the last step of its path.
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

impl What {
    /// The type that is meant, of a field that of its values; `None` where there is none, or nothing tells.
    pub fn type_id(self, fields: &Fields) -> Option<TypeId> {
        match self {
            What::Field(number) | What::Path(number) => {
                fields.nodes.get(number as usize)?.value_type
            }
            What::Type(id) => id,
            What::Owner(id) => Some(id),
            What::Function(_) | What::Arena(_) | What::Note(_) => None,
        }
    }
}

/// A profile told again.
#[derive(Clone, Debug)]
pub struct Retold {
    /// Its functions stand for other things.
    pub profile: Profile,
    /// What each of those functions stands for.
    pub whats: Vec<What>,
}

impl Retold {
    /// By field: the path from the root inward, then the type.
    pub fn by_field(profile: &Profile) -> Retold {
        let mut told = Told::new(profile);
        for site in &profile.sites {
            let mut stack = told.path(profile.fields().field_of(site.scope));
            stack.push(told.frame(What::Type(held(profile, site))));
            told.site(site, stack);
        }
        told.retold
    }

    /// By type: the type, the field (outside all data, the type that was being built), the function.
    pub fn by_type(profile: &Profile) -> Retold {
        let mut told = Told::new(profile);
        for site in &profile.sites {
            let field = profile.fields().field_of(site.scope);
            let around = match site.contents.and_then(|contents| contents.owner) {
                Some(owner) if field == 0 => What::Owner(owner),
                _ => What::Path(field),
            };
            let charged = site.owner.and_then(|owner| site.stack.get(owner)).copied();
            let stack = vec![
                told.frame(What::Type(held(profile, site))),
                told.frame(around),
                told.charged(charged),
            ];
            told.site(site, stack);
        }
        told.retold
    }
}

/// What the blocks of a site hold.
fn held(profile: &Profile, site: &Site) -> Option<TypeId> {
    profile.type_id_of(site)
}

/// A profile in the making.
struct Told<'a> {
    profile: &'a Profile,
    fields: &'a Fields,
    retold: Retold,
    functions: HashMap<What, FunctionId>,
    frames: HashMap<(What, Option<FrameId>), FrameId>,
}

impl<'a> Told<'a> {
    fn new(profile: &'a Profile) -> Told<'a> {
        Told {
            profile,
            fields: profile.fields(),
            retold: Retold {
                profile: Profile {
                    scopes: profile.scopes.clone(),
                    modules: profile.modules.clone(),
                    ..Profile::default()
                },
                whats: Vec::new(),
            },
            functions: HashMap::new(),
            frames: HashMap::new(),
        }
    }

    /// Adds a site with another stack.
    fn site(&mut self, site: &Site, stack: Vec<FrameId>) {
        self.retold.profile.totals.add(&site.figures);
        self.retold.profile.sites.push(Site {
            shown: 0..stack.len(),
            owner: stack.len().checked_sub(1),
            stack,
            scope: site.scope,
            contents: None,
            marks: StackMarks::default(),
            figures: site.figures,
        });
    }

    /// The fields from the root to `field`.
    fn path(&mut self, field: u32) -> Vec<FrameId> {
        let mut path = vec![self.frame(What::Field(field))];
        let mut at = field;
        while let Some(known) = self.field(at)
            && known.parent != 0
            && known.parent < at
        {
            at = known.parent;
            path.push(self.frame(What::Field(at)));
        }
        path.reverse();
        path
    }

    fn field(&self, number: u32) -> Option<&'a Field> {
        self.fields.nodes.get(number as usize)
    }

    /// The frame of what has no place in the source.
    fn frame(&mut self, what: What) -> FrameId {
        self.frame_at(what, None)
    }

    /// The frame a site is charged to, with its place in the source.
    fn charged(&mut self, charged: Option<FrameId>) -> FrameId {
        let frame = charged.and_then(|id| self.profile.frames.get(id.0 as usize));
        self.frame_at(What::Function(frame.map(|frame| frame.function)), charged)
    }

    /// The frame of `what`, made when new: one function a thing, however many places it has.
    fn frame_at(&mut self, what: What, place: Option<FrameId>) -> FrameId {
        if let Some(&known) = self.frames.get(&(what, place)) {
            return known;
        }
        let next = FunctionId(self.retold.whats.len() as u32);
        let function = *self.functions.entry(what).or_insert(next);
        if function == next {
            let made = self.function(what);
            self.retold.profile.functions.push(made);
            self.retold.whats.push(what);
        }
        let source = place.and_then(|id| self.profile.frames.get(id.0 as usize));
        let frame = Frame {
            function,
            ..source.cloned().unwrap_or_else(|| Frame {
                module: u32::MAX,
                ..Frame::default()
            })
        };
        let id = FrameId(self.retold.profile.frames.len() as u32);
        self.retold.profile.frames.push(frame);
        self.frames.insert((what, place), id);
        id
    }

    /// The names of `what`.
    fn function(&self, what: What) -> Function {
        let named = |name: &str, short: &str| Function {
            name: name.to_owned(),
            short: short.to_owned(),
            ..Function::default()
        };
        let type_name = |id: Option<TypeId>| self.profile.types.get(id?.0 as usize);
        match what {
            What::Field(number) | What::Path(number) => {
                let Some(field) = self.field(number) else {
                    return named("?", "?");
                };
                let short = match what {
                    What::Path(_) => &field.path,
                    _ => &field.step,
                };
                let of_type = type_name(field.value_type)
                    .map(|name| format!(": {}", name.full))
                    .unwrap_or_default();
                named(&format!("{}{of_type}", field.path), short)
            }
            What::Type(id) => {
                let key = self.profile.type_key(id);
                let full = type_name(id).map_or(key, |name| &name.full);
                named(full, key)
            }
            What::Owner(id) => {
                let key = self.profile.type_key(Some(id));
                let full = type_name(Some(id)).map_or(key, |name| &name.full);
                named(&format!("while building {full}"), &format!("in {key}"))
            }
            What::Arena(index) => {
                let arena = self.profile.arenas.get(index);
                let name = arena.map_or("?", |arena| &arena.name);
                let krate = arena.map_or("", |arena| &arena.krate);
                named(&format!("arena {name} of {krate}"), name)
            }
            What::Note(note) => named(note, note),
            What::Function(function) => function
                .and_then(|id| self.profile.functions.get(id.0 as usize))
                .cloned()
                .unwrap_or_else(|| named("[no stack]", "[no stack]")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calltree::{CallTree, NodeId, Options};
    use crate::sample;

    fn told(profile: &Profile) -> [Retold; 2] {
        [Retold::by_field, Retold::by_type].map(|by| by(profile))
    }

    #[test]
    fn a_profile_told_again_keeps_every_site_and_its_figures() {
        for profile in [sample::fleet(), sample::profile()] {
            for retold in told(&profile) {
                let figures = |profile: &Profile| -> Vec<_> {
                    profile.sites.iter().map(|site| site.figures).collect()
                };
                assert_eq!(figures(&retold.profile), figures(&profile));
                let tree = CallTree::build(&retold.profile, &Options::default());
                assert_eq!(*tree.total(NodeId::ROOT), profile.totals);
            }
        }
    }

    #[test]
    fn a_field_told_again_holds_what_its_row_holds() {
        let profile = sample::fleet();
        let fields = profile.fields();
        let [retold, _] = told(&profile);
        let tree = CallTree::build(&retold.profile, &Options::default());
        for field in &fields.nodes {
            let found = tree.ids().filter(|&id| {
                let name = tree.name(id, &retold.profile);
                name == field.path || name.starts_with(&format!("{}: ", field.path))
            });
            let sum: u64 = found.map(|id| tree.total(id).total_bytes).sum();
            assert_eq!(sum, field.with_inner.total_bytes, "{}", field.path);
        }
    }

    #[test]
    fn a_function_told_again_keeps_its_place_in_the_source() {
        let profile = sample::fleet();
        let [_, retold] = told(&profile);
        for (told, site) in retold.profile.sites.iter().zip(&profile.sites) {
            let place = |frame: &FrameId, of: &Profile| {
                let frame = &of.frames[frame.0 as usize];
                (frame.file.clone(), frame.line)
            };
            let charged = site.owner.map(|owner| place(&site.stack[owner], &profile));
            let last = told.stack.last().map(|last| place(last, &retold.profile));
            assert_eq!(last, charged);
        }
    }
}

//! The flamegraph by field and by type: the profile told again, with fields and types in place of functions, so that one
//! and the same tree, layout and search serve all three. Sites stay in their order and keep their figures: totals agree.

use std::collections::HashMap;
use std::sync::Arc;

use heapglass_profiler::profile::{
    Frame, FrameId, Function, FunctionId, Profile, ScopeId, Site, StackMarks, TypeId,
};
use heapglass_profiler::types::type_of;

use crate::app::Data;

/// What the frames of the graph are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    /// Functions along the stack.
    #[default]
    Stack,
    /// Fields from the root inward, then the type.
    Field,
    /// Types, then the field as one, then the function that is charged.
    Type,
}

/// What a frame of a grouped graph stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A field alone.
    Field(u32),
    /// A field with its whole path.
    Path(u32),
    Type(Option<TypeId>),
    Function(Option<FunctionId>),
}

/// A profile told again.
#[derive(Debug)]
pub(crate) struct Grouped {
    /// Its functions are fields and types.
    pub(super) data: Arc<Data>,
    /// What each of those functions is.
    what: Vec<What>,
}

impl Grouped {
    pub(super) fn new(data: &Data, by: By) -> Grouped {
        let mut told = Told {
            data,
            what: Vec::new(),
            functions: HashMap::new(),
            known: HashMap::new(),
            profile: Profile {
                totals: data.profile.totals,
                scopes: data.profile.scopes.clone(),
                modules: data.profile.modules.clone(),
                ..Profile::default()
            },
        };
        let mut paths: HashMap<u32, Vec<FrameId>> = HashMap::new();
        for site in &data.profile.sites {
            let field = data.fields.field_of(site.scope);
            let id = type_of(&data.profile, site).map(|(id, _)| id);
            let stack = match by {
                By::Type => vec![
                    told.frame(What::Type(id), None),
                    told.frame(What::Path(field), None),
                    told.frame(What::Function(data.owner_function(site)), data.owner(site)),
                ],
                By::Field | By::Stack => {
                    let path = paths.entry(field).or_insert_with(|| told.path(field));
                    let mut stack = path.clone();
                    stack.push(told.frame(What::Type(id), None));
                    stack
                }
            };
            told.profile.sites.push(Site {
                shown: 0..stack.len(),
                owner: stack.len().checked_sub(1),
                stack,
                scope: phase(&data.profile, site.scope),
                contents: None,
                marks: StackMarks::default(),
                figures: site.figures,
            });
        }
        Grouped {
            what: told.what,
            data: Arc::new(Data::new(told.profile)),
        }
    }

    pub(super) fn what(&self, function: FunctionId) -> Option<What> {
        self.what.get(function.0 as usize).copied()
    }
}

/// The nearest phase around a scope.
fn phase(profile: &Profile, scope: ScopeId) -> ScopeId {
    let mut at = scope.0;
    while let Some(scope) = profile.scopes.get(at as usize)
        && scope.kind.is_field()
    {
        // Parents come before children; anything else is a damaged recording, and might be a circle.
        at = if scope.parent < at { scope.parent } else { 0 };
        if at == 0 {
            break;
        }
    }
    ScopeId(at)
}

/// The profile in the making.
struct Told<'a> {
    data: &'a Data,
    profile: Profile,
    what: Vec<What>,
    functions: HashMap<What, usize>,
    known: HashMap<(What, Option<FrameId>), FrameId>,
}

impl Told<'_> {
    /// The fields from the root to `field`.
    fn path(&mut self, field: u32) -> Vec<FrameId> {
        let mut path = vec![self.frame(What::Field(field), None)];
        let mut at = field;
        while let Some(known) = self.data.field(at)
            && known.parent != 0
            && known.parent < at
        {
            at = known.parent;
            path.push(self.frame(What::Field(at), None));
        }
        path.reverse();
        path
    }

    /// The frame of `what`, at the source line of `place` where it has one.
    fn frame(&mut self, what: What, place: Option<FrameId>) -> FrameId {
        if let Some(known) = self.known.get(&(what, place)) {
            return *known;
        }
        // One function a thing, however many lines it has.
        let next = self.what.len();
        let function = *self.functions.entry(what).or_insert(next);
        if function == next {
            self.what.push(what);
            let function = self.function(what);
            self.profile.functions.push(function);
        }
        let source = place.and_then(|place| self.data.frame(place)).cloned();
        self.profile.frames.push(Frame {
            function: FunctionId(function as u32),
            ..source.unwrap_or_else(|| Frame {
                module: u32::MAX,
                ..Frame::default()
            })
        });
        let frame = FrameId(self.profile.frames.len() as u32 - 1);
        self.known.insert((what, place), frame);
        frame
    }

    /// The names of a frame.
    fn function(&self, what: What) -> Function {
        let data = self.data;
        let type_name = |id| data.type_name(id).map(|name| name.full.clone());
        match what {
            What::Field(node) | What::Path(node) => {
                let field = data.field(node);
                let path = field.map_or(String::new(), |field| field.path.clone());
                let step = field.map_or(String::new(), |field| field.step.clone());
                Function {
                    short: if matches!(what, What::Path(_)) {
                        path.clone()
                    } else {
                        step
                    },
                    name: path,
                    krate: type_name(field.and_then(|field| field.value_type)).unwrap_or_default(),
                    ..Function::default()
                }
            }
            What::Type(id) => Function {
                name: type_name(id).unwrap_or_else(|| data.type_label(id).into_owned()),
                short: data.type_label(id).into_owned(),
                ..Function::default()
            },
            What::Function(function) => {
                let known = function.and_then(|function| data.function(function));
                known.cloned().unwrap_or_else(|| Function {
                    name: "[no stack]".to_owned(),
                    short: "[no stack]".to_owned(),
                    ..Function::default()
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_profiler::calltree::{CallTree, NodeId, Options};
    use heapglass_profiler::sample;

    #[test]
    fn told_by_field_or_type_the_totals_are_the_same() {
        for profile in [sample::fleet(), sample::profile()] {
            let data = Data::new(profile);
            for by in [By::Field, By::Type] {
                let grouped = Grouped::new(&data, by);
                let tree = CallTree::build(&grouped.data.profile, &Options::default());
                assert_eq!(tree.total(NodeId::ROOT), &data.profile.totals, "{by:?}");
            }
        }
    }

    #[test]
    fn a_field_is_as_wide_as_the_tree_of_fields_says() {
        let data = Data::new(sample::fleet());
        let grouped = Grouped::new(&data, By::Field);
        let tree = CallTree::build(&grouped.data.profile, &Options::default());
        for (at, field) in data.fields.nodes.iter().enumerate() {
            let is_it = |id: &NodeId| {
                tree.name(*id, &grouped.data.profile) == field.path
                    && tree.node(*id).label != heapglass_profiler::calltree::Label::Root
            };
            let seen = tree.ids().find(is_it).map(|id| *tree.total(id));
            let blocks = field.with_inner.total_blocks;
            assert_eq!(seen.unwrap_or_default(), field.with_inner, "{at}: {blocks}");
        }
    }
}

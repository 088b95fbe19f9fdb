//! Labels of the steps of a path: the nodes of a call tree, the steps of a folded stack, and the
//! names that sites are charged to.

use std::borrow::Cow;

use super::arenas::Part;
use super::chunks::chunk_label;
use super::fields::Field;
use super::{FunctionId, Group, Profile, ScopeId, TypeId};

/// The meaning of a step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// Everything.
    Root,
    /// A phase, in brackets: `[load]`.
    Scope(ScopeId),
    /// A note in place of a frame.
    Mark(MarkKind),
    /// A function; different lines of it are one node.
    Function(FunctionId),
    /// A run of frames that are not the program's, or copies of one function: an index for
    /// [`Folding::text`](crate::profile::Folding::text).
    Call(u32),
    /// No code of the program.
    Group(Group),
    /// A phase or field that stands for a stack, where none were recorded: in parentheses, of no
    /// file and no known code.
    Place(ScopeId),
    /// A field (index into [`Fields::nodes`](crate::profile::fields::Fields::nodes)), by the last
    /// step of its path.
    Field(u32),
    /// A field, by its whole path.
    Path(u32),
    /// The type that blocks hold.
    Type(Option<TypeId>),
    /// The type that was being built.
    Building(TypeId),
    /// An arena (index into [`Profile::arenas`]).
    Arena(u32),
}

/// A note of a node that has no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MarkKind {
    /// Truncated where a return address was in no known code.
    Truncated,
    /// Taken on a stack that is not the thread's own.
    Foreign,
    /// Deeper than the walk's limit.
    Deep,
    /// No frame at all.
    Empty,
    /// The block is a chunk of this arena (index into [`Profile::arenas`]), or of several.
    Chunk(Option<u32>),
    /// Bytes of an arena's chunks that are not in use.
    Part(Part),
    /// Allocations of an arena in places for which the recording had no room.
    NoRow,
}

impl MarkKind {
    /// Returns the text that frontends show, in brackets.
    pub fn name(self, profile: &Profile) -> Cow<'static, str> {
        match self {
            MarkKind::Truncated => "[truncated]".into(),
            MarkKind::Foreign => "[foreign stack]".into(),
            MarkKind::Deep => "[deep]".into(),
            MarkKind::Empty => "[no stack]".into(),
            MarkKind::Chunk(None) => "[chunk of arenas]".into(),
            MarkKind::Chunk(Some(arena)) => {
                format!("[{}]", chunk_label(profile, &[arena as usize])).into()
            }
            MarkKind::Part(part) => format!("({})", part.name()).into(),
            MarkKind::NoRow => "(no row: the recording had no room)".into(),
        }
    }
}

impl Label {
    /// Returns the whole name as recorded: not safe for a terminal before
    /// [`crate::units::printable`].
    pub fn name(self, profile: &Profile) -> Cow<'_, str> {
        match self {
            Label::Root => Cow::Borrowed("all"),
            Label::Mark(mark) => mark.name(profile),
            Label::Scope(scope) => {
                let scope = profile.scopes.get(scope.0 as usize);
                Cow::Owned(format!("[{}]", scope.map_or("?", |scope| &scope.name)))
            }
            Label::Function(function) => Cow::Borrowed(profile.function_name(function)),
            Label::Call(text) => Cow::Borrowed(profile.folding().text(text)),
            Label::Group(group) => Cow::Borrowed(group.name()),
            // Its scopes are the types of blocks.
            Label::Place(_) if !profile.process.state.is_recorded() => {
                Cow::Borrowed("(not recorded)")
            }
            Label::Place(scope) => {
                let phase = phase_path(profile, scope);
                match (phase, field_path(profile, scope)) {
                    (Some(phase), Some(field)) => format!("(in {phase} > {field})").into(),
                    (phase, field) => {
                        let one = field.or(phase.as_deref()).unwrap_or_default();
                        format!("(in {one})").into()
                    }
                }
            }
            Label::Field(number) | Label::Path(number) => {
                let Some(field) = field(profile, number) else {
                    return Cow::Borrowed("?");
                };
                match profile.named_type(field.value_type) {
                    Some(of_type) => Cow::Owned(format!("{}: {}", field.path, of_type.full)),
                    None => Cow::Borrowed(&field.path),
                }
            }
            Label::Type(id) => Cow::Borrowed(full_name(profile, id)),
            Label::Building(id) => {
                Cow::Owned(format!("while building {}", full_name(profile, Some(id))))
            }
            Label::Arena(arena) => match profile.arenas.get(arena as usize) {
                Some(arena) => Cow::Owned(format!("arena {} of {}", arena.name, arena.krate)),
                None => Cow::Borrowed("?"),
            },
        }
    }

    /// Returns the name for narrow cells: `Vec::push`. Not safe for a terminal before
    /// [`crate::units::printable`].
    pub fn short_name(self, profile: &Profile) -> Cow<'_, str> {
        match self {
            Label::Function(id) => match profile.functions.get(id.0 as usize) {
                Some(function) if !function.short.is_empty() => Cow::Borrowed(&function.short),
                _ => self.name(profile),
            },
            Label::Place(scope) if profile.process.state.is_recorded() => {
                match field_path(profile, scope) {
                    Some(field) => format!("(in {field})").into(),
                    None => self.name(profile),
                }
            }
            Label::Field(number) => Cow::Owned(last_step(profile, number)),
            Label::Path(number) => {
                Cow::Borrowed(field(profile, number).map_or("?", |field| &field.path))
            }
            Label::Type(id) => Cow::Borrowed(profile.type_key(id)),
            Label::Building(id) => Cow::Owned(format!("in {}", profile.type_key(Some(id)))),
            Label::Arena(arena) => {
                let arena = profile.arenas.get(arena as usize);
                Cow::Borrowed(arena.map_or("?", |arena| &arena.name))
            }
            _ => self.name(profile),
        }
    }

    /// Returns the type that the label names, for a field the type of its values; `None` if there
    /// is none or it is unknown.
    pub fn type_id(self, profile: &Profile) -> Option<TypeId> {
        match self {
            Label::Field(number) | Label::Path(number) => field(profile, number)?.value_type,
            Label::Type(id) => id,
            Label::Building(id) => Some(id),
            _ => None,
        }
    }
}

fn phase_path(profile: &Profile, scope: ScopeId) -> Option<String> {
    let phases = profile.phases();
    (phases.phase_of(scope).0 != 0).then(|| phases.path(profile, scope))
}

fn field_path(profile: &Profile, scope: ScopeId) -> Option<&str> {
    let fields = profile.fields();
    Some(&fields.get(fields.field_of(scope))?.path)
}

fn field(profile: &Profile, number: u32) -> Option<&Field> {
    profile.fields().nodes.get(number as usize)
}

fn full_name(profile: &Profile, id: Option<TypeId>) -> &str {
    let name = profile.named_type(id);
    name.map_or_else(|| profile.type_key(id), |name| &name.full)
}

/// The last step of a field's path, elements with what they are elements of: `.vessels[]`.
fn last_step(profile: &Profile, number: u32) -> String {
    let fields = profile.fields();
    let path = fields
        .path_to(number)
        .into_iter()
        .filter_map(|field| fields.nodes.get(field as usize));
    let steps: Vec<&str> = path.map(|field| field.step.as_str()).collect();
    let is_named = |step: &&str| !matches!(*step, "[]" | "{key}" | "{value}");
    match steps.iter().rposition(is_named) {
        None if steps.is_empty() => "?".to_owned(),
        last => steps[last.unwrap_or(0)..].concat(),
    }
}

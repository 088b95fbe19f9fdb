//! Rows by site: the allocated type, the place in the data or the call, and the line of the program
//! that owns it. Sites that would read the same are one row.

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use super::{Detail, NO_STACK, Row, place};
use crate::parallel::in_parts;
use crate::profile::arenas::chunk_label;
use crate::profile::{
    Figures, Frame, FrameId, Frames, FunctionId, Group, Label, MarkKind, Measure, Origin, Profile,
    Role, ScopeId, Site, StackMarks, Step, TypeId, UNKNOWN,
};

/// The names of a row, as recorded: not safe for a terminal before [`crate::units::printable`]. The
/// names are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct SiteLabel {
    /// The allocated type, or a chunk of an arena. If the type is unknown, the function of a
    /// dependency that asked. Empty if no code of the program asked.
    pub what: String,
    /// The place: the field of the data, else the call of a library that asked; empty if the owner
    /// itself asked.
    #[serde(rename = "where")]
    pub location: String,
    /// The path of the phase, with which the place begins in brackets; empty outside of phases.
    #[serde(skip)]
    pub phase: String,
    /// The function, or the place, that owns it: `shop::parse`,
    /// `ignore::walk::read_dir (dependency)`.
    pub owner: String,
    /// Its file and line.
    pub source: Option<String>,
}

impl SiteLabel {
    /// Returns the place without the phase, for cells that have no room for both.
    pub fn place(&self) -> &str {
        if self.phase.is_empty() {
            return &self.location;
        }
        let rest = self.location.strip_prefix('[');
        let rest = rest.and_then(|rest| rest.strip_prefix(self.phase.as_str()));
        let rest = rest.and_then(|rest| rest.strip_prefix(']'));
        rest.map_or(&self.location, str::trim_start)
    }

    /// Returns the owner with file and line: `shop::parse src/lib.rs:92`.
    pub fn owner_and_source(&self) -> String {
        match &self.source {
            Some(source) => format!("{}  {source}", self.owner),
            None => self.owner.clone(),
        }
    }
}

/// Returns the marks of the walk on a stack, as frontends show them in brackets.
pub fn mark_names(marks: StackMarks) -> impl Iterator<Item = &'static str> {
    let all = [
        (marks.cut, "cut"),
        (marks.foreign, "foreign stack"),
        (marks.deep, "deep"),
        (marks.folded, "folded"),
    ];
    let set = all.into_iter().filter(|(set, _)| *set);
    set.map(|(_, name)| name)
}

/// Stacks that read the same.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SiteDetail {
    /// The names of the row.
    pub label: SiteLabel,
    /// The frames of the stack with most of the measure, outermost first.
    pub stack: Vec<FrameId>,
    /// Number of different stacks.
    pub stacks: u64,
    /// The frame it is charged to.
    pub owner: Option<FrameId>,
    /// The phase.
    pub phase: ScopeId,
    /// The label that it is charged to if that is not a frame.
    pub place: Option<Label>,
    /// The field's path.
    pub field: Option<String>,
    /// The key of the type that its blocks hold.
    pub type_key: Option<String>,
    /// The arenas (indexes into [`Profile::arenas`]) whose chunks its blocks are; mostly none.
    pub chunk_of: Vec<usize>,
    /// Marks that the walk left on the stack.
    pub marks: StackMarks,
    /// The merged sites (indexes into [`Profile::sites`]), most of the measure first.
    pub sites: Vec<usize>,
}

/// The key that makes two sites one row.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RowKey {
    label: SiteLabel,
    phase: ScopeId,
    type_id: Option<TypeId>,
    marks: [bool; 3],
    chunk_of: Vec<usize>,
    /// The stack, unless stacks are folded.
    frames: Option<Vec<FrameId>>,
}

/// The numbers that determine the label of a site: far fewer are different than there are sites.
#[derive(PartialEq, Eq, Hash)]
struct Traits {
    group: Option<Group>,
    charged: Option<FrameId>,
    scope: ScopeId,
    /// The field of the site; 0 outside all data and for chunks of arenas.
    field: u32,
    type_id: Option<TypeId>,
    chunk_of: Vec<usize>,
    /// Cut, foreign, synthetic.
    marks: [bool; 3],
    /// The frame that asked for blocks without a type.
    asking: Option<FrameId>,
    /// Outside of fields, the text of the nearest call below the owner.
    call: Option<u32>,
    /// The innermost of the calls below the owner, if the stack was unfolded at the borders of
    /// crates.
    inner: Option<(Label, FrameId)>,
    /// The function of the program that the owner called for the block, and that owns nothing.
    wrapper: Option<FunctionId>,
}

impl Traits {
    fn of(profile: &Profile, index: usize, site: &Site, chunk_of: Vec<usize>) -> Traits {
        let type_id = profile.type_id_of(site).filter(|_| site.group.is_none());
        let nameless = type_id.is_none()
            && chunk_of.is_empty()
            && site.group.is_none()
            && !site.marks.synthetic;
        let charged = site.owner;
        let fields = profile.fields();
        let is_place = |field: &u32| {
            let field = fields.get(*field);
            field.is_some_and(|field| field.chunks_of.is_none())
        };
        let field = Some(fields.field_of_site(index))
            .filter(is_place)
            .unwrap_or(0);
        let call = if field != 0 {
            None
        } else {
            call_below(profile, index, charged)
        };
        Traits {
            group: site.group,
            charged,
            scope: site.scope,
            field,
            type_id,
            chunk_of,
            marks: [site.marks.cut, site.marks.foreign, site.marks.synthetic],
            asking: nameless.then(|| asking(profile, site)).flatten(),
            call: call.map(|(text, _)| text),
            inner: call.and_then(|(_, inner)| inner),
            wrapper: if field == 0 && call.is_none() {
                wrapper_below(profile, site)
            } else {
                None
            },
        }
    }
}

pub(super) fn rows(profile: &Profile, measure: Measure, frames: Frames) -> Vec<Row> {
    let chunks = profile.chunk_sites();
    let phases = profile.phases();
    let looks = frame_looks(profile);
    let look = |id: &FrameId| looks.get(id.0 as usize).copied();
    // The frames of a site as a reader tells them apart.
    let looked = |site: &Site| -> Vec<FrameId> {
        let stack = profile.frames_of(site, frames);
        stack.iter().filter_map(look).collect()
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut known: FxHashMap<RowKey, usize> = FxHashMap::default();
    let mut known_traits: FxHashMap<Traits, usize> = FxHashMap::default();
    let hashes = in_parts(profile.sites.len(), |part| {
        // PERF: one list for all stacks.
        let mut stack = Vec::new();
        let hash = |site: &Site| {
            match frames {
                Frames::Folded | Frames::Trimmed => profile.read_shown(site, &mut stack),
                Frames::Own | Frames::All => stack = profile.frames_of(site, frames),
            }
            let mut hasher = FxBuildHasher.build_hasher();
            let looks = stack.iter().filter_map(look);
            looks.for_each(|frame| frame.hash(&mut hasher));
            hasher.finish()
        };
        profile.sites[part].iter().map(hash).collect::<Vec<u64>>()
    });
    let hashes = hashes.concat();
    for (index, site) in profile.counted_sites() {
        let chunk_of = chunks.get(&index).cloned().unwrap_or_default();
        let traits = Traits::of(profile, index, site, chunk_of);
        let folded = frames == Frames::Folded;
        let row = match known_traits.get(&traits).filter(|_| folded) {
            Some(&row) => row,
            None => {
                let look = RowKey {
                    label: label(profile, site, &traits),
                    phase: phases.phase_of(site.scope),
                    type_id: traits.type_id,
                    // How deep a stack was is no difference to a reader.
                    marks: traits.marks,
                    chunk_of: traits.chunk_of.clone(),
                    frames: (!folded).then(|| looked(site)),
                };
                let row = known.get(&look).copied().unwrap_or_else(|| {
                    rows.push(new_row(profile, index, &look));
                    known.insert(look, rows.len() - 1);
                    rows.len() - 1
                });
                known_traits.insert(traits, row);
                row
            }
        };
        let row = &mut rows[row];
        row.figures.add(&site.figures);
        if let Detail::Site(detail) = &mut row.detail {
            detail.marks.deep |= site.marks.deep;
            detail.marks.folded |= site.marks.folded;
            detail.sites.push(index);
        }
    }
    let looked_at = |site: usize| looked(&profile.sites[site]);
    let mut by_hash: Vec<(u64, usize)> = Vec::new();
    for row in &mut rows {
        let Detail::Site(detail) = &mut row.detail else {
            continue;
        };
        // The stack that stands for all of a row is the one with most of the measure.
        let weight = |&site: &usize| {
            let figures = &profile.sites[site].figures;
            (
                Reverse(measure.of(figures)),
                Reverse(figures.total_bytes),
                site,
            )
        };
        detail.sites.sort_by_cached_key(weight);
        detail.stack = detail
            .sites
            .first()
            .map_or_else(Vec::new, |&site| looked_at(site));
        by_hash.clear();
        by_hash.extend(detail.sites.iter().map(|&site| (hashes[site], site)));
        by_hash.sort_unstable();
        let stacks = by_hash.chunk_by(|(a, _), (b, _)| a == b).map(|same| {
            let looked: FxHashSet<_> = match same {
                // PERF: most stacks are of one site, and need not be read again.
                [_] => return 1,
                _ => same.iter().map(|&(_, site)| looked_at(site)).collect(),
            };
            looked.len() as u64
        });
        detail.stacks = stacks.sum();
    }
    rows
}

/// Returns the number of the stack of each site: 0 for the first one, and the same for stacks that
/// read the same. [`SiteDetail::stacks`] counts those of a row, with folded frames.
pub fn stack_numbers(
    profile: &Profile,
    sites: impl Iterator<Item = usize>,
    frames: Frames,
) -> Vec<usize> {
    let mut looks: FxHashMap<Look<'_>, FrameId> = FxHashMap::default();
    // PERF: the file of a frame is read once.
    let mut looked: FxHashMap<FrameId, FrameId> = FxHashMap::default();
    let mut stacks: FxHashMap<Vec<FrameId>, usize> = FxHashMap::default();
    let sites = sites.filter_map(|site| profile.sites.get(site));
    let numbers = sites.map(|site| {
        let mut stack = profile.frames_of(site, frames);
        for id in &mut stack {
            *id = *looked.entry(*id).or_insert_with_key(|id| {
                let frame = profile.frames.get(id.0 as usize);
                frame.map_or(*id, |frame| *looks.entry(look(frame)).or_insert(*id))
            });
        }
        let next = stacks.len();
        *stacks.entry(stack).or_insert(next)
    });
    numbers.collect()
}

/// Everything of a frame that a reader sees.
type Look<'a> = (FunctionId, Option<&'a str>, Option<u32>);

fn look(frame: &Frame) -> Look<'_> {
    (frame.function, frame.file.as_deref(), frame.line)
}

/// Frames at the same line of the same function look alike: one number for each look.
fn frame_looks(profile: &Profile) -> Vec<FrameId> {
    let mut looks: HashMap<Look<'_>, FrameId> = HashMap::new();
    (0..)
        .zip(&profile.frames)
        .map(|(number, frame)| *looks.entry(look(frame)).or_insert(FrameId(number)))
        .collect()
}

fn new_row(profile: &Profile, index: usize, look: &RowKey) -> Row {
    let fields = profile.fields();
    let site = &profile.sites[index];
    let owner = site.owner.filter(|_| site.group.is_none());
    let charged = match site.group {
        Some(group) => Some(Label::Group(group)),
        None => profile.place_of(site),
    };
    let key = match (owner, charged) {
        (_, Some(charged)) => charged.name(profile).into_owned(),
        (Some(owner), None) => place(profile, owner),
        (None, None) => NO_STACK.to_owned(),
    };
    let field = fields.get(fields.field_of_site(index));
    Row {
        key,
        figures: Figures::default(),
        detail: Detail::Site(Box::new(SiteDetail {
            label: look.label.clone(),
            stack: Vec::new(),
            stacks: 0,
            owner,
            phase: look.phase,
            place: charged,
            field: field.map(|field| field.path.clone()),
            type_key: look.type_id.map(|id| profile.type_key(Some(id)).to_owned()),
            chunk_of: look.chunk_of.clone(),
            marks: site.marks,
            sites: Vec::new(),
        })),
    }
}

/// Returns the names of a site, by its index.
pub fn label_of(profile: &Profile, index: usize) -> Option<SiteLabel> {
    let site = profile.sites.get(index)?;
    let chunks = profile.chunk_sites();
    let chunk_of = chunks.get(&index).cloned().unwrap_or_default();
    Some(label(
        profile,
        site,
        &Traits::of(profile, index, site, chunk_of),
    ))
}

/// Returns the names of a site's row.
fn label(profile: &Profile, site: &Site, traits: &Traits) -> SiteLabel {
    if site.group.is_some() {
        return SiteLabel {
            owner: owner_name(profile, site),
            ..SiteLabel::default()
        };
    }
    let owner_frame = site.owner;
    let what = match traits.type_id {
        _ if !traits.chunk_of.is_empty() => chunk_label(profile, &traits.chunk_of),
        Some(id) => profile.type_key(Some(id)).to_owned(),
        None if site.marks.synthetic => String::new(),
        None => untyped(profile, site, traits.asking).unwrap_or_else(|| UNKNOWN.to_owned()),
    };
    let fields = profile.fields();
    let mut location = match fields.get(traits.field) {
        Some(field) => field.path.clone(),
        None => called(profile, traits),
    };
    let phases = profile.phases();
    let mut path = String::new();
    if phases.phase_of(site.scope).0 != 0 {
        path = phases.path(profile, site.scope);
        location = match location.as_str() {
            "" => format!("[{path}]"),
            _ => format!("[{path}] {location}"),
        };
    }
    SiteLabel {
        what,
        location,
        phase: path,
        owner: owner_name(profile, site),
        source: owner_frame.and_then(|frame| profile.source_of(frame)),
    }
}

/// The wrapper of an allocator that the owner of a site called.
fn wrapper_below(profile: &Profile, site: &Site) -> Option<FunctionId> {
    profile.wrappers().next()?;
    let owner = site.owner?;
    let mut below = None;
    for id in profile.shown_stack(site).iter().rev() {
        if *id == owner {
            break;
        }
        below = Some(*id);
    }
    let (frame, _) = profile.lookup(below?)?;
    profile.is_wrapper(frame.function).then_some(frame.function)
}

/// The call of a library below the owner; with the innermost one and its line where that crossed
/// borders of crates: `MDBook::build -> mdbook_html::write_to_json search.rs:267`.
fn called(profile: &Profile, traits: &Traits) -> String {
    let Some(call) = traits.call else {
        let wrapper = traits
            .wrapper
            .and_then(|id| profile.functions.get(id.0 as usize));
        return wrapper.map_or_else(String::new, |wrapper| wrapper.call().to_owned());
    };
    let mut text = profile.folding().text(call).to_owned();
    if let Some((label, frame)) = traits.inner {
        text.push_str(" -> ");
        text.push_str(&label.short_name(profile));
        if let Some(source) = profile.source_of(frame) {
            text.push_str(&format!(" {source}"));
        }
    }
    text
}

/// Returns the name that a site is charged to: `shop::parse`, `ignore::read_dir (dependency)`, with
/// the marks of the walk.
pub(super) fn owner_name(profile: &Profile, site: &Site) -> String {
    if let Some(group) = site.group {
        return group.name().to_owned();
    }
    let function = site.owner.and_then(|frame| profile.lookup(frame));
    let mut owner = match (function, profile.charged_to(site)) {
        (Some((_, function)), _) if function.origin == Origin::Dependency => {
            let call = function.call();
            let name = call.split_once(" -> ").map_or(call, |(name, _)| name);
            format!("{name} (dependency)")
        }
        (Some((_, function)), Some(Label::Function(_))) => function.owner_name().to_owned(),
        (_, Some(charged)) => charged.short_name(profile).into_owned(),
        (_, None) => NO_STACK.to_owned(),
    };
    for (set, mark) in [
        (site.marks.cut, MarkKind::Truncated),
        (site.marks.foreign, MarkKind::Foreign),
    ] {
        if set {
            owner.push_str(&format!(" {}", mark.name(profile)));
        }
    }
    owner
}

/// The innermost frame that is not the standard library's: whose code asked for a block, in a
/// container or not.
pub fn asking(profile: &Profile, site: &Site) -> Option<FrameId> {
    let is_other = |id: &&FrameId| {
        let found = profile.lookup(**id);
        found.is_some_and(|(_, function)| function.origin != Origin::Std && !function.is_own())
    };
    profile
        .shown_stack(site)
        .iter()
        .rev()
        .find(is_other)
        .copied()
}

/// The function of a dependency, or of C, that asked for a block without any container:
/// `crossbeam_deque::Buffer::alloc`, `operator new`, `malloc`.
fn untyped(profile: &Profile, site: &Site, asking: Option<FrameId>) -> Option<String> {
    // The allocator that the shown frames called; the last of them if there is nothing else.
    let stack = profile.stack(site);
    let from = usize::from(site.shown.end).min(stack.len().saturating_sub(1));
    let called = stack[from..].iter().find_map(|id| {
        let (_, function) = profile.lookup(*id)?;
        let is_between = function.parsed().is_cpp_allocator();
        (!is_between).then_some(function)
    });
    if let Some(function) = called.filter(|function| function.role == Role::Allocator) {
        return Some(function.short.clone());
    }
    let (_, function) = profile.lookup(asking?)?;
    matches!(function.origin, Origin::Dependency | Origin::Native)
        .then(|| function.call().to_owned())
}

/// The nearest call of a library, or type that is deserialized, inside the owner: its text in the
/// folding. And where the run of frames was unfolded, the innermost call.
fn call_below(
    profile: &Profile,
    index: usize,
    owner: Option<FrameId>,
) -> Option<(u32, Option<(Label, FrameId)>)> {
    let folding = profile.folding();
    let name = |frame: Option<FrameId>| frame.and_then(|frame| profile.lookup(frame));
    let own = owner.and_then(|owner| profile.lookup(owner));
    let is_own = |frame: Option<FrameId>| {
        // Copies of one function of the program are a step of this kind too.
        name(frame).is_some_and(|(frame, function)| {
            let is_owner = own.is_some_and(|(owner, _)| frame.function == owner.function);
            is_owner || function.is_of_program()
        })
    };
    let calls = folding.steps(index).iter().rev();
    // The last step is what the block holds.
    let mut calls = calls.skip_while(|step| !is_step_of_code(step.label));
    let called = |step: &Step| match step.label {
        Label::Call(text) if !is_own(step.frame) => Some(text),
        _ => None,
    };
    let innermost = calls.next()?;
    let text = called(innermost)?;
    let is_border = |step: &Step| {
        let function = name(step.frame).map(|(_, function)| function);
        function.is_some_and(|function| {
            let is_plain = function.origin == Origin::Dependency && function.role == Role::Plain;
            is_plain && folding.text(text) == function.call()
        })
    };
    let outermost = calls.map_while(called).last();
    let border = innermost.frame.filter(|_| is_border(innermost));
    Some(match outermost.zip(border) {
        Some((outermost, frame)) => (outermost, Some((innermost.label, frame))),
        None => (text, None),
    })
}

/// Returns `true` if a step stands for functions, or for what has taken their place.
fn is_step_of_code(label: Label) -> bool {
    matches!(label, Label::Call(_) | Label::Function(_) | Label::Group(_))
}

//! Folded stacks: stacks as a reader wants to see them. A run of frames outside the program's own
//! code is one frame that says what the run does; a very long run at the end of a stack is one
//! frame for each crate. Recursion over the same functions is one frame with a depth. Closures that
//! only pass a call on are part of their function.
//!
//! This module must never hide a frame without counting it: each step has the number of frames that
//! it stands for.

use super::{FrameId, Function, FunctionId, Group, Label, Origin, Profile, Role, Site};
use crate::interned::Interned;
use crate::parallel::in_parts;
use std::collections::HashMap;

/// The choice of frames of a stack that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Frames {
    /// Runs of other people's frames as one each, recursion as one.
    #[default]
    Folded,
    /// Only those of the program's own code; where it has none, the owner's.
    Own,
    /// All, those of the allocator and of the start-up too.
    All,
    /// All but those.
    Trimmed,
}

impl Frames {
    /// Every choice, in the order frontends offer them.
    pub const ALL: [Frames; 4] = [Frames::Folded, Frames::Own, Frames::All, Frames::Trimmed];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Profile {
    /// The frames of a site, outermost first: all, those of the program, or (folded and trimmed)
    /// those worth showing.
    pub fn frames_of(&self, site: &Site, frames: Frames) -> Vec<FrameId> {
        if frames == Frames::All {
            return self.stack(site);
        }
        let shown = self.shown_stack(site);
        if frames != Frames::Own {
            return shown;
        }
        let is_own = |id: &FrameId| {
            let found = self.lookup(*id);
            found.is_some_and(|(_, function)| function.origin == Origin::User)
        };
        let own: Vec<FrameId> = shown.iter().copied().filter(is_own).collect();
        if own.is_empty() {
            site.owner.into_iter().collect()
        } else {
            own
        }
    }
}

/// A step of a path: of a folded stack, or of one in a call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Step {
    /// The label of the step. The last step of a folded stack is the type that the block holds,
    /// where that is known.
    pub label: Label,
    /// Its outermost frame; `None` of what is no frame.
    pub frame: Option<FrameId>,
    /// Number of frames that the step stands for.
    pub frames: u32,
    /// Number of times that its function is on the stack; 1 = no recursion.
    pub depth: u32,
}

impl Step {
    /// A step without recursion.
    pub(crate) fn new(label: Label, frame: Option<FrameId>, frames: u32) -> Self {
        Step {
            label,
            frame,
            frames,
            depth: 1,
        }
    }
}

impl From<Label> for Step {
    fn from(label: Label) -> Step {
        Step::new(label, None, 1)
    }
}

/// The folded stacks of a profile, each once: a reader of many stacks sees few.
#[derive(Clone, Debug, Default)]
pub struct Folding {
    texts: Vec<String>,
    stacks: Interned<Vec<Step>>,
    /// Index into `stacks` of each site.
    of_sites: Vec<u32>,
}

impl Folding {
    /// Returns the number of sites with folded stacks.
    pub(crate) fn len(&self) -> usize {
        self.of_sites.len()
    }

    /// Folds the stacks of the sites behind those that have theirs here. Functions, and the types
    /// that scopes tell, are those of the profile that was folded before.
    pub(crate) fn extend(&mut self, profile: &Profile) {
        let (folder, texts) = Folder::new(profile);
        let known = self.len();
        let new = profile.sites.get(known..).unwrap_or_default();
        let parts = in_parts(new.len(), |sites| {
            let mut stacks = Interned::new();
            let sites = new[sites].iter();
            let mut frames = Vec::new();
            let fold = |site| {
                profile.read_shown(site, &mut frames);
                stacks.number(folder.fold(site, &frames))
            };
            let of_sites: Vec<u32> = sites.map(fold).collect();
            (stacks.values, of_sites)
        });
        self.texts = texts;
        for (stacks, of_sites) in parts {
            let stacks = stacks.into_iter();
            let numbers: Vec<u32> = stacks.map(|steps| self.stacks.number(steps)).collect();
            let of_sites = of_sites.into_iter().map(|stack| numbers[stack as usize]);
            self.of_sites.extend(of_sites);
        }
    }

    /// The steps of a site (index into [`Profile::sites`]), outermost first.
    pub fn steps(&self, site: usize) -> &[Step] {
        let stack = self.of_sites.get(site);
        stack
            .and_then(|&stack| self.stacks.values.get(stack as usize))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the number of a site's folded stack (index into [`Profile::sites`]): stacks of one
    /// number have the same steps.
    pub(crate) fn number(&self, site: usize) -> Option<u32> {
        self.of_sites.get(site).copied()
    }

    /// Returns a text for a run of frames. Not safe for a terminal before
    /// [`crate::units::printable`].
    pub fn text(&self, call: u32) -> &str {
        self.texts.get(call as usize).map_or("?", String::as_str)
    }
}

/// The facts about a function before any stack is folded.
#[derive(Clone, Copy)]
struct FunctionFacts<'a> {
    function: &'a Function,
    /// Functions that differ only in their generic arguments have one.
    step: Label,
    own: bool,
    /// The function it is, or is a closure of: a number for each name.
    outer: u32,
    is_closure: bool,
    /// The step of the type that it deserializes.
    makes: Option<u32>,
}

/// A run of more frames than this at the end of a stack is unfolded at the borders of crates: with
/// one step for all of it, everything that a program with a thin `main` allocates would read the
/// same.
const LONG_RUN: usize = 32;

/// Steps that such a run becomes, at most: the outermost and the innermost ones.
const MOST_BORDERS: usize = 6;

struct Folder<'a> {
    profile: &'a Profile,
    known: Vec<FunctionFacts<'a>>,
}

impl<'a> Folder<'a> {
    /// With the texts of all steps that there can be.
    fn new(profile: &'a Profile) -> (Self, Vec<String>) {
        // Names without generic arguments, which copies of one function share, and the names of
        // the functions around closures.
        let names: Vec<(String, Option<String>)> = profile
            .functions
            .iter()
            .map(|function| {
                if function.is_of_program() {
                    let name = function.parsed();
                    (name.without_arguments(), name.around_closure())
                } else {
                    Default::default()
                }
            })
            .collect();
        let mut copies: HashMap<(&str, &str), u32> = HashMap::new();
        for (function, (name, _)) in profile.functions.iter().zip(&names) {
            *copies.entry((&function.krate, name)).or_default() += 1;
        }
        let mut outers: Interned<(&str, &str)> = Interned::new();
        let mut texts: Interned<String> = Interned::new();
        let mut known = Vec::with_capacity(profile.functions.len());
        for (number, (function, (name, around))) in (0..).zip(profile.functions.iter().zip(&names))
        {
            let own = function.is_of_program();
            let krate = function.krate.as_str();
            let step = if own && copies.get(&(krate, name.as_str())) == Some(&1) {
                Label::Function(FunctionId(number))
            } else {
                Label::Call(texts.number(function.call().to_owned()))
            };
            let makes = function
                .makes
                .as_ref()
                .map(|made| texts.number(format!("{made}::deserialize")));
            known.push(FunctionFacts {
                function,
                step,
                own,
                outer: outers.number((krate, around.as_ref().unwrap_or(name))),
                is_closure: around.is_some(),
                makes,
            });
        }
        (Folder { profile, known }, texts.values)
    }

    fn function(&self, id: FrameId) -> Option<&FunctionFacts<'a>> {
        let frame = self.profile.frames.get(id.0 as usize)?;
        self.known.get(frame.function.0 as usize)
    }

    /// The steps of a site, of those of its frames that are shown.
    fn fold(&self, site: &Site, frames: &[FrameId]) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut run: Vec<FrameId> = Vec::new();
        if site.group != Some(Group::Runtime) {
            for &id in frames {
                let Some(known) = self.function(id) else {
                    continue;
                };
                let ends_here = matches!(known.function.role, Role::Panic | Role::Backtrace);
                if site.group.is_some() && ends_here {
                    break;
                }
                if !known.own {
                    run.push(id);
                    continue;
                }
                if self.is_passed_on(&steps, known) {
                    count_in_last(&mut steps, run.len() as u32 + 1);
                    run.clear();
                    continue;
                }
                self.flush(&mut steps, &mut run, site, false);
                enter(&mut steps, 0, known.step, id);
            }
        }
        match site.group {
            Some(group) => {
                let counted: u32 = steps.iter().map(|step| step.frames).sum();
                let left = (frames.len() as u32).saturating_sub(counted);
                steps.push(Step::new(Label::Group(group), None, left));
            }
            None => {
                self.flush(&mut steps, &mut run, site, true);
                let contents = self.profile.type_id_of(site);
                if contents.is_some() {
                    steps.push(Step::new(Label::Type(contents), None, 0));
                }
            }
        }
        steps
    }

    /// Returns `true` if a frame is a closure of the function that stands last: what is between
    /// only passes the call on.
    fn is_passed_on(&self, steps: &[Step], function: &FunctionFacts<'_>) -> bool {
        let last = steps.last().and_then(|step| self.function(step.frame?));
        function.is_closure && last.is_some_and(|last| last.own && last.outer == function.outer)
    }

    /// Puts a run of frames behind the steps: what was called, then what was deserialized.
    fn flush(&self, steps: &mut Vec<Step>, run: &mut Vec<FrameId>, site: &Site, is_last: bool) {
        let frames = std::mem::take(run);
        let names_it = |&id: &FrameId| {
            let known = self.function(id);
            known.is_some_and(|known| known.function.role != Role::Glue)
        };
        let entry = frames.iter().position(names_it).unwrap_or(0);
        let Some(entered) = frames.get(entry).and_then(|&id| self.function(id)) else {
            return;
        };
        let begin = steps.len();
        let count = entry as u32 + 1;
        steps.push(Step::new(entered.step, Some(frames[entry]), count));
        let result = entered.function.call().split_once(" -> ");
        let result = result.map(|(_, result)| result);
        // A dependency that owns the block has a step of its own.
        let has_owner = site.owner.is_some_and(|owner| frames.contains(&owner));
        let borders = if is_last && !has_owner && frames.len() > LONG_RUN {
            self.borders(&frames[entry..])
        } else {
            Vec::new()
        };
        // A program without names: what it calls in a library says more than an offset does.
        let mut calls_next = Some(frames[entry]) == site.owner && is_native(entered.function);
        for &id in &frames[entry + 1..] {
            let Some(known) = self.function(id) else {
                continue;
            };
            if calls_next && is_named_call(known.function) {
                calls_next = false;
                steps.push(Step::new(known.step, Some(id), 1));
                continue;
            }
            if borders.contains(&id) {
                enter(steps, begin + 1, known.step, id);
                continue;
            }
            // Where nothing is of the program, the owner is in the middle of a run.
            if Some(id) == site.owner
                && known.function.origin != Origin::User
                && known.step != entered.step
            {
                steps.push(Step::new(known.step, Some(id), 1));
                calls_next = is_native(known.function);
                continue;
            }
            let is_result = known.function.makes.as_deref() == result && steps.len() == begin + 1;
            match known.makes.filter(|_| !is_result).map(Label::Call) {
                Some(label) => deserialized(steps, begin, label, id),
                None => count_in_last(steps, 1),
            }
        }
    }

    /// The innermost frame of each crate that a run passes through: where it called the next one.
    /// Crates that only work for their callers have none.
    fn borders(&self, frames: &[FrameId]) -> Vec<FrameId> {
        let mut borders: Vec<(FrameId, &str)> = Vec::new();
        for &id in frames {
            let Some(known) = self.function(id) else {
                continue;
            };
            let function = known.function;
            if function.origin != Origin::Dependency || function.role != Role::Plain {
                continue;
            }
            match borders.last_mut() {
                Some((last, krate)) if *krate == function.krate => *last = id,
                _ => borders.push((id, &function.krate)),
            }
        }
        if borders.len() > MOST_BORDERS {
            borders.drain(MOST_BORDERS / 2..borders.len() - MOST_BORDERS / 2);
        }
        borders.into_iter().map(|(id, _)| id).collect()
    }
}

/// Returns `true` for code of C, or without a name.
fn is_native(function: &Function) -> bool {
    matches!(function.origin, Origin::Native | Origin::Unresolved)
}

/// Returns `true` for a function of a library in C whose name says what was asked of it.
fn is_named_call(function: &Function) -> bool {
    function.origin == Origin::Native && matches!(function.role, Role::Plain | Role::Wrapper)
}

/// Counts frames in the last step.
fn count_in_last(steps: &mut [Step], frames: u32) {
    if let Some(last) = steps.last_mut() {
        last.frames += frames;
    }
}

/// A type that is deserialized: a new step, another frame of the last one, or of one further out.
fn deserialized(steps: &mut Vec<Step>, begin: usize, label: Label, frame: FrameId) {
    let known = steps[begin..].iter().position(|step| step.label == label);
    if known.is_some_and(|at| begin + at + 1 == steps.len()) {
        count_in_last(steps, 1)
    } else {
        enter(steps, begin, label, frame)
    }
}

/// A function of the program, or a type: a new step, or the one from `begin` on that it has
/// already, one deeper.
fn enter(steps: &mut Vec<Step>, begin: usize, label: Label, frame: FrameId) {
    let known = steps[begin..].iter().position(|step| step.label == label);
    let Some(at) = known.map(|at| begin + at) else {
        return steps.push(Step::new(label, Some(frame), 1));
    };
    // What is between is part of it.
    let between: u32 = steps.drain(at + 1..).map(|step| step.frames).sum();
    steps[at].frames += between + 1;
    steps[at].depth += 1;
}

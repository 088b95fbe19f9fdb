//! Functions of C and C++ that hand a block from the allocator to whoever called them. They own
//! nothing: their callers do.
//!
//! Some are known by name. Others show it by what they do: a function that makes one allocation, at
//! one place, for many callers. A function that makes a second block, itself or by another
//! function, is a constructor and owns its blocks. Two rows never read the same because of this:
//! the wrapper is the place of a row ("where").

use super::{Frame, FrameId, Function, FunctionId, Origin, Profile, Role, Site};
use crate::name::Language;
use crate::units::matches_text;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The number of functions that must call a function for it to be a wrapper by what it does.
const MANY_CALLERS: usize = 4;
/// Wrappers inside each other that are found by what they do.
const MOST_NESTED: usize = 4;

/// The reason why a function owns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WrapperRule {
    /// Its name is known.
    Known,
    /// The user named it.
    Named,
    /// It makes one allocation, for this number of functions.
    OneAllocation(usize),
}

/// The wrappers of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wrappers {
    rules: BTreeMap<FunctionId, WrapperRule>,
}

impl Function {
    /// Returns `true` if its name matches a pattern, in which `*` stands for any text.
    pub(crate) fn is_called(&self, pattern: &str) -> bool {
        let plain = self.parsed().without_arguments();
        let names = [self.name.as_str(), &self.short, &plain];
        names.iter().any(|name| matches_text(pattern, name))
    }
}

impl Profile {
    /// Returns the functions that own nothing, and why.
    pub fn wrappers(&self) -> impl Iterator<Item = (FunctionId, WrapperRule)> {
        let rules = self.wrappers.rules.iter();
        rules.map(|(function, rule)| (*function, *rule))
    }

    /// Returns `true` if a function with such a name owns nothing. `*` stands for any text.
    pub fn has_wrapper(&self, pattern: &str) -> bool {
        self.wrappers().any(|(id, _)| {
            let function = self.functions.get(id.0 as usize);
            function.is_some_and(|function| function.is_called(pattern))
        })
    }

    /// Returns `true` for a function that owns nothing.
    pub(crate) fn is_wrapper(&self, function: FunctionId) -> bool {
        self.wrappers.rules.contains_key(&function)
    }

    /// Finds the wrappers, and charges their blocks to their callers. `named` tells which functions
    /// the user named as wrappers, `own` which own their blocks whatever they do.
    pub(crate) fn find_wrappers(
        &mut self,
        named: impl Fn(&Function) -> bool,
        own: impl Fn(&Function) -> bool,
    ) {
        let mut rules = BTreeMap::new();
        for (number, function) in (0..).zip(&self.functions) {
            if matches!(function.role, Role::Wrapper | Role::Allocator)
                && function.origin != Origin::Std
            {
                let rule = if named(function) {
                    WrapperRule::Named
                } else {
                    WrapperRule::Known
                };
                rules.insert(FunctionId(number), rule);
            }
        }
        self.wrappers = Wrappers { rules };
        let mut roles = self.functions.iter().map(|function| function.role);
        if !roles.any(|role| role == Role::Allocator) {
            // No code of C or C++ asked.
            return;
        }
        for _ in 0..MOST_NESTED {
            let found = one_allocation(self, &own);
            if found.is_empty() {
                break;
            }
            self.wrappers.rules.extend(found);
        }
        let rules = self.wrappers.rules.values();
        let mut by_what_they_do =
            rules.filter(|rule| matches!(rule, WrapperRule::OneAllocation(_)));
        if by_what_they_do.next().is_none() {
            return;
        }
        let owners: Vec<Option<FrameId>> = self
            .sites
            .iter()
            .map(|site| caller_of_wrapper(self, site))
            .collect();
        for (site, owner) in self.sites.iter_mut().zip(owners) {
            site.owner = owner.or(site.owner);
        }
    }
}

/// Returns the frame that owns the blocks of a site in place of a wrapper; `None` if a wrapper does
/// not own them, or nothing else can.
fn caller_of_wrapper(profile: &Profile, site: &Site) -> Option<FrameId> {
    let owner = site.owner.filter(|_| site.group.is_none())?;
    let (frame, function) = profile.lookup(owner)?;
    if !profile.is_wrapper(frame.function) {
        return None;
    }
    let shown = profile.shown_stack(site);
    let at = shown.iter().rposition(|frame| *frame == owner)?;
    let may_own = |id: &&FrameId| {
        profile.lookup(**id).is_some_and(|(frame, caller)| {
            let is_alike = match function.origin {
                Origin::User => caller.is_of_program(),
                _ => matches!(caller.origin, Origin::Native | Origin::User),
            };
            is_alike && !profile.is_wrapper(frame.function)
        })
    };
    shown[..at].iter().rev().find(may_own).copied()
}

/// A function, a file and a line.
type Place<'a> = (FunctionId, Option<&'a str>, Option<u32>);

/// The callers and the places of a function that asked the allocator, from all stacks.
#[derive(Default)]
struct Asking<'a> {
    callers: FxHashSet<FunctionId>,
    lines: FxHashSet<(Option<&'a str>, Option<u32>)>,
    /// Return addresses where it is not inlined.
    addresses: FxHashSet<(u32, u64)>,
    /// Return addresses of each line of a caller in which it is inlined.
    inlined: FxHashMap<Place<'a>, (u32, u64)>,
    /// `true` if it makes several blocks where it is inlined once.
    makes_several: bool,
    allocators: FxHashSet<FunctionId>,
}

/// Finds the functions that make one allocation for many callers, besides those that are known.
fn one_allocation(
    profile: &Profile,
    own: &impl Fn(&Function) -> bool,
) -> Vec<(FunctionId, WrapperRule)> {
    let mut found: FxHashMap<FunctionId, Asking<'_>> = FxHashMap::default();
    for site in &profile.sites {
        let Some((asking, allocator, caller)) = asked(profile, site) else {
            continue;
        };
        let of = found.entry(asking.function).or_default();
        of.callers.insert(caller.function);
        of.allocators.insert(allocator);
        of.lines.insert((asking.file.as_deref(), asking.line));
        let address = (asking.module, asking.offset);
        if asking.inlined {
            let place = (caller.function, caller.file.as_deref(), caller.line);
            let first = *of.inlined.entry(place).or_insert(address);
            of.makes_several |= first != address;
        } else {
            of.addresses.insert(address);
        }
    }
    found.retain(|id, asking| {
        let function = profile.functions.get(id.0 as usize);
        asking.callers.len() >= MANY_CALLERS
            && asking.lines.len() == 1
            && asking.addresses.len() <= 1
            && !asking.makes_several
            && asking.allocators.len() == 1
            && function.is_some_and(|function| !own(function))
    });
    // One that makes other blocks by other functions is no wrapper.
    for site in &profile.sites {
        if found.is_empty() {
            break;
        }
        let asking = asked(profile, site).map(|(frame, ..)| frame.function);
        for id in profile.innermost_first(site) {
            if let Some(frame) = profile.frames.get(id.0 as usize)
                && asking != Some(frame.function)
            {
                found.remove(&frame.function);
            }
        }
    }
    let rule = |(id, asking): (FunctionId, Asking<'_>)| {
        (id, WrapperRule::OneAllocation(asking.callers.len()))
    };
    found.into_iter().map(rule).collect()
}

/// Returns the frame of C or C++ that asked the allocator for the blocks of a site, the function
/// that it asked, and the frame that called it. `None` if code of another kind asked.
fn asked<'a>(profile: &'a Profile, site: &Site) -> Option<(&'a Frame, FunctionId, &'a Frame)> {
    let mut stack = profile.innermost_first(site);
    let mut allocator = None;
    let asking = loop {
        let (frame, function) = profile.lookup(stack.next()?)?;
        let is_allocator = function.role == Role::Allocator || profile.is_wrapper(frame.function);
        let is_cpp = function.language == Language::Cpp;
        if is_allocator || is_cpp && function.parsed().is_cpp_allocator() {
            allocator = Some(frame.function);
            continue;
        }
        let is_code = matches!(function.origin, Origin::User | Origin::Native);
        if !is_cpp || !is_code {
            return None;
        }
        break frame;
    };
    let (caller, function) = profile.lookup(stack.next()?)?;
    let is_code = matches!(function.origin, Origin::User | Origin::Native);
    is_code.then_some((asking, allocator?, caller))
}

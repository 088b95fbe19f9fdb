//! The contents of a block, according to its stack: read from the allocator outward, through the
//! standard library, up to the first frame of the program or of a dependency.
//!
//! The reader begins with the innermost container. One further out takes its place only if it is
//! made of the inner one, as a `String` is of a `Vec<u8>`. So a `Vec<String>` never claims the
//! bytes of the strings that are made while it is filled. Without debug information there is no
//! answer: a symbol table names only the functions that were not inlined, and these would give
//! plausible, wrong types.

use super::alias::Renamed;
use super::call::Call;
use super::container::{Container, ContentNames};
use super::facts::Facts;
use super::frame::StackFrame;
use super::{cpp, merged, owner, rules};
use crate::containers;
use crate::name::path_and_arguments;
use crate::profile::{FunctionId, Language, Origin};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The hook and the allocator are within this many frames, inlined ones included.
const MAX_HOOK: usize = 48;
/// Frames of the program's own allocator, around or inside ours, up to the compiler's shim.
const MAX_FOREIGN: usize = 8;
/// Number of other answers that are kept of one stack.
const MAX_OTHERS: usize = 8;

/// Frames of containers: the function, `true` if it is inlined, `true` if it is described.
type Chain = Vec<(FunctionId, bool, bool)>;

/// Reads stacks, and remembers the facts about functions and the containers of frames, which
/// thousands of sites share.
#[derive(Default)]
pub(crate) struct Stacks {
    /// The facts about functions by number. Those of renamed functions, whose numbers fall from
    /// the highest one, are in a list of their own.
    facts: [Vec<Option<Rc<Facts>>>; 2],
    /// The results for chains: container and element.
    chains: FxHashMap<Chain, Option<ContentNames>>,
    renamed: Renamed,
}

impl Stacks {
    /// Returns the contents of a stack's block, with the frames given innermost first; `None` if
    /// the stack does not tell.
    pub(crate) fn contents(&mut self, stack: &[StackFrame<'_>]) -> Option<ContentNames> {
        let stack = stack.get(self.hook_frames(stack)..)?;
        let (mut names, decided) = self.read(stack)?;
        let mut others = Vec::new();
        let mut first = 0;
        for (at, frame) in stack.iter().enumerate() {
            if first >= decided || others.len() >= MAX_OTHERS {
                break;
            }
            if frame.inlined {
                continue;
            }
            for alias in 0..frame.function.aliases.len() {
                let (inner, outer) = stack.split_at(at + 1);
                let functions = self.renamed.functions(&inner[first..], alias);
                let mut renamed = stack[..first].to_vec();
                let kept = &inner[inner.len() - functions.len()..];
                renamed.extend(kept.iter().zip(&functions).map(|(frame, (id, function))| {
                    let id = *id;
                    StackFrame {
                        id,
                        function,
                        ..*frame
                    }
                }));
                renamed.extend(outer);
                let mut other = self.read(&renamed).map(|(other, _)| other);
                if let Some(other) = &mut other {
                    // Which container inside it asked is told of one type only.
                    other.allocating.clone_from(&names.allocating);
                }
                if other.as_ref() != Some(&names) && !others.contains(&other) {
                    others.push(other);
                }
            }
            first = at + 1;
        }
        others.truncate(MAX_OTHERS);
        names.others = others;
        Some(names)
    }

    /// Puts into `key` all that decides the answer of [`contents`](Stacks::contents): stacks of one
    /// key have the same contents. Returns `false` if a key would not be enough.
    pub(crate) fn key(&mut self, stack: &[StackFrame<'_>], key: &mut Vec<u32>) -> bool {
        key.clear();
        let stack = stack.get(self.hook_frames(stack)..).unwrap_or_default();
        let asking = stack.iter().find(|frame| !self.facts(frame).new_buffer);
        if asking.is_some_and(|frame| frame.merged) {
            return false;
        }
        let end = self.end_of_containers(stack);
        let (inside, outside) = stack.split_at(end);
        let mut has_buffer = false;
        for frame in inside {
            has_buffer |= self.facts(frame).buffer;
            key.extend([
                frame.id.0,
                u32::from(frame.inlined),
                u32::from(frame.has_file),
            ]);
        }
        let mut program = outside
            .iter()
            .skip_while(|frame| self.facts(frame).looked_through);
        if let Some(frame) = program.next() {
            key.extend([u32::MAX, frame.id.0, u32::from(frame.has_file)]);
        }
        // The frames that may name the owner, up to one that does, and the type being read, if it
        // may tell the container.
        key.push(u32::MAX);
        let mut decided = end;
        let (mut has_owner, mut has_read) = (false, !has_buffer);
        for (at, frame) in outside.iter().enumerate() {
            let facts = self.facts(frame);
            if facts.says_owner {
                key.push(frame.id.0);
                decided = end + at + 1;
                has_owner |= facts.decides_owner;
                has_read |= facts.read.is_some();
                if has_owner && has_read {
                    break;
                }
            }
        }
        // Under another name, a function may give another answer.
        let mut renamed = stack.iter().enumerate().filter(|(_, frame)| !frame.inlined);
        let last = renamed
            .clone()
            .find(|(at, _)| *at + 1 >= decided)
            .map_or(stack.len(), |(at, _)| at);
        renamed.all(|(at, frame)| at > last || frame.function.aliases.is_empty())
    }

    /// Returns the contents by the names of the frames, without those of the hook, and the number
    /// of frames that were asked.
    fn read(&mut self, stack: &[StackFrame<'_>]) -> Option<(ContentNames, usize)> {
        let asking = stack.iter().position(|frame| !self.facts(frame).new_buffer);
        if let Some(at) = asking
            && stack[at].merged
            && let Some(call) = Call::of(&stack[at].function.parsed())
            && let Some(container) = merged::container(&call)
        {
            let (names, decided) = self.with_owner(container.names(), stack, 0);
            return Some((names, decided.max(at + 1)));
        }
        let end = self.end_of_containers(stack);
        let (inside, outside) = stack.split_at(end);
        // The program's own code must be described, or its inlined callees are missing from the
        // stack.
        let mut program = outside
            .iter()
            .skip_while(|frame| self.facts(frame).looked_through);
        if program.next().is_some_and(|frame| {
            let is_program = match frame.function.origin {
                Origin::User | Origin::Dependency => true,
                Origin::Native => inside.iter().any(is_cpp),
                _ => false,
            };
            !frame.has_file && is_program
        }) {
            return None;
        }
        let chain: Chain = inside
            .iter()
            .map(|frame| (frame.id, frame.inlined, frame.has_file))
            .collect();
        let container = match self.chains.get(&chain) {
            Some(known) => known.clone(),
            None => {
                let found = self
                    .innermost(inside)
                    .map(|[inner, container]| container.names_around(&inner));
                self.chains.insert(chain, found.clone());
                found
            }
        };
        let container = match container {
            None if inside.iter().any(|frame| self.facts(frame).buffer) => {
                self.read_by_serde(outside)?.names()
            }
            found => found?,
        };
        Some(self.with_owner(container, stack, end))
    }

    /// Adds the owner that the frames from `end` on name. Returns the contents and the number of
    /// frames that decided them.
    fn with_owner(
        &mut self,
        mut names: ContentNames,
        stack: &[StackFrame<'_>],
        end: usize,
    ) -> (ContentNames, usize) {
        let mut asked = 0;
        let outside = stack.get(end..).unwrap_or_default();
        names.owner = owner::owner(outside.iter().map(|frame| {
            asked += 1;
            self.facts(frame)
        }));
        let decided = end + if names.owner.is_some() { asked } else { 0 };
        (names, decided)
    }

    /// Returns the number of frames at the inner end that are looked through.
    fn end_of_containers(&mut self, stack: &[StackFrame<'_>]) -> usize {
        let mut ends =
            |at: &usize| !self.looks_through(&stack[*at]) && !self.is_of_buffer(&stack[*at..]);
        (0..stack.len()).find(|at| ends(at)).unwrap_or(stack.len())
    }

    /// Returns `true` if a stack begins with merged code of a buffer, inlined into code of a buffer
    /// that was not merged. Then both arms that were merged are in that buffer.
    fn is_of_buffer(&mut self, stack: &[StackFrame<'_>]) -> bool {
        let [frame, caller, ..] = stack else {
            return false;
        };
        let is_inside = frame.inlined && !caller.merged && caller.has_file;
        is_inside && self.facts(frame).buffer && self.facts(caller).buffer
    }

    /// Returns `true` if a frame is between the allocator and the code that the block belongs to.
    /// The file of merged code is not its own, nor is a module that was guessed from it. There, the
    /// name of a type decides.
    fn looks_through(&mut self, frame: &StackFrame<'_>) -> bool {
        let facts = self.facts(frame);
        facts.looked_through && (facts.named_for_itself || !frame.merged)
    }

    fn facts(&mut self, frame: &StackFrame<'_>) -> Rc<Facts> {
        let FunctionId(number) = frame.id;
        let [facts, of_renamed] = &mut self.facts;
        let (facts, at) = if number <= u32::MAX / 2 {
            (facts, number as usize)
        } else {
            (of_renamed, (u32::MAX - number) as usize)
        };
        if facts.len() <= at {
            facts.resize(at + 1, None);
        }
        let facts = facts[at].get_or_insert_with(|| Rc::new(Facts::of(frame.function)));
        Rc::clone(facts)
    }

    /// Returns the innermost container, and the outermost one that is made of it.
    fn innermost(&mut self, inside: &[StackFrame<'_>]) -> Option<[Container; 2]> {
        let mut innermost: Option<Container> = None;
        let mut found: Option<Container> = None;
        // `true` while the next outer container itself may have called the last one.
        let mut direct = true;
        for frame in inside {
            let outer = told_by(frame, found.as_ref());
            match (outer, &found) {
                // Any other function of C++ may have a block of its own.
                (None, None) if is_cpp(frame) && !self.facts(frame).machinery => return None,
                (None, _) => direct &= self.facts(frame).machinery,
                (Some(outer), inner) => {
                    let container = match inner {
                        Some(inner) => inner.within(&outer, direct),
                        None => Some(outer),
                    };
                    if container.is_none() {
                        break;
                    }
                    (found, direct) = (container, true);
                    if innermost.is_none() {
                        innermost.clone_from(&found);
                    }
                }
            }
            if !frame.inlined
                && let Some(found) = &mut found
            {
                found.shared = true;
            }
        }
        Some([innermost?, found?])
    }

    /// Returns the number of frames at the inner end that belong to heapglass, the program's
    /// allocators and the shims between.
    fn hook_frames(&mut self, stack: &[StackFrame<'_>]) -> usize {
        let mut end = 0;
        let mut below_collections = false;
        for (at, frame) in stack.iter().enumerate().take(MAX_HOOK) {
            let facts = self.facts(frame);
            if facts.allocation {
                below_collections = true;
                end = at + 1;
            } else if facts.hook {
                end = at + 1;
            } else if below_collections || at - end >= MAX_FOREIGN || facts.collection {
                break;
            }
        }
        end
    }

    /// The container of a growing buffer whose own frames do not tell its type, while serde reads:
    /// the type that is being read.
    fn read_by_serde(&mut self, outside: &[StackFrame<'_>]) -> Option<Container> {
        let mut facts = outside.iter().map(|frame| self.facts(frame));
        let reader = facts.find(|facts| facts.read.is_some())?;
        let (path, arguments) = path_and_arguments(reader.read.as_deref()?);
        let of = containers::by_path(path).filter(|of| of.grows_a_buffer())?;
        let element = arguments.get(..of.stacks.parameters)?;
        Some(Container::new(of, element.iter().copied()))
    }
}

fn is_cpp(frame: &StackFrame<'_>) -> bool {
    frame.function.language == Language::Cpp
}

/// Returns the container that a frame is part of, by its name. `inner` is the one inside it.
fn told_by(frame: &StackFrame<'_>, inner: Option<&Container>) -> Option<Container> {
    let name = frame.function.parsed();
    if is_cpp(frame) {
        // What is inlined into a function without debug information is not seen: the block may be
        // that of a value that it makes. Methods of texts make no values but texts.
        return cpp::container(&name).filter(|told| frame.has_file || told.of.is_text());
    }
    let call = Call::of(&name).filter(|_| frame.has_file)?;
    let std = frame.function.origin == Origin::Std;
    rules::container(&call, std, inner)
}

//! Folded stacks: what a reader of a stack wants to see of it. A run of frames outside the program's own code is one
//! frame that says what it does, recursion over the same functions is one frame with a depth, and closures that only pass
//! a call on are part of their function.
//!
//! Must never hide a frame without counting it: each step says how many frames it stands for.

use super::{FrameId, Function, FunctionId, Group, Origin, Profile, Role, Site};
use std::collections::HashMap;

/// Which frames of a stack are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Frames {
    /// Runs of other people's frames as one each, recursion as one.
    #[default]
    Folded,
    /// Only those of the program's own code; where it has none, the owner's.
    Own,
    /// All, those of the allocator and of the start-up too.
    All,
}

impl Frames {
    /// Every choice, in the order frontends offer them.
    pub const ALL: [Frames; 3] = [Frames::Folded, Frames::Own, Frames::All];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Frames::Folded => "folded",
            Frames::Own => "own",
            Frames::All => "all",
        }
    }

    /// The choice of that name, or `None`.
    pub fn from_name(name: &str) -> Option<Frames> {
        Frames::ALL.into_iter().find(|frames| frames.name() == name)
    }
}

/// What a step stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StepKind {
    /// A function of the program's own.
    Function(FunctionId),
    /// A run of frames: an index for [`Folding::text`].
    Call(u32),
    /// No code of the program.
    Group(Group),
    /// What the block holds, where that is known: the end.
    Contents,
}

/// A step of a folded stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it stands for.
    pub kind: StepKind,
    /// Its outermost frame; `None` of what is no frame.
    pub frame: Option<FrameId>,
    /// How many frames it stands for.
    pub frames: u32,
    /// How often its function is on the stack; 1 = no recursion.
    pub depth: u32,
}

/// The folded stacks of a profile.
#[derive(Clone, Debug, Default)]
pub struct Folding {
    texts: Vec<String>,
    steps: Vec<Step>,
    /// Where the steps of each site begin; one more than there are sites.
    starts: Vec<usize>,
}

impl Folding {
    pub(super) fn of(profile: &Profile) -> Folding {
        let mut folder = Folder::new(profile);
        let mut starts = vec![0];
        let mut steps = Vec::new();
        for site in &profile.sites {
            steps.extend(folder.fold(site));
            starts.push(steps.len());
        }
        Folding {
            texts: folder.texts,
            steps,
            starts,
        }
    }

    /// The steps of a site (index into [`Profile::sites`]), outermost first.
    pub fn steps(&self, site: usize) -> &[Step] {
        let bounds = self.starts.get(site).zip(self.starts.get(site + 1));
        bounds
            .and_then(|(&start, &end)| self.steps.get(start..end))
            .unwrap_or_default()
    }

    /// What a run of frames does. Not safe for a terminal before [`crate::units::printable`].
    pub fn text(&self, call: u32) -> &str {
        self.texts.get(call as usize).map_or("?", String::as_str)
    }
}

/// What is known of a function before any stack is folded.
#[derive(Clone, Copy)]
struct Known {
    /// Functions that differ only in their generic arguments have one.
    step: StepKind,
    own: bool,
}

struct Folder<'a> {
    profile: &'a Profile,
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
    known: Vec<Known>,
}

impl<'a> Folder<'a> {
    fn new(profile: &'a Profile) -> Self {
        let mut copies: HashMap<(&str, String), u32> = HashMap::new();
        for function in profile.functions.iter().filter(|function| is_own(function)) {
            *copies.entry(key(function)).or_default() += 1;
        }
        let mut folder = Folder {
            profile,
            texts: Vec::new(),
            numbers: HashMap::new(),
            known: Vec::new(),
        };
        for (number, function) in (0..).zip(&profile.functions) {
            let own = is_own(function);
            let step = match own && copies.get(&key(function)) == Some(&1) {
                true => StepKind::Function(FunctionId(number)),
                false => StepKind::Call(folder.number(does(function))),
            };
            folder.known.push(Known { step, own });
        }
        folder
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    fn function(&self, id: FrameId) -> Option<(FunctionId, &'a Function)> {
        let frame = self.profile.frames.get(id.0 as usize)?;
        let function = self.profile.functions.get(frame.function.0 as usize)?;
        Some((frame.function, function))
    }

    fn fold(&mut self, site: &Site) -> Vec<Step> {
        let frames = site.frames(false);
        let mut steps: Vec<Step> = Vec::new();
        let mut run: Vec<FrameId> = Vec::new();
        if site.group != Some(Group::Runtime) {
            for &id in frames {
                let Some((number, function)) = self.function(id) else {
                    continue;
                };
                if site.group.is_some() && function.role == Role::Panic {
                    break;
                }
                let known = self.known.get(number.0 as usize).copied();
                let Some(Known { step, own: true }) = known else {
                    run.push(id);
                    continue;
                };
                if self.is_passed_on(&steps, function) {
                    if let Some(last) = steps.last_mut() {
                        last.frames += run.len() as u32 + 1;
                    }
                    run.clear();
                    continue;
                }
                self.flush(&mut steps, &mut run, site);
                enter(&mut steps, step, id, 1);
            }
        }
        match site.group {
            Some(group) => {
                let counted: u32 = steps.iter().map(|step| step.frames).sum();
                steps.push(Step {
                    kind: StepKind::Group(group),
                    frame: None,
                    frames: (frames.len() as u32).saturating_sub(counted),
                    depth: 1,
                });
            }
            None => {
                self.flush(&mut steps, &mut run, site);
                if self.profile.type_id_of(site).is_some() {
                    steps.push(Step {
                        kind: StepKind::Contents,
                        frame: None,
                        frames: 0,
                        depth: 1,
                    });
                }
            }
        }
        steps
    }

    /// Whether a frame is a closure of the function that stands last: what is between only passes the call on.
    fn is_passed_on(&self, steps: &[Step], function: &Function) -> bool {
        let name = plain(&function.name);
        let Some((outer, _)) = name.split_once("::{") else {
            return false;
        };
        let last = steps.last().and_then(|step| self.function(step.frame?));
        last.is_some_and(|(_, last)| plain(&last.name).split("::{").next() == Some(outer))
    }

    /// Puts a run of frames behind the steps: what was called, then what was deserialized.
    fn flush(&mut self, steps: &mut Vec<Step>, run: &mut Vec<FrameId>, site: &Site) {
        let frames = std::mem::take(run);
        let glue = |id: &FrameId| {
            self.function(*id)
                .is_none_or(|(_, function)| function.role == Role::Glue)
        };
        let entry = frames.iter().position(|id| !glue(id)).unwrap_or(0);
        let Some((_, first)) = frames.get(entry).and_then(|&id| self.function(id)) else {
            return;
        };
        let begin = steps.len();
        let said = does(first);
        let text = self.number(said);
        push(steps, text, frames[entry], entry as u32 + 1);
        let result = said.split_once(" -> ").map(|(_, result)| result);
        let owner = site.owner.and_then(|owner| site.stack.get(owner)).copied();
        for &id in &frames[entry + 1..] {
            let made = self
                .function(id)
                .and_then(|(_, function)| function.makes.as_deref());
            let repeated = made.is_some() && made == result && steps.len() == begin + 1;
            // Where nothing is of the program, the owner is in the middle of a run.
            if Some(id) == owner
                && let Some((_, function)) = self.function(id)
                && !is_own(function)
                && does(function) != said
            {
                let text = self.number(does(function));
                push(steps, text, id, 1);
                continue;
            }
            match made.filter(|_| !repeated) {
                Some(made) => {
                    let text = self.number(&format!("{made}::deserialize"));
                    let known = steps
                        .iter()
                        .skip(begin)
                        .position(|step| step.kind == StepKind::Call(text));
                    match known.map(|at| begin + at) {
                        Some(at) if at + 1 == steps.len() => steps[at].frames += 1,
                        Some(at) => again(steps, at, 1),
                        None => push(steps, text, id, 1),
                    }
                }
                None => {
                    if let Some(step) = steps.last_mut() {
                        step.frames += 1;
                    }
                }
            }
        }
    }
}

/// Whether a function is a step of its own.
fn is_own(function: &Function) -> bool {
    function.origin == Origin::User && function.role != Role::Callback
}

/// What tells functions apart that are not copies of one.
fn key(function: &Function) -> (&str, String) {
    (&function.krate, plain(&function.name))
}

/// A function's name without generic arguments: `app::load` of `app::load<u8>` and of `app::load::<u8>`.
pub(crate) fn plain(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut depth = 0_u32;
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        // The type of an impl begins a name or a segment; arguments follow a word or `::`.
        let begins = c == '<'
            && (depth > 0
                || (at > 0
                    && !name
                        .get(at..)
                        .is_some_and(|rest| rest.starts_with("<impl "))));
        if begins {
            depth += 1;
            if depth == 1 {
                out.truncate(out.trim_end_matches("::").len());
            }
        } else if c == '>' && depth > 0 && before != '-' {
            depth -= 1;
        } else if depth == 0 {
            out.push(c);
        }
        before = c;
    }
    out
}

fn does(function: &Function) -> &str {
    match (function.does.is_empty(), function.short.is_empty()) {
        (false, _) => &function.does,
        (true, false) => &function.short,
        (true, true) => &function.name,
    }
}

fn push(steps: &mut Vec<Step>, text: u32, frame: FrameId, frames: u32) {
    steps.push(Step {
        kind: StepKind::Call(text),
        frame: Some(frame),
        frames,
        depth: 1,
    });
}

/// A function of the program: a new step, or the one that it has already, one deeper.
fn enter(steps: &mut Vec<Step>, kind: StepKind, frame: FrameId, frames: u32) {
    match steps.iter().position(|step| step.kind == kind) {
        Some(at) => again(steps, at, frames),
        None => steps.push(Step {
            kind,
            frame: Some(frame),
            frames,
            depth: 1,
        }),
    }
}

/// Ends the steps at one that was met again: what is between is part of it.
fn again(steps: &mut Vec<Step>, at: usize, frames: u32) {
    let between: u32 = steps.drain(at + 1..).map(|step| step.frames).sum();
    if let Some(step) = steps.get_mut(at) {
        step.frames += between + frames;
        step.depth += 1;
    }
}

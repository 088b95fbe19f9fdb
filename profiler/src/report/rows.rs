//! Grouping: the rows of a report, by site, thread or phase.
//!
//! Must keep the sum: every site is in exactly one row. (Threads are counted apart from sites, see [`By::Thread`].)

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::profile::{
    Figures, Frame, FrameId, FunctionId, Measure, Profile, ScopeId, Site, StackMarks,
};

/// What a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// A stack under a phase. Sites whose shown frames are the same lines of the same functions are one row.
    #[default]
    Site,
    /// Threads of one name. A block freed by another thread is subtracted there, so `live` and `peak` of rows need
    /// not add up; `total` and `freed` do.
    Thread,
    /// A phase, without the phases inside it.
    Phase,
}

impl By {
    /// Every grouping, in the order faces offer them.
    pub const ALL: [By; 3] = [By::Site, By::Thread, By::Phase];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Site => "site",
            By::Thread => "thread",
            By::Phase => "phase",
        }
    }

    /// The grouping of that name, or `None`.
    pub fn from_name(name: &str) -> Option<By> {
        By::ALL.into_iter().find(|by| by.name() == name)
    }
}

/// Deeper nested phases are named by their innermost names only.
const PATH_NAMES: usize = 32;

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    /// `function (file:line)`, a thread's name or a phase's path (`load > parse`), as recorded: not safe for a
    /// terminal before [`crate::units::printable`].
    pub key: String,
    /// What was counted.
    pub figures: Figures,
    /// What the row stands for.
    pub detail: Detail,
}

/// What a row stands for.
#[derive(Clone, Debug)]
pub enum Detail {
    /// A stack under a phase.
    Site {
        /// The frames, outermost first.
        frames: Vec<FrameId>,
        /// The frame the site is charged to.
        owner: Option<FrameId>,
        /// The phase.
        scope: ScopeId,
        /// What the walk had to do to the stack.
        marks: StackMarks,
        /// Indexes into [`Profile::sites`] of what was merged.
        sites: Vec<usize>,
    },
    /// Threads of one name.
    Thread {
        /// How many threads.
        count: u64,
    },
    /// A phase.
    Phase {
        /// Which.
        scope: ScopeId,
        /// The phase and all phases inside it.
        with_inner: Figures,
    },
}

/// All rows, ordered by `measure` (largest first), then total bytes, then key.
pub fn rows(profile: &Profile, by: By, measure: Measure, keep_all: bool) -> Vec<Row> {
    let mut rows = match by {
        By::Site => by_site(profile, keep_all),
        By::Thread => by_thread(profile),
        By::Phase => by_phase(profile),
    };
    rows.sort_by(|a, b| {
        let order = |row: &Row| {
            (
                Reverse(measure.of(&row.figures)),
                Reverse(row.figures.total_bytes),
            )
        };
        order(a).cmp(&order(b)).then_with(|| a.key.cmp(&b.key))
    });
    rows
}

/// The frames of a site that its row shows.
fn shown(site: &Site, keep_all: bool) -> &[FrameId] {
    // A synthetic site has nothing to trim.
    if site.marks.synthetic {
        &site.stack
    } else {
        site.frames(keep_all)
    }
}

fn by_site(profile: &Profile, keep_all: bool) -> Vec<Row> {
    // Frames at the same line of the same function look alike: one number for each look.
    let mut looks: HashMap<(FunctionId, Option<&str>, Option<u32>), FrameId> = HashMap::new();
    let looks: Vec<FrameId> = profile
        .frames
        .iter()
        .enumerate()
        .map(|(i, frame)| {
            *looks
                .entry((frame.function, frame.file.as_deref(), frame.line))
                .or_insert(FrameId(i as u32))
        })
        .collect();
    let look = |id: &FrameId| looks.get(id.0 as usize).copied();
    let mut rows: Vec<Row> = Vec::new();
    let mut known: HashMap<(ScopeId, [bool; 5], Vec<FrameId>), usize> = HashMap::new();
    for (index, site) in profile.sites.iter().enumerate() {
        let frames: Vec<FrameId> = shown(site, keep_all).iter().filter_map(look).collect();
        let m = site.marks;
        let marks = [m.cut, m.foreign, m.deep, m.folded, m.synthetic];
        if let Some(&row) = known.get(&(site.scope, marks, frames.clone())) {
            let row = &mut rows[row];
            row.figures.add(&site.figures);
            if let Detail::Site { sites, .. } = &mut row.detail {
                sites.push(index);
            }
            continue;
        }
        known.insert((site.scope, marks, frames.clone()), rows.len());
        let owner = site
            .owner
            .and_then(|owner| site.stack.get(owner))
            .and_then(look)
            .or(frames.last().copied());
        let key = owner.map_or_else(|| "(no stack)".to_owned(), |owner| place(profile, owner));
        rows.push(Row {
            key,
            figures: site.figures,
            detail: Detail::Site {
                frames,
                owner,
                scope: site.scope,
                marks: m,
                sites: vec![index],
            },
        });
    }
    rows
}

/// `function (file:line)`, or what is known of it.
pub(super) fn place(profile: &Profile, id: FrameId) -> String {
    let Some(frame) = profile.frames.get(id.0 as usize) else {
        return "[unnamed]".to_owned();
    };
    let name = function_name(profile, frame);
    match file_and_line(frame) {
        Some(file) => format!("{name} ({file})"),
        None => name.to_owned(),
    }
}

pub(super) fn function_name<'a>(profile: &'a Profile, frame: &Frame) -> &'a str {
    match profile.functions.get(frame.function.0 as usize) {
        Some(function) if !function.name.is_empty() => &function.name,
        _ => "[unnamed]",
    }
}

/// `src/main.rs:12`, or the file alone.
pub(super) fn file_and_line(frame: &Frame) -> Option<String> {
    let file = frame.file.as_deref()?;
    Some(
        frame
            .line
            .map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
    )
}

fn by_thread(profile: &Profile) -> Vec<Row> {
    let row = |thread: &crate::profile::Thread| Row {
        key: if thread.name.is_empty() {
            "(unnamed)".to_owned()
        } else {
            thread.name.clone()
        },
        figures: thread.figures,
        detail: Detail::Thread {
            count: thread.count,
        },
    };
    profile.threads.iter().map(row).collect()
}

fn by_phase(profile: &Profile) -> Vec<Row> {
    // Even a profile without a table of scopes has the root.
    let count = profile.scopes.len().max(1);
    let mut own = vec![Figures::default(); count];
    for site in &profile.sites {
        // A scope that does not exist counts at the root: never lost.
        let scope = if (site.scope.0 as usize) < count {
            site.scope.0 as usize
        } else {
            0
        };
        own[scope].add(&site.figures);
    }
    let mut with_inner = own.clone();
    // From the last scope to the first: parents come before children.
    for scope in (1..count).rev() {
        let figures = with_inner[scope];
        with_inner[parent(profile, scope)].add(&figures);
    }
    (0..count)
        .filter(|&scope| {
            let entered = profile
                .scopes
                .get(scope)
                .is_some_and(|scope| scope.entered > 0);
            entered || with_inner[scope] != Figures::default()
        })
        .map(|scope| Row {
            key: phase_path(profile, ScopeId(scope as u32)),
            figures: own[scope],
            detail: Detail::Phase {
                scope: ScopeId(scope as u32),
                with_inner: with_inner[scope],
            },
        })
        .collect()
}

/// The scope around one, 0 for the root's own children. A parent that does not come before its child, which only a
/// damaged recording has, counts as the root: no chain is a circle.
fn parent(profile: &Profile, scope: usize) -> usize {
    let parent = profile
        .scopes
        .get(scope)
        .map_or(0, |scope| scope.parent as usize);
    if parent < scope { parent } else { 0 }
}

/// `load > parse`, the innermost [`PATH_NAMES`] of it; the root is `(no phase)`.
pub(super) fn phase_path(profile: &Profile, scope: ScopeId) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut at = scope.0 as usize;
    while at != 0 && names.len() < PATH_NAMES {
        names.push(
            profile
                .scopes
                .get(at)
                .map_or("?", |scope| scope.name.as_str()),
        );
        at = parent(profile, at);
    }
    if names.is_empty() {
        return "(no phase)".to_owned();
    }
    if at != 0 {
        names.push("...");
    }
    names.reverse();
    names.join(" > ")
}

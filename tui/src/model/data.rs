//! One loaded profile with what views look up in it. Never panics on ids a profile got wrong: it answers `None`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Builder;

use heapglass_profiler::arenas::{Point, points};
use heapglass_profiler::calltree::CallTree;
pub(crate) use heapglass_profiler::calltree::Options as TreeOptions;
use heapglass_profiler::diff::{self, Beside, Change, Recording};
use heapglass_profiler::fields::Field;
use heapglass_profiler::profile::{
    Frame, FrameId, Frames, Function, FunctionId, Label, Measure, Profile, Site, State, TypeId,
    TypeKind, TypeName,
};
use heapglass_profiler::report::{By, Detail, Row, rows};
use heapglass_profiler::units::printable;

use super::base::Base;
use super::prompt::Pattern;
use crate::text::clean;

/// Rows of a grouping, by measure and frames.
type RowsKey = (By, Measure, Frames);

/// Rows, in the order of the report.
type Rows = Arc<Vec<Arc<Row>>>;

/// A profile and look-ups shared by the views. Made on the loader's thread.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) profile: Profile,
    /// A call tree made on the loader's thread, for the flamegraph to take.
    tree: Mutex<Option<(TreeOptions, CallTree)>>,
    /// The last rows made of each grouping: those of every measure would hold a large recording's several times.
    rows: Mutex<HashMap<By, (RowsKey, Rows)>>,
    histories: OnceLock<Vec<Vec<Point>>>,
    /// Its functions have no names yet: the same figures with names follow.
    pub(crate) is_early: bool,
    /// What it is compared with.
    pub(crate) base: Option<Arc<Base>>,
    /// The rows of the base beside those of the profile.
    beside: Mutex<HashMap<RowsKey, Arc<Beside>>>,
    /// What to know before comparing with the base, a sentence each; empty without a base.
    pub(crate) warnings: Vec<String>,
}

/// The profile as the second side of a comparison.
fn shown(profile: &Profile) -> Recording<'_> {
    Recording {
        name: "this recording",
        profile,
    }
}

/// What every view needs of a profile: drawing shall not wait for it.
fn analyse(profile: &Profile) {
    profile.type_key(None);
    profile.losses();
    profile.unnamed();
}

/// Whether trees have the same nodes: the measure only sorts those of a tree by stack, field or type.
pub(crate) fn have_same_nodes(one: TreeOptions, other: TreeOptions) -> bool {
    let measure = one.measure;
    one == TreeOptions { measure, ..other }
}

impl Data {
    pub(crate) fn new(profile: Profile, base: Option<Arc<Base>>) -> Self {
        analyse(&profile);
        let warnings = base.as_ref().map_or_else(Vec::new, |base| {
            let options = diff::Options::default();
            diff::warnings(&[base.recording()], &[shown(&profile)], options)
        });
        Data {
            profile,
            base,
            warnings,
            ..Data::default()
        }
    }

    /// The total beside that of the base; `None` without a base.
    pub(crate) fn change(&self, measure: Measure) -> Option<Change> {
        let base = self.base.as_ref()?.recording();
        Some(diff::total(&[base], &[shown(&self.profile)], measure, None))
    }

    /// The rows of the base beside those of the profile; `None` without a base.
    pub(crate) fn beside(&self, key: RowsKey) -> Option<Arc<Beside>> {
        let base = self.base.as_ref()?;
        let (by, measure, frames) = key;
        let options = diff::Options {
            by,
            measure,
            per: None,
        };
        let make = || Arc::new(Beside::new(&base.profile, &self.profile, options, frames));
        // One that panicked while it made rows left none behind.
        let mut made = (self.beside.lock()).unwrap_or_else(|poisoned| poisoned.into_inner());
        Some(Arc::clone(made.entry(key).or_insert_with(make)))
    }

    /// The rows of the profile, as the report has them: made now unless they are the last ones of their grouping.
    pub(crate) fn rows(&self, key: RowsKey) -> Rows {
        let (by, measure, frames) = key;
        let make = || {
            let rows = rows(&self.profile, by, measure, frames).into_iter();
            Arc::new(rows.map(Arc::new).collect())
        };
        // One that panicked while it made rows left none behind.
        let mut made = (self.rows.lock()).unwrap_or_else(|poisoned| poisoned.into_inner());
        let last = made.remove(&by).filter(|(known, _)| *known == key);
        let rows = last.map_or_else(make, |(_, rows)| rows);
        made.insert(by, (key, Arc::clone(&rows)));
        rows
    }

    /// With the tree that will probably be shown: slow, so not on the thread that reads keys.
    pub(crate) fn with_tree(
        profile: Profile,
        base: Option<Arc<Base>>,
        options: TreeOptions,
    ) -> Self {
        let tree = std::thread::scope(|scope| {
            let beside = Builder::new().spawn_scoped(scope, || analyse(&profile));
            let tree = CallTree::sorted(&profile, &options);
            // Without a thread for it `new` does it.
            if let Ok(Err(panic)) = beside.map(|beside| beside.join()) {
                resume_unwind(panic);
            }
            tree
        });
        let data = Data::new(profile, base);
        if let Ok(mut slot) = data.tree.lock() {
            *slot = Some((options, tree));
        }
        data
    }

    /// The tree of `options`: the prepared one when it is that, else a new one.
    pub(crate) fn take_tree(&self, options: TreeOptions) -> CallTree {
        let slot = self.tree.lock().ok();
        let prepared = slot.and_then(|mut slot| slot.take_if(|(made, _)| *made == options));
        prepared.map_or_else(
            || CallTree::sorted(&self.profile, &options),
            |(_, tree)| tree,
        )
    }

    /// The rows by site. Their order is the view's.
    pub(crate) fn site_rows(&self) -> Rows {
        self.rows((By::Site, Measure::Peak, Frames::Folded))
    }

    pub(crate) fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.profile.frames.get(id.0 as usize)
    }

    pub(crate) fn function(&self, id: FunctionId) -> Option<&Function> {
        self.profile.functions.get(id.0 as usize)
    }

    pub(crate) fn function_of(&self, frame: FrameId) -> Option<&Function> {
        self.function(self.frame(frame)?.function)
    }

    /// What a row by owner or function is charged to: copies of one function are one row, and its first stands for all.
    pub(crate) fn charged(&self, row: &Row) -> Option<Label> {
        match &row.detail {
            Detail::Owner { sites, .. } => {
                let site = self.profile.sites.get(*sites.first()?)?;
                self.profile.charged_to(site)
            }
            Detail::Function(detail) => detail.function.map(Label::Function),
            _ => None,
        }
    }

    pub(crate) fn field(&self, node: u32) -> Option<&Field> {
        self.profile.fields().nodes.get(node as usize)
    }

    pub(crate) fn type_name(&self, id: Option<TypeId>) -> Option<&TypeName> {
        self.profile.named_type(id)
    }

    /// A type for cells, clean: its short name, or the full one where two types share the short one.
    pub(crate) fn type_label(&self, id: Option<TypeId>) -> Cow<'_, str> {
        printable(self.profile.type_key(id))
    }

    /// A path with the full name of the type of what is there, clean.
    pub(crate) fn typed_path(&self, path: &str, id: Option<TypeId>) -> String {
        let name = self.type_name(id).map(|name| format!(": {}", name.full));
        clean(&format!("{path}{}", name.unwrap_or_default())).into_owned()
    }

    /// The full name of a type, clean; `None` for what has none.
    pub(crate) fn full_type_name(&self, id: Option<TypeId>) -> Option<Cow<'_, str>> {
        self.type_name(id).map(|name| clean(&name.full))
    }

    /// The path of a field for cells, clean.
    pub(crate) fn field_label(&self, node: u32) -> Cow<'_, str> {
        clean(self.field(node).map_or("", |field| &field.path))
    }

    /// The history of each arena of the profile.
    pub(crate) fn histories(&self) -> &[Vec<Point>] {
        let arenas = self.profile.arenas.iter();
        self.histories.get_or_init(|| arenas.map(points).collect())
    }

    /// Why some blocks have no type and what to do, free of control characters.
    pub(crate) fn unnamed(&self) -> Cow<'_, str> {
        let unknown = "no container of Rust on the stack, or C code, and no field tells";
        printable(self.profile.unnamed().unwrap_or(unknown))
    }

    pub(crate) fn type_kind(&self, id: Option<TypeId>) -> Option<TypeKind> {
        self.type_name(id).map(|name| name.kind)
    }

    pub(crate) fn site(&self, index: u32) -> Option<&Site> {
        self.profile.sites.get(index as usize)
    }

    /// For each function, whether `pattern` matches its full or its short name.
    pub(crate) fn matching(&self, pattern: &Pattern) -> Vec<bool> {
        let is_match = |f: &Function| pattern.is_match(&f.name) || pattern.is_match(&f.short);
        self.profile.functions.iter().map(is_match).collect()
    }

    /// `file:line` of a frame as tables of the report have it, or the module and offset when that is all there is, clean.
    pub(crate) fn short_place(&self, frame: FrameId) -> Option<String> {
        let in_module = || {
            let frame = self.frame(frame)?;
            let module = self.profile.modules.get(frame.module as usize)?;
            let name = module.path.rsplit('/').next().unwrap_or_default();
            (!name.is_empty()).then(|| format!("{name}+{:#x}", frame.offset))
        };
        let place = self.profile.source_of(frame).or_else(in_module)?;
        Some(printable(&place).into_owned())
    }

    /// What is known of the process's end, in one or two words.
    pub(crate) fn state(&self) -> &'static str {
        match self.profile.process.state {
            State::Running => "running",
            State::Finished => "finished",
            State::Ended => "ended unfinished (killed, aborted or _exit)",
            State::Unknown => "end unknown",
        }
    }
}

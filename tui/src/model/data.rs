//! One loaded profile with the look-ups of the views. Never panics on invalid ids in a profile, but
//! returns `None`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use heapglass_profiler::advice::{Finding, advise};
use heapglass_profiler::arenas::{Point, points};
use heapglass_profiler::calltree::{CallTree, CallTreeOptions};
use heapglass_profiler::diff::{self, Beside, Change, Recording};
use heapglass_profiler::fields::Field;
use heapglass_profiler::growth::{Allocated, Rate};
use heapglass_profiler::leaks::{Leaks, leaks};
use heapglass_profiler::profile::{
    Frame, FrameId, Frames, Function, FunctionId, Label, Measure, PhaseSpan, Profile, Site, State,
    TypeId, TypeKind, TypeName,
};
use heapglass_profiler::table::{By, Detail, Row, rows};
use heapglass_profiler::units::{Bytes, printable};

use super::answers::{Answers, Elsewhere};
use super::base::Base;
use super::prompt::Pattern;
use crate::text::clean;

/// The rows of a grouping, with the measure and frames they were computed for.
type RowsKey = (By, Measure, Frames);

/// The rows, in the order of the report.
type Rows = Vec<Arc<Row>>;

/// A profile, with look-ups shared by the views. Created on the loader's thread.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) profile: Profile,
    /// A call tree for the flamegraph to take. The loader's thread builds the first one.
    trees: Answers<(), CallTreeOptions, CallTree>,
    /// The last rows of each grouping.
    rows: Answers<By, RowsKey, Rows>,
    histories: OnceLock<Vec<Vec<Point>>>,
    phase_spans: OnceLock<Vec<PhaseSpan>>,
    /// `true` if the functions have no names yet. A profile with the same figures and names
    /// follows.
    pub(crate) is_early: bool,
    /// The recording to compare with.
    pub(crate) base: Option<Arc<Base>>,
    /// The rows of the base that belong to those of the profile.
    beside: Answers<RowsKey, (), Beside>,
    /// Warnings about the comparison and about the base, one sentence each; empty without a base.
    pub(crate) warnings: Vec<String>,
    leaks: Answers<(), (), Leaks>,
    /// The findings without small ones, and all of them (`true`).
    findings: Answers<bool, (), Vec<Finding>>,
    /// The allocations of each owner of a running program.
    allocated: Option<Allocated>,
    /// The allocations of each owner for each second since the previous profile.
    rates: Option<HashMap<String, Rate>>,
    /// The thread that computes answers.
    elsewhere: Elsewhere,
}

/// The number of sites from which answers are computed on another thread.
pub(super) const LARGE: usize = 50_000;

/// Returns the profile as the second side of a comparison.
fn shown(profile: &Profile) -> Recording<'_> {
    Recording {
        name: "this recording",
        profile,
    }
}

/// Computes everything that all views need from a profile, so that drawing does not have to.
fn analyse(profile: &Profile) {
    profile.type_key(None);
    profile.losses();
    profile.unnamed();
}

/// Returns `true` if trees with these options have the same nodes. In a tree by stack, field or
/// type, the measure only sorts the nodes.
pub(crate) fn have_same_nodes(one: CallTreeOptions, other: CallTreeOptions) -> bool {
    let measure = one.measure;
    one == CallTreeOptions { measure, ..other }
}

impl Data {
    pub(crate) fn new(profile: Profile, base: Option<Arc<Base>>) -> Self {
        analyse(&profile);
        let warnings = base.as_ref().map_or_else(Vec::new, |base| {
            let options = diff::DiffOptions::default();
            // What was lost in the profile itself is listed apart from the comparison, and all that
            // an earlier moment of the same program lost is part of that.
            let about = (!base.is_earlier_than(&profile)).then(|| base.recording());
            diff::warnings_about(&[base.recording()], &[shown(&profile)], about, options)
        });
        Data {
            profile,
            base,
            warnings,
            ..Data::default()
        }
    }

    /// Returns the mark in front of the total of a measure: `~` if the total is an estimate, `>=`
    /// if it is a lower bound.
    pub(crate) fn mark(&self, measure: Measure) -> &'static str {
        match measure {
            _ if self.profile.counts_exactly(measure) => "",
            _ if measure.is_bytes() => "~",
            _ => ">=",
        }
    }

    /// Describes how exact the peak is, from long to short.
    pub(crate) fn peak_exactness(&self) -> Vec<String> {
        let capture = self.profile.capture();
        if !self.profile.process().state.is_recorded() {
            return vec![
                "not known: nothing was recorded".to_owned(),
                "not known".to_owned(),
            ];
        }
        if !self.profile.counts_exactly(Measure::Peak) {
            let interval = Measure::Peak.interval(self.profile.totals());
            return match interval.map(|interval| Measure::Peak.ends(interval)) {
                Some(ends) => vec![
                    format!("an estimate, as all figures with ~: {ends} (95 %)"),
                    format!("~ {ends} (95 %)"),
                ],
                None => vec!["an estimate".to_owned()],
            };
        }
        if capture.peak_error_bytes == 0 {
            return vec!["exact to the byte".to_owned()];
        }
        let within = Bytes(capture.peak_error_bytes);
        let off = Bytes(capture.peak_discrepancy_bytes);
        vec![
            format!(
                "within {within}; the rows at the peak differ from the running maximum by {off}"
            ),
            format!("within {within}; rows differ by {off}"),
            format!("within {within}, off by {off}"),
        ]
    }

    /// Computes the rates of a running program, from the profile before. `measure` is that of the
    /// owners that are shown.
    pub(crate) fn follow(&mut self, before: Option<&Data>, measure: Measure) {
        if self.profile.process().state != State::Running {
            return;
        }
        let owners = self.rows((By::Owner, measure, Frames::Folded));
        let allocated = Allocated::of(&self.profile, owners.iter().map(|row| &**row));
        let before = before.and_then(|before| before.allocated.as_ref());
        self.rates = before.and_then(|before| allocated.rates_since(before));
        self.allocated = Some(allocated);
    }

    /// Returns what an owner of a running program allocates for each second; `None` if nothing
    /// new was seen.
    pub(crate) fn rate(&self, owner: &str) -> Option<&Rate> {
        self.rates.as_ref()?.get(owner)
    }

    /// Returns `true` if the rates of a running program are known.
    pub(crate) fn has_rates(&self) -> bool {
        self.rates.is_some()
    }

    /// Returns the live blocks, with what grew. `None` while another thread computes them.
    pub(crate) fn leaks(self: &Arc<Self>) -> Option<Arc<Leaks>> {
        self.ask(|data| &data.leaks, ((), ()), |data| leaks(&data.profile))
    }

    /// Returns the findings; with `has_all`, including small ones. `None` while another thread
    /// computes them.
    pub(crate) fn findings(self: &Arc<Self>, has_all: bool) -> Option<Arc<Vec<Finding>>> {
        let find = move |data: &Data| advise(&data.profile, has_all);
        self.ask(|data| &data.findings, (has_all, ()), find)
    }

    /// Explains how to get a snapshot, if there is none.
    pub(crate) fn no_snapshot(&self) -> &'static str {
        match self.profile.process().state {
            State::Running => "no snapshot yet: press H to take one of the running program",
            _ => "no snapshot: take one with `heapglass run --snapshot -- COMMAND`",
        }
    }

    /// Returns the comparison of the total with that of the base; `None` without a base.
    pub(crate) fn change(&self, measure: Measure) -> Option<Change> {
        let base = self.base.as_ref()?.recording();
        Some(diff::total(&[base], &[shown(&self.profile)], measure, None))
    }

    /// Returns the rows of the base that belong to those of the profile; `None` without a base.
    pub(crate) fn beside(&self, key: RowsKey) -> Option<Arc<Beside>> {
        let base = self.base.as_ref()?;
        let (by, measure, frames) = key;
        let options = diff::DiffOptions {
            by,
            measure,
            per: None,
        };
        let make = || Beside::new(&base.profile, &self.profile, options, frames);
        Some(self.beside.now(key, (), make))
    }

    /// Makes the answers of a large profile be computed on other threads from now on. `done` is
    /// called there when an answer is known, or with the message of a panic.
    pub(crate) fn compute_elsewhere(
        &self,
        done: impl Fn(Result<(), String>) + Send + Sync + 'static,
    ) {
        if self.profile.sites().len() >= LARGE {
            self.elsewhere.tell(done);
        }
    }

    /// Returns `true` if answers are computed on other threads.
    pub(crate) fn computes_elsewhere(&self) -> bool {
        self.elsewhere.is_used()
    }

    /// Returns `true` while another thread computes what a view has asked for.
    pub(crate) fn is_computing(&self) -> bool {
        self.elsewhere.is_busy()
    }

    /// Has another thread do `work`, or gives it back: see [`Elsewhere::start`].
    pub(super) fn start<R, F>(&self, work: F) -> Result<(), F>
    where
        F: FnOnce() -> R + Send + 'static,
    {
        self.elsewhere.start(work)
    }

    /// Returns the answer to a question about a subject: the last one of the subject if it was
    /// asked the same, else a new one. `None` while another thread computes it. The last one is
    /// dropped before, because each may take much memory.
    fn ask<S, Q, A>(
        self: &Arc<Self>,
        answers: fn(&Data) -> &Answers<S, Q, A>,
        (subject, question): (S, Q),
        answer: impl FnOnce(&Data) -> A + Send + 'static,
    ) -> Option<Arc<A>>
    where
        S: Copy + Eq + Hash + Send + 'static,
        Q: PartialEq + Send + 'static,
        A: Send + Sync + 'static,
    {
        if let Some(known) = answers(self).known(subject, &question) {
            return Some(known);
        }
        let data = Arc::clone(self);
        let compute = move || {
            drop(answers(&data).take(subject));
            let answer = answer(&data);
            answers(&data).keep(subject, question, answer)
        };
        let compute = self.start(compute).err()?;
        Some(compute())
    }

    /// Returns the rows if they are known; else they are computed on another thread, if the profile
    /// is large, or now.
    pub(crate) fn rows_or_none(self: &Arc<Self>, key: RowsKey) -> Option<Arc<Rows>> {
        self.ask(
            |data| &data.rows,
            (key.0, key),
            move |data| data.make_rows(key),
        )
    }

    /// Returns the rows of the profile as in the report. Computes them unless they are the last
    /// ones of their grouping.
    pub(crate) fn rows(&self, key: RowsKey) -> Arc<Rows> {
        self.rows.now(key.0, key, || self.make_rows(key))
    }

    fn make_rows(&self, (by, measure, frames): RowsKey) -> Rows {
        let rows = rows(&self.profile, by, measure, frames).into_iter();
        rows.map(Arc::new).collect()
    }

    /// Creates the data with the tree that will probably be shown. Slow, so it must not run on the
    /// thread that reads keys.
    pub(crate) fn with_tree(
        profile: Profile,
        base: Option<Arc<Base>>,
        options: CallTreeOptions,
    ) -> Self {
        let tree = std::thread::scope(|scope| {
            let beside = Builder::new().spawn_scoped(scope, || analyse(&profile));
            let tree = CallTree::sorted(&profile, &options);
            // If no thread can be started, `new` does it.
            if let Ok(Err(panic)) = beside.map(|beside| beside.join()) {
                resume_unwind(panic);
            }
            tree
        });
        let data = Data::new(profile, base);
        data.trees.keep((), options, tree);
        data
    }

    /// Returns the tree for `options`: the prepared one if it matches, else a new one; `None` while
    /// another thread builds it. Drops `before`, the tree that was shown, before it builds, because
    /// each may take much memory. Dropping it takes long as well.
    pub(crate) fn take_tree(
        self: &Arc<Self>,
        options: CallTreeOptions,
        before: Option<Arc<CallTree>>,
    ) -> Option<Arc<CallTree>> {
        let build = move |data: &Data| {
            drop(before);
            CallTree::sorted(&data.profile, &options)
        };
        drop(self.ask(|data| &data.trees, ((), options), build)?);
        // The view alone has the tree from now on, so that it can sort it.
        let (_, tree) = self.trees.take(()).filter(|(asked, _)| *asked == options)?;
        Some(tree)
    }

    /// Returns the rows by site. The view sorts them.
    pub(crate) fn site_rows(&self) -> Arc<Rows> {
        self.rows((By::Site, Measure::Peak, Frames::Folded))
    }

    pub(crate) fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.profile.frames().get(id.0 as usize)
    }

    pub(crate) fn function(&self, id: FunctionId) -> Option<&Function> {
        self.profile.functions().get(id.0 as usize)
    }

    pub(crate) fn function_of(&self, frame: FrameId) -> Option<&Function> {
        self.function(self.frame(frame)?.function)
    }

    /// Returns the code that a row by owner or function is charged to. Copies of one function share
    /// a row, and the first one stands for all.
    pub(crate) fn charged(&self, row: &Row) -> Option<Label> {
        match &row.detail {
            Detail::Owner { sites, .. } => {
                let site = self.profile.sites().get(*sites.first()?)?;
                self.profile.charged_to(site)
            }
            Detail::Function(detail) => detail.function.map(Label::Function),
            _ => None,
        }
    }

    /// Returns the frame that the first site of a row by owner is charged to.
    pub(crate) fn owner_frame(&self, row: &Row) -> Option<FrameId> {
        match &row.detail {
            Detail::Owner { sites, .. } => self.profile.sites().get(*sites.first()?)?.owner,
            _ => None,
        }
    }

    pub(crate) fn field(&self, node: u32) -> Option<&Field> {
        self.profile.fields().nodes().get(node as usize)
    }

    pub(crate) fn type_name(&self, id: Option<TypeId>) -> Option<&TypeName> {
        self.profile.named_type(id)
    }

    /// Returns a type for cells, escaped: its short name, or the full name if two types have the
    /// same short name.
    pub(crate) fn type_label(&self, id: Option<TypeId>) -> Cow<'_, str> {
        printable(self.profile.type_key(id))
    }

    /// Returns a path with the full name of its type, escaped.
    pub(crate) fn typed_path(&self, path: &str, id: Option<TypeId>) -> String {
        let name = self.type_name(id).map(|name| format!(": {}", name.full));
        clean(&format!("{path}{}", name.unwrap_or_default())).into_owned()
    }

    /// Returns the full name of a type, escaped; `None` for a type without a name.
    pub(crate) fn full_type_name(&self, id: Option<TypeId>) -> Option<Cow<'_, str>> {
        self.type_name(id).map(|name| clean(&name.full))
    }

    /// Returns the path of a field for cells, escaped.
    pub(crate) fn field_label(&self, node: u32) -> Cow<'_, str> {
        clean(self.field(node).map_or("", |field| &field.path))
    }

    /// Returns the history of each arena of the profile.
    pub(crate) fn histories(&self) -> &[Vec<Point>] {
        let arenas = self.profile.arenas().iter();
        self.histories.get_or_init(|| arenas.map(points).collect())
    }

    /// Returns the phases that ended at a checkpoint, in the order of their ends.
    pub(crate) fn phase_spans(&self) -> &[PhaseSpan] {
        let compute = || self.profile.phase_spans();
        self.phase_spans.get_or_init(compute)
    }

    /// Returns the reason why some blocks have no type, with advice, escaped.
    pub(crate) fn unnamed(&self) -> Cow<'_, str> {
        let unknown = "C code, or no Rust container on the stack and no field";
        printable(self.profile.unnamed().unwrap_or(unknown))
    }

    pub(crate) fn type_kind(&self, id: Option<TypeId>) -> Option<TypeKind> {
        self.type_name(id).map(|name| name.kind)
    }

    pub(crate) fn site(&self, index: u32) -> Option<&Site> {
        self.profile.sites().get(index as usize)
    }

    /// Returns the number in `new` of site `index`, if it has a site with the same stack and scope.
    pub(crate) fn same_site(&self, index: u32, new: &Data) -> Option<u32> {
        let site = self.site(index)?;
        if std::ptr::eq(self, new) {
            return Some(index);
        }
        if self.is_early {
            // This data has no names, so its stacks have other frames. Compare the counters
            // instead.
            return new
                .site(index)
                .is_some_and(|same| same.scope == site.scope)
                .then_some(index);
        }
        let stack: Vec<_> = addresses(self, site).collect();
        // A recording only grows, so a site keeps its number while its stack is the same.
        let mut all = std::iter::once(index).chain(0..new.profile.sites().len() as u32);
        all.find(|&index| {
            new.site(index).is_some_and(|same| {
                same.scope == site.scope && addresses(new, same).eq(stack.iter().copied())
            })
        })
    }

    /// Returns for each function whether `pattern` matches its full or short name.
    pub(crate) fn matching(&self, pattern: &Pattern) -> Vec<bool> {
        let is_match = |f: &Function| pattern.is_match(&f.name) || pattern.is_match(&f.short);
        self.profile.functions().iter().map(is_match).collect()
    }

    /// Returns `file:line` of a frame as in the tables of the report, or the module and offset if
    /// nothing else is known. Escaped.
    pub(crate) fn short_place(&self, frame: FrameId) -> Option<String> {
        let in_module = || {
            let frame = self.frame(frame)?;
            let module = self.profile.modules().get(frame.module as usize)?;
            let name = module.path.rsplit('/').next().unwrap_or_default();
            (!name.is_empty()).then(|| format!("{name}+{:#x}", frame.offset))
        };
        let place = self.profile.source_of(frame).or_else(in_module)?;
        Some(printable(&place).into_owned())
    }

    /// Returns `true` if the program runs and records nothing.
    fn is_paused(&self) -> bool {
        let process = self.profile.process();
        process.state == State::Running && process.pauses.is_open
    }

    /// Returns the duration of the recording, and the part of it that was recorded.
    pub(crate) fn duration(&self) -> String {
        let duration = self.profile.process().duration();
        if self.is_paused() {
            // The recorder does not write the time while it is paused.
            format!("{duration} until the pause")
        } else {
            duration
        }
    }

    /// Describes the state of the process in one or two words.
    pub(crate) fn state(&self) -> &'static str {
        match self.profile.process().state {
            State::Running if self.is_paused() => "paused",
            State::Running => "running",
            State::Finished => "finished",
            State::Copied => "not finished when packed",
            State::Merged => "sums of several recordings",
            State::NotRecorded => "not recorded",
            State::Ended => "ended unfinished (killed, aborted, _exit or exec)",
            _ => "end unknown",
        }
    }
}

/// Returns the identity of a site's frames, innermost first.
fn addresses<'a>(data: &'a Data, site: &'a Site) -> impl Iterator<Item = impl PartialEq + Copy> {
    data.profile.innermost_first(site).map(|frame| {
        let frame = data.frame(frame);
        frame.map(|frame| (frame.module, frame.offset, frame.line, frame.inlined))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn what_takes_long_is_computed_on_another_thread_and_is_the_same() {
        let profile = heapglass_fixture::sized(LARGE as u32, 2);
        let here = Arc::new(Data::new(profile.clone(), None));
        let data = Arc::new(Data::new(profile, None));
        let (done, finished) = channel();
        data.compute_elsewhere(move |result| done.send(result).expect("the test waits"));
        let key = (By::Crate, Measure::Total, Frames::Folded);
        let options = CallTreeOptions::default();
        let wait = || {
            let result = finished.recv_timeout(Duration::from_secs(60));
            result.expect("a job ends").expect("no panic");
            assert!(!data.is_computing());
        };
        assert!(data.rows_or_none(key).is_none() && data.is_computing());
        assert!(data.take_tree(options, None).is_none(), "one at a time");
        wait();
        assert!(data.take_tree(options, None).is_none() && data.is_computing());
        wait();
        let keys =
            |rows: Arc<Vec<Arc<Row>>>| rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>();
        let rows = data.rows_or_none(key).expect("computed");
        assert_eq!(
            keys(rows),
            keys(here.rows_or_none(key).expect("computed at once"))
        );
        let tree = data.take_tree(options, None).expect("built");
        let same = here.take_tree(options, None).expect("built at once");
        assert_eq!(tree.ids().count(), same.ids().count());
    }

    #[test]
    fn a_panic_of_a_job_ends_it_and_is_reported() {
        let data = Arc::new(Data::new(heapglass_fixture::sized(LARGE as u32, 2), None));
        let (done, finished) = channel();
        data.compute_elsewhere(move |result| done.send(result).expect("the test waits"));
        assert!(data.start(|| panic!("out of luck")).is_ok());
        let result = finished.recv_timeout(Duration::from_secs(60));
        assert_eq!(result.expect("the job ends"), Err("out of luck".to_owned()));
        assert!(!data.is_computing());
    }
}

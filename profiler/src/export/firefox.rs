//! The processed profile of the Firefox Profiler: one track for each measure, with an allocation
//! for each stack that has any of it.
//!
//! The profiler shows the allocations of a process on one thread, so each measure is a process of
//! its own. It pairs allocations and frees by address: each stack has one address and no frees, so
//! retained memory is the whole measure. A recording does not know when the bytes of a stack were
//! allocated, so all times are 0.

use std::io::{self, Write};
use std::time::Duration;

use fxprof_processed_profile as fxprof;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, FrameFlags, FrameInfo, ReferenceTimestamp, SamplingInterval,
    Timestamp,
};

use super::{ReportOptions, tree, with_notes, write_line};
use crate::calltree::{CallTree, NodeId};
use crate::pprof::names;
use crate::profile::{Label, Measure, Origin, Profile};
use crate::table::program_name;

/// Allocations have bytes; blocks and events are no measures of the Firefox Profiler.
pub(super) const MEASURES: [Measure; 5] = [
    Measure::Peak,
    Measure::Live,
    Measure::Total,
    Measure::Temporary,
    Measure::Copied,
];

pub(super) fn write(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let tree = tree(profile, options);
    let begin = Duration::from_nanos(profile.process().started_unix_ns);
    let product = with_notes(profile, &format!("{} (heapglass).", program_name(profile)));
    let mut made = fxprof::Profile::new(
        &product,
        ReferenceTimestamp::from_duration_since_unix_epoch(begin),
        SamplingInterval::from_millis(1),
    );
    // Names are resolved already.
    made.set_symbolicated(true);
    let categories = Categories::new(&mut made);
    let totals = tree.total(NodeId::ROOT);
    for measure in MEASURES {
        let is_first = measure == options.measure
            || (measure == Measure::Peak && !MEASURES.contains(&options.measure));
        if is_first || measure.of(totals) > 0 {
            add_track(&mut made, profile, &tree, measure, &categories, is_first);
        }
    }
    write_line(&made, out)
}

fn add_track(
    made: &mut fxprof::Profile,
    profile: &Profile,
    tree: &CallTree,
    measure: Measure,
    categories: &Categories,
    is_first: bool,
) {
    let zero = Timestamp::from_nanos_since_reference(0);
    let pid = profile.process().pid;
    let process = made.add_process(measure.title_in(profile.process().state), pid, zero);
    let thread = made.add_thread(process, pid, zero, true);
    made.set_thread_name(thread, measure.title_in(profile.process().state));
    made.add_initial_visible_thread(thread);
    if is_first {
        made.add_initial_selected_thread(thread);
    }
    let mut stacks = vec![None; tree.len()];
    for id in tree.ids().skip(1) {
        let node = tree.node(id);
        if measure.of(tree.total(id)) == 0 {
            continue;
        }
        let name = made.intern_string(&names::name(profile, node.label));
        let frame = made.intern_frame(
            thread,
            FrameInfo {
                frame: fxprof::Frame::Label(name),
                category_pair: categories.of(profile, node.label).into(),
                flags: FrameFlags::empty(),
            },
        );
        let parent = node.parent.and_then(|parent| stacks[parent.0 as usize]);
        let stack = made.intern_stack(thread, parent, frame);
        stacks[id.0 as usize] = Some(stack);
        let own = measure.of(tree.own(id));
        if own > 0 {
            let address = u64::from(id.0);
            let bytes = i64::try_from(own).unwrap_or(i64::MAX);
            made.add_allocation_sample(thread, zero, Some(stack), address, bytes);
        }
    }
}

/// Whose code frames are, as the profiler colours them.
struct Categories([(Origin, CategoryHandle); 4]);

impl Categories {
    fn new(made: &mut fxprof::Profile) -> Categories {
        let categories = [
            (Origin::User, "program", CategoryColor::Blue),
            (Origin::Dependency, "dependency", CategoryColor::Green),
            (Origin::Std, "std", CategoryColor::Yellow),
            (Origin::Native, "native", CategoryColor::Orange),
        ];
        Categories(categories.map(|(of, name, color)| (of, made.add_category(name, color))))
    }

    fn of(&self, profile: &Profile, label: Label) -> CategoryHandle {
        let Label::Function(function) = label else {
            return CategoryHandle::OTHER;
        };
        let function = profile.functions().get(function.0 as usize);
        let origin = function.map(|function| function.origin);
        let mut known = self.0.iter().filter(|(of, _)| Some(*of) == origin);
        known.next().map_or(CategoryHandle::OTHER, |(_, it)| *it)
    }
}

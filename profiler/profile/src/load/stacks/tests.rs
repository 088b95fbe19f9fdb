//! Recordings as they grow: what was read before and holds is not read again, and nobody can tell.

use super::StackCache;
use crate::load::names::{Addresses, Names};
use crate::load::{OpenOptions, Unnamed};
use crate::profile::{Contents, FrameId, FunctionId, Label, Profile};
use std::path::Path;
use tracking_alloc_recording::{Recording, RowValue};

/// Recordings of programs that others wrote, with their symbols.
const REAL: [&str; 3] = ["shop-profiled", "rg", "demo"];

fn read(name: &str) -> Recording {
    Recording::open(heapglass_fixture::recording(name).as_ref()).expect("a recording")
}

/// The recording as it may have been when it had no more than `sites` sites.
fn earlier(recording: &Recording, sites: usize) -> Recording {
    let mut part = recording.clone();
    part.sites.truncate(sites);
    let stacks = part.sites.iter().map(|site| site.stack as usize + 1).max();
    part.stacks.truncate(stacks.unwrap_or(0));
    let frames = part.stacks.iter().map(|node| node.frame as usize + 1).max();
    part.frames.truncate(frames.unwrap_or(0));
    for lane in &mut part.lanes {
        let later = |row: &RowValue| row.site as usize >= sites;
        let rows = lane.rows.iter().position(later);
        lane.rows.truncate(rows.unwrap_or(lane.rows.len()));
        let rows = lane.rows.len() as u32;
        lane.sizes.retain(|sizes| sizes.row < rows);
        lane.checkpoints
            .retain(|checkpoints| checkpoints.row < rows);
    }
    part
}

/// All that is said of each site, in words.
fn described(profile: &Profile) -> Vec<String> {
    let name = |function: FunctionId| {
        let function = &profile.functions[function.0 as usize];
        (&function.name, &function.does, function.role)
    };
    let frame = |id: &FrameId| {
        let frame = profile.frame(*id);
        (name(frame.function), &frame.file, frame.line, frame.offset)
    };
    let sites = profile.sites.iter().enumerate().map(|(at, site)| {
        let stack: Vec<_> = profile.stack(site).iter().map(frame).map(text).collect();
        let steps = profile.folding().steps(at).iter().map(|step| {
            let what = match step.label {
                Label::Call(text) => profile.folding().text(text).to_owned(),
                Label::Function(function) => format!("{:?}", name(function)),
                Label::Type(id) => profile.type_key(id).to_owned(),
                other => format!("{other:?}"),
            };
            (what, step.frames, step.depth)
        });
        let steps: Vec<_> = steps.collect();
        let types = site.contents.map(|contents| {
            let full = |id| &profile.type_name(id).full;
            let Contents {
                container,
                allocating,
                element,
                owner,
            } = contents;
            (
                full(container),
                [allocating, element, owner].map(|of| of.map(full)),
            )
        });
        let owner = site.owner.as_ref().map(frame);
        let rest = (
            &site.shown,
            site.group,
            site.scope,
            site.marks,
            &site.figures,
        );
        format!("{stack:?} {steps:?} {types:?} {owner:?} {rest:?}")
    });
    sites.collect()
}

fn text(frame: impl std::fmt::Debug) -> String {
    format!("{frame:?}")
}

#[test]
fn a_recording_that_goes_on_reads_as_if_it_were_read_anew() {
    // One for all: what was read of another recording never holds.
    let mut cache = StackCache::default();
    for name in REAL {
        let whole = read(name);
        let mut check_by = |mut part: Recording, own: &[&str], has_names: bool| {
            let options = OpenOptions {
                own: own.iter().map(|&name| name.to_owned()).collect(),
                ..OpenOptions::default()
            };
            let of = Addresses::of(&mut part);
            let path = Path::new("real.hg");
            let names = if has_names {
                Names::find(&of, path, &options, &|_| ()).expect("names")
            } else {
                Names::none(&of)
            };
            let names = (&of.modules, &names);
            let fresh = Unnamed::of(part.clone(), Vec::new()).named(names, &options, None);
            let known = Unnamed::of(part, Vec::new()).named(names, &options, Some(&mut cache));
            assert!(!fresh.sites.is_empty());
            assert_eq!(described(&fresh), described(&known));
            let unresolved = |profile: &Profile| profile.lost.unresolved_frames;
            assert_eq!(unresolved(&fresh), unresolved(&known));
        };
        // Without names only scopes tell types, and a scope may learn its own late.
        let mut untyped = whole.clone();
        (untyped.scopes.iter_mut()).for_each(|scope| scope.type_name = 0);
        check_by(untyped, &[], false);
        check_by(whole.clone(), &[], false);
        let mut check = |part: Recording, own: &[&str]| check_by(part, own, true);
        let all = whole.sites.len();
        for sites in [all / 3, all / 2, all / 2, all - 1, all] {
            check(earlier(&whole, sites), &[]);
        }
        check(whole.clone(), &["serde_json"]);
        check(whole.clone(), &[]);
        // As long, but not the same.
        let mut other = whole.clone();
        let (one, two) = (other.sites[all - 1].stack, other.sites[all - 2].stack);
        (other.sites[all - 1].stack, other.sites[all - 2].stack) = (two, one);
        check(other, &[]);
        check(whole.clone(), &[]);
        let mut other = whole.clone();
        let nodes = other.stacks.len();
        other.stacks[nodes - 1].frame = other.stacks[nodes / 2].frame;
        check(other, &[]);
    }
}

//! JSON of valgrind's DHAT, version 2, as `dh_view.html` and the Firefox Profiler read it.
//!
//! DHAT requires figures that a recording does not have. They are lower bounds, and the mode says
//! so: the maximum of a program point on its own (the larger of peak and live), its lifetimes (of
//! blocks whose lifetime is known), and the time of the peak (the blocks that were live then had
//! all been allocated). Time is counted in allocations: lifetimes in those of the thread, the end
//! in those of the process.

use std::io::{self, Write};

use serde::Serialize;

use super::{ReportOptions, with_notes, write_line};
use crate::calltree::stack_of;
use crate::pprof::names;
use crate::profile::{Figures, Profile, Step};
use crate::units::printable;
use heapglass_profile::internal::Interned;

/// Frame 0 is the root of all stacks in `dh_view.html`.
const ROOT: &str = "[root]";

const MODE: &str =
    "heapglass. Max, avg lifetime and the time of t-gmax are lower bounds; all else is counted.";

#[derive(Serialize)]
struct File {
    #[serde(rename = "dhatFileVersion")]
    version: u32,
    mode: String,
    verb: &'static str,
    /// Lifetimes, peak and end are there.
    bklt: bool,
    /// Accesses are not.
    bkacc: bool,
    tu: &'static str,
    #[serde(rename = "Mtu")]
    mtu: &'static str,
    tuth: u64,
    cmd: String,
    pid: u32,
    te: u64,
    tg: u64,
    pps: Vec<ProgramPoint>,
    ftbl: Vec<String>,
}

#[derive(Serialize)]
struct ProgramPoint {
    tb: u64,
    tbk: u64,
    tl: u64,
    mb: u64,
    mbk: u64,
    gb: u64,
    gbk: u64,
    eb: u64,
    ebk: u64,
    /// Innermost frame first.
    fs: Vec<u32>,
}

pub(super) fn write(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut frames = Interned::new();
    frames.number(ROOT.to_owned());
    // The viewer refuses a stack that it meets twice; sites of one stack in several phases or
    // fields are one point.
    let mut stacks: Interned<Vec<u32>> = Interned::new();
    let mut sums: Vec<(Figures, u64)> = Vec::new();
    for (index, site) in profile.counted_sites() {
        let steps = stack_of(profile, options.frames, index);
        let numbers = steps
            .iter()
            .rev()
            .map(|step| frames.number(frame(profile, step)));
        let (figures, lifetime) = stacks.entry(&mut sums, numbers.collect());
        figures.add(&site.figures);
        *lifetime = lifetime.saturating_add(site.distribution.lifetime);
    }
    let points = stacks
        .values
        .into_iter()
        .zip(sums)
        .map(|(fs, (figures, lifetime))| ProgramPoint {
            tb: figures.total_bytes,
            tbk: figures.number("total_blocks").value,
            tl: lifetime,
            mb: figures.peak_bytes.max(figures.live_bytes),
            mbk: (figures.number("peak_blocks").value).max(figures.number("live_blocks").value),
            gb: figures.peak_bytes,
            gbk: figures.number("peak_blocks").value,
            eb: figures.live_bytes,
            ebk: figures.number("live_blocks").value,
            fs,
        });
    let file = File {
        version: 2,
        mode: with_notes(profile, MODE),
        verb: "Allocated",
        bklt: true,
        bkacc: false,
        tu: "allocations",
        mtu: "million allocations",
        tuth: 10,
        cmd: names::command(profile),
        pid: profile.process().pid,
        te: profile.number("total_blocks").value,
        tg: profile.number("peak_blocks").value,
        pps: points.collect(),
        ftbl: frames.values,
    };
    write_line(&file, out)
}

/// `0x1f4e: shop::parse (src/main.rs:12)`, the form that viewers take apart; a name alone of what
/// is no frame.
fn frame(profile: &Profile, step: &Step) -> String {
    let name = names::name(profile, step.label);
    let Some(frame) = names::frame_of(profile, step) else {
        return name;
    };
    let address = names::address(profile, frame);
    let place = match (names::file(frame), frame.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file,
        (None, _) => match address {
            Some((module, _)) => format!("in {}", printable(&profile.modules()[module].path)),
            None => return name,
        },
    };
    let offset = address.map_or(0, |(_, offset)| offset);
    format!("0x{offset:X}: {name} ({place})")
}

//! Creates recordings by hand, and looks up parts of their profiles.

use crate::parts::{Parts, seal};
use heapglass_profiler::OpenOptions;
use heapglass_profiler::profile::{Profile, Site, Thread};
use tracking_alloc_recording::*;

/// Returns a finished recording whose tables contain only the reserved entries.
pub(super) fn empty() -> Parts {
    let mut parts = Parts::of(&crate::golden("native.hg"));
    parts.segments.clear();
    let golden = parts.header;
    parts.header = HeaderValue {
        magic: golden.magic,
        version: golden.version,
        header_bytes: golden.header_bytes,
        state: state::FINISHED,
        mode: mode::EXACT,
        unwinder: unwinder::FRAME_POINTERS,
        arch: arch::X86_64,
        clock: Clock::new(EPOCH, 0),
        ..HeaderValue::default()
    };
    parts.append_bytes(table::STRINGS, 0, 1, vec![0; 4]);
    parts.header.strings_len = 4;
    parts.append(
        table::SCOPES,
        0,
        &[ScopeValue {
            kind: scope_kind::ROOT,
            ..ScopeValue::default()
        }],
    );
    parts.header.scopes_len = 1;
    parts.append(
        table::SITES,
        0,
        &[SiteValue::default(); FIRST_SITE as usize],
    );
    parts.header.sites_len = FIRST_SITE;
    parts
}

/// The epoch of the last peak.
pub(super) const EPOCH: u64 = 5;

/// Lanes from 1 on, with their rows. "(table full)" and "(unattributed)" are among the fixed rows,
/// as is the sum.
pub(super) fn add_lanes(parts: &mut Parts, lanes: &[(LaneValue, &[RowValue], [RowValue; 2])]) {
    let mut records = vec![LaneValue::default()];
    let mut fixed = vec![RowValue::default(); 3];
    for (number, (lane, rows, [full, unattributed])) in (1..).zip(lanes) {
        records.push(LaneValue {
            rows_len: rows.len() as u32,
            ..*lane
        });
        let all = rows
            .iter()
            .chain([full])
            .fold(RowValue::default(), |sum, row| RowValue {
                total_bytes: sum.total_bytes + row.total_bytes,
                total_blocks: sum.total_blocks + row.total_blocks,
                freed_bytes: sum.freed_bytes + row.freed_bytes,
                freed_blocks: sum.freed_blocks + row.freed_blocks,
                grows: sum.grows + row.grows,
                shrinks: sum.shrinks + row.shrinks,
                copied_bytes: sum.copied_bytes + row.copied_bytes,
                temporary_blocks: sum.temporary_blocks + row.temporary_blocks,
                temporary_bytes: sum.temporary_bytes + row.temporary_bytes,
                saved_bytes: sum.saved_bytes + row.saved_bytes,
                saved_blocks: sum.saved_blocks + row.saved_blocks,
                clock: sum.clock.max(row.clock),
                ..RowValue::default()
            });
        fixed.extend([all, *full, *unattributed]);
        parts.append(table::ROWS, number, rows);
    }
    parts.append(table::LANES, 0, &records);
    parts.append(table::FIXED_ROWS, 0, &fixed);
    parts.header.lanes = lanes.len() as u32;
    parts.header.most_lanes = lanes.len() as u32;
}

pub(super) fn add_sites(parts: &mut Parts, sites: &[SiteValue]) {
    parts.append(table::SITES, 0, sites);
    parts.header.sites_len += sites.len() as u32;
}

pub(super) fn load(parts: &Parts) -> Profile {
    let mut bytes = parts.bytes();
    if parts.header.state == state::FINISHED {
        seal(&mut bytes);
    }
    load_bytes(&bytes)
}

pub(super) fn load_bytes(bytes: &[u8]) -> Profile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.hg");
    std::fs::write(&path, bytes).expect("written");
    heapglass_profiler::open(&path, &OpenOptions::default(), &|_| ()).expect("a recording")
}

pub(super) fn named(name: &[u8; 8]) -> [u64; 2] {
    [u64::from_le_bytes(*name), 0]
}

/// Returns a row whose net figures were saved in the current epoch: it held `peak` at the peak.
pub(super) fn row(site: u32, total: (u64, u64), freed: (u64, u64), peak: (i64, i64)) -> RowValue {
    RowValue {
        site,
        total_bytes: total.0,
        total_blocks: total.1,
        freed_bytes: freed.0,
        freed_blocks: freed.1,
        saved_bytes: peak.0,
        saved_blocks: peak.1,
        clock: Clock::new(EPOCH, 0),
        ..RowValue::default()
    }
}

/// Returns a row that did not change since the peak: its net figures are those at the peak.
pub(super) fn still(site: u32, total: (u64, u64), freed: (u64, u64)) -> RowValue {
    RowValue {
        clock: Clock::new(EPOCH - 1, 0),
        ..row(site, total, freed, (777, 7))
    }
}

pub(super) fn lane(name: &[u8; 8]) -> LaneValue {
    LaneValue {
        kind: 1,
        tenancies: 1,
        name: named(name),
        ..LaneValue::default()
    }
}

/// Adds one site for each of `count` scopes: scope `n` has site `FIRST_SITE + n - 1`.
pub(super) fn add_scopes(parts: &mut Parts, count: u32) {
    let names: Vec<u32> = (1..=count)
        .map(|number| parts.string(&format!("scope {number}")))
        .collect();
    let scopes: Vec<ScopeValue> = names
        .iter()
        .map(|name| ScopeValue {
            kind: scope_kind::PHASE,
            name: *name,
            depth: 1,
            ..ScopeValue::default()
        })
        .collect();
    parts.append(table::SCOPES, 0, &scopes);
    parts.header.scopes_len += count;
    let sites: Vec<SiteValue> = (1..=count)
        .map(|scope| SiteValue {
            scope,
            ..SiteValue::default()
        })
        .collect();
    add_sites(parts, &sites);
}

pub(super) fn site_in(profile: &Profile, scope: u32) -> &Site {
    let mut sites = profile
        .sites()
        .iter()
        .filter(|site| site.scope.0 == scope && !site.marks.synthetic);
    sites.next().expect("a site in that scope")
}

pub(super) fn synthetic<'a>(profile: &'a Profile, name: &str) -> &'a Site {
    let mut sites = profile.sites().iter().filter(|site| {
        site.marks.synthetic && profile.function(profile.stack(site)[0]).name == name
    });
    sites.next().expect("a site of that name")
}

pub(super) fn thread<'a>(profile: &'a Profile, name: &str) -> &'a Thread {
    let mut threads = profile
        .threads()
        .iter()
        .filter(|thread| thread.name == name);
    threads.next().expect("a thread of that name")
}

/// Two live threads. Some of their rows changed since the peak.
pub(super) fn two_lanes() -> Parts {
    let mut parts = empty();
    add_scopes(&mut parts, 2);
    let busy = RowValue {
        grows: 3,
        shrinks: 1,
        copied_bytes: 50,
        temporary_blocks: 2,
        temporary_bytes: 20,
        ..row(3, (1000, 10), (400, 4), (700, 7))
    };
    let first = [busy, still(4, (300, 3), (100, 1))];
    // Frees blocks that the first one allocated.
    let second = [
        row(3, (200, 2), (100, 1), (150, 2)),
        row(4, (0, 0), (50, 1), (-10, 0)),
    ];
    let full = row(SITE_TABLE_FULL, (64, 2), (0, 0), (60, 1));
    let unattributed = row(SITE_UNATTRIBUTED, (8, 1), (0, 0), (0, 0));
    add_lanes(
        &mut parts,
        &[
            (lane(b"first\0\0\0"), &first, [full, RowValue::default()]),
            (
                lane(b"second\0\0"),
                &second,
                [RowValue::default(), unattributed],
            ),
        ],
    );
    // The rows at the peak: 700 + 200 + 150 - 10 + 60.
    parts.header.peak_bytes = 1090;
    parts.header.peak_bound_bytes = 1130;
    parts.header.peak_ns = 4_000;
    parts.header.elapsed_ns = 9_000;
    parts
}

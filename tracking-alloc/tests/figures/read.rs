//! The figures of each phase, lane and thread in a recording.

use std::collections::BTreeMap;
use tracking_alloc_recording::{LaneColumns, Recording, RowValue, checkpoint_kind, class_bounds};

/// The figures of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Bytes and blocks.
    pub(crate) total: (u64, u64),
    pub(crate) freed: (u64, u64),
    pub(crate) grows: u64,
    pub(crate) shrinks: u64,
    pub(crate) copied_bytes: u64,
    pub(crate) temporary: (u64, u64),
    pub(crate) lifetime: u64,
    pub(crate) lifetime_blocks: u64,
    pub(crate) freed_elsewhere: u64,
    pub(crate) peak: (i64, i64),
}

impl Counts {
    pub(crate) fn live(&self) -> (i64, i64) {
        let net = |total: u64, freed: u64| total as i64 - freed as i64;
        (
            net(self.total.0, self.freed.0),
            net(self.total.1, self.freed.1),
        )
    }

    fn of(row: &RowValue, peak: (i64, i64)) -> Counts {
        Counts {
            total: (row.total_bytes, row.total_blocks),
            freed: (row.freed_bytes, row.freed_blocks),
            grows: row.grows,
            shrinks: row.shrinks,
            copied_bytes: row.copied_bytes,
            temporary: (row.temporary_bytes, row.temporary_blocks),
            lifetime: row.lifetime,
            lifetime_blocks: row.lifetime_blocks,
            freed_elsewhere: row.freed_elsewhere,
            peak,
        }
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        fn pair<T: std::ops::Add<Output = T> + Copy>(sum: &mut (T, T), more: (T, T)) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
        pair(&mut self.total, other.total);
        pair(&mut self.freed, other.freed);
        self.grows += other.grows;
        self.shrinks += other.shrinks;
        self.copied_bytes += other.copied_bytes;
        pair(&mut self.temporary, other.temporary);
        self.lifetime += other.lifetime;
        self.lifetime_blocks += other.lifetime_blocks;
        self.freed_elsewhere += other.freed_elsewhere;
        pair(&mut self.peak, other.peak);
    }
}

fn net(row: &RowValue) -> (i64, i64) {
    (
        row.total_bytes.wrapping_sub(row.freed_bytes) as i64,
        row.total_blocks.wrapping_sub(row.freed_blocks) as i64,
    )
}

fn at_epoch(row: &RowValue, recording: &Recording) -> (i64, i64) {
    if row.clock.epoch() >= recording.header.clock.epoch() {
        (row.saved_bytes, row.saved_blocks)
    } else {
        net(row)
    }
}

/// Returns the rows of sites, "(table full)" and "(unattributed)".
pub(crate) fn rows(lane: &LaneColumns) -> impl Iterator<Item = &RowValue> {
    lane.rows
        .iter()
        .chain([&lane.table_full, &lane.unattributed])
}

/// Returns a row's values at the peak: the saved ones, or the current ones if the last rise was
/// never checked.
fn at_peak(row: &RowValue, recording: &Recording) -> (i64, i64) {
    let sum = |at: &dyn Fn(&RowValue) -> (i64, i64)| -> i64 {
        let rows = recording.lanes.iter().flat_map(rows);
        rows.map(|row| at(row).0).sum()
    };
    if sum(&net) >= sum(&|row| at_epoch(row, recording)) {
        net(row)
    } else {
        at_epoch(row, recording)
    }
}

/// Returns the figures of every phase without the phases inside it: `""`, `"a"`, `"a > b"`.
pub(crate) fn by_phase(recording: &Recording) -> BTreeMap<String, Counts> {
    let mut phases: BTreeMap<String, Counts> = BTreeMap::new();
    for row in recording.lanes.iter().flat_map(rows) {
        if *row
            == (RowValue {
                site: row.site,
                clock: row.clock,
                ..RowValue::default()
            })
        {
            continue;
        }
        let scope = recording.sites[row.site as usize].scope;
        let counts = Counts::of(row, at_peak(row, recording));
        phases
            .entry(path(recording, scope))
            .or_default()
            .add(&counts);
    }
    phases
}

fn path(recording: &Recording, scope: u32) -> String {
    let record = &recording.scopes[scope as usize];
    let name = recording.string(record.name).unwrap_or_default();
    match record.parent {
        0 => name,
        parent => format!("{} > {name}", path(recording, parent)),
    }
}

/// Returns the only phase with that path.
pub(crate) fn phase(recording: &Recording, path: &str) -> Counts {
    by_phase(recording).remove(path).unwrap_or_default()
}

/// Returns the sum of all rows. Every lane's own row of all events has the same sum, except for
/// lifetimes.
pub(crate) fn all(recording: &Recording) -> Counts {
    let mut sum = Counts::default();
    for lane in &recording.lanes {
        let mut of_lane = Counts::default();
        for row in rows(lane) {
            of_lane.add(&Counts::of(row, at_peak(row, recording)));
        }
        assert_eq!(
            Counts {
                lifetime: 0,
                lifetime_blocks: 0,
                freed_elsewhere: 0,
                ..of_lane
            },
            Counts::of(&lane.all, at_peak(&lane.all, recording))
        );
        sum.add(&of_lane);
    }
    sum
}

/// Returns a lane's row of all events.
pub(crate) fn of_lane(recording: &Recording, name: &str) -> Counts {
    let mut lanes = recording
        .lanes
        .iter()
        .filter(|lane| name_of(lane.lane.name) == name);
    let lane = lanes.next().expect("a lane of that name");
    assert!(lanes.next().is_none(), "one lane of that name");
    Counts::of(&lane.all, at_peak(&lane.all, recording))
}

/// Returns a thread's name.
pub(crate) fn name_of(words: [u64; 2]) -> String {
    let bytes: Vec<u8> = words
        .map(u64::to_le_bytes)
        .concat()
        .into_iter()
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8(bytes).expect("a name")
}

/// Returns the number of blocks in each size class of a phase, by the largest size of the class.
pub(crate) fn sizes(recording: &Recording, phase: &str) -> BTreeMap<u64, u64> {
    const COUNT: u64 = (1 << 48) - 1;
    let mut sizes = BTreeMap::new();
    for lane in &recording.lanes {
        for record in &lane.sizes {
            let row = &lane.rows[record.row as usize];
            if path(recording, recording.sites[row.site as usize].scope) != phase {
                continue;
            }
            for pair in record.pairs.iter().filter(|pair| **pair != 0) {
                let (_, largest) = class_bounds((pair >> 48) as u16);
                let before = sizes.insert(largest, pair & COUNT);
                assert_eq!(before, None, "a class is in one pair of one record");
            }
        }
    }
    sizes
}

/// Returns the live bytes of all phases and of each phase at each checkpoint that was due.
pub(crate) fn checkpoints(recording: &Recording) -> Vec<(u64, BTreeMap<String, i64>)> {
    let moments = recording.checkpoint_moments.iter().enumerate();
    moments
        .filter(|(_, moment)| moment.sequence != 0 && moment.kind == checkpoint_kind::TIME)
        .map(|(slot, moment)| {
            let mut phases: BTreeMap<String, i64> = BTreeMap::new();
            for lane in &recording.lanes {
                for (index, row) in lane.rows.iter().enumerate() {
                    let (live, _) = lane.at_checkpoint(index, slot, moment.sequence);
                    let scope = recording.sites[row.site as usize].scope;
                    *phases.entry(path(recording, scope)).or_default() += live;
                }
            }
            phases.retain(|_, live| *live != 0);
            (moment.live_bytes, phases)
        })
        .collect()
}

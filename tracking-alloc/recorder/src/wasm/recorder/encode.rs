//! Encodes the recording as bytes: header and directory, followed by the packed tables. The
//! recording is finished and has a checksum.

use super::module_recorder::Recorder;
use super::rows::net;
use super::scope_table::Scope;
use tracking_alloc_recording as recording;
use tracking_alloc_recording::{
    EncodedStrings, Encoder, FIRST_SITE, HeaderValue, LaneValue, RowValue, ScopeValue, SiteValue,
    StackValue, VisitsValue, scope_kind, table,
};

/// The name of the only thread.
const MAIN: [u64; 2] = [u64::from_le_bytes(*b"main\0\0\0\0"), 0];

impl Recorder {
    /// Returns everything recorded so far, as a finished recording.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut file = Encoder::default();
        let mut strings = EncodedStrings::default();
        let program = strings.put(self.program.as_bytes());
        let scopes: Vec<ScopeValue> = self
            .scopes
            .all
            .iter()
            .map(|scope| ScopeValue {
                name: strings.put(scope.name.as_bytes()),
                type_name: strings.put(scope.type_name.as_bytes()),
                entered: if is_phase(scope) {
                    scope.value.entered
                } else {
                    0
                },
                ..scope.value
            })
            .collect();
        let visits: Vec<VisitsValue> = (0u32..)
            .zip(&self.scopes.all)
            .filter(|(_, scope)| !is_phase(scope) && scope.value.entered > 0)
            .map(|(number, scope)| VisitsValue {
                scope: number,
                count: scope.value.entered,
                ..VisitsValue::default()
            })
            .collect();
        let mut sites = vec![SiteValue::default(); FIRST_SITE as usize];
        sites.extend(self.rows.scopes.iter().map(|scope| SiteValue {
            scope: *scope,
            ..SiteValue::default()
        }));
        let rows = &self.rows;
        let fixed = [rows.all, rows.full, RowValue::default()];
        let lane = LaneValue {
            kind: recording::lane_kind::OWNED,
            rows_len: rows.own.len() as u32,
            tenancies: 1,
            name: MAIN,
            unknown_frees: self.unknown_frees,
            checked_bytes: net(&rows.all).0,
            checked_blocks: rows.all.total_blocks,
            visits_len: visits.len() as u32,
            ..LaneValue::default()
        };
        let header = HeaderValue {
            executable: program,
            clock: rows.clock,
            peak_bytes: rows.peak.0,
            stacks_len: 1,
            scopes_len: scopes.len() as u32,
            sites_len: sites.len() as u32,
            strings_len: strings.table().len() as u64,
            own_bytes: self.linear.own << 16,
            untracked_blocks: self.untracked_blocks,
            lost_scopes: self.scopes.lost,
            memory_pages: self.linear.pages,
            first_pages: self.linear.first,
            own_pages: self.linear.own,
            memory_grows: self.linear.grows,
            state: recording::state::FINISHED,
            mode: recording::mode::EXACT,
            unwinder: recording::unwinder::NONE,
            arch: recording::arch::WASM32,
            lanes: 1,
            most_lanes: 1,
            ..HeaderValue::default()
        };
        file.bytes(table::STRINGS, strings.table());
        file.records(table::STACKS, &[StackValue::default()]);
        file.records(table::SCOPES, &scopes);
        file.records(table::SITES, &sites);
        file.records(table::LANES, &[lane]);
        file.records(table::FIXED_ROWS, &fixed);
        file.records(table::ROWS, &rows.own);
        file.records(table::VISITS, &visits);
        file.finish(header)
    }
}

fn is_phase(scope: &Scope) -> bool {
    scope.value.kind == scope_kind::PHASE
}

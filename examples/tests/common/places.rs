//! The places in data that a recording contains: paths, types, values, and the allocations made
//! there.

use heapglass_examples::recorded::{Sums, sums_by_scope};
use heapglass_profiler::profile::TypeName;
use tracking_alloc_recording::{Recording, scope_kind};

/// A place in the data read in some phase.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The path from the type where it begins, such as `Person.tags[]`. It is empty for the phase
    /// itself.
    pub(crate) path: String,
    /// The type of its values, without module paths.
    pub(crate) type_name: String,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) values: u64,
    pub(crate) stayed_bytes: i64,
    /// Its sums without the places inside it.
    pub(crate) own: Sums,
}

/// The scopes of a recording, with the counts of each.
pub(crate) struct Places<'a> {
    recording: &'a Recording,
    sums: Vec<Sums>,
    visits: Vec<u64>,
}

impl<'a> Places<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Places<'a> {
        let mut visits: Vec<u64> = recording.scopes.iter().map(|scope| scope.entered).collect();
        for visit in recording.lanes.iter().flat_map(|lane| &lane.visits) {
            visits[visit.scope as usize] += visit.count;
        }
        Places {
            recording,
            sums: sums_by_scope(recording),
            visits,
        }
    }

    /// Returns the number of the phase of that name. There must be one.
    pub(crate) fn phase(&self, name: &str) -> usize {
        let found = self.recording.scopes.iter().position(|scope| {
            scope.kind == scope_kind::PHASE
                && self.recording.string(scope.name).as_deref() == Some(name)
        });
        found.unwrap_or_else(|| panic!("no phase is called {name}"))
    }

    /// Returns a phase and the places in it, parents before children. The first is the phase
    /// itself.
    pub(crate) fn within(&self, phase: usize) -> Vec<Place> {
        let scopes = &self.recording.scopes;
        let mut found: Vec<Option<Place>> = vec![None; scopes.len()];
        for (number, scope) in scopes.iter().enumerate().skip(phase) {
            let outer = found[scope.parent as usize].as_ref();
            if outer.is_none() && number != phase {
                continue;
            }
            let text = |string| self.recording.string(string).unwrap_or_default();
            let type_name = TypeName::new(&text(scope.type_name)).short;
            let path = outer.map_or_else(String::new, |outer| {
                outer.path.clone() + &step(scope.kind, &text(scope.name), &type_name)
            });
            found[number] = Some(Place {
                path,
                type_name,
                kind: scope.kind,
                flags: scope.flags,
                values: self.visits[number],
                stayed_bytes: scope.stayed_bytes,
                own: self.sums[number],
            });
        }
        found.into_iter().flatten().collect()
    }
}

pub(crate) fn step(kind: u32, name: &str, type_name: &str) -> String {
    match kind {
        scope_kind::PHASE => format!("{name}/"),
        scope_kind::ROOT => type_name.to_owned(),
        scope_kind::FIELD => format!(".{name}"),
        scope_kind::ELEMENT => "[]".to_owned(),
        scope_kind::KEY => "{key}".to_owned(),
        scope_kind::VALUE => "{value}".to_owned(),
        scope_kind::VARIANT => format!("::{name}"),
        scope_kind::INDEX => format!("#{name}"),
        scope_kind::BUFFERED => "(buffered)".to_owned(),
        scope_kind::FROM_BUFFER => "(from buffer)".to_owned(),
        scope_kind::OTHER => "(other)".to_owned(),
        other => panic!("no kind of scope has the number {other}"),
    }
}

/// Returns the sum over places.
pub(crate) fn total(places: &[Place]) -> Sums {
    let mut total = Sums::default();
    places.iter().for_each(|place| total += place.own);
    total
}

/// Returns the place with that path. There must be one.
pub(crate) fn at<'p>(places: &'p [Place], path: &str) -> &'p Place {
    let found = places.iter().find(|place| place.path == path);
    found.unwrap_or_else(|| {
        let known: Vec<&str> = places.iter().map(|place| place.path.as_str()).collect();
        panic!("{path:?} is not among {known:#?}")
    })
}

//! Runs one test's work in a recorded process and reads the figures of each path. The test itself
//! is never recorded.

use heapglass_limits::Command;
use std::collections::BTreeMap;
use std::fmt::Write;
use tracking_alloc_recording::{Recording, ScopeValue, scope_flags, scope_kind};

/// The figures of one path, in all phases together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) total_bytes: u64,
    pub(crate) total_blocks: u64,
    pub(crate) visits: u64,
    pub(crate) stayed_bytes: i64,
    pub(crate) value_bytes: u64,
    pub(crate) type_name: String,
    pub(crate) flags: u32,
}

pub(crate) struct Recorded {
    pub(crate) places: BTreeMap<String, Place>,
    pub(crate) recording: Recording,
}

/// Runs `work` in a recorded process of its own. `test` is the full name of the calling test.
pub(crate) fn recorded(test: &str, work: fn()) -> Recorded {
    const CASE: &str = "PROFILED_CASE";
    if std::env::var_os(CASE).is_some_and(|case| case == test) {
        work();
        std::process::exit(0);
    }
    let out = std::env::temp_dir().join(format!(
        "profiled-{}-{}.hg",
        std::process::id(),
        test.replace(':', "-")
    ));
    let ended = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CASE, test)
        .env("HEAPGLASS_OUT", &out)
        .output()
        .expect("the test runs again");
    assert!(
        ended.status.success(),
        "{test} recorded: {}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let recording = Recording::open(&out).expect("a recording");
    std::fs::remove_file(&out).expect("its file");
    assert_eq!(recording.damage, 0);
    Recorded::of(recording)
}

impl Recorded {
    fn of(recording: Recording) -> Recorded {
        let paths: Vec<String> = (0..recording.scopes.len() as u32)
            .map(|scope| path(&recording, scope))
            .collect();
        let mut places: BTreeMap<String, Place> = BTreeMap::new();
        for (scope, path) in recording.scopes.iter().zip(&paths) {
            let place = places.entry(path.clone()).or_default();
            place.visits += scope.entered;
            place.stayed_bytes += scope.stayed_bytes;
            place.value_bytes = scope.value_bytes;
            place.flags |= scope.flags;
            if let Some(name) = recording.string(scope.type_name) {
                place.type_name = name;
            }
        }
        for lane in &recording.lanes {
            for visits in &lane.visits {
                let place = places
                    .get_mut(&paths[visits.scope as usize])
                    .expect("a scope");
                place.visits += visits.count;
            }
            for row in &lane.rows {
                let site = &recording.sites[row.site as usize];
                let place = places
                    .get_mut(&paths[site.scope as usize])
                    .expect("a scope");
                place.total_bytes += row.total_bytes;
                place.total_blocks += row.total_blocks;
            }
        }
        Recorded { places, recording }
    }

    /// Returns the place at a path.
    #[track_caller]
    pub(crate) fn at(&self, path: &str) -> &Place {
        self.places
            .get(path)
            .unwrap_or_else(|| panic!("no {path} among\n{}", self.table()))
    }

    /// Returns the paths of data with their allocations, one line each.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        for (path, place) in self.places.iter().filter(|(path, _)| !path.is_empty()) {
            let recursive = if place.flags & scope_flags::RECURSIVE != 0 {
                " recursive"
            } else {
                ""
            };
            let _ = writeln!(
                table,
                "{path} {} bytes {} blocks {} values{recursive}",
                place.total_bytes, place.total_blocks, place.visits
            );
        }
        table
    }

    /// Returns the total bytes and blocks of all places whose path begins with `start`.
    pub(crate) fn below(&self, start: &str) -> (u64, u64) {
        self.places
            .iter()
            .filter(|(path, _)| path.starts_with(start))
            .fold((0, 0), |(bytes, blocks), (_, place)| {
                (bytes + place.total_bytes, blocks + place.total_blocks)
            })
    }
}

/// Returns the path of a scope, including phases: `load/Fleet.vessels[]`.
fn path(recording: &Recording, scope: u32) -> String {
    if scope == 0 {
        return String::new();
    }
    let value: &ScopeValue = &recording.scopes[scope as usize];
    assert!(value.parent < scope, "parents come before children");
    let outer = path(recording, value.parent);
    let name = recording.string(value.name).unwrap_or_default();
    let step = match value.kind {
        scope_kind::PHASE => format!("{name}/"),
        scope_kind::ROOT => recording
            .string(value.type_name)
            .map(|name| name.rsplit("::").next().unwrap_or_default().to_owned())
            .unwrap_or_default(),
        scope_kind::FIELD => format!(".{name}"),
        scope_kind::ELEMENT => "[]".to_owned(),
        scope_kind::KEY => "{key}".to_owned(),
        scope_kind::VALUE => "{value}".to_owned(),
        scope_kind::VARIANT => format!("::{name}"),
        scope_kind::INDEX => format!("#{name}"),
        scope_kind::BUFFERED => "(buffered)".to_owned(),
        scope_kind::FROM_BUFFER => "(from buffer)".to_owned(),
        scope_kind::OTHER => "(other)".to_owned(),
        kind => format!("<{kind}>"),
    };
    outer + &step
}

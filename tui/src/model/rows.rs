//! Rows of a profile by grouping, measure and frames.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::{By, Row};

/// Rows of a grouping, by measure and frames.
pub(super) type RowsKey = (By, Measure, Frames);

/// Rows, in the order of the report.
pub(super) type Rows = Arc<Vec<Arc<Row>>>;

/// The last rows made of each grouping: those of every measure would hold a large recording's several times.
pub(super) type LastRows = Mutex<HashMap<By, (RowsKey, Rows)>>;

/// The rows of `key`, made now unless they are the last ones made of their grouping.
pub(super) fn last_rows(last: &LastRows, key: RowsKey, make: impl FnOnce() -> Vec<Row>) -> Rows {
    // One that panicked while it made rows left none behind.
    let mut made = last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let last = made.remove(&key.0).filter(|(known, _)| *known == key);
    let make = || Arc::new(make().into_iter().map(Arc::new).collect());
    let rows = last.map_or_else(make, |(_, rows)| rows);
    made.insert(key.0, (key, Arc::clone(&rows)));
    rows
}

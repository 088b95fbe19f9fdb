//! What is made of a profile by grouping, measure and frames, kept until it is asked for by another measure or frames.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::By;

/// Rows of a grouping, by measure and frames.
pub(super) type RowsKey = (By, Measure, Frames);

/// The last rows made of each grouping: those of every measure would hold a large recording's several times.
pub(super) type RowsCache<T> = Mutex<HashMap<By, (RowsKey, Arc<T>)>>;

/// The rows of `key`, made now unless they are the last ones made of their grouping.
pub(super) fn cached<T>(cache: &RowsCache<T>, key: RowsKey, make: impl FnOnce() -> T) -> Arc<T> {
    // One that panicked while it made rows left none behind.
    let mut made = cache
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let last = made.remove(&key.0).filter(|(known, _)| *known == key);
    let rows = last.map_or_else(|| Arc::new(make()), |(_, rows)| rows);
    made.insert(key.0, (key, Arc::clone(&rows)));
    rows
}

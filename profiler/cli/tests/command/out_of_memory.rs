//! The summary says if a run ended because memory ran out. The test needs permission to create a
//! control group, and says so if it has none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Done, HEAPGLASS, Place};

/// A control group with a limit, removed when dropped.
struct Group(PathBuf);

impl Group {
    fn new(limit_bytes: u64) -> Option<Group> {
        let name = format!("heapglass-test-{}", std::process::id());
        let places = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ];
        for (mount, limit) in places {
            let folder = Path::new(mount).join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Group(folder);
            if fs::write(group.0.join(limit), limit_bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn an_end_for_want_of_memory_is_told_with_live_peak_and_limit() {
    let Some(group) = Group::new(48 << 20) else {
        crate::common::skipped("no right to make a control group here");
        return;
    };
    let place = Place::new();
    let long = "x".repeat(1 << 20);
    let words: Vec<String> = (0..64).map(|_| format!("\"{long}\"")).collect();
    let input = crate::common::INPUT.replace("\"one\"", &words.join(","));
    fs::write(place.path("input.json"), input).unwrap();
    // The shell joins the group, then becomes the program. Heapglass stays outside.
    let script = format!(
        "echo $$ > {}/cgroup.procs && sleep 0.1 && exec {HEAPGLASS} demo --target input.json",
        group.0.display()
    );
    let done: Done = place.run(&["run", "--out", "o.hg", "--", "sh", "-c", &script]);
    assert_eq!(done.status, Some(137), "{}", done.stderr);
    for part in [
        "out of memory: the kernel killed it",
        "limit 48.0 MiB",
        " live, peak ",
    ] {
        assert!(done.stderr.contains(part), "no {part}: {}", done.stderr);
    }
    assert_eq!(place.report("o.hg")["state"], "ended");
}

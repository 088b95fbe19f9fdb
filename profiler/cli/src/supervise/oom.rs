//! Detects kills by the kernel for lack of memory, from the kill counters of the control groups
//! before and after the run.
//!
//! Reads version 2 (`memory.events`), version 1 (`memory.oom_control`) or, if no group has a
//! counter, the counter of the whole machine (`/proc/vmstat`). Never claims a kill that no counter
//! shows.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Ended;

/// The counters seen so far, with their first values.
#[derive(Debug)]
pub(crate) struct Watch {
    root: PathBuf,
    seen: BTreeMap<PathBuf, u64>,
}

/// A kill that a counter shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Killed {
    /// Path of the counter that rose.
    pub(crate) counter: PathBuf,
    /// Number of kills.
    pub(crate) kills: u64,
    /// The memory limit of the group, in bytes.
    pub(crate) limit_bytes: Option<u64>,
    /// `true` if the command itself was killed, `false` for another process in its group.
    pub(crate) was_the_command: bool,
}

impl Watch {
    /// Notes the counters for this process.
    pub(crate) fn new() -> Watch {
        Watch::below(Path::new("/"))
    }

    fn below(root: &Path) -> Watch {
        let mut watch = Watch {
            root: root.to_owned(),
            seen: BTreeMap::new(),
        };
        watch.observe("self");
        watch
    }

    /// Notes the counters for a process now, because it may have moved to another group.
    pub(crate) fn observe(&mut self, process: impl Display) {
        let file = self.root.join(format!("proc/{process}/cgroup"));
        let groups = std::fs::read_to_string(file).unwrap_or_default();
        let counter = counter_of(&self.root, &groups);
        if let Some(kills) = read(&counter) {
            // Ignore kills from before the process joined the group.
            self.seen.entry(counter).or_insert(kills);
        }
    }

    /// Returns the kills since the counters were noted.
    pub(crate) fn killed(&self, ended: Ended) -> Option<Killed> {
        let (counter, kills) = self.seen.iter().find_map(|(counter, before)| {
            let kills = read(counter)?.saturating_sub(*before);
            (kills > 0).then_some((counter, kills))
        })?;
        Some(Killed {
            counter: counter.clone(),
            kills,
            limit_bytes: limit_of(counter),
            was_the_command: ended.by_sigkill(),
        })
    }
}

/// Returns the file that counts kills in the group named in `groups` (the text of
/// `/proc/PID/cgroup`).
fn counter_of(root: &Path, groups: &str) -> PathBuf {
    let mut version_2 = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        if controllers.split(',').any(|name| name == "memory") {
            let mount = root.join("sys/fs/cgroup/memory");
            if let Some(counter) = nearest(&mount, path, "memory.oom_control") {
                return counter;
            }
        } else if controllers.is_empty() {
            version_2 = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
                .iter()
                .find_map(|mount| nearest(&root.join(mount), path, "memory.events"));
        }
    }
    version_2.unwrap_or_else(|| root.join("proc/vmstat"))
}

/// Returns `file` in the group or in the nearest group around it that has one. Inside a container,
/// the path may be that of the host.
fn nearest(mount: &Path, group: &str, file: &str) -> Option<PathBuf> {
    let folder = mount.join(group.trim_start_matches('/'));
    let folders = folder.ancestors().take_while(|it| it.starts_with(mount));
    let mut candidates = folders.map(|folder| folder.join(file));
    candidates.find(|candidate| read(candidate).is_some())
}

/// Returns the number after `oom_kill` in a counter file.
fn read(counter: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(counter).ok()?;
    let mut lines = text.lines();
    let number = lines.find_map(|line| line.strip_prefix("oom_kill "))?;
    number.trim().parse().ok()
}

/// Returns the limit of the group of a counter; `None` for no limit or for the whole machine.
fn limit_of(counter: &Path) -> Option<u64> {
    let name = match counter.file_name()?.to_str()? {
        "memory.events" => "memory.max",
        "memory.oom_control" => "memory.limit_in_bytes",
        _ => return None,
    };
    let text = std::fs::read_to_string(counter.with_file_name(name)).ok()?;
    let limit: u64 = text.trim().parse().ok()?;
    // In version 1, a number near the end of the address space means no limit.
    (limit < 1 << 60).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn ended(raw: i32) -> Ended {
        Ended(Some(ExitStatus::from_raw(raw)))
    }

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn set(root: &tempfile::TempDir, path: &str, text: &str) {
        fs::write(root.path().join(path), text).unwrap();
    }

    #[test]
    fn a_risen_counter_of_version_2_is_a_kill_with_its_limit() {
        let root = machine(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.events", "oom 1\noom_kill 3\n"),
            ("sys/fs/cgroup/a/b/memory.max", "67108864\n"),
        ]);
        let watch = Watch::below(root.path());
        assert_eq!(watch.killed(ended(9)), None);
        set(
            &root,
            "sys/fs/cgroup/a/b/memory.events",
            "oom 2\noom_kill 4\n",
        );
        let killed = watch.killed(ended(9)).unwrap();
        assert_eq!((killed.kills, killed.limit_bytes), (1, Some(64 << 20)));
        assert!(killed.was_the_command);
        assert!(!watch.killed(ended(0)).unwrap().was_the_command);
    }

    #[test]
    fn a_path_of_the_host_leads_to_the_groups_root_in_a_container() {
        let root = machine(&[
            ("proc/self/cgroup", "0::/docker/0123\n"),
            ("sys/fs/cgroup/memory.events", "oom_kill 0\n"),
            ("sys/fs/cgroup/memory.max", "max\n"),
        ]);
        let watch = Watch::below(root.path());
        set(&root, "sys/fs/cgroup/memory.events", "oom_kill 1\n");
        assert_eq!(watch.killed(ended(9)).unwrap().limit_bytes, None);
    }

    #[test]
    fn version_1_is_read_where_the_memory_controller_is_there() {
        let root = machine(&[
            ("proc/self/cgroup", "4:cpu,memory:/x\n0::/\n"),
            (
                "sys/fs/cgroup/memory/x/memory.oom_control",
                "under_oom 0\noom_kill 0\n",
            ),
            (
                "sys/fs/cgroup/memory/x/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        let watch = Watch::below(root.path());
        set(
            &root,
            "sys/fs/cgroup/memory/x/memory.oom_control",
            "oom_kill 1\n",
        );
        assert_eq!(watch.killed(ended(9)).unwrap().limit_bytes, None);
    }

    #[test]
    fn a_process_that_moved_is_watched_in_its_new_group() {
        let root = machine(&[
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/7/cgroup", "0::/b\n"),
            ("sys/fs/cgroup/a/memory.events", "oom_kill 0\n"),
            ("sys/fs/cgroup/b/memory.events", "oom_kill 5\n"),
        ]);
        let mut watch = Watch::below(root.path());
        watch.observe(7);
        watch.observe(7);
        assert_eq!(watch.killed(ended(9)), None);
        set(&root, "sys/fs/cgroup/b/memory.events", "oom_kill 6\n");
        assert_eq!(watch.killed(ended(9)).unwrap().kills, 1);
    }

    #[test]
    fn without_any_counter_nothing_is_claimed() {
        let root = machine(&[("proc/self/cgroup", "0::/a\n")]);
        assert_eq!(Watch::below(root.path()).killed(ended(9)), None);
    }
}

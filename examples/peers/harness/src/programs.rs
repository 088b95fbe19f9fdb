//! The programs that are compared.

use peers_work::{Group, Workload};

/// A program and its way to profile.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The name for `--programs`.
    pub(crate) name: &'static str,
    /// The title for tables.
    pub(crate) title: &'static str,
    /// The program to which it is compared.
    pub(crate) base: Option<&'static str>,
    pub(crate) build: Build,
    pub(crate) profiler: Profiler,
    pub(crate) is_ours: bool,
}

/// The way in which an executable is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Build {
    pub(crate) executable: &'static str,
    /// The feature that adds the rival, and the crate's name in the lock file.
    pub(crate) rival: Option<(&'static str, &'static str)>,
    pub(crate) flavor: Flavor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flavor {
    /// The compiler and flags of this checkout: with frame pointers.
    Usual,
    /// Without frame pointers, except in the standard library as it comes.
    NoFramePointers,
    /// A newer compiler, from this rustup toolchain.
    Toolchain(&'static str),
}

/// The way to profile, and the files that remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profiler {
    /// Nothing, or only counters in the process.
    None,
    /// A recording of heapglass.
    Recording {
        mode: &'static str,
        profiled: bool,
        /// The unwinder that the recording must name.
        unwinder: Option<&'static str>,
    },
    /// heapglass without a recording, reading as `Profiled<T>`.
    NotStartedProfiled,
    /// A file in DHAT's format, written inside the process.
    Dhat,
    /// A dump of jemalloc's.
    Jemalloc,
    Heaptrack,
    ValgrindDhat,
}

impl Profiler {
    /// Returns `true` if it writes files that are a report or become one.
    pub(crate) fn leaves_a_profile(self) -> bool {
        !matches!(self, Profiler::None | Profiler::NotStartedProfiled)
    }

    /// Returns `true` if its numbers are estimates.
    pub(crate) fn samples(self) -> bool {
        matches!(
            self,
            Profiler::Jemalloc | Profiler::Recording { mode: "sample", .. }
        )
    }

    fn needs_decoding(self) -> bool {
        matches!(
            self,
            Profiler::NotStartedProfiled | Profiler::Recording { profiled: true, .. }
        )
    }
}

impl Program {
    /// Returns `true` if it is neither heapglass nor a base of the comparison.
    pub(crate) fn is_rival(&self) -> bool {
        self.base.is_some() && !self.is_ours
    }

    /// Returns the reason why it does not run a workload, or `None`.
    pub(crate) fn inapplicable(&self, workload: &Workload) -> Option<&'static str> {
        (self.profiler.needs_decoding() && workload.group != Group::Decode)
            .then_some("nothing is deserialized")
    }
}

/// The oldest compiler that builds heapscope.
pub(crate) const HEAPSCOPE_RUSTC: (u32, u32) = (1, 96);

/// Returns all programs. heapscope and its base are built by the toolchain with this name, if it is
/// not the usual one.
pub(crate) fn programs(heapscope_toolchain: Option<&'static str>) -> Vec<Program> {
    let build = |executable, rival, flavor| Build {
        executable,
        rival,
        flavor,
    };
    let bare = build("peers_bare", None, Flavor::Usual);
    let ours = build("peers_heapglass", None, Flavor::Usual);
    let rival =
        |executable, feature, package| build(executable, Some((feature, package)), Flavor::Usual);
    let jemalloc = rival("peers_jemalloc", "jemalloc", "tikv-jemallocator");
    let ours_jemalloc = rival("peers_heapglass_jemalloc", "jemalloc", "tikv-jemallocator");
    let newer = heapscope_toolchain.map_or(Flavor::Usual, Flavor::Toolchain);
    let exact = |profiled| Profiler::Recording {
        mode: "exact",
        profiled,
        unwinder: Some("frame-pointers"),
    };
    let samples = Profiler::Recording {
        mode: "sample",
        profiled: false,
        unwinder: Some("frame-pointers"),
    };
    let program = |name, title, base, build, profiler| Program {
        name,
        title,
        base,
        build,
        profiler,
        is_ours: false,
    };
    let of_ours = |name, title, base, build, profiler| Program {
        is_ours: true,
        ..program(name, title, Some(base), build, profiler)
    };
    let mut all = vec![
        program("bare", "bare", None, bare, Profiler::None),
        of_ours("off", "heapglass, off", "bare", ours, Profiler::None),
        of_ours(
            "off-profiled",
            "heapglass, off, `Profiled`",
            "bare",
            ours,
            Profiler::NotStartedProfiled,
        ),
        of_ours(
            "count",
            "heapglass, count",
            "bare",
            ours,
            Profiler::Recording {
                mode: "count",
                profiled: false,
                unwinder: None,
            },
        ),
        // Compared with the same executable, because code layout alone changes a time by percents.
        of_ours(
            "sample",
            "heapglass, samples, over \"off\"",
            "off",
            ours,
            samples,
        ),
        of_ours("exact", "heapglass, exact", "bare", ours, exact(false)),
        of_ours(
            "exact-profiled",
            "heapglass, exact, `Profiled`",
            "bare",
            ours,
            exact(true),
        ),
        program(
            "bare-nofp",
            "bare, no frame pointers",
            None,
            Build {
                flavor: Flavor::NoFramePointers,
                ..bare
            },
            Profiler::None,
        ),
        of_ours(
            "exact-nofp",
            "heapglass, exact, no frame pointers",
            "bare-nofp",
            Build {
                flavor: Flavor::NoFramePointers,
                ..ours
            },
            Profiler::Recording {
                mode: "exact",
                profiled: false,
                unwinder: Some("eh-frame"),
            },
        ),
        counter(),
        program(
            "divan",
            "divan's AllocProfiler (totals only)",
            Some("bare"),
            rival("peers_divan", "divan", "divan"),
            Profiler::None,
        ),
        program(
            "dhat-rs",
            "dhat-rs",
            Some("bare"),
            rival("peers_dhat", "dhat", "dhat"),
            Profiler::Dhat,
        ),
    ];
    let heapscope_base = match newer {
        Flavor::Toolchain(_) => {
            all.push(program(
                "bare-newer",
                "bare, heapscope's compiler",
                None,
                Build {
                    flavor: newer,
                    ..bare
                },
                Profiler::None,
            ));
            "bare-newer"
        }
        _ => "bare",
    };
    all.extend([
        program(
            "heapscope",
            "heapscope",
            Some(heapscope_base),
            build("peers_heapscope", Some(("heapscope", "heapscope")), newer),
            Profiler::Dhat,
        ),
        program(
            "libdd",
            "libdd's SampledAllocator (no profiler attached)",
            Some("bare"),
            rival("peers_libdd", "libdd", "libdd-profiling-heap-allocator"),
            Profiler::None,
        ),
        program("jemalloc", "bare, jemalloc", None, jemalloc, Profiler::None),
        program(
            "jemalloc-prof",
            "jemalloc's profiling (sampled)",
            Some("jemalloc"),
            jemalloc,
            Profiler::Jemalloc,
        ),
        of_ours(
            "off-jemalloc",
            "heapglass over jemalloc, off",
            "jemalloc",
            ours_jemalloc,
            Profiler::None,
        ),
        of_ours(
            "sample-jemalloc",
            "heapglass over jemalloc, samples, over \"off\"",
            "off-jemalloc",
            ours_jemalloc,
            samples,
        ),
        program(
            "heaptrack",
            "heaptrack",
            Some("bare"),
            bare,
            Profiler::Heaptrack,
        ),
        program(
            "valgrind",
            "valgrind's DHAT",
            Some("bare"),
            bare,
            Profiler::ValgrindDhat,
        ),
    ]);
    all
}

/// Returns the program whose run counts the events of a workload.
pub(crate) fn counter() -> Program {
    Program {
        name: "stats_alloc",
        title: "stats_alloc (totals only)",
        base: Some("bare"),
        build: Build {
            executable: "peers_stats_alloc",
            rival: Some(("stats_alloc", "stats_alloc")),
            flavor: Flavor::Usual,
        },
        profiler: Profiler::None,
        is_ours: false,
    }
}

/// Returns the programs with these names and the programs they are compared with, in order. `ours`
/// stands for those of heapglass.
pub(crate) fn select(all: &[Program], names: &[String]) -> Result<Vec<Program>, String> {
    for name in names {
        if name != "all" && name != "ours" && all.iter().all(|program| program.name != name) {
            let known: Vec<&str> = all.iter().map(|program| program.name).collect();
            return Err(format!(
                "no program is called {name:?}; there are all, ours, {}",
                known.join(", ")
            ));
        }
    }
    let is_asked_for = |program: &Program| {
        names.iter().any(|name| match name.as_str() {
            "all" => true,
            "ours" => program.is_ours,
            name => program.name == name,
        })
    };
    let mut chosen: Vec<&Program> = Vec::new();
    // Backwards, because bases come before the programs that are compared with them.
    for program in all.iter().rev() {
        let is_base = chosen.iter().any(|one| one.base == Some(program.name));
        if is_base || is_asked_for(program) {
            chosen.push(program);
        }
    }
    Ok(chosen.into_iter().rev().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &[&str], toolchain: Option<&'static str>) -> Vec<&'static str> {
        let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        let chosen = select(&programs(toolchain), &asked).expect("there are such programs");
        chosen.iter().map(|program| program.name).collect()
    }

    #[test]
    fn a_program_brings_what_it_is_compared_with() {
        assert_eq!(
            names(&["jemalloc-prof"], None),
            ["jemalloc", "jemalloc-prof"]
        );
        assert_eq!(
            names(&["heapscope", "off"], None),
            ["bare", "off", "heapscope"]
        );
        assert_eq!(
            names(&["heapscope"], Some("nightly")),
            ["bare-newer", "heapscope"]
        );
        assert_eq!(
            names(&["sample-jemalloc"], None),
            ["jemalloc", "off-jemalloc", "sample-jemalloc"]
        );
        let ours = names(&["ours"], None);
        assert!(
            ours.contains(&"bare") && ours.contains(&"off-profiled"),
            "{ours:?}"
        );
        assert!(!ours.contains(&"dhat-rs"), "{ours:?}");
    }

    #[test]
    fn every_base_stands_before_what_is_compared_with_it() {
        for toolchain in [None, Some("nightly")] {
            let all = programs(toolchain);
            for (at, program) in all.iter().enumerate() {
                let Some(base) = program.base else { continue };
                let found = all[..at].iter().any(|before| before.name == base);
                assert!(found, "{base}");
            }
        }
    }

    #[test]
    fn an_unknown_program_is_an_error_that_names_those_there_are() {
        let error = select(&programs(None), &["dhat".to_owned()]).expect_err("there is none");
        assert!(
            error.contains("\"dhat\"") && error.contains("dhat-rs"),
            "{error}"
        );
    }
}

//! The build profile: `debug = "limited"`, which has the names and lines of functions, including
//! inlined ones, or `debug = "full"`, which has types too; no stripping; and an optimized recorder.

use std::path::Path;

use toml::{Table, Value};

use super::arguments::Arguments;

/// The debug information that profiling needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Debug {
    /// Names and lines of functions.
    Limited,
    /// The layouts of types too.
    Full,
}

impl Debug {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// The crates that run at each event of the program. Not optimized, and with the recorder's checks
/// for debugging, they make a test that panics with a backtrace take 12 times its time; optimized,
/// twice (100,000 events, 2026-11-29).
const AT_EACH_EVENT: [&str; 3] = [
    "heapglass-recorder",
    "tracking-alloc",
    "tracking-alloc-recording",
];

/// Returns the `--config` values that give the profile of `verb` what profiling needs. With
/// `has_recorder`, the workspace depends on tracking-alloc.
pub(super) fn flags(
    verb: &str,
    arguments: &Arguments,
    root: &Path,
    needed: Debug,
    has_recorder: bool,
) -> Vec<String> {
    let chosen = match (&arguments.profile, verb) {
        (Some(name), _) => name,
        (None, _) if arguments.release => "release",
        (None, "test" | "bench") => verb,
        (None, _) => "dev",
    };
    // Dependencies of tests and benchmarks use the profile that theirs inherits from.
    let inherited = built_in_parent(chosen);
    let tables = tables(root);
    let mut flags = Vec::new();
    for name in [chosen].into_iter().chain(inherited) {
        if debug_of(&tables, name) < Some(needed) {
            flags.push(format!("profile.{name}.debug=\"{}\"", needed.name()));
        }
        flags.push(format!("profile.{name}.strip=\"none\""));
        // Cargo warns about packages that are not there.
        if has_recorder
            && chain(&tables, name)
                .last()
                .is_some_and(|root| root == "dev")
        {
            for package in AT_EACH_EVENT {
                let package = format!("profile.{name}.package.{package}");
                flags.push(format!("{package}.opt-level=3"));
                flags.push(format!("{package}.debug-assertions=false"));
            }
        }
    }
    flags
}

/// Returns the profile that a built-in profile inherits from.
fn built_in_parent(name: &str) -> Option<&'static str> {
    match name {
        "test" => Some("dev"),
        "bench" => Some("release"),
        _ => None,
    }
}

/// Returns the `[profile]` tables in order of precedence: configuration files, the nearest first,
/// then the manifest of the workspace.
fn tables(root: &Path) -> Vec<Table> {
    let here = std::env::current_dir().unwrap_or_default();
    let files = cargo_config2::Walk::new(&here).chain([root.join("Cargo.toml")]);
    files
        .filter_map(|file| std::fs::read_to_string(file).ok()?.parse::<Table>().ok())
        .filter_map(|table| match table.get("profile") {
            Some(Value::Table(profiles)) => Some(profiles.clone()),
            _ => None,
        })
        .collect()
}

/// Returns a profile and the profiles it inherits from, up to the built-in one. Cargo rejects
/// cycles.
fn chain(tables: &[Table], name: &str) -> impl Iterator<Item = String> {
    let parent = |name: &String| match in_files(tables, name, "inherits") {
        Some(Value::String(parent)) => Some(parent),
        _ => built_in_parent(name).map(str::to_owned),
    };
    std::iter::successors(Some(name.to_owned()), parent).take(16)
}

fn in_files(tables: &[Table], name: &str, key: &str) -> Option<Value> {
    let mut tables = tables.iter();
    tables.find_map(|table| table.get(name)?.as_table()?.get(key).cloned())
}

/// Returns the debug information of a profile, or of one that it inherits from. Environment
/// variables take precedence over files.
fn debug_of(tables: &[Table], name: &str) -> Option<Debug> {
    let debug = chain(tables, name).find_map(|name| {
        let variable = format!(
            "CARGO_PROFILE_{}_DEBUG",
            name.to_uppercase().replace('-', "_")
        );
        let set = std::env::var(variable).ok().map(Value::String);
        set.or_else(|| in_files(tables, &name, "debug"))
    });
    match debug {
        Some(Value::Boolean(on)) => on.then_some(Debug::Full),
        Some(Value::Integer(level)) => match level {
            1 => Some(Debug::Limited),
            _ => (level > 1).then_some(Debug::Full),
        },
        Some(Value::String(level)) => match level.as_str() {
            "limited" | "1" => Some(Debug::Limited),
            "full" | "2" | "true" => Some(Debug::Full),
            _ => None,
        },
        Some(_) => None,
        None => {
            let root = chain(tables, name).last();
            root.is_some_and(|root| root == "dev")
                .then_some(Debug::Full)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(manifest: &str, verb: &str, arguments: &Arguments) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        flags(verb, arguments, folder.path(), Debug::Limited, false)
    }

    fn profile(name: &str) -> Arguments {
        Arguments {
            profile: Some(name.to_owned()),
            ..Arguments::default()
        }
    }

    #[test]
    fn a_release_build_gets_limited_debug_information_and_keeps_it() {
        let arguments = Arguments {
            release: true,
            ..Arguments::default()
        };
        let flags = flags_of("[profile.release]\nstrip = true", "run", &arguments);
        assert_eq!(
            flags,
            [
                "profile.release.debug=\"limited\"",
                "profile.release.strip=\"none\""
            ]
        );
    }

    #[test]
    fn as_much_debug_information_as_needed_is_kept() {
        for debug in ["true", "1", "2", "\"full\"", "\"limited\""] {
            let manifest = format!("[profile.fast]\ninherits = \"release\"\ndebug = {debug}");
            let flags = flags_of(&manifest, "run", &profile("fast"));
            assert_eq!(flags, ["profile.fast.strip=\"none\""], "{debug}");
        }
    }

    #[test]
    fn a_profile_with_less_gets_limited_debug_information() {
        for debug in ["0", "false", "\"none\"", "\"line-tables-only\""] {
            let manifest = format!(
                "[profile.release]\ndebug = {debug}\n[profile.fast]\ninherits = \"release\""
            );
            let flags = flags_of(&manifest, "run", &profile("fast"));
            assert!(
                flags.contains(&"profile.fast.debug=\"limited\"".to_owned()),
                "{debug}: {flags:?}"
            );
        }
    }

    #[test]
    fn the_recorder_is_optimized_where_the_program_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "[profile.slow]\ninherits = \"dev\"\n[profile.fast]\ninherits = \"release\"";
        std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let of = |verb, arguments: &Arguments| {
            let flags = flags(verb, arguments, folder.path(), Debug::Limited, true);
            let of_packages = flags.into_iter().filter(|flag| flag.contains(".package."));
            of_packages.collect::<Vec<_>>()
        };
        let slow = of("run", &profile("slow"));
        assert_eq!(slow.len(), 2 * AT_EACH_EVENT.len(), "{slow:?}");
        assert_eq!(
            slow[0],
            "profile.slow.package.heapglass-recorder.opt-level=3"
        );
        let tests = of("test", &Arguments::default());
        assert!(
            tests.iter().any(|flag| flag.starts_with("profile.dev.")),
            "{tests:?}"
        );
        assert_eq!(of("run", &profile("fast")), [""; 0]);
    }

    #[test]
    fn types_need_full_debug_information() {
        let folder = tempfile::tempdir().unwrap();
        for (debug, is_enough) in [
            ("true", true),
            ("2", true),
            ("\"limited\"", false),
            ("1", false),
        ] {
            let manifest = format!("[profile.release]\ndebug = {debug}");
            std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
            let release = profile("release");
            let flags = flags("run", &release, folder.path(), Debug::Full, false);
            let added = flags.contains(&"profile.release.debug=\"full\"".to_owned());
            assert_eq!(added, !is_enough, "{debug}: {flags:?}");
        }
    }

    #[test]
    fn dev_has_its_own_debug_information_unless_it_was_taken_away() {
        let flags = flags_of("", "run", &Arguments::default());
        assert_eq!(flags, ["profile.dev.strip=\"none\""]);
        let flags = flags_of(
            "[profile.dev]\ndebug = false",
            "test",
            &Arguments::default(),
        );
        assert!(
            flags.contains(&"profile.test.debug=\"limited\"".to_owned()),
            "{flags:?}"
        );
        assert!(
            flags.contains(&"profile.dev.debug=\"limited\"".to_owned()),
            "{flags:?}"
        );
    }
}

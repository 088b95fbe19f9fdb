//! Types from stacks, on a program that reads JSON and does not change its types for this, with
//! several levels of debug information and both manglings: bytes by type equal arithmetic.

use crate::common::Target;
use heapglass_limits::Command;
use heapglass_profiler::diff::{self, DiffOptions, Recording};
use heapglass_profiler::profile::{Measure, Profile, Site};
use heapglass_profiler::table::By;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The bytes by name.
type Sums = BTreeMap<String, u64>;

/// The figures that the program expects.
#[derive(serde::Deserialize)]
struct Expected {
    types: Sums,
    /// `None` if the program reads no data.
    #[serde(default)]
    owners: Option<Sums>,
}

/// A level of debug information, and flags of the compiler.
type Way = (&'static str, &'static [&'static str]);

/// Both levels, and both ways to write symbols.
const WAYS: [Way; 2] = [
    ("1", &[]),
    ("line-tables-only", &["-Csymbol-mangling-version=v0"]),
];
/// The other combinations of them.
const OTHER_WAYS: [Way; 2] = [
    ("line-tables-only", &[]),
    ("1", &["-Csymbol-mangling-version=v0"]),
];

/// Creates a package with the fixture as its program and the dependency versions of this workspace.
/// The package and its build stay, so what does not depend on the way of building is built only
/// once.
fn package() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workspace = workspace.canonicalize().expect("the workspace");
        let manifest = format!(
            "[package]\nname = \"types_load\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [[bin]]\nname = \"types_load\"\npath = {:?}\n\
             [dependencies]\ntracking-alloc = {{ path = {:?} }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n\
             bumpalo = \"3\"\nhashbrown = \"0.17\"\nindexmap = \"2\"\nsmallvec = \"1\"\n\
             [[bin]]\nname = \"containers\"\npath = {:?}\n\
             [[bin]]\nname = \"texts\"\npath = {:?}\n\
             [[bin]]\nname = \"shop\"\npath = {:?}\n\
             [features]\nchanged = []\n\
             [workspace]\n[profile.release]\nopt-level = 3\n",
            workspace.join("examples/src/bin/types_load.rs"),
            workspace.join("tracking-alloc"),
            workspace.join("examples/tests/programs/containers.rs"),
            workspace.join("examples/tests/programs/texts.rs"),
            workspace.join("examples/tests/programs/shop.rs"),
        );
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("types");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
        // The same versions as here, so that nothing must be fetched.
        std::fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock"))
            .expect("a lock file");
        folder
    })
}

/// Returns the target triple of this machine, for which everything here is built.
fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(rustc).arg("-vV").output();
        let said = output.expect("rustc starts").stdout;
        let said = String::from_utf8(said).expect("text");
        let host = said.lines().find_map(|line| line.strip_prefix("host: "));
        host.expect("a host").to_owned()
    })
}

/// Builds programs of [`package`] and copies them to a folder called `name`. Returns the first
/// program.
fn build_as(
    name: &str,
    (debug, lto, flags): (&str, &str, &[&str]),
    features: &str,
    programs: &[&str],
) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = package();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(folder)
        .args(["build", "--release", "--offline", "--quiet"])
        // With an explicit target, the flags apply only to the programs, and macros are built once.
        .args(["--target-dir", "target", "--target", host()])
        .args(["--features", features])
        .args(programs.iter().flat_map(|name| ["--bin", name]))
        .env("CARGO_PROFILE_RELEASE_DEBUG", debug)
        .env("CARGO_PROFILE_RELEASE_LTO", lto)
        .env_remove("RUSTFLAGS")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            [&["-Cforce-frame-pointers=yes"], flags]
                .concat()
                .join("\u{1f}"),
        );
    let output = command.output().expect("cargo starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let copies = folder.join(name);
    std::fs::create_dir_all(&copies).expect("a folder");
    let built = folder.join("target").join(host()).join("release");
    for name in programs {
        std::fs::copy(built.join(name), copies.join(name)).expect("a program");
    }
    copies.join(programs[0])
}

/// Builds programs with known types in one way. Returns the first program.
fn build(debug: &str, lto: &str, flags: &[&str], programs: &[&str]) -> PathBuf {
    let name = format!("{debug}-{lto}{}", flags.concat());
    build_as(&name, (debug, lto, flags), "", programs)
}

/// Runs a program. Returns the profile of its recording, and its output.
fn profile_of(program: &Path) -> (Profile, String) {
    let mut target = Target::new(program.to_str().expect("a path"), &[]);
    let printed = target.succeed();
    let profile = heapglass_profiler::open(
        &target.recording(),
        &heapglass_profiler::OpenOptions::default(),
        &|_| (),
    )
    .expect("a recording");
    (profile, printed)
}

/// Runs a program that prints its expected figures.
fn record(program: &Path) -> (Profile, Expected) {
    let (profile, printed) = profile_of(program);
    (profile, serde_json::from_str(&printed).expect("JSON"))
}

fn loaded(profile: &Profile) -> impl Iterator<Item = &Site> {
    let in_load = |site: &&Site| {
        profile
            .scopes()
            .get(site.scope.0 as usize)
            .is_some_and(|scope| scope.name == "load")
    };
    profile.sites().iter().filter(in_load)
}

fn stack(profile: &Profile, site: &Site) -> Vec<String> {
    let frames = profile.innermost_first(site).take(40);
    frames.map(|id| profile.function(id).name.clone()).collect()
}

/// Checks bytes by container and by owner against the program's output. A site without a type shows
/// its stack.
fn assert_types(program: &Path, how: &str) {
    let (profile, expected) = record(program);
    let (mut types, mut owners) = (Sums::new(), Sums::new());
    for site in loaded(&profile) {
        let unnamed = || format!("? {:#?}", stack(&profile, site));
        let (container, owner) = match site.contents {
            Some(contents) => (
                profile.type_name(contents.container).full.clone(),
                contents
                    .owner
                    .map_or_else(unnamed, |id| profile.type_name(id).short.clone()),
            ),
            None => (unnamed(), unnamed()),
        };
        *types.entry(container).or_default() += site.figures.total_bytes;
        *owners.entry(owner).or_default() += site.figures.total_bytes;
    }
    assert_eq!(types, expected.types, "{how}");
    if let Some(expected) = expected.owners {
        assert_eq!(owners, expected, "{how}");
    }
    assert_eq!(profile.unnamed(), None, "{how}");
}

fn assert_types_of(ways: [Way; 2]) {
    for (debug, flags) in ways {
        let how = format!("debug = {debug}, {flags:?}");
        let program = build(
            debug,
            "false",
            flags,
            &["types_load", "containers", "texts"],
        );
        assert_types(&program, &how);
        assert_types(&program.with_file_name("containers"), &how);
        assert_types(&program.with_file_name("texts"), &how);
    }
}

#[test]
fn bytes_by_type_are_what_arithmetic_says_at_every_level_of_debug_information() {
    assert_types_of(WAYS);
}

#[test]
#[ignore = "builds two more programs: .ci/release types"]
fn bytes_by_type_are_what_arithmetic_says_with_the_other_symbols() {
    assert_types_of(OTHER_WAYS);
}

#[test]
#[ignore = "builds with LTO: .ci/release types"]
fn bytes_by_type_are_what_arithmetic_says_with_fat_lto() {
    let program = build("line-tables-only", "fat", &[], &["types_load", "texts"]);
    assert_types(&program, "fat LTO");
    assert_types(&program.with_file_name("texts"), "fat LTO, texts");
}

#[test]
fn bytes_by_type_are_what_arithmetic_says_without_optimization() {
    assert_types(
        Path::new(env!("CARGO_BIN_EXE_types_load")),
        "as built for tests",
    );
}

#[test]
fn without_debug_information_no_type_is_named_and_the_setting_is() {
    let program = build("0", "false", &[], &["types_load"]);
    let (profile, _) = record(&program);
    assert!(loaded(&profile).all(|site| site.contents.is_none()));
    let missing = profile.unnamed().expect("a sentence");
    assert!(
        missing.contains("debug = \"limited\"") && missing.contains("types_load"),
        "{missing}"
    );
}

#[test]
fn two_builds_that_differ_in_one_function_differ_in_that_function_alone() {
    let ways = ("limited", "false", &[][..]);
    // Both names have the same length, because the path of a program is allocated at its start.
    let before = build_as("shop-a", ways, "", &["shop"]);
    let after = build_as("shop-b", ways, "changed", &["shop"]);
    let ((before, said), (after, says)) = (profile_of(&before), profile_of(&after));
    assert_eq!(said, says);
    fn one(profile: &Profile) -> [Recording<'_>; 1] {
        let name = "shop.hg";
        [Recording { name, profile }]
    }
    for by in [By::Site, By::Owner, By::Function, By::Type] {
        let options = DiffOptions {
            by,
            measure: Measure::Blocks,
            per: None,
        };
        let found = diff::Diff::new(&one(&before), &one(&after), options);
        let total = &found.totals[Measure::COUNTED
            .iter()
            .position(|m| *m == Measure::Blocks)
            .unwrap()];
        // A name for each of 500 products, and the list of them.
        assert_eq!(total.1.exact_difference(), Some(501), "{by:?}");
        let rows = found.rows.iter().map(|row| {
            let identity = &row.identity;
            let source = identity.source.as_deref().unwrap_or_default();
            assert!(
                by == By::Type || source.is_empty() || source.contains("shop.rs"),
                "{source}"
            );
            format!(
                "{} {} {}",
                identity.key(),
                identity.location,
                identity.owner
            )
        });
        let rows: Vec<String> = rows.collect();
        match by {
            By::Type => assert_eq!(rows.len(), 2, "{rows:?}"),
            _ => assert!(
                !rows.is_empty() && rows.iter().all(|row| row.contains("longest")),
                "{by:?}: {rows:?}"
            ),
        }
        // By function, there are also functions on its stacks that request nothing themselves.
        assert!(by == By::Function || found.other_rows == 0, "{by:?}");
    }
}

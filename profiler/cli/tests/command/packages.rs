//! The packages that are published: their metadata is complete, and they contain what programs need
//! and nothing else.

use heapglass_limits::Command;
use std::fs;
use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand, Package};

fn metadata() -> Metadata {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest).no_deps();
    command.exec().expect("cargo reads the workspace")
}

/// Returns the packages of the workspace that are published.
fn published(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    let packages = metadata.workspace_packages().into_iter();
    packages.filter(|package| package.publish.as_ref().is_none_or(|to| !to.is_empty()))
}

#[test]
fn packages_say_what_registries_show() {
    let metadata = metadata();
    let mut checked = 0;
    for package in published(&metadata) {
        let name = package.name.as_str();
        let folder = package.manifest_path.parent().unwrap();
        let said = [
            &package.description,
            &package.license,
            &package.repository,
            &package.documentation,
        ];
        assert!(said.into_iter().all(Option::is_some), "{name}: {package:?}");
        assert!(package.rust_version.is_some(), "{name} has no rust-version");
        // Registries reject more than five of each.
        for words in [&package.keywords, &package.categories] {
            assert!((1..=5).contains(&words.len()), "{name}: {words:?}");
        }
        let readme = package.readme.as_ref().expect(name);
        let text = fs::read_to_string(folder.join(readme)).unwrap();
        assert!(text.starts_with(&format!("# {name}\n")), "{name}");
        // In a registry, a relative link leads nowhere.
        let links = text.split("](").skip(1);
        assert!(
            links.into_iter().all(|link| link.starts_with("https://")),
            "{name}"
        );
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let read =
                |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
            let ours = read(folder.join(licence).as_std_path());
            assert_eq!(
                ours,
                read(metadata.workspace_root.join(licence).as_std_path()),
                "{name}"
            );
        }
        checked += 1;
    }
    assert!(checked >= 11, "{checked} packages");
}

#[test]
fn packages_contain_sources_licences_and_a_readme() {
    let metadata = metadata();
    for package in published(&metadata) {
        let name = package.name.as_str();
        let mut list = Command::new(env!("CARGO"));
        list.args([
            "package",
            "--list",
            "--allow-dirty",
            "--locked",
            "--offline",
            "--manifest-path",
        ])
        .arg(&package.manifest_path);
        let output = list.output().expect("cargo runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let files = String::from_utf8(output.stdout).unwrap();
        let by_cargo = [
            ".cargo_vcs_info.json",
            "Cargo.lock",
            "Cargo.toml",
            "Cargo.toml.orig",
        ];
        let ours = ["build.rs", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
        for file in files.lines() {
            let is_source = file.starts_with("src/")
                || (name == "heapglass-preload" && file.starts_with("library/"));
            let is_code = is_source
                && ["rs", "c", "cpp", "html", "css", "js"]
                    .iter()
                    .any(|end| file.ends_with(&format!(".{end}")));
            let is_known = by_cargo.contains(&file) || ours.contains(&file);
            assert!(is_code || is_known, "{name} contains {file}");
        }
        for wanted in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"] {
            assert!(
                files.lines().any(|file| file == wanted),
                "{name} lacks {wanted}"
            );
        }
    }
}

/// `cargo binstall` fills in the places and unpacks what .ci/archives made.
#[test]
fn binstall_finds_the_archives() {
    let metadata = metadata();
    let package = published(&metadata)
        .find(|package| package.name == "heapglass")
        .unwrap();
    let told = |key: &str| {
        package.metadata["binstall"][key]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let script = fs::read_to_string(metadata.workspace_root.join(".ci/archives")).unwrap();
    assert!(script.contains("name=heapglass-$version-$1"));
    assert!(script.contains(r#">"$out/$name.tar.gz""#));
    assert!(script.contains(r#"cp "$programs/heapglass" "$programs/cargo-heapglass""#));
    let name = "heapglass-{ version }-{ target }";
    let url = format!("{{ repo }}/releases/download/v{{ version }}/{name}.tar.gz");
    assert_eq!(told("pkg-url"), url);
    assert_eq!(told("bin-dir"), format!("{name}/{{ bin }}{{ binary-ext }}"));
    assert_eq!(told("pkg-fmt"), "tgz");
}

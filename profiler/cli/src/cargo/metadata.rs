//! The table `[package.metadata.heapglass]` or `[workspace.metadata.heapglass]`: the crates that
//! are the user's own, and containers of theirs.
//!
//! Without a list, the user's own crates are the members of the workspace and the packages that
//! they depend on by path.

use std::collections::BTreeSet;

use cargo_metadata::Metadata;
use heapglass_profiler::DeclaredContainer;
use serde::Deserialize;
use tracking_alloc_recording::LONGEST_OWN_CRATES;

use crate::error::Error;

/// The table `[package.metadata.heapglass]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Names of crates or packages.
    own: Vec<String>,
    containers: Vec<DeclaredContainer>,
}

/// The settings of all packages of a workspace.
pub(super) struct Declared {
    /// The user's own crates, separated by commas. Empty if the recording is to name none.
    pub(super) own: String,
    pub(super) containers: Vec<DeclaredContainer>,
}

/// Reads the tables of a workspace and its packages.
///
/// # Errors
/// Returns an error if the metadata in a Cargo.toml is invalid.
pub(super) fn read(metadata: &Metadata) -> Result<Declared, Error> {
    let of_workspace = &metadata.workspace_metadata;
    let mut settings = settings_in(of_workspace, "workspace", "Cargo.toml")?;
    for package in &metadata.packages {
        let manifest = package.manifest_path.as_str();
        let more = settings_in(&package.metadata, "package", manifest)?;
        settings.own.extend(more.own);
        settings.containers.extend(more.containers);
    }
    Ok(Declared {
        own: crates(metadata, BTreeSet::from_iter(settings.own)),
        containers: settings.containers,
    })
}

/// Returns the user's own crates, separated by commas: those named, else those that cargo knows.
fn crates(metadata: &Metadata, mut named: BTreeSet<String>) -> String {
    if named.is_empty() {
        // A benchmark or a test may have the name of the crate that it tests.
        let others: BTreeSet<String> = (metadata.packages.iter())
            .flat_map(|package| &package.dependencies)
            .filter(|dependency| dependency.path.is_none())
            .map(|dependency| dependency.name.replace('-', "_"))
            .collect();
        for package in &metadata.packages {
            named.insert(package.name.to_string());
            let targets = package.targets.iter().filter(|target| {
                !target.is_custom_build() && !others.contains(&target.name.replace('-', "_"))
            });
            named.extend(targets.map(|target| target.name.clone()));
            // Until the first release, programs depend on the recorder by path.
            let beside = package.dependencies.iter().filter(|dependency| {
                dependency.path.is_some() && dependency.name != "tracking-alloc"
            });
            named.extend(beside.map(|dependency| dependency.name.clone()));
        }
    }
    list(named)
}

/// Converts the names to the form that recordings keep: crates, not packages. Returns an empty list
/// if it would be too long, because the recorder would truncate it.
fn list(named: BTreeSet<String>) -> String {
    let crates: BTreeSet<String> = named
        .iter()
        .map(|name| name.trim().replace('-', "_"))
        .collect();
    let list = crates.into_iter().collect::<Vec<_>>().join(",");
    let fits = list.len() <= LONGEST_OWN_CRATES;
    if fits { list } else { String::new() }
}

/// Returns the settings in one table of metadata.
fn settings_in(
    metadata: &serde_json::Value,
    table: &str,
    manifest: &str,
) -> Result<Settings, Error> {
    let settings = metadata.get("heapglass").map(Settings::deserialize);
    let settings = settings.transpose().map_err(|error| {
        Error::misuse(format_args!(
            "{manifest}: invalid [{table}.metadata.heapglass]: {error}; \
             list your crates with own = [\"crate\", ..], and each container of yours with \
             type, pointer, capacity and length"
        ))
    })?;
    Ok(settings.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_names_crates_or_says_what_is_wrong() {
        let settings = |value| settings_in(&value, "package", "Cargo.toml");
        let named = |value| match settings(value) {
            Ok(settings) => Ok(settings.own),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(named(json!(null)), Ok(Vec::new()));
        assert_eq!(named(json!({"other": 1})), Ok(Vec::new()));
        let own = json!({"heapglass": {"own": ["my-app", "my_lib"]}});
        assert_eq!(
            named(own),
            Ok(vec!["my-app".to_owned(), "my_lib".to_owned()])
        );
        let pool =
            json!({"type": "app::Pool", "pointer": "at", "capacity": "cap", "length": "len"});
        let with_pool = json!({"heapglass": {"containers": [pool]}});
        let containers = settings(with_pool).map_err(|error| error.to_string());
        assert_eq!(containers.unwrap().containers[0].path, "app::Pool");
        for wrong in [
            json!({"own": "app"}),
            json!({"onw": ["app"]}),
            json!([1]),
            json!({"containers": [{"type": "app::Pool", "pointer": "at"}]}),
        ] {
            let said = named(json!({"heapglass": wrong})).expect_err("wrong");
            assert!(
                said.contains("Cargo.toml") && said.contains("own = ["),
                "{said}"
            );
        }
    }

    #[test]
    fn packages_are_listed_as_crates_and_a_list_that_would_be_cut_is_left_out() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(list(names(&["my-app", "my_app", "lib"])), "lib,my_app");
        let many: BTreeSet<String> = (0..1000).map(|n| format!("crate-{n}")).collect();
        assert_eq!(list(many), "");
    }
}

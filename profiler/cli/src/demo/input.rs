//! The input of the demo: `cargo metadata` of the current workspace, or generated data in the same
//! format.
//!
//! The description of the input always says which of the two it is.

use std::process::Stdio;

use cargo_config2::Config;
use cargo_metadata::MetadataCommand;
use serde_json::{Value, json};

/// Number of generated packages: about as many as in a mid-sized workspace.
const GENERATED_PACKAGES: u64 = 250;

/// Returns a description of the input and its JSON text: the output of cargo for the workspace
/// around the working directory, else generated data.
pub(super) fn of_this_workspace() -> (&'static str, String) {
    // Try without the network first, and never write a lock file.
    let whole = metadata(&["--locked", "--offline"]).or_else(|| metadata(&["--locked"]));
    if let Some(json) = whole {
        ("the output of `cargo metadata` for this workspace", json)
    } else if let Some(json) = metadata(&["--no-deps"]) {
        let what = "the output of `cargo metadata` for this workspace, without dependencies \
                    because there is no lock file";
        (what, json)
    } else {
        let what =
            "generated data in the format of `cargo metadata`, because there is no workspace here";
        (what, generated(GENERATED_PACKAGES).to_string())
    }
}

/// Returns the JSON text, if cargo prints text that the cargo_metadata crate can read.
fn metadata(flags: &[&str]) -> Option<String> {
    let mut command = MetadataCommand::new().cargo_command();
    // Fail fast without a network.
    command
        .env("CARGO_NET_RETRY", "0")
        .env("CARGO_HTTP_TIMEOUT", "10")
        .args(flags)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if let Ok(config) = Config::load()
        && let Ok(host) = config.host_triple()
    {
        command.args(["--filter-platform", host]);
    }
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let is_readable = output.status.success() && MetadataCommand::parse(&text).is_ok();
    is_readable.then_some(text)
}

/// A generator of the same numbers each time (SplitMix64: Steele, Lea, Flood 2014).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }

    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] = [
            "ser", "de", "cor", "tok", "io", "hash", "ring", "par", "se", "lib", "net", "log",
            "mem", "chr", "rand", "syn",
        ];
        (0..2 + self.next(2))
            .map(|_| SYLLABLES[self.next(16) as usize])
            .collect()
    }
}

/// Returns metadata of an invented workspace.
fn generated(packages: u64) -> Value {
    let mut numbers = Numbers(2026);
    let names: Vec<String> = (0..packages)
        .map(|at| format!("{}-{at}", numbers.word()))
        .collect();
    let id = |at: usize| {
        format!(
            "registry+https://registry.example/index#{}@1.{at}.0",
            names[at]
        )
    };
    let all: Vec<Value> = (0..names.len())
        .map(|at| package(&names, at, &id(at), &mut numbers))
        .collect();
    let nodes: Vec<Value> = (0..names.len())
        .map(|at| {
            let dependencies: Vec<String> = (0..numbers.next(8))
                .map(|_| id(numbers.next(at as u64 + 1) as usize))
                .collect();
            json!({
                "id": id(at), "dependencies": dependencies, "features": ["default", "std"],
                "deps": dependencies.iter().map(|pkg| json!({
                    "name": "dep", "pkg": pkg, "dep_kinds": [{"kind": null, "target": null}],
                })).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "packages": all, "workspace_members": [id(0)], "workspace_default_members": [id(0)],
        "resolve": {"nodes": nodes, "root": id(0)},
        "target_directory": "/home/user/project/target", "version": 1,
        "workspace_root": "/home/user/project", "metadata": null,
    })
}

fn package(names: &[String], at: usize, id: &str, numbers: &mut Numbers) -> Value {
    let name = &names[at];
    let root = format!("/home/user/.cargo/registry/src/{name}-1.{at}.0");
    let dependencies: Vec<Value> = (0..4 + numbers.next(14))
        .map(|_| {
            json!({
                "name": names[numbers.next(names.len() as u64) as usize],
                "source": "registry+https://registry.example/index",
                "req": format!("^1.{}", numbers.next(40)), "kind": null, "rename": null,
                "optional": numbers.next(3) == 0, "uses_default_features": true,
                "features": ["std"], "target": null, "registry": null,
            })
        })
        .collect();
    let targets: Vec<Value> = (0..1 + numbers.next(8))
        .map(|number| {
            let kind = if number == 0 { "lib" } else { "test" };
            json!({
                "kind": [kind], "crate_types": ["lib"], "name": format!("{name}-{number}"),
                "src_path": format!("{root}/tests/{number}.rs"), "edition": "2024",
                "doc": number == 0, "doctest": number == 0, "test": true,
            })
        })
        .collect();
    let features: serde_json::Map<String, Value> = (0..2 + numbers.next(8))
        .map(|_| (numbers.word(), json!([numbers.word(), "std"])))
        .collect();
    json!({
        "name": name, "version": format!("1.{at}.0"), "id": id, "license": "MIT OR Apache-2.0",
        "license_file": null, "description": format!("A crate about {} and {}", numbers.word(), numbers.word()),
        "source": "registry+https://registry.example/index",
        "dependencies": dependencies, "targets": targets, "features": features,
        "manifest_path": format!("{root}/Cargo.toml"), "metadata": null, "publish": null,
        "authors": [format!("{} <{}@example.org>", numbers.word(), numbers.word())],
        "categories": [numbers.word()], "keywords": [numbers.word(), numbers.word()],
        "readme": "README.md", "repository": format!("https://example.org/{name}"),
        "homepage": null, "documentation": null, "edition": "2024", "links": null,
        "default_run": null, "rust_version": "1.88",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_data_is_what_cargo_metadata_reads_and_the_same_each_time() {
        let text = generated(40).to_string();
        let metadata = MetadataCommand::parse(&text).unwrap();
        assert_eq!(metadata.packages.len(), 40);
        assert_eq!(text, generated(40).to_string());
    }
}

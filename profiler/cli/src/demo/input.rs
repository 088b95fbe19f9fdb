//! What the demo deserializes: `cargo metadata` of the present workspace; outside one, generated data of that shape.
//!
//! Must say which of the two it is.

use std::process::{Command, Stdio};

use cargo_metadata::MetadataCommand;
use serde_json::{Value, json};

/// A JSON text and what it is.
pub(super) struct Input {
    pub(super) what: &'static str,
    pub(super) json: String,
}

/// Packages of generated data: about the size of a mid-sized workspace.
const GENERATED_PACKAGES: usize = 250;

impl Input {
    /// What cargo says of the workspace around the working directory, else generated data.
    pub(super) fn of_this_workspace() -> Input {
        // Without the network first; never so that a lock file is written.
        let whole = metadata(&["--locked", "--offline"]).or_else(|| metadata(&["--locked"]));
        let (what, json) = if let Some(json) = whole {
            ("what `cargo metadata` says of this workspace", json)
        } else if let Some(json) = metadata(&["--no-deps"]) {
            let what = "what `cargo metadata` says of this workspace (without dependencies: there is no lock file)";
            (what, json)
        } else {
            let what =
                "generated data of the shape of `cargo metadata`, for want of a workspace here";
            (what, generated(GENERATED_PACKAGES).to_string())
        };
        Input { what, json }
    }
}

/// The JSON text, if cargo gives one that its own crate can read.
fn metadata(flags: &[&str]) -> Option<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Where there is no network, that is known soon.
    command
        .env("CARGO_NET_RETRY", "0")
        .env("CARGO_HTTP_TIMEOUT", "10")
        .args(["metadata", "--format-version", "1"])
        .args(flags);
    if let Some(host) = host() {
        command.args(["--filter-platform", &host]);
    }
    output_of(command).filter(|text| MetadataCommand::parse(text).is_ok())
}

/// The platform that cargo builds for here.
fn host() -> Option<String> {
    let mut command = Command::new("rustc");
    command.arg("-vV");
    let text = output_of(command)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(line.to_owned())
}

/// What a command prints, if it succeeds.
fn output_of(mut command: Command) -> Option<String> {
    let command = command.stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    let succeeded = output.status.success();
    String::from_utf8(output.stdout).ok().filter(|_| succeeded)
}

/// A word, the same each time for the same number.
fn word(number: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ser", "de", "cor", "tok", "io", "hash", "ring", "par", "se", "lib", "net", "log", "mem",
        "chr", "rand", "syn",
    ];
    let (first, rest) = (SYLLABLES[number % 16], number / 16);
    let (second, third) = (SYLLABLES[rest % 16], SYLLABLES[rest / 16 % 16]);
    match number % 2 {
        0 => format!("{first}{second}"),
        _ => format!("{first}{second}{third}"),
    }
}

/// Metadata of a workspace that does not exist.
fn generated(packages: usize) -> Value {
    // A number of things, or which of them: scattered, and the same each time.
    let pick = |at: usize, salt: usize, below: usize| (at * 31 + salt * 17) * 7 % 65_521 % below;
    let name = |at: usize| format!("{}-{at}", word(at * 37));
    let id = |at: usize| {
        format!(
            "registry+https://registry.example/index#{}@1.{at}.0",
            name(at)
        )
    };
    let package = |at: usize| {
        let words = |salt: usize| word(pick(at, salt, 4096));
        let name_of_this = name(at);
        let root = format!("/home/user/.cargo/registry/src/{name_of_this}-1.{at}.0");
        let dependencies = (0..4 + pick(at, 1, 14)).map(|number| {
            json!({
                "name": name(pick(at, number, packages)),
                "source": "registry+https://registry.example/index",
                "req": format!("^1.{}", pick(at, number, 40)), "kind": null, "rename": null,
                "optional": pick(at, number, 3) == 0, "uses_default_features": true,
                "features": ["std"], "target": null, "registry": null,
            })
        });
        let targets = (0..1 + pick(at, 2, 8)).map(|number| {
            let kind = if number == 0 { "lib" } else { "test" };
            json!({
                "kind": [kind], "crate_types": ["lib"], "name": format!("{name_of_this}-{number}"),
                "src_path": format!("{root}/tests/{number}.rs"), "edition": "2024",
                "doc": number == 0, "doctest": number == 0, "test": true,
            })
        });
        let features = (0..2 + pick(at, 3, 8)).map(|number| {
            let feature = words(number);
            (feature, json!([words(number + 8), "std"]))
        });
        json!({
            "name": name_of_this, "version": format!("1.{at}.0"), "id": id(at),
            "license": "MIT OR Apache-2.0", "license_file": null,
            "description": format!("A crate about {} and {}", words(20), words(21)),
            "source": "registry+https://registry.example/index",
            "dependencies": dependencies.collect::<Vec<_>>(),
            "targets": targets.collect::<Vec<_>>(),
            "features": features.collect::<serde_json::Map<_, _>>(),
            "manifest_path": format!("{root}/Cargo.toml"), "metadata": null, "publish": null,
            "authors": [format!("{} <{}@example.org>", words(22), words(23))],
            "categories": [words(24)], "keywords": [words(25), words(26)],
            "readme": "README.md", "repository": format!("https://example.org/{name_of_this}"),
            "homepage": null, "documentation": null, "edition": "2024", "links": null,
            "default_run": null, "rust_version": "1.88",
        })
    };
    let node = |at: usize| {
        let dependencies = (0..pick(at, 4, 8)).map(|number| id(pick(at, number, at + 1)));
        let dependencies: Vec<String> = dependencies.collect();
        let dep =
            |pkg| json!({"name": "dep", "pkg": pkg, "dep_kinds": [{"kind": null, "target": null}]});
        json!({
            "id": id(at), "dependencies": dependencies, "features": ["default", "std"],
            "deps": dependencies.iter().map(dep).collect::<Vec<_>>(),
        })
    };
    json!({
        "packages": (0..packages).map(package).collect::<Vec<_>>(),
        "workspace_members": [id(0)], "workspace_default_members": [id(0)],
        "resolve": {"nodes": (0..packages).map(node).collect::<Vec<_>>(), "root": id(0)},
        "target_directory": "/home/user/project/target", "version": 1,
        "workspace_root": "/home/user/project", "metadata": null,
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

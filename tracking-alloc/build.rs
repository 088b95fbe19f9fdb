//! Defines the same platform capabilities as the recorder; see its build script.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let recorder_has =
        |name: &str| std::env::var_os(format!("DEP_HEAPGLASS_RECORDER_{name}")).is_some();
    // Another crate may have asked the recorder for stacks.
    let wants_sites = std::env::var_os("CARGO_FEATURE_ASSERT_SITES").is_some();
    for (name, holds) in [
        ("recording", recorder_has("RECORDING")),
        ("in_memory", recorder_has("IN_MEMORY")),
        ("captures", recorder_has("CAPTURES") && wants_sites),
    ] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if holds {
            println!("cargo::rustc-cfg={name}");
        }
    }
}

//! Defines the same platform capabilities as the recorder; see its build script.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(recording)");
    let has = |name: &str| std::env::var_os(format!("DEP_HEAPGLASS_RECORDER_{name}")).is_some();
    // Without captures, there is no way to leave out the allocations of the dump.
    if has("RECORDING") && has("CAPTURES") {
        println!("cargo::rustc-cfg=recording");
    }
}

//! Defines the capabilities of this platform: `cfg(recording)` if a recording is a mapped file,
//! `cfg(in_memory)` if it lies in the memory of a WebAssembly module, `cfg(captures)` if the stacks
//! of counted events can be captured, and `cfg(initial_exec)` for a library that is preloaded.
//! Crates that depend directly on this one get them as metadata.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    // `--cfg heapglass_off` stands in for a platform that cannot record, to check the code for it.
    println!("cargo::rustc-check-cfg=cfg(heapglass_off)");
    let is_off = std::env::var_os("CARGO_CFG_HEAPGLASS_OFF").is_some();
    let records = !is_off
        && target("OS") == "linux"
        && ["gnu", "musl"].contains(&target("ENV").as_str())
        && ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    // The recorder in memory supports only one thread. With atomics there may be more.
    let has_threads = target("FEATURE")
        .split(',')
        .any(|feature| feature == "atomics");
    let records_in_memory = target("ARCH") == "wasm32" && !has_threads;
    // Stacks can be captured if C's unwinder can be called without a lock.
    let is_unix = std::env::var_os("CARGO_CFG_UNIX").is_some();
    let captures = is_unix && std::env::var_os("CARGO_FEATURE_CAPTURE_STACKS").is_some();
    let is_preloaded = std::env::var_os("CARGO_FEATURE_PRELOAD").is_some();
    for (name, holds) in [
        ("recording", records),
        ("initial_exec", records && is_preloaded),
        ("in_memory", records_in_memory),
        ("captures", captures),
    ] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if holds {
            println!("cargo::rustc-cfg={name}");
            println!("cargo::metadata={name}=1");
        }
    }
    // heapglass-preload builds its library from these two folders.
    for (name, folder) in [
        ("manifest_dir", "CARGO_MANIFEST_DIR"),
        ("recording_dir", "DEP_TRACKING_ALLOC_RECORDING_MANIFEST_DIR"),
    ] {
        let folder = std::env::var(folder).unwrap_or_default();
        println!("cargo::metadata={name}={folder}");
    }
}

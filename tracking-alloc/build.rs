//! Names the platforms that can record: the rest of the crate says `cfg(recording)` where a recording is a mapped file,
//! `cfg(in_memory)` where it lies in a WebAssembly module's memory, `cfg(captures)` where `assert_allocs!` captures stacks.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(recording)");
    println!("cargo::rustc-check-cfg=cfg(in_memory)");
    println!("cargo::rustc-check-cfg=cfg(captures)");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    let whole = target("OS") == "linux"
        && ["gnu", "musl"].contains(&target("ENV").as_str())
        && ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    if whole {
        println!("cargo::rustc-cfg=recording");
    }
    // Stacks of a test's allocations: wherever the unwinder of C can be called without a lock.
    let is_unix = std::env::var_os("CARGO_CFG_UNIX").is_some();
    if is_unix && std::env::var_os("CARGO_FEATURE_ASSERT_SITES").is_some() {
        println!("cargo::rustc-cfg=captures");
    }
    // That recorder is for one thread. With atomics there may be more.
    let threads = target("FEATURE")
        .split(',')
        .any(|feature| feature == "atomics");
    if target("ARCH") == "wasm32" && !threads {
        println!("cargo::rustc-cfg=in_memory");
    }
}

//! Tells dependent crates the folder of this crate, from which heapglass-preload builds its
//! library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::metadata=manifest_dir={folder}");
}

//! Defines the same platform capabilities as the recorder; see its build script.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["recording", "in_memory"] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        let variable = format!("DEP_HEAPGLASS_RECORDER_{}", name.to_uppercase());
        if std::env::var_os(variable).is_some() {
            println!("cargo::rustc-cfg={name}");
        }
    }
}

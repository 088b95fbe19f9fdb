//! The page of the guide has the figures that the program computes.

use heapglass_limits::Command;

#[test]
fn the_guide_has_the_figures_that_decoding_takes() {
    // Without the two largest data sets, which take most of the time.
    let sets = [
        "log",
        "minecraft_savedata",
        "geojson",
        "airlines",
        "requests",
    ];
    let program = Command::new(env!("CARGO_BIN_EXE_decoders"))
        .arg("--check")
        .args(sets)
        .status();
    assert!(program.expect("the program runs").success());
}

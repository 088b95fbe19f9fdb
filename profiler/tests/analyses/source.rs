//! The source positions of frames, as people read them.

use heapglass_fixture::Builder;
use heapglass_profiler::profile::*;

fn places(files: &[&str]) -> Vec<String> {
    let mut b = Builder::new();
    let own = b.function("app::main", "app", Origin::User);
    let frames: Vec<FrameId> = files
        .iter()
        .map(|file| b.frame(own, Some(file), 7))
        .collect();
    let profile = b.build();
    frames
        .iter()
        .filter_map(|&frame| profile.source_of(frame))
        .collect()
}

#[test]
fn what_all_own_files_share_is_left_out_but_for_src() {
    assert_eq!(places(&["/home/a/shop/src/main.rs"]), ["src/main.rs:7"]);
    assert_eq!(
        places(&["/home/a/shop/src/main.rs", "/home/a/shop/src/load/csv.rs"]),
        ["src/main.rs:7", "src/load/csv.rs:7"]
    );
    assert_eq!(
        places(&["/ws/one/src/lib.rs", "/ws/other/src/lib.rs"]),
        ["one/src/lib.rs:7", "other/src/lib.rs:7"]
    );
    assert_eq!(
        places(&["/ws/build.rs", "/wild/x.rs"]),
        ["ws/build.rs:7", "wild/x.rs:7"]
    );
    assert_eq!(places(&["src/main.rs"]), ["src/main.rs:7"]);
    assert_eq!(
        places(&[
            "/home/a/.cargo/registry/src/index-1/serde-1.0/src/de.rs",
            "/a/src/m.rs"
        ]),
        ["serde-1.0/src/de.rs:7", "src/m.rs:7"]
    );
}

//! Tests the report of a WebAssembly module's recording, whose figures the tests of
//! heapglass-profile derive from what the module did.

use std::path::Path;

use super::{json, text};
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::{OpenOptions, open};

#[test]
fn linear_memory_is_shown_and_no_stack_is_claimed() {
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tracking-alloc/recording/tests/golden/wasm.hg"
    );
    let profile = open(Path::new(golden), &OpenOptions::default(), &|_| ()).expect("a recording");
    let memory = profile.capture().linear_memory.expect("linear memory");
    let options = ReportOptions {
        details: true,
        ..ReportOptions::default()
    };
    let text = text(&profile, &options);
    assert!(
        text.contains("exact, wasm32, no stacks: sites are scopes"),
        "{text}"
    );
    let said = format!(
        "{} pages ({} at first), grown",
        memory.pages, memory.first_pages
    );
    assert!(text.contains(&said), "{text}");
    assert!(
        !text.contains("pid") && !text.contains("stacks by"),
        "{text}"
    );
    let json = json(&profile, &ReportOptions::default());
    assert_eq!(json["architecture"], "wasm32");
    assert_eq!(json["linear_memory"]["pages"], memory.pages);
    assert_eq!(json["linear_memory"]["grows"], memory.grows);
}

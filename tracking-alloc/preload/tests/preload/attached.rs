//! The library is loaded into a program that runs already, as `heapglass attach` does.

use super::{command, compile, library, open, text};
use std::path::Path;
use std::process::Output;

fn run(folder: &Path, flags: &[&str], words: &[&str]) -> Output {
    let mut all = vec!["-rdynamic", "-ldl", "-pthread", "-Wl,-z,now"];
    all.extend(flags);
    // Each test has a program of its own, because they run at once.
    let name = format!("attached_{}{}", words[0], flags.join(""));
    let program = compile("attached.c", &name, &all);
    let out = folder.join("out.hg").display().to_string();
    let library = library().display().to_string();
    let mut arguments = vec![library.as_str(), &out];
    arguments.extend(words);
    command(&program, &arguments)
        // Nobody reads it.
        .env("HEAPGLASS_OUT", folder.join("environment.hg"))
        .env("HEAPGLASS_MODE", "nonsense")
        .output()
        .expect("the program starts")
}

fn printed(output: &Output) -> Vec<String> {
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    printed.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_recording_begins_and_ends_in_a_running_program_to_the_block() {
    for flags in [&[][..], &["-no-pie", "-fno-pie"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let output = run(folder.path(), flags, &["exact"]);
        let words = printed(&output);
        let number = |at: usize| words[at].parse::<u64>().expect("a number");
        // The second attach is refused, the detach is not, and all slots and rights are as before.
        assert_eq!(&words[3..7], ["2", "0", "1", "1"], "{words:?}");
        let path = folder.path().join("out.hg");
        assert_eq!(words[7], path.display().to_string());
        assert!(!folder.path().join("environment.hg").exists());
        let profile = open(&path);
        let totals = profile.totals();
        let recorded = [totals.total_blocks, totals.total_bytes, totals.live_bytes];
        assert_eq!(recorded, [number(0), number(1), number(2)]);
        // Blocks from before are known to be from before.
        assert_eq!(profile.lost().unknown_frees, 1000);
    }
}

#[test]
fn the_exit_of_the_program_finishes_the_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    printed(&run(folder.path(), &[], &["exit"]));
    let profile = open(&folder.path().join("out.hg"));
    assert!(profile.totals().live_bytes >= 777);
}

#[test]
fn functions_that_are_looked_up_and_libraries_that_are_loaded_later_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = compile("plugin.c", "attached_plugin.so", &["-shared", "-fPIC"]);
    let plugin = plugin.display().to_string();
    let words = printed(&run(folder.path(), &[], &["look", &plugin]));
    assert_eq!(words, ["0", "1"]);
    let profile = open(&folder.path().join("out.hg"));
    assert!(profile.totals().live_bytes >= 3333 + 5555);
}

#[test]
fn fifty_recordings_of_a_process_take_the_memory_of_one() {
    for way in ["events", "samples"] {
        let folder = tempfile::tempdir().expect("a folder");
        let words = printed(&run(folder.path(), &[], &[way, "50"]));
        let number = |at: usize| words[at].parse::<u64>().expect("KiB");
        let [space, later_space, resident, later_resident] = [0, 1, 2, 3].map(number);
        // In KiB. One recording takes 130 MiB of address space and 2 to 5 MiB of memory.
        assert!(later_space < space + (64 << 10), "{way}: {words:?}");
        assert!(later_resident < resident + (4 << 10), "{way}: {words:?}");
        for cycle in [0, 49] {
            let profile = open(&folder.path().join(format!("out.hg-{cycle}.hg")));
            assert!(profile.totals().total_bytes >= 5000 * 100, "{way} {cycle}");
        }
    }
}

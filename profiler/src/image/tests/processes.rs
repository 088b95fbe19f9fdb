//! Running programs that nobody recorded.

use super::*;
use crate::OpenOptions;
use crate::image::glibc;
use crate::snapshot::{HolderName, Snapshot};

/// Returns each holder with its figures.
fn holders(snapshot: &Snapshot) -> Vec<String> {
    let nodes = snapshot.holders().iter();
    let lines = nodes.map(|node| {
        let own: Vec<_> = node.own.iter().collect();
        format!("{:?} {own:?}", node.name)
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_running_program_has_the_same_types_and_figures_as_its_core() {
    let program = Waiting::of_rust(locals::LOCALS);
    let folder = program.folder.path();
    let Some(copy) = program.image(Way::Copy) else {
        return;
    };
    assert_eq!(copy.process(), program.child.id());
    let names: Vec<&str> = copy.threads.iter().map(|thread| &*thread.name).collect();
    assert_eq!(names, ["program", "program"]);
    locals::check(&copy, folder, &program.line);
    let stopped = program.image(Way::Stop).expect("an image");
    assert!(!stopped.is_copy());
    locals::check(&stopped, folder, &program.line);
    let Some(core) = program.gcore() else {
        return eprintln!("not tested: there is no gcore");
    };
    let core = Image::of_core(&core, None).expect("an image");
    let of = |image: &Image| {
        let taken = image.snapshot(&OpenOptions::default(), &|_| ());
        holders(&taken.expect("a snapshot").snapshot)
    };
    let again = program.image(Way::Copy).expect("an image");
    let expected = of(&core);
    // Threads of cores have no names.
    let renamed = |lines: Vec<String>| -> Vec<String> {
        let worker = copy.threads[1].id;
        let name = format!("\"thread {worker}\"");
        let lines = lines.into_iter();
        let mut lines: Vec<_> = lines
            .map(|line| line.replace(&name, "\"program\""))
            .collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(of(&again), renamed(expected));
}

#[test]
fn threads_that_do_nothing_but_allocate_can_be_copied_at_any_moment() {
    let program = Waiting::of_c(include_str!("programs/churn.c"), &["8"]);
    let Some(_) = program.image(Way::Copy) else {
        return;
    };
    let kept: usize = program.line.trim().parse().expect("a number");
    for round in 0..10 {
        let mut tries = 0;
        let found = loop {
            let image = program.image(Way::Copy).expect("an image");
            match glibc::blocks(&image) {
                Ok(found) => break found,
                // A thread may be between two words of a chunk, and the next copy is of another
                // moment.
                Err(why) => assert!(tries < 5, "round {round}: {why}"),
            }
            tries += 1;
        };
        // Those of the threads are smaller.
        let usable = found.live.iter().map(|block| block.usable_bytes);
        let large = usable.filter(|bytes| (3000..3100).contains(bytes)).count();
        assert_eq!(large, kept, "round {round}");
    }
}

#[test]
fn a_copy_reads_no_page_that_the_program_has_not_touched() {
    let source = "
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <unistd.h>
        int main(void) {
            mmap(0, 1ul << 36, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            char *block = malloc(64 << 20);
            block[0] = 1;
            puts(\"ready\");
            fflush(stdout);
            pause();
        }";
    let program = Waiting::of_c(source, &[]);
    for way in [Way::Copy, Way::Stop] {
        let Some(image) = program.image(way) else {
            return;
        };
        let found = glibc::blocks(&image).expect("blocks");
        assert!(found.live.iter().any(|block| block.usable_bytes > 64 << 20));
        let status = std::fs::read_to_string(format!("/proc/{}/status", program.child.id()));
        let status = status.expect("a status");
        let resident = status.lines().find(|line| line.starts_with("VmRSS:"));
        let resident = resident.and_then(|line| line.split_ascii_whitespace().nth(1));
        let resident: u64 = resident
            .and_then(|word| word.parse().ok())
            .expect("a number");
        assert!(resident < 32 << 10, "{resident} KiB");
    }
}

#[test]
fn a_block_that_only_a_register_points_to_is_in_use() {
    let program = Waiting::of_c(include_str!("programs/register.c"), &[]);
    let Some(image) = program.image(Way::Copy) else {
        return;
    };
    let taken = image.snapshot(&OpenOptions::default(), &|_| ());
    let snapshot = taken.expect("a snapshot").snapshot;
    assert!(snapshot.bytes() > 100_000);
    // Nothing reaches no block as large.
    let nodes = snapshot.holders();
    let lost = nodes.iter().filter(|node| {
        let above = std::iter::successors(Some(*node), |node| {
            (node.name != HolderName::Whole).then(|| &nodes[node.parent as usize])
        });
        above
            .into_iter()
            .any(|node| node.name == HolderName::Nothing)
    });
    let bytes: u64 = lost.flat_map(|node| &node.own).map(|own| own.bytes).sum();
    assert!(bytes < 10_000, "{:?}", holders(&snapshot));
}

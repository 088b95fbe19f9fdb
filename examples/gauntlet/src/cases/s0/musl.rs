//! 0.25: musl's allocator as a baseline. It comes with its whole C library, so the lists of 0.1 are
//! a separate program (`programs/lists.rs`), linked once with musl and once with glibc. The program
//! times itself.

use super::times;
use super::words::{self, LISTS};
use crate::program::{Folder, ran, rustc, source};
use crate::{Case, Claim, Judged, Variant, Window};
use std::process::Command;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.25",
    system: "musl's allocator as a baseline: the lists of 0.1 in a program linked with musl (musl-gcc)",
    headline: "the source recommends mimalloc in place of musl's default allocator, which it calls harmful (no figure)",
    variants: &[
        Variant::new("glibc", run).under("glibc"),
        Variant::new("mimalloc", run).under("mimalloc"),
        Variant::new("glibc, a program", |window| program(window, &["cc"]))
            .varying("without a C compiler there is nothing to run"),
        Variant::new("musl, a program", |window| {
            program(window, &["musl-gcc", "-static"])
        })
        .varying("without musl-gcc there is nothing to run"),
    ],
    judge: |found| {
        let blocks = found.of("glibc", "total_blocks");
        let holds = blocks == words::global_blocks(found.of("glibc", "records"))
            && blocks == found.of("mimalloc", "total_blocks");
        let musl = match found.times("musl, a program", "mimalloc").value.is_nan() {
            true => "musl's was not timed: it needs musl-gcc (Debian's musl-tools)".to_owned(),
            false => format!(
                "musl takes {} as long as mimalloc, {} as long as glibc in the same program; that program takes {} as long \
                 with glibc as this one does",
                times(found.times("musl, a program", "mimalloc")),
                times(found.times("musl, a program", "glibc, a program")),
                times(found.times("glibc, a program", "glibc")),
            ),
        };
        let why = format!("{blocks:.0} blocks; {musl}");
        Judged::facts(holds, why).claim(
            Claim::clearly_more("times as long by musl's allocator as by mimalloc"),
            found.times("musl, a program", "mimalloc"),
        )
    },
};

/// Returns a fifth of the number of lists, because musl is slow.
fn lists(window: &mut Window) -> usize {
    let lists = window.scaled(LISTS / 5);
    window.input(0, lists);
    lists
}

fn run(window: &mut Window) {
    let lists = lists(window);
    window.work(|| drop(std::hint::black_box(words::global(lists))));
}

/// Number of times that the program reports in one process.
const RUNS: usize = 5;

/// Links the program with this C compiler, and notes the times that it prints.
fn program(window: &mut Window, linker: &[&str]) {
    let lists = lists(window);
    window.work_elsewhere(|| {
        let folder = Folder::new();
        let (library, program) = (folder.file("liblists.a"), folder.file("lists"));
        let mut compile = rustc();
        compile
            .args([
                "--edition",
                "2024",
                "--crate-type",
                "staticlib",
                "-Cpanic=abort",
            ])
            .args(["-Copt-level=3", "-Clto=fat", "-o"])
            .args([&library, &source("lists.rs")]);
        ran(&mut compile)?;
        let mut link = Command::new(linker.first()?);
        link.args(linker.iter().skip(1));
        ran(link.arg("-o").args([&program, &library]))?;
        let printed = ran(Command::new(&program).args([lists, RUNS].map(|n| n.to_string())))?;
        Some(
            printed
                .lines()
                .filter_map(|line| line.parse().ok())
                .collect(),
        )
    });
}

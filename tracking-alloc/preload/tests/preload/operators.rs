//! Allocators that have an `operator new` of their own.
#![cfg(target_arch = "x86_64")]

use super::{command, compile, of_function, record, skipped};
use heapglass_limits::Command;

/// Returns the path of a library, if the compiler finds it.
fn found(library: &str) -> Option<String> {
    let mut compiler = Command::new("cc");
    let output = compiler.arg(format!("-print-file-name={library}")).output();
    let path = String::from_utf8(output.expect("a C compiler").stdout).expect("a path");
    // What is not found is printed as it is.
    let path = path.trim();
    path.starts_with('/').then(|| path.to_owned())
}

#[test]
fn blocks_of_operators_of_other_allocators_are_recorded_once() {
    for library in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", ""] {
        let path = match found(library) {
            Some(path) => path,
            None if library.is_empty() => String::new(),
            None => {
                skipped("blocks_of_operators", &format!("there is no {library}"));
                continue;
            }
        };
        // Lazily, and at once.
        for binding in ["-Wl,-z,lazy", "-Wl,-z,now"] {
            let name = format!("operators_{library}{binding}");
            let mut flags = vec!["-std=c++17", binding, "-Wl,--no-as-needed"];
            flags.extend((!library.is_empty()).then_some(path.as_str()));
            let program = compile("operators.cpp", &name, &flags);
            let run = record(&mut command(&program, &[]));
            let printed = run.printed();
            let mut words = printed
                .split_whitespace()
                .map(|word| word.parse::<u64>().expect("a number"));
            let [caught, blocks, bytes, live] = [(); 4].map(|()| words.next().expect("a word"));
            assert_eq!(caught, 2, "{name}");
            let profile = run.profile();
            let of_main = |figure| of_function(&profile, "main", figure).unwrap_or(0);
            // And the exception, which is freed, with what the unwinder takes for it.
            let others = of_main("total_blocks") - blocks;
            assert!((1..=2).contains(&others), "{name}: {others}");
            let exception = of_main("total_bytes") - bytes;
            assert!((1..1000).contains(&exception), "{name}: {exception}");
            assert_eq!(of_main("live_bytes"), live, "{name}");
        }
    }
}

//! Programs that run the code of others: an interpreter, by the name of its executable. What it
//! asks for, it asks for a library that it loaded, if one is on the stack.

use crate::profile::{Function, Origin};
use tracking_alloc_recording::GENERATED_CODE;

/// The names of interpreters without their versions, and the libraries that they consist of.
const INTERPRETERS: [(&str, &[&str]); 9] = [
    ("python", &["libpython"]),
    ("pypy", &["libpypy"]),
    ("node", &["libnode", "libv8"]),
    ("ruby", &["libruby"]),
    ("perl", &["libperl"]),
    ("php", &["libphp"]),
    ("luajit", &["libluajit"]),
    ("lua", &["liblua"]),
    (
        "java",
        &[
            "libjvm",
            "libjli",
            "libjava",
            "libjimage",
            "libzip",
            "libnio",
            "libnet",
        ],
    ),
];

/// Libraries that every program has.
const RUNTIME: [&str; 10] = [
    "libc.so",
    "libc-",
    "libm.so",
    "libdl.so",
    "libpthread.so",
    "librt.so",
    "libstdc++.so",
    "libc++",
    "libgcc_s.so",
    "ld-",
];

/// Returns `true` for the run-time library of C++, by its file name.
pub(crate) fn is_cpp_runtime(image: &str) -> bool {
    image.starts_with("libstdc++.so")
}

/// Returns `true` for the functions of the loader that start libraries.
pub(crate) fn is_loader(function: &Function) -> bool {
    matches!(&*function.name, "call_init" | "_dl_init") && function.origin != Origin::User
}

/// An interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// The file name of the executable.
    program: String,
    libraries: &'static [&'static str],
}

impl Interpreter {
    /// Returns the interpreter whose executable has a file name; `None` for any other program.
    pub(crate) fn of(program: &str) -> Option<Interpreter> {
        let is_version = |rest: &str| {
            let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | 'd' | 't');
            rest.chars().all(is_part)
        };
        let is_it = |name: &str| program.strip_prefix(name).is_some_and(is_version);
        let (_, libraries) = INTERPRETERS.iter().find(|(name, _)| is_it(name))?;
        Some(Interpreter {
            program: program.to_owned(),
            libraries,
        })
    }

    /// Returns `true` for an image, by its file name, that belongs to the interpreter or to every
    /// program.
    pub(crate) fn owns(&self, image: &str) -> bool {
        let begins = |names: &[&str]| names.iter().any(|name| image.starts_with(name));
        let is_unknown = matches!(image, "" | "?" | GENERATED_CODE);
        is_unknown || image == self.program || begins(self.libraries) || begins(&RUNTIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_with_any_version_and_no_other_program_is() {
        for program in [
            "python3.11",
            "python",
            "node",
            "perl5.36.0",
            "luajit-2.1",
            "java",
        ] {
            assert!(Interpreter::of(program).is_some(), "{program}");
        }
        for program in ["pythonic", "javac", "nodes", "shop", ""] {
            assert_eq!(Interpreter::of(program), None, "{program}");
        }
        let python = Interpreter::of("python3.11").expect("an interpreter");
        for image in [
            "python3.11",
            "libpython3.11.so.1.0",
            "libc.so.6",
            "ld-linux-x86-64.so.2",
        ] {
            assert!(python.owns(image), "{image}");
        }
        for image in ["orjson.cpython-311-x86_64-linux-gnu.so", "libcurl.so.4"] {
            assert!(!python.owns(image), "{image}");
        }
    }
}

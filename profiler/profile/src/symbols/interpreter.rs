//! Programs that run the code of others: an interpreter, by the name of its executable. What it
//! asks for, it asks for a library that it loaded, if one is on the stack.

use crate::profile::{Function, Origin};
use tracking_alloc_recording::GENERATED_CODE;

/// A known interpreter.
struct Known {
    /// The name of its executable, without a version.
    name: &'static str,
    /// The libraries that it consists of, by the beginnings of their names.
    libraries: &'static [&'static str],
    /// The beginnings of the names of its functions.
    functions: &'static [&'static str],
}

const INTERPRETERS: [Known; 9] = [
    Known {
        name: "python",
        libraries: &["libpython"],
        functions: &["Py", "_Py", "pymain_"],
    },
    Known {
        name: "pypy",
        libraries: &["libpypy"],
        functions: &["pypy"],
    },
    Known {
        name: "node",
        libraries: &["libnode", "libv8"],
        functions: &["node::", "v8::", "Builtins_"],
    },
    Known {
        name: "ruby",
        libraries: &["libruby"],
        functions: &["rb_", "ruby_"],
    },
    Known {
        name: "perl",
        libraries: &["libperl"],
        functions: &["Perl_", "perl_"],
    },
    Known {
        name: "php",
        libraries: &["libphp"],
        functions: &["zend_", "php_"],
    },
    Known {
        name: "luajit",
        libraries: &["libluajit"],
        functions: &["lua", "lj_"],
    },
    Known {
        name: "lua",
        libraries: &["liblua"],
        functions: &["lua"],
    },
    Known {
        name: "java",
        libraries: &[
            "libjvm",
            "libjli",
            "libjava",
            "libjimage",
            "libzip",
            "libnio",
            "libnet",
        ],
        functions: &["JLI_"],
    },
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
    functions: &'static [&'static str],
    /// The file names of the modules that come with it.
    modules: Vec<String>,
}

/// The folder with the compiled modules of Python's standard library.
const STANDARD_MODULES: &str = "/lib-dynload/";

impl Interpreter {
    /// Returns the interpreter whose executable has a file name; `None` for any other program.
    pub(crate) fn of(program: &str) -> Option<Interpreter> {
        let is_version = |rest: &str| {
            let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | 'd' | 't');
            rest.chars().all(is_part)
        };
        let is_it = |known: &&Known| program.strip_prefix(known.name).is_some_and(is_version);
        let known = INTERPRETERS.iter().find(is_it)?;
        Some(Interpreter {
            program: program.to_owned(),
            libraries: known.libraries,
            functions: known.functions,
            modules: Vec::new(),
        })
    }

    /// Returns the interpreter with the modules that come with it, of the images at these paths.
    pub(crate) fn with_modules<'a>(self, paths: impl Iterator<Item = &'a str>) -> Interpreter {
        let modules =
            paths.filter_map(|path| Some(path.split_once(STANDARD_MODULES)?.1.to_owned()));
        Interpreter {
            modules: modules.collect(),
            ..self
        }
    }

    /// Returns `false` if the program only has the name of an interpreter: its functions, of which
    /// some are given with their images, are others.
    pub(crate) fn may_be<'a>(&self, functions: impl Iterator<Item = (&'a str, &'a str)>) -> bool {
        let begins = |text: &str, all: &[&str]| all.iter().any(|begin| text.starts_with(begin));
        let mut has_others = false;
        for (image, function) in functions {
            if begins(image, self.libraries) || begins(function, self.functions) {
                return true;
            }
            // Every program has these.
            let is_of_start = matches!(function, "main" | "_start");
            has_others |= image == self.program && !is_of_start;
        }
        !has_others
    }

    /// Returns `true` for an image, by its file name, that belongs to the interpreter or to every
    /// program.
    pub(crate) fn owns(&self, image: &str) -> bool {
        let begins = |names: &[&str]| names.iter().any(|name| image.starts_with(name));
        let is_unknown = matches!(image, "" | "?" | GENERATED_CODE);
        is_unknown
            || image == self.program
            || begins(self.libraries)
            || begins(&RUNTIME)
            || self.modules.iter().any(|module| module == image)
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

    #[test]
    fn a_program_with_the_name_of_an_interpreter_and_other_functions_is_none() {
        let lua = Interpreter::of("lua5.4").expect("the name of one");
        let may_be = |functions: &[(&str, &str)]| lua.may_be(functions.iter().copied());
        assert!(may_be(&[("lua5.4", "main"), ("lua5.4", "luaL_newstate")]));
        assert!(may_be(&[("lua5.4", "main"), ("liblua5.4.so.0", "f")]));
        assert!(
            may_be(&[("lua5.4", "main"), ("libc.so.6", "getdelim")]),
            "stripped"
        );
        assert!(may_be(&[]));
        assert!(!may_be(&[("lua5.4", "main"), ("lua5.4", "load_shop")]));
    }

    #[test]
    fn modules_of_the_standard_library_are_the_interpreter_s() {
        let folder = "/usr/lib/python3.11";
        let [own, other] = ["lib-dynload/_asyncio.so", "site-packages/orjson/orjson.so"]
            .map(|path| format!("{folder}/{path}"));
        let python = Interpreter::of("python3.11").expect("an interpreter");
        let python = python.with_modules([&*own, &*other].into_iter());
        assert!(python.owns("_asyncio.so"));
        assert!(!python.owns("orjson.so"));
    }
}

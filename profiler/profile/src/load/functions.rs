//! The facts in a function's name: its role, what a call of it does, and the type that it
//! deserializes.

use crate::name::FunctionName;
use crate::profile::{Function, Origin, Role};
use crate::symbols::{self, Interpreter};
use crate::types;

/// Whose code is the program's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// Names of the program's own crates (`my_app` or `my-app`). If empty, these are the crates
    /// whose sources lie outside registries, git checkouts and the toolchain.
    pub(super) crates: Vec<String>,
    /// Names of functions that own their blocks, none of them of Rust.
    pub(super) functions: Vec<String>,
    /// In a program without any Rust of its own the executable: its file name.
    pub(super) native: Option<String>,
    /// Patterns of the functions that own nothing.
    pub(super) wrappers: Vec<String>,
    /// The interpreter that the program is.
    pub(super) interpreter: Option<Interpreter>,
}

impl Own {
    /// Returns `true` for a function that the user named as one that owns its blocks.
    pub(super) fn names(&self, function: &Function) -> bool {
        let is_name = |name: &String| *name == function.short || *name == function.name;
        !function.parsed().is_rust() && self.functions.iter().any(is_name)
    }

    /// Returns `true` for a function that the user named as one that owns nothing.
    pub(super) fn is_wrapper(&self, function: &Function) -> bool {
        let mut patterns = self.wrappers.iter();
        patterns.any(|pattern| function.is_called(pattern))
    }
}

/// The function with all that its name says.
pub(super) fn described(mut function: Function, own: &Own) -> Function {
    let is_own = |krate: &String| krate.replace('-', "_") == function.krate;
    match function.origin {
        Origin::User | Origin::Dependency
            if !function.is_own() && own.crates.iter().any(is_own) =>
        {
            function.origin = Origin::User;
        }
        Origin::User if !own.crates.is_empty() => function.origin = Origin::Dependency,
        Origin::Native if own.native.as_ref() == Some(&function.krate) => {
            function.origin = Origin::User;
        }
        _ => {}
    }
    let name = function.name.clone();
    let name = FunctionName::parse(&name, function.language);
    function.role = symbols::role(&function, &name);
    let hands_on = matches!(function.role, Role::Allocator | Role::Wrapper);
    if hands_on && function.origin != Origin::Std && own.names(&function) {
        function.role = Role::Plain;
    } else if function.role == Role::Plain && !own.names(&function) && own.is_wrapper(&function) {
        function.role = Role::Wrapper;
    }
    if function.origin == Origin::Unresolved || function.origin == Origin::Native {
        return function;
    }
    function.makes = types::deserialized(&name).filter(|_| function.origin != Origin::Std);
    function.does = does(&function, &name);
    function
}

/// `serde_json::from_str -> Catalog`, `regex::Regex::new`, `HashMap::insert`.
fn does(function: &Function, name: &FunctionName<'_>) -> String {
    if function.origin != Origin::Dependency {
        return function.short.clone();
    }
    // What closures of a dependency do, the function does that they stand in.
    let short = function.owner_name();
    let (module, last) = short.rsplit_once("::").unwrap_or(("", short));
    // A free function is the crate's, whichever module it is in; a method keeps its type.
    let of_type = module.starts_with(|c: char| c.is_uppercase() || c == '[');
    let call = match function.krate.as_str() {
        "" => short.to_owned(),
        krate if krate == module => short.to_owned(),
        krate if of_type => format!("{krate}::{module}::{last}"),
        krate => format!("{krate}::{last}"),
    };
    // What is called back was entered further out.
    let result = types::read_by(name).filter(|_| function.role != Role::Callback);
    match result {
        Some(result) => format!("{call} -> {result}"),
        None => call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described_as(name: &str, krate: &str, origin: Origin, short: &str) -> Function {
        let function = Function {
            name: name.into(),
            short: short.into(),
            krate: krate.into(),
            origin,
            ..Function::default()
        };
        described(function, &Own::default())
    }

    #[test]
    fn crates_named_as_own_are_and_no_others() {
        let origin = |krate: &str, origin: Origin, own: &[&str]| {
            let own = Own {
                crates: own.iter().map(|&krate| krate.to_owned()).collect(),
                native: Some("prog".to_owned()),
                ..Own::default()
            };
            let function = Function {
                name: format!("{krate}::f"),
                krate: krate.into(),
                origin,
                ..Function::default()
            };
            described(function, &own).origin
        };
        assert_eq!(
            origin("my_lib", Origin::Dependency, &["my-lib"]),
            Origin::User
        );
        assert_eq!(origin("app", Origin::User, &["my-lib"]), Origin::Dependency);
        assert_eq!(
            origin("app", Origin::User, &["my-lib", "app"]),
            Origin::User
        );
        assert_eq!(origin("app", Origin::User, &[]), Origin::User);
        assert_eq!(origin("prog", Origin::Native, &[]), Origin::User);
        assert_eq!(origin("libc.so.6", Origin::Native, &[]), Origin::Native);
        assert_eq!(
            origin("alloc", Origin::Std, &["alloc"]),
            Origin::Std,
            "never std"
        );
    }

    #[test]
    fn a_call_of_a_dependency_says_its_crate_and_what_it_reads() {
        let does = |name: &str, krate: &str, short: &str| {
            described_as(name, krate, Origin::Dependency, short).does
        };
        assert_eq!(
            does(
                "serde_json::de::from_str<shop::Catalog>",
                "serde_json",
                "de::from_str"
            ),
            "serde_json::from_str -> Catalog"
        );
        assert_eq!(
            does(
                "serde_json::de::from_slice::<alloc::vec::Vec<shop::Product>>",
                "serde_json",
                "de::from_slice"
            ),
            "serde_json::from_slice -> Vec<Product>"
        );
        assert_eq!(
            does(
                "serde_json::de::from_str<tracking_alloc_serde::profiled::Profiled<shop::Catalog>>",
                "serde_json",
                "de::from_str"
            ),
            "serde_json::from_str -> Catalog"
        );
        assert_eq!(
            does(
                "serde_json::de::from_reader<std::io::BufReader<std::fs::File>, shop::Catalog>",
                "serde_json",
                "de::from_reader"
            ),
            "serde_json::from_reader -> Catalog"
        );
        let mut closure = described_as(
            "ignore::walk::read_dir::{{closure}}",
            "ignore",
            Origin::Dependency,
            "read_dir::{{closure}}",
        );
        closure.outer = "walk::read_dir".to_owned();
        assert_eq!(super::does(&closure, &closure.parsed()), "ignore::read_dir");
        assert_eq!(
            does("<regex::regex::string::Regex>::new", "regex", "Regex::new"),
            "regex::Regex::new"
        );
        assert_eq!(
            does("ignore::walk::read_dir", "ignore", "walk::read_dir"),
            "ignore::read_dir"
        );
    }

    #[test]
    fn a_type_is_made_by_its_deserialize_and_its_visitor() {
        let made = |name: &str| described_as(name, "shop", Origin::User, "").makes;
        assert_eq!(
            made("<shop::Product as serde_core::de::Deserialize>::deserialize::<De>").as_deref(),
            Some("Product")
        );
        assert_eq!(made("shop::parse"), None);
        assert_eq!(made("<shop::Product as core::clone::Clone>::clone"), None);
    }
}

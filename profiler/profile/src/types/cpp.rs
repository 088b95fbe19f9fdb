//! Containers of C++, by the functions that ask for their memory.
//!
//! A name says the class that a function is a method of, with all arguments of its template:
//! `std::vector<int, std::allocator<int> >::push_back(int const&)`. Only containers that are known
//! are looked for, and only allocators stand between them and the block. Behind any other function
//! of the standard library there may be a block of its own, so that nothing further out is asked.

use super::container::Container;
use super::rules;
use crate::containers;
use crate::name::{FunctionName, path_without_versions as path_of, split_at_commas};

/// Templates inside each other. Names of hostile binaries may have any number.
const MOST_NESTED: u32 = 64;

/// Returns the container that a function is a method of. `None` if it is not known.
pub(super) fn container(name: &FunctionName<'_>) -> Option<Container> {
    let segments = name.segments();
    let (_, before) = segments.split_last()?;
    // `std::make_unique<T>` is a function, and the only one of these that is no method.
    let of = match before {
        [namespace] if namespace.plain == "std" => segments,
        _ => before,
    };
    let (class, _) = of.split_last()?;
    let path = path_of(of.iter().map(|segment| segment.plain));
    let of = spelled(&format!("{path}<{}>", class.arguments), 0);
    let (path, arguments) = match of.split_once('<') {
        Some((path, arguments)) => (path, arguments.strip_suffix('>')?),
        None => (of.as_str(), ""),
    };
    // Paths of Rust, such as `str`, are names of other things in C++.
    let of = rules::of_path(path).filter(|_| path.starts_with("std::"))?;
    let arguments = split_at_commas(arguments);
    Some(Container::new(
        of,
        arguments
            .get(..of.stacks.parameters)?
            .iter()
            .map(|argument| argument.trim()),
    ))
}

/// Returns `true` for functions between a container and `operator new`, which say no more than it.
pub(super) fn is_allocator(name: &FunctionName<'_>) -> bool {
    let segments = name.segments();
    let words = segments.iter().map(|segment| segment.plain);
    let path = path_of(words.take(segments.len().saturating_sub(1).max(2)));
    let mut all = containers::all();
    name.is_native_allocator()
        || name.is_cpp_allocator()
        || all.any(|of| of.stacks.below.iter().any(|below| is_inside(&path, below)))
}

/// Returns `true` for a path, and for those of types inside it.
fn is_inside(path: &str, of: &str) -> bool {
    let rest = path.strip_prefix(of);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Spells a type as its source does: without default arguments, `std::string` for its template.
fn spelled(of: &str, depth: u32) -> String {
    let Some(start) = of.find('<').filter(|_| depth < MOST_NESTED) else {
        return path_of(of.split("::"));
    };
    let Some(end) = closing(of, start) else {
        return of.to_owned();
    };
    let (before, inside, after) = (&of[..start], &of[start + 1..end], &of[end + 1..]);
    let path = path_of(before.split("::"));
    let arguments: Vec<String> = split_at_commas(inside)
        .iter()
        .map(|argument| argument.trim())
        .filter(|argument| !argument.is_empty())
        .map(|argument| spelled(argument, depth + 1))
        .collect();
    let kept: Vec<&str> = arguments
        .iter()
        .enumerate()
        .filter(|(index, argument)| *index == 0 || !is_default(argument, &arguments[0]))
        .map(|(_, argument)| argument.as_str())
        .collect();
    let template = match (path.as_str(), kept.as_slice()) {
        (path, []) => path.to_owned(),
        (path, ["char"]) if path.ends_with("std::basic_string") => {
            format!("{}string", path.trim_end_matches("basic_string"))
        }
        (path, kept) => format!("{path}<{}>", kept.join(", ")),
    };
    let after = after.strip_prefix(' ').filter(|after| after.is_empty());
    template + &spelled(after.unwrap_or(&of[end + 1..]), depth + 1)
}

/// Returns `true` if an argument of a template is the default one for the first argument. A
/// container takes no allocator of other elements, and a map that of its entries.
fn is_default(argument: &str, first: &str) -> bool {
    let of_first = ["less", "hash", "equal_to", "default_delete", "char_traits"];
    argument.starts_with("std::allocator<")
        || of_first
            .iter()
            .any(|of| argument == format!("std::{of}<{first}>"))
}

/// Returns the index of the bracket that closes the one at an index.
fn closing(of: &str, start: usize) -> Option<usize> {
    let mut open = 0_u32;
    for (at, byte) in of.bytes().enumerate().skip(start) {
        match byte {
            b'<' => open += 1,
            b'>' => {
                open = open.checked_sub(1)?;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Language;

    fn name(text: &str) -> FunctionName<'_> {
        FunctionName::parse(text, Language::Cpp)
    }

    #[test]
    fn a_method_says_its_container_with_its_arguments() {
        let vector = "std::vector<int, std::allocator<int> >";
        let string =
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        for (text, expected) in [
            (format!("{vector}::push_back(int const&)"), "std::vector<int>"),
            (
                format!("std::vector<{string}, std::allocator<{string} > >::reserve(unsigned long)"),
                "std::vector<std::string>",
            ),
            (
                "std::_Vector_base<app::Point*, std::allocator<app::Point*> >::_M_allocate(unsigned long)"
                    .to_owned(),
                "std::vector<app::Point*>",
            ),
            (
                format!("{string}::_M_create(unsigned long&, unsigned long)"),
                "std::string",
            ),
            (
                "std::__1::vector<std::pair<int const, char>, std::__1::allocator<std::pair<int const, char> > >::reserve(unsigned long)"
                    .to_owned(),
                "std::vector<std::pair<int const, char>>",
            ),
            (
                format!("std::map<{string}, app::Row, std::less<{string} >, std::allocator<std::pair<{string} const, app::Row> > >::operator[]({string} const&)"),
                "std::map<std::string, app::Row>",
            ),
            (
                "std::unordered_map<int, app::Row, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, app::Row> > >::operator[](int const&)"
                    .to_owned(),
                "std::unordered_map<int, app::Row>",
            ),
            (
                "std::__cxx11::_List_base<app::Row, std::allocator<app::Row> >::_M_get_node()"
                    .to_owned(),
                "std::list<app::Row>",
            ),
            (
                "std::_Deque_base<long, std::allocator<long> >::_M_initialize_map(unsigned long)"
                    .to_owned(),
                "std::deque<long>",
            ),
            (
                "std::make_unique<app::Row, int>(int&&)".to_owned(),
                "std::unique_ptr<app::Row>",
            ),
            ("std::make_unique<app::Row []>(unsigned long)".to_owned(), "std::unique_ptr<app::Row []>"),
            ("std::make_shared<app::Row, >".to_owned(), "std::shared_ptr<app::Row>"),
            (
                "std::function<void ()>::function<Big&, void>(Big&)".to_owned(),
                "std::function<void ()>",
            ),
        ] {
            let told = container(&name(&text)).map(|told| told.names().container);
            assert_eq!(told.as_deref(), Some(expected), "{text}");
        }
        for text in [
            "std::stack<int>::push(int const&)",
            "std::make_pair<int, int>(int&&, int&&)",
            "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::reserve(unsigned long)",
            "app::vector<int>::push_back(int)",
            "vector<int>::push_back(int)",
            "str::append(char const*)",
            "operator new(unsigned long)",
            "main",
            "",
        ] {
            assert_eq!(container(&name(text)), None, "{text}");
        }
    }

    #[test]
    fn only_allocators_stand_between_a_container_and_its_block() {
        for text in [
            "operator new(unsigned long)",
            "std::__new_allocator<int>::allocate(unsigned long, void const*)",
            "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
            // The base of a container that does not tell which one.
            "std::_Rb_tree<int, int>::_M_create_node(int const&)",
            "std::_Rb_tree<int, int>::_Auto_node::_Auto_node<int>(int&&)",
            "std::__detail::_Map_base<int, int>::operator[](int const&)",
            "std::_Function_base::_Base_manager<Big>::_M_create<Big&>(std::_Any_data&, Big&)",
            "std::__shared_count<2>::__shared_count<Row*>(Row*)",
        ] {
            assert!(is_allocator(&name(text)), "{text}");
        }
        for text in [
            "std::map<int, int>::operator[](int const&)",
            "std::vector<int>::push_back(int)",
            "app::allocate(int)",
        ] {
            assert!(!is_allocator(&name(text)), "{text}");
        }
    }

    #[test]
    fn broken_names_are_spelled_somehow() {
        for text in [
            "",
            "<",
            ">",
            "a<b",
            "a<>>",
            "std::<",
            "<,,>::f",
            "ä<ü>::f()",
        ] {
            let _ = (
                spelled(text, 0),
                container(&name(text)),
                is_allocator(&name(text)),
            );
        }
        let deep = format!("{}{}", "a<".repeat(2000), ">".repeat(2000));
        assert!(spelled(&deep, 0).len() > 1000);
    }
}

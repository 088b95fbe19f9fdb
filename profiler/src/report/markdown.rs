//! Recorded text in Markdown for a comment on a pull request.
//!
//! A recorded name must never become mark-up: no link, no mention, no table cell of its own.

use std::fmt::Write as _;

use crate::units::printable;

/// Returns a recorded name in the type of code.
pub(crate) fn code(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!("<code>{}</code>", escape(&printable(name)))
    }
}

/// Returns the beginning of a recorded name in the type of code, at most `most` characters.
pub(crate) fn code_cut(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        Some((end, _)) => code(&format!("{}..", &name[..end])),
        None => code(name),
    }
}

/// Returns text with everything that Markdown or HTML might act on as character references.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '.' | ',' | ';' | '/' | '-' | '(' | ')' => {
                escaped.push(c);
            }
            c if !c.is_ascii() => escaped.push(c),
            // Infallible: writing to a String.
            c => drop(write!(escaped, "&#{};", u32::from(c))),
        }
    }
    // An address of the web becomes a link by itself.
    escaped.replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_becomes_markup() {
        let escaped = escape("a|b `c` <img> @user #1 [x](y) *z* _u_ https://x.y www.x.y");
        for mark in ['|', '`', '<', '>', '@', '[', '*', '_'] {
            assert!(!escaped.contains(mark), "{mark}: {escaped}");
        }
        assert!(
            !escaped.contains("://") && !escaped.contains("www."),
            "{escaped}"
        );
        assert_eq!(code(""), "");
    }

    #[test]
    fn long_names_are_cut_between_letters() {
        assert_eq!(
            code_cut("gr\u{f6}\u{df}e", 5),
            "<code>gr\u{f6}\u{df}e</code>"
        );
        assert_eq!(code_cut("gr\u{f6}\u{df}e", 3), "<code>gr\u{f6}..</code>");
    }
}

//! Splits names into words, separators and brackets. This is the only code that reads the text of a
//! name letter by letter; everything else works on tokens.
//!
//! Names come from files, so any text must give some tokens, in time proportional to its length.

use super::Language;
use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters, digits and `_`; in C++ also an operator's name, `operator<`.
    Word,
    /// `::`
    Separator,
    /// A lifetime: `'a`.
    Lifetime,
    /// One of `<([{`.
    Open,
    /// One of `>)]}`.
    Close,
    /// A space.
    Space,
    /// Any other letter; `->` and `=>`; a character or string constant.
    Other,
}

/// A token of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// The byte at which it starts.
    pub(crate) start: usize,
    /// The byte after it.
    pub(crate) end: usize,
    /// The index of the bracket that belongs to this one. The number of tokens if a bracket is
    /// never closed: then it holds the rest of the name. The token's own index if it has no
    /// partner, as the `<` of a comparison.
    partner: usize,
}

/// The tokens of a text.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    all: Vec<Token>,
}

/// The operators of C++ after the word `operator`, the longer of two that begin alike first.
const OPERATORS: [&str; 44] = [
    "()",
    "[]",
    "->*",
    "->",
    "<=>",
    "<<=",
    ">>=",
    "<<",
    ">>",
    "<=",
    ">=",
    "<",
    ">",
    "==",
    "!=",
    "&&",
    "||",
    "++",
    "--",
    "+=",
    "-=",
    "*=",
    "/=",
    "%=",
    "^=",
    "&=",
    "|=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "&",
    "|",
    "~",
    "!",
    "=",
    ",",
    " new[]",
    " new",
    " delete[]",
    " delete",
    " co_await",
];

/// The longest character constant, `'\u{10ffff}'`.
const LONGEST_CHARACTER: usize = 12;

pub(crate) fn is_in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the length of the word at the start of a text.
fn word_length(text: &str) -> usize {
    text.find(|letter| !is_in_word(letter))
        .unwrap_or(text.len())
}

impl<'a> Tokens<'a> {
    /// Splits a text into tokens and finds the partner of each bracket.
    pub(crate) fn new(text: &'a str, language: Language) -> Tokens<'a> {
        let mut all: Vec<Token> = Vec::with_capacity(text.len() / 4);
        // Brackets that are open, the innermost one last.
        let mut open: Vec<usize> = Vec::new();
        // A quote that is never closed would be searched for again and again.
        let mut may_quote = true;
        let mut start = 0;
        while let Some(next) = text.get(start..).and_then(|rest| rest.chars().next()) {
            let rest = &text[start..];
            let at = all.len();
            let mut partner = at;
            let (kind, length) = match next {
                '<' | '(' | '[' | '{' => {
                    open.push(at);
                    (Kind::Open, 1)
                }
                '>' | ')' | ']' | '}' => {
                    if let Some(of) = opened_by(text, next, &all, &mut open) {
                        partner = of;
                        all[of].partner = at;
                    }
                    (Kind::Close, 1)
                }
                ':' if rest.starts_with("::") => (Kind::Separator, 2),
                '-' | '=' if rest[1..].starts_with('>') => (Kind::Other, 2),
                // The arrow of `fn(u8) -> u8` in a legacy name, where `-` is not possible.
                '.' if rest.starts_with(".> ") && text[..start].ends_with(' ') => (Kind::Other, 2),
                ' ' => (Kind::Space, 1),
                '\'' => quoted_letter(rest),
                '"' if may_quote => match quoted_text(rest) {
                    Some(length) => (Kind::Other, length),
                    None => {
                        may_quote = false;
                        (Kind::Other, 1)
                    }
                },
                _ => match word_length(rest) {
                    0 => (Kind::Other, next.len_utf8()),
                    length if language == Language::Cpp && &rest[..length] == "operator" => {
                        let symbol = OPERATORS.iter().find(|of| rest[length..].starts_with(**of));
                        (Kind::Word, length + symbol.map_or(0, |symbol| symbol.len()))
                    }
                    length => (Kind::Word, length),
                },
            };
            all.push(Token {
                kind,
                start,
                end: start + length,
                partner,
            });
            start += length;
        }
        for at in open {
            all[at].partner = all.len();
        }
        Tokens { text, all }
    }

    /// All tokens, by index.
    pub(crate) fn all(&self) -> &[Token] {
        &self.all
    }

    /// The text of a token.
    pub(crate) fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.start..token.end]
    }

    /// The text of some tokens.
    pub(crate) fn text(&self, tokens: Range<usize>) -> &'a str {
        match self.all.get(tokens.clone()) {
            Some([first, .., last]) => &self.text[first.start..last.end],
            Some([only]) => self.text_of(*only),
            _ => "",
        }
    }

    /// Returns `true` if the token at an index is this text.
    pub(crate) fn is(&self, at: usize, text: &str) -> bool {
        self.all
            .get(at)
            .is_some_and(|&token| self.text_of(token) == text)
    }

    /// The tokens inside the bracket at an index; `None` if no bracket opens there.
    pub(crate) fn inside(&self, at: usize) -> Option<Range<usize>> {
        let token = self.all.get(at)?;
        (token.kind == Kind::Open && token.partner > at).then_some(at + 1..token.partner)
    }

    /// Returns `true` if the bracket at an index is closed.
    pub(crate) fn is_closed(&self, at: usize) -> bool {
        self.all
            .get(at)
            .is_some_and(|token| token.partner < self.all.len())
    }

    /// Returns `true` for a bracket that belongs to one before it.
    pub(crate) fn is_partner(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|token| token.partner < at)
    }

    /// The index after a token, or after the bracket that opens with it.
    pub(crate) fn after(&self, at: usize) -> usize {
        self.inside(at).map_or(at, |inside| inside.end) + 1
    }

    /// The tokens of a range that are outside all brackets in it, with their indexes. Of what is in
    /// brackets, only the opening bracket is among them.
    pub(crate) fn outermost(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Token)> {
        let mut next = range.start;
        let end = range.end.min(self.all.len());
        std::iter::from_fn(move || {
            let at = next;
            let token = *self.all.get(..end)?.get(at)?;
            next = self.after(at);
            Some((at, token))
        })
    }

    /// The indexes of a word between two spaces, such as `as`, outside all brackets of a range.
    fn lone_word(&self, range: Range<usize>, word: &str) -> Option<usize> {
        let mut outermost = self.outermost(range.clone());
        let is_space = |at: usize| self.is(at, " ");
        let found = outermost.find(|&(at, token)| {
            token.kind == Kind::Word
                && self.text_of(token) == word
                && at > range.start
                && is_space(at - 1)
                && is_space(at + 1)
        });
        found.map(|(at, _)| at)
    }

    /// The two sides of a word that stands between spaces, outside all brackets of a range: `T` and
    /// `Trait` of `T as Trait`.
    pub(crate) fn split_at_word(
        &self,
        range: Range<usize>,
        word: &str,
    ) -> Option<(&'a str, &'a str)> {
        let at = self.lone_word(range.clone(), word)?;
        let (before, after) = (range.start..at - 1, at + 2..range.end.min(self.all.len()));
        Some((self.text(before), self.text(after)))
    }
}

/// Returns the index of the bracket that a closing one belongs to. A `<` inside other brackets that
/// are closed before it is a comparison and has no partner.
fn opened_by(text: &str, close: char, all: &[Token], open: &mut Vec<usize>) -> Option<usize> {
    let wanted = match close {
        '>' => b'<',
        ')' => b'(',
        ']' => b'[',
        _ => b'{',
    };
    let bracket = |at: usize| text.as_bytes()[all[at].start];
    while let Some(&last) = open.last() {
        if bracket(last) == wanted {
            return open.pop();
        }
        if bracket(last) != b'<' {
            return None;
        }
        open.pop();
    }
    None
}

/// The token at a `'`: a lifetime, a character constant, or the quote alone.
fn quoted_letter(text: &str) -> (Kind, usize) {
    let inside = &text[1..];
    if inside.starts_with('\\') {
        let end = inside
            .char_indices()
            .skip(2)
            .take(LONGEST_CHARACTER)
            .find(|&(_, letter)| letter == '\'');
        return (Kind::Other, end.map_or(1, |(at, _)| at + 2));
    }
    let mut letters = inside.chars();
    if let (Some(letter), Some('\'')) = (letters.next(), letters.next()) {
        return (Kind::Other, letter.len_utf8() + 2);
    }
    match word_length(inside) {
        0 => (Kind::Other, 1),
        length => (Kind::Lifetime, length + 1),
    }
}

/// Returns the length of the string constant at a `"`, or `None` if it is never closed.
fn quoted_text(text: &str) -> Option<usize> {
    let mut is_escaped = true;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

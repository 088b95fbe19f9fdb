//! Patterns over field paths, types, owners and phases.
//!
//! `*` matches any characters within one step (not `.`, `:` or `>`), and `**` matches any
//! characters. `\` takes the next character literally. All other characters, including square
//! brackets and braces, match themselves. A pattern matches a whole name.

/// Characters of the longest pattern.
const LONGEST: usize = 500;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    One(char),
    /// Any characters of one step.
    Step,
    /// Any characters.
    Any,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Returns a sentence if the pattern is empty or too long.
    pub fn new(text: &str) -> Result<Pattern, String> {
        if text.is_empty() {
            return Err("a pattern is empty: write ** for everything".to_owned());
        }
        if text.chars().count() > LONGEST {
            return Err(format!(
                "a pattern is longer than {LONGEST} characters: shorten it with **"
            ));
        }
        let mut parts = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '*' if chars.next_if_eq(&'*').is_some() => Part::Any,
                '*' => Part::Step,
                '\\' => Part::One(chars.next().unwrap_or('\\')),
                c => Part::One(c),
            });
        }
        Ok(Pattern {
            text: text.to_owned(),
            parts,
        })
    }

    /// Returns the text of the pattern.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the pattern matches the whole name. The work is bounded by the product of
    /// both lengths.
    pub fn matches(&self, name: &str) -> bool {
        // Whether the first parts match what was read of the name.
        let mut reached = vec![false; self.parts.len() + 1];
        reached[0] = true;
        self.skip_empty(&mut reached);
        for c in name.chars() {
            let mut next = vec![false; reached.len()];
            for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| reached[*at]) {
                match part {
                    Part::One(one) => next[at + 1] |= *one == c,
                    Part::Step => next[at] |= !matches!(c, '.' | ':' | '>'),
                    Part::Any => next[at] = true,
                }
            }
            self.skip_empty(&mut next);
            reached = next;
        }
        reached.last().copied().unwrap_or(false)
    }

    /// `*` and `**` stand for nothing too.
    fn skip_empty(&self, reached: &mut [bool]) {
        for (at, part) in self.parts.iter().enumerate() {
            if reached[at] && !matches!(part, Part::One(_)) {
                reached[at + 1] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).expect("a pattern").matches(name)
    }

    #[test]
    fn a_star_stays_within_a_step_and_two_do_not() {
        let path = "Fleet.vessels[].crew[].first";
        assert!(matches(path, path));
        assert!(matches("Fleet.*.*.first", path));
        assert!(!matches("Fleet.*.first", path));
        assert!(matches("Fleet.**.first", path));
        assert!(matches("**", path));
        assert!(matches("Fleet.vessels**", "Fleet.vessels"));
        assert!(!matches("Fleet", path));
        assert!(!matches("vessels[]", path));
        assert!(matches("shop::*", "shop::parse"));
        assert!(!matches("shop::*", "shop::load::parse"));
        assert!(matches("HashMap<*>", "HashMap<String, String>"));
        assert!(matches("load > *", "load > parse"));
        assert!(!matches("*", "load > parse"));
    }

    #[test]
    fn a_backslash_takes_the_next_character_as_it_is() {
        assert!(matches(r"\*const u8", "*const u8"));
        assert!(!matches(r"\*const u8", "x const u8"));
        assert!(matches("a\\", "a\\"));
    }

    #[test]
    fn patterns_that_are_empty_or_too_long_are_refused() {
        assert!(Pattern::new("").is_err());
        assert!(Pattern::new(&"*".repeat(501)).is_err());
        // The worst that is taken is read in a moment: no backtracking.
        assert!(!matches(&"**a".repeat(166), &"a".repeat(100)));
    }
}

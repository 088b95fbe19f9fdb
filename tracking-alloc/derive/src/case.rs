//! `rename_all`: the cases of serde, with the same results.

/// A case for names. Fields are written in snake case, variants in camel case.
#[derive(Clone, Copy)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

/// The values of the attribute, in the order of [`Case`].
const NAMES: [(&str, Case); 8] = [
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("kebab-case", Case::Kebab),
    ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
];

impl Case {
    /// Returns the case with that name, or a message that lists all names.
    pub(crate) fn named(name: &str) -> Result<Case, String> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, case)| *case)
            .ok_or_else(|| {
                let known: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
                format!("`{name}` is no case; there are {}", known.join(", "))
            })
    }

    /// Converts the name of a field.
    pub(crate) fn of_field(self, field: &str) -> String {
        match self {
            Case::Lower | Case::Snake => field.to_owned(),
            Case::Upper | Case::ScreamingSnake => field.to_ascii_uppercase(),
            Case::Pascal => field
                .split('_')
                .map(|word| first(word, char::to_ascii_uppercase))
                .collect(),
            Case::Camel => first(&Case::Pascal.of_field(field), char::to_ascii_lowercase),
            Case::Kebab => field.replace('_', "-"),
            Case::ScreamingKebab => Case::Upper.of_field(field).replace('_', "-"),
        }
    }

    /// Converts the name of a variant.
    pub(crate) fn of_variant(self, variant: &str) -> String {
        match self {
            Case::Pascal => variant.to_owned(),
            Case::Lower => variant.to_ascii_lowercase(),
            Case::Upper => variant.to_ascii_uppercase(),
            Case::Camel => first(variant, char::to_ascii_lowercase),
            Case::Snake | Case::ScreamingSnake | Case::Kebab | Case::ScreamingKebab => {
                let mut snake = String::new();
                for (index, letter) in variant.char_indices() {
                    if index > 0 && letter.is_uppercase() {
                        snake.push('_');
                    }
                    snake.push(letter.to_ascii_lowercase());
                }
                self.of_field(&snake)
            }
        }
    }
}

/// Returns the word with its first letter changed.
fn first(word: &str, change: fn(&char) -> char) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| change(&letter));
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_those_of_serde() {
        let all = |of: &dyn Fn(Case) -> String| NAMES.map(|(_, case)| of(case));
        assert_eq!(
            all(&|case| case.of_field("host_status")),
            [
                "host_status",
                "HOST_STATUS",
                "HostStatus",
                "hostStatus",
                "host_status",
                "HOST_STATUS",
                "host-status",
                "HOST-STATUS"
            ]
        );
        assert_eq!(
            all(&|case| case.of_variant("VeryTasty")),
            [
                "verytasty",
                "VERYTASTY",
                "VeryTasty",
                "veryTasty",
                "very_tasty",
                "VERY_TASTY",
                "very-tasty",
                "VERY-TASTY"
            ]
        );
    }
}

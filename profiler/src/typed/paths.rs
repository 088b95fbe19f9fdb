//! Paths: the place of a block in what holds it, such as `Catalog.products[]`.
//!
//! A step leads from one block to the next. A path is a list of steps, kept as the number of the
//! path before and the last step. If values of a type are on the path already, it folds back to
//! where they were first, so that a tree has as many paths as its type has fields.

use super::types::TypeId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A step, by its number. 0 is none.
pub(super) type StepId = u32;

/// Paths beyond this number are `..`.
const MOST_PATHS: usize = 1 << 16;
/// So are paths with more steps.
const MOST_STEPS: usize = 48;
/// The path that stands for those.
const BEYOND: u32 = 1;

/// From a block to another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Step {
    /// The type of the values in the holder. 0: the path begins at the owner, a static or a
    /// future, whatever holds the block.
    of: TypeId,
    /// The name of the type, static or future.
    owner: Arc<str>,
    text: Arc<str>,
}

/// All steps.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<Step>,
    numbers: FxHashMap<Step, StepId>,
}

impl Steps {
    pub(super) fn number(&mut self, of: TypeId, owner: &str, text: &str) -> StepId {
        let step = Step {
            of,
            owner: owner.into(),
            text: text.into(),
        };
        let next = self.steps.len() as StepId + 1;
        let number = *self.numbers.entry(step.clone()).or_insert(next);
        if number == next {
            self.steps.push(step);
        }
        number
    }

    fn get(&self, step: StepId) -> Option<&Step> {
        self.steps.get((step as usize).checked_sub(1)?)
    }
}

/// The paths that blocks have. 0 is none.
#[derive(Debug)]
pub(super) struct Paths {
    /// The path before, and the step.
    paths: Vec<(u32, StepId)>,
    numbers: FxHashMap<(u32, StepId), u32>,
}

impl Default for Paths {
    fn default() -> Paths {
        Paths {
            paths: vec![(0, 0), (0, 0)],
            numbers: FxHashMap::default(),
        }
    }
}

impl Paths {
    /// Returns the number of paths.
    pub(super) fn len(&self) -> usize {
        self.paths.len() - 2
    }

    /// Returns the path one step on.
    pub(super) fn after(&mut self, steps: &Steps, path: u32, step: StepId) -> u32 {
        let Some(this) = steps.get(step) else {
            return 0;
        };
        let before = if this.of == 0 { 0 } else { path };
        if this.text.is_empty() && before != 0 || before == BEYOND {
            return before;
        }
        if let Some(number) = self.numbers.get(&(before, step)) {
            return *number;
        }
        let first = self.first(steps, before, this.of);
        let number = match first {
            Some(first) if first != before => self.after(steps, first, step),
            Some(_) if self.paths.len() < MOST_PATHS => {
                self.paths.push((before, step));
                self.paths.len() as u32 - 1
            }
            _ => BEYOND,
        };
        if self.numbers.len() < 4 * MOST_PATHS {
            self.numbers.insert((before, step), number);
        }
        number
    }

    /// Returns the part of a path at which it first came to values of a type. Returns `None` if the
    /// path has too many steps.
    fn first(&self, steps: &Steps, path: u32, of: TypeId) -> Option<u32> {
        let mut first = path;
        let mut at = path;
        for _ in 0..MOST_STEPS {
            if at == 0 {
                return Some(first);
            }
            let (before, step) = self.paths[at as usize];
            if of != 0 && steps.get(step).is_some_and(|step| step.of == of) {
                first = before;
            }
            at = before;
        }
        None
    }

    /// Returns a path for people.
    pub(super) fn text(&self, steps: &Steps, path: u32) -> String {
        if path == BEYOND {
            return "..".to_owned();
        }
        let mut all = Vec::new();
        let mut at = path;
        while at != 0 {
            let Some(&(before, step)) = self.paths.get(at as usize) else {
                break;
            };
            all.extend(steps.get(step));
            at = before;
        }
        let mut text = String::new();
        for step in all.iter().rev() {
            if text.is_empty() {
                text.push_str(&step.owner);
            }
            // `map{}` and `{key}` are `map{key}`.
            if step.text.starts_with("{key}") && text.ends_with("{}") {
                text.truncate(text.len() - 2);
            }
            text.push_str(&step.text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_folds_back_to_where_a_type_was_first() {
        let (mut steps, mut paths) = (Steps::default(), Paths::default());
        let root = steps.number(1, "Catalog", ".tree");
        let children = steps.number(2, "Tree", ".children[]");
        let left = steps.number(2, "Tree", ".left");
        let name = steps.number(2, "Tree", ".name");
        let root = paths.after(&steps, 0, root);
        let first = paths.after(&steps, root, children);
        assert_eq!(paths.after(&steps, first, children), first);
        let left = paths.after(&steps, first, left);
        assert_eq!(paths.text(&steps, left), "Catalog.tree.left");
        let name = paths.after(&steps, left, name);
        assert_eq!(paths.text(&steps, name), "Catalog.tree.name");
    }

    #[test]
    fn keys_take_the_place_of_values() {
        let (mut steps, mut paths) = (Steps::default(), Paths::default());
        let map = steps.number(1, "A", ".map{}");
        let key = steps.number(2, "(K, V)", "{key}");
        let map = paths.after(&steps, 0, map);
        let key = paths.after(&steps, map, key);
        assert_eq!(paths.text(&steps, key), "A.map{key}");
    }

    #[test]
    fn paths_are_bounded() {
        let (mut steps, mut paths) = (Steps::default(), Paths::default());
        let mut path = 0;
        for number in 1..60 {
            let step = steps.number(number, "A", &format!(".{number}"));
            path = paths.after(&steps, path, step);
        }
        assert_eq!(paths.text(&steps, path), "..");
        for number in 0..MOST_PATHS + 10 {
            let step = steps.number(1, "B", &format!(".{number}"));
            path = paths.after(&steps, 0, step);
        }
        assert_eq!(path, BEYOND);
    }
}

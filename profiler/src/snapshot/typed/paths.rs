//! Paths: the place of a block in what holds it, such as `Catalog.products[]`.
//!
//! A step leads from one block to the next. A path is a list of steps, kept as the number of the
//! path before and the last step. A step that a path already has leads back to that part of the
//! path, so that a tree has as many paths as a type that refers to itself has fields.

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
    /// The type of the holder, or the name of a static or future.
    owner: Arc<str>,
    text: Arc<str>,
    /// The path begins at the owner, whatever holds the block.
    is_root: bool,
}

/// All steps.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<Step>,
    numbers: FxHashMap<Step, StepId>,
}

impl Steps {
    pub(super) fn number(&mut self, owner: &str, text: &str, is_root: bool) -> StepId {
        let step = Step {
            owner: owner.into(),
            text: text.into(),
            is_root,
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
        let before = if this.is_root { 0 } else { path };
        if this.text.is_empty() && before != 0 || before == BEYOND {
            return before;
        }
        if let Some(number) = self.numbers.get(&(before, step)) {
            return *number;
        }
        let number = self.add(before, step);
        if self.numbers.len() < 4 * MOST_PATHS {
            self.numbers.insert((before, step), number);
        }
        number
    }

    fn add(&mut self, before: u32, step: StepId) -> u32 {
        let mut at = before;
        for _ in 0..MOST_STEPS {
            if at == 0 {
                if self.paths.len() >= MOST_PATHS {
                    return BEYOND;
                }
                self.paths.push((before, step));
                return self.paths.len() as u32 - 1;
            }
            let (next, own) = self.paths[at as usize];
            if own == step {
                return at;
            }
            at = next;
        }
        BEYOND
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
    fn a_step_that_is_on_the_path_leads_back() {
        let (mut steps, mut paths) = (Steps::default(), Paths::default());
        let tree = steps.number("Catalog", ".tree", false);
        let children = steps.number("Tree", ".children[]", false);
        let name = steps.number("Tree", ".name", false);
        let tree = paths.after(&steps, 0, tree);
        let first = paths.after(&steps, tree, children);
        assert_eq!(paths.after(&steps, first, children), first);
        let name = paths.after(&steps, first, name);
        assert_eq!(paths.text(&steps, name), "Catalog.tree.children[].name");
    }

    #[test]
    fn keys_take_the_place_of_values() {
        let (mut steps, mut paths) = (Steps::default(), Paths::default());
        let map = steps.number("A", ".map{}", false);
        let key = steps.number("(K, V)", "{key}", false);
        let map = paths.after(&steps, 0, map);
        let key = paths.after(&steps, map, key);
        assert_eq!(paths.text(&steps, key), "A.map{key}");
    }

    #[test]
    fn paths_are_bounded() {
        let (mut steps, mut paths) = (Steps::default(), Paths::default());
        let mut path = 0;
        for number in 0..60 {
            let step = steps.number("A", &format!(".{number}"), false);
            path = paths.after(&steps, path, step);
        }
        assert_eq!(paths.text(&steps, path), "..");
        for number in 0..MOST_PATHS + 10 {
            let step = steps.number("B", &format!(".{number}"), false);
            path = paths.after(&steps, 0, step);
        }
        assert_eq!(path, BEYOND);
    }
}

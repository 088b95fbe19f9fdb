//! Values numbered in the order they were first seen.

use std::collections::HashMap;
use std::hash::Hash;

/// Distinct values and their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Interned<T> {
    pub(crate) values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Interned {
            values: Vec::new(),
            numbers: HashMap::default(),
        }
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    pub(crate) fn new() -> Self {
        Interned::default()
    }

    /// The number of a value, an index into [`values`](Interned::values).
    pub(crate) fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

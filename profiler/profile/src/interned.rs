//! Values numbered in the order they were first seen.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// Distinct values and their numbers.
#[derive(Clone, Debug)]
pub struct Interned<T, S = RandomState> {
    /// The values, each at its number.
    pub values: Vec<T>,
    numbers: HashMap<T, u32, S>,
}

impl<T, S: Default> Default for Interned<T, S> {
    fn default() -> Self {
        Interned {
            values: Vec::new(),
            numbers: HashMap::default(),
        }
    }
}

impl<T> Interned<T> {
    /// Creates an empty list.
    pub fn new() -> Self {
        Interned::default()
    }
}

impl<T: Clone + Eq + Hash, S: BuildHasher> Interned<T, S> {
    /// Returns the number of a value, an index into [`values`](Interned::values).
    pub fn number(&mut self, value: T) -> u32 {
        match self.numbers.get(&value) {
            Some(number) => *number,
            None => self.add(value),
        }
    }

    /// Returns the number of a value, and creates the value only if it is new.
    pub fn number_of<Q>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = T> + ?Sized,
    {
        match self.numbers.get(value) {
            Some(number) => *number,
            None => self.add(value.to_owned()),
        }
    }

    /// The entry of a value in a list that has one for each number: begun where the value is new.
    pub fn entry<'l, E: Default>(&mut self, list: &'l mut Vec<E>, value: T) -> &'l mut E {
        let number = self.number(value) as usize;
        if number == list.len() {
            list.push(E::default());
        }
        &mut list[number]
    }

    fn add(&mut self, value: T) -> u32 {
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

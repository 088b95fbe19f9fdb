//! What the tasks of `fields tasks` read: the program makes it, a test knows it.

use serde::{Deserialize, Serialize};

/// How often each task reads its data.
pub const ROUNDS: usize = 3;

/// What a task reads: lengths follow from its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// `1 + number % 40` bytes.
    pub name: String,
    /// `1 + number % 10` texts, the one at `i` of `1 + (number + i) % 30` bytes.
    pub items: Vec<String>,
}

impl Job {
    /// The job of a task.
    pub fn of(number: usize) -> Job {
        let text = |length: usize| "x".repeat(length);
        Job {
            name: text(1 + number % 40),
            items: (0..1 + number % 10)
                .map(|index| text(1 + (number + index) % 30))
                .collect(),
        }
    }
}

//! The data that the tasks of `fields tasks` read. The program generates it, and a test knows it.

use serde::{Deserialize, Serialize};

/// Number of times that each task reads its data.
pub const ROUNDS: usize = 3;

/// The data of a task. Its lengths follow from the task's number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// `1 + number % 40` bytes.
    pub name: String,
    /// `1 + number % 10` texts. The text at `i` has `1 + (number + i) % 30` bytes.
    pub items: Vec<String>,
}

impl Job {
    /// Returns the job of a task.
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

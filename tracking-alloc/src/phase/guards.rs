//! The phase guards of a thread. They may be dropped in any order: `phase = phase("next")` creates
//! the new guard before it drops the old one.
//!
//! Never allocates. Guards beyond the available room must be dropped innermost first.

use std::cell::Cell;

/// Maximum number of guards at once.
const ROOM: usize = 32;

#[derive(Clone, Copy)]
struct Guard {
    number: u32,
    /// The scope of its phase.
    scope: u32,
    /// The scope to which the thread returns when this guard is dropped as the innermost.
    before: u32,
}

/// The guards of one thread, outermost first.
pub(super) struct Guards {
    open: [Cell<Guard>; ROOM],
    len: Cell<usize>,
    last: Cell<u32>,
}

impl Guards {
    pub(super) const fn new() -> Self {
        Guards {
            open: [const {
                Cell::new(Guard {
                    number: 0,
                    scope: 0,
                    before: 0,
                })
            }; ROOM],
            len: Cell::new(0),
            last: Cell::new(0),
        }
    }

    /// Adds the guard of a phase, created in the scope `before`. Returns its number, or 0 if there
    /// is no room.
    pub(super) fn push(&self, scope: u32, before: u32) -> u32 {
        let len = self.len.get();
        let Some(place) = self.open.get(len) else {
            return 0;
        };
        // 0 means none, also after the numbers wrap.
        let number = self.last.get().wrapping_add(1).max(1);
        self.last.set(number);
        place.set(Guard {
            number,
            scope,
            before,
        });
        self.len.set(len + 1);
        number
    }

    /// Returns `true` if a guard of that phase exists.
    pub(super) fn has(&self, scope: u32) -> bool {
        let len = self.len.get().min(ROOM);
        self.open[..len]
            .iter()
            .any(|guard| guard.get().scope == scope)
    }

    /// Returns a mark of this moment for [`suspend_since`](Guards::suspend_since).
    pub(super) fn mark(&self) -> u32 {
        self.last.get()
    }

    /// Forgets the guards created since `mark`: their future keeps them, and this thread leaves the
    /// future.
    pub(super) fn suspend_since(&self, mark: u32) {
        let mut len = self.len.get().min(ROOM);
        // The numbers may have wrapped in between.
        while len > 0 && self.open[len - 1].get().number.wrapping_sub(mark) as i32 > 0 {
            len -= 1;
        }
        self.len.set(len);
    }

    /// Drops a guard. Returns the scope to which its thread returns. Returns `None` if a later
    /// guard still exists: the thread stays in its scope, and leaves both phases when that guard is
    /// dropped. Also returns `None` for a suspended guard, because its thread has already left it.
    pub(super) fn drop(&self, number: u32, before: u32) -> Option<u32> {
        let len = self.len.get().min(ROOM);
        let open = &self.open[..len];
        let Some(at) = open.iter().rposition(|guard| guard.get().number == number) else {
            return (number == 0).then_some(before);
        };
        let before = open[at].get().before;
        for at in at + 1..len {
            open[at - 1].set(open[at].get());
        }
        self.len.set(len - 1);
        if at + 1 == len {
            return Some(before);
        }
        // The next guard now returns to the scope before this guard.
        let next = open[at].get();
        open[at].set(Guard { before, ..next });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_dropped_innermost_first_go_back_step_by_step() {
        let guards = Guards::new();
        let (outer, inner) = (guards.push(100 + 1, 1), guards.push(100 + 2, 2));
        assert_eq!(guards.drop(inner, 2), Some(2));
        assert_eq!(guards.drop(outer, 1), Some(1));
        assert_eq!(guards.len.get(), 0);
    }

    #[test]
    fn guards_dropped_in_any_order_end_where_the_first_began() {
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let guards = Guards::new();
            // Each phase has the number of its guard; the outermost scope is 7.
            let numbers = [
                guards.push(100 + 7, 7),
                guards.push(100 + 1, 1),
                guards.push(100 + 2, 2),
            ];
            let before = [7, 1, 2];
            let mut scope = 3;
            for at in order {
                if let Some(back) = guards.drop(numbers[at], before[at]) {
                    scope = back;
                }
            }
            assert_eq!((scope, guards.len.get()), (7, 0), "{order:?}");
        }
    }

    #[test]
    fn a_guard_that_was_suspended_sends_its_thread_nowhere() {
        let guards = Guards::new();
        let outer = guards.push(100 + 1, 1);
        let mark = guards.mark();
        let (held, dropped) = (guards.push(100 + 2, 2), guards.push(100 + 3, 3));
        assert_eq!(guards.drop(dropped, 3), Some(3));
        guards.suspend_since(mark);
        assert_eq!(guards.drop(held, 2), None);
        assert_eq!(guards.drop(outer, 1), Some(1));
        assert_eq!(guards.len.get(), 0);
    }

    #[test]
    fn a_phase_is_known_while_one_of_its_guards_exists() {
        let guards = Guards::new();
        let (outer, inner) = (guards.push(5, 0), guards.push(6, 5));
        assert_eq!(
            [5, 6, 7].map(|scope| guards.has(scope)),
            [true, true, false]
        );
        assert_eq!(guards.drop(outer, 0), None);
        assert_eq!([5, 6].map(|scope| guards.has(scope)), [false, true]);
        assert_eq!(guards.drop(inner, 5), Some(0));
        assert!(!guards.has(6));
    }

    #[test]
    fn guards_beyond_the_room_go_back_to_where_they_were_made() {
        let guards = Guards::new();
        let numbers: Vec<u32> = (0..40)
            .map(|before| guards.push(100 + before, before))
            .collect();
        assert_eq!(numbers[ROOM..], [0; 8]);
        for before in (0..40).rev() {
            assert_eq!(guards.drop(numbers[before as usize], before), Some(before));
        }
    }
}

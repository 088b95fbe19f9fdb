//! Replaces addresses of functions in the registers and on the stacks of all threads. Compilers
//! load a slot before a loop, and a thread inside would go on calling the old function.

use crate::calls::{Calls, call_failed};
use crate::error::Error;
use crate::frame::{FS_BASE, RSP};
use crate::program::Program;
use crate::ptrace::{self, Words};
use crate::threads;
use std::time::{Duration, Instant};

/// Registers that may have the address of a function: all but the instruction pointer, flags and
/// segments.
const GENERAL: usize = 15;
/// Bytes of a stack that are searched for such addresses, and what lies below the stack pointer.
const MOST_STACK: u64 = 1 << 20;
const RED_ZONE: u64 = 128;
/// The longest time for all threads together, and for one of them. The thread that makes the calls
/// is stopped meanwhile.
const LONGEST: Duration = Duration::from_secs(5);
const LONGEST_OF_ONE: Duration = Duration::from_secs(1);

/// Replaces addresses in all threads. Returns the number of those that could not be stopped in
/// time.
pub(crate) fn addresses(calls: &mut Calls<'_>, pairs: &[[u64; 2]]) -> Result<u32, Error> {
    // There may be new stacks.
    let program = calls.program_now()?;
    let end = Instant::now() + LONGEST;
    let mut unchanged = 0;
    for id in threads::ids(program.process)? {
        if id == calls.thread() {
            continue;
        }
        let now = Instant::now();
        if now >= end {
            unchanged += 1;
            continue;
        }
        let end_of_one = end.min(now + LONGEST_OF_ONE);
        let stopped = match calls.stop_other(id, &program, end_of_one) {
            Ok(Some(stopped)) => stopped,
            // It has ended.
            Ok(None) => continue,
            // The kernel cannot stop it now. It goes on when it stops later.
            Err(_) => {
                unchanged += 1;
                continue;
            }
        };
        let mut words = stopped.threads[0].words;
        if replace_in(&mut words, &program, pairs) {
            ptrace::set_registers(id, &words).map_err(call_failed)?;
        }
    }
    calls.change_registers(|words| replace_in(words, &program, pairs))?;
    Ok(unchanged)
}

/// Replaces addresses in the registers and on the stack of a thread. Returns `true` if registers
/// changed.
fn replace_in(words: &mut Words, program: &Program, pairs: &[[u64; 2]]) -> bool {
    let new = |word: u64| {
        let mut pairs = pairs.iter();
        pairs.find(|[from, _]| *from == word).map(|[_, to]| *to)
    };
    let mut is_changed = false;
    for word in &mut words[..GENERAL] {
        if let Some(to) = new(*word) {
            *word = to;
            is_changed = true;
        }
    }
    let start = words[RSP].saturating_sub(RED_ZONE) & !7;
    // Other memory may follow the stack in its mapping. Of threads but the first, the description
    // lies at the stack's end.
    let end = program.end_of_mapping(words[RSP]);
    let end = match words[FS_BASE] {
        description if start < description && description < end => description,
        _ => end,
    };
    let end = end.min(start.saturating_add(MOST_STACK));
    let mut stack = vec![0; end.saturating_sub(start) as usize];
    if program.read(start, &mut stack).is_ok() {
        let (stack, _) = stack.as_chunks::<8>();
        for (at, bytes) in (start..).step_by(8).zip(stack) {
            let Some(to) = new(u64::from_le_bytes(*bytes)) else {
                continue;
            };
            let mut now = [0; 8];
            if program.read(at, &mut now).is_ok() && now == *bytes {
                // Without it, frees of that thread are missed.
                let _ = program.write(at, &to.to_le_bytes());
            }
        }
    }
    is_changed
}

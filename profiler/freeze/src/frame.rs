//! The frame of a signal that makes a thread go on where it was, whatever becomes of its tracer.
//!
//! The kernel's `rt_sigreturn` reads all registers of a thread from its stack. A frame below the
//! stack pointer (and below the 128 bytes that a function may use there) begins with the address of
//! libc's two instructions that call it. So `syscall; ret` with the stack pointer at the frame is a
//! system call after which the thread goes on as if nothing had been.
//!
//! The layout is that of `struct rt_sigframe` in Linux for x86-64, with the state of the vector
//! registers as `xsave` has it.

use crate::ptrace::Words;
use std::ops::Range;

/// The places of registers in [`Words`].
pub(crate) const RBX: usize = 5;
pub(crate) const RAX: usize = 10;
pub(crate) const RDI: usize = 14;
pub(crate) const ORIGINAL_RAX: usize = 15;
pub(crate) const RIP: usize = 16;
pub(crate) const RSP: usize = 19;
pub(crate) const FS_BASE: usize = 21;
/// The places of the arguments of a system call.
pub(crate) const ARGUMENTS: [usize; 6] = [14, 13, 12, 7, 9, 8];
const CS: usize = 17;
pub(crate) const FLAGS: usize = 18;
const SS: usize = 20;
/// The registers in the order of `sigcontext`, up to `eflags`.
const CONTEXT: [usize; 18] = [9, 8, 7, 6, 3, 2, 1, 0, 14, 13, 4, 5, 12, 10, 11, 19, 16, 18];

/// Bytes below the stack pointer that a function may use.
const RED_ZONE: u64 = 128;
/// `rt_sigframe`: the address that `ret` takes, `ucontext` and `siginfo`.
const FRAME_BYTES: usize = 440;
const CONTEXT_AT: usize = 48;
const MASK_AT: usize = 304;
/// Flags of `ucontext`: the state has vector registers, and `ss` is to be set as it is.
const CONTEXT_FLAGS: u64 = 7;
/// Flags of an alternative stack that the kernel does not know, so it changes nothing about it.
const NO_STACK: u64 = 0x7fff_ffff;
/// The magic numbers around the state of vector registers, and the place of the first.
const MAGIC: u32 = 0x4650_5853;
const MAGIC_END: u32 = 0x4650_5845;
const MAGIC_AT: usize = 464;
/// The place of the features that the state has, and its bytes without any.
const FEATURES_AT: usize = 512;
const LEAST_STATE: usize = 576;
/// The feature whose state a program must ask for (tiles of AMX).
const ASKED_FOR: u32 = 18;

/// Results of system calls that the kernel starts again.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];

/// Frames on the stack of a thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    /// The addresses of the bytes.
    pub(crate) range: Range<u64>,
    pub(crate) bytes: Vec<u8>,
    /// The stack pointer of the thread.
    pub(crate) own: u64,
    /// The stack pointer of a copy of it, which then ends itself.
    pub(crate) copy: u64,
}

/// Addresses of instructions in a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    /// `syscall; ret`
    pub(crate) system_call: u64,
    /// `mov $15, %rax; syscall`
    pub(crate) sigreturn: u64,
}

/// Returns the frames of a thread, below its stack pointer. `None` if the state of its vector
/// registers is not known.
pub(crate) fn frames(words: &Words, mask: u64, state: &[u8], at: Instructions) -> Option<Frames> {
    let state = signal_state(state)?;
    let end = words[RSP].checked_sub(RED_ZONE)?;
    let state_at = end.checked_sub(state.len() as u64)? & !63;
    let own = (state_at.checked_sub(FRAME_BYTES as u64)? & !15) - 8;
    let copy = own.checked_sub(RED_ZONE + FRAME_BYTES as u64)? & !15;
    let mut bytes = vec![0; (end - copy) as usize];
    let mut put = |place: u64, part: &[u8]| {
        let start = (place - copy) as usize;
        bytes[start..start + part.len()].copy_from_slice(part);
    };
    put(state_at, &state);
    put(own, &frame(&resumed(words), mask, state_at, at.sigreturn));
    let mut ending = *words;
    ending[RIP] = at.system_call;
    ending[RSP] = copy;
    ending[RAX] = libc::SYS_exit_group as u64;
    ending[RDI] = 0;
    put(copy, &frame(&ending, u64::MAX, 0, at.sigreturn));
    Some(Frames {
        range: copy..end,
        bytes,
        own,
        copy,
    })
}

/// Returns a frame that restores a thread, and its address, in memory that ends at `end`. `None` if
/// the state of its vector registers is not known.
pub(crate) fn restoring(
    words: &Words,
    mask: u64,
    state: &[u8],
    end: u64,
    at: Instructions,
) -> Option<(u64, Vec<u8>)> {
    let state = signal_state(state)?;
    let state_at = end.checked_sub(state.len() as u64)? & !63;
    let own = (state_at.checked_sub(FRAME_BYTES as u64)? & !15) - 8;
    let mut bytes = frame(&resumed(words), mask, state_at, at.sigreturn).to_vec();
    bytes.resize((state_at - own) as usize, 0);
    bytes.extend(state);
    Some((own, bytes))
}

/// Returns registers with which a thread goes on. A system call that was interrupted begins again,
/// which otherwise the kernel does.
fn resumed(words: &Words) -> Words {
    let mut words = *words;
    let is_system_call = words[ORIGINAL_RAX].cast_signed() >= 0;
    if is_system_call && RESTARTS.contains(&words[RAX].cast_signed()) {
        words[RAX] = words[ORIGINAL_RAX];
        words[RIP] = words[RIP].wrapping_sub(2);
    }
    words
}

fn frame(words: &Words, mask: u64, state_at: u64, sigreturn: u64) -> [u8; FRAME_BYTES] {
    let mut bytes = [0; FRAME_BYTES];
    let mut put = |at: usize, word: u64| {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    };
    put(0, sigreturn);
    put(8, CONTEXT_FLAGS);
    put(32, NO_STACK);
    for (number, register) in CONTEXT.into_iter().enumerate() {
        put(CONTEXT_AT + 8 * number, words[register]);
    }
    let selectors = (words[CS] & 0xffff) | (words[SS] << 48);
    put(CONTEXT_AT + 144, selectors);
    put(CONTEXT_AT + 184, state_at);
    put(MASK_AT, mask);
    debug_assert_eq!(CONTEXT[17], FLAGS);
    bytes
}

/// Returns the state of vector registers as a frame has it, from what ptrace tells.
fn signal_state(state: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| {
        let bytes = state.get(at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    };
    // The kernel tells there which features the machine has.
    let possible = word(MAGIC_AT)?;
    let used = word(FEATURES_AT)?;
    let is_left_out = |feature: &u32| *feature == ASKED_FOR && used & 1 << ASKED_FOR == 0;
    let features = (2..63).filter(|feature| possible & 1 << feature != 0);
    let features = features.filter(|feature| !is_left_out(feature));
    let bytes = features.map(end_of).max().unwrap_or(0).max(LEAST_STATE);
    let mut found = state.get(..bytes)?.to_vec();
    let asked_for = possible & 1 << ASKED_FOR;
    let features = possible & !asked_for | used;
    let mut put = |at: usize, part: &[u8]| found[at..at + part.len()].copy_from_slice(part);
    put(MAGIC_AT, &[0; 48]);
    put(MAGIC_AT, &MAGIC.to_le_bytes());
    put(MAGIC_AT + 4, &(bytes as u32 + 4).to_le_bytes());
    put(MAGIC_AT + 8, &features.to_le_bytes());
    put(MAGIC_AT + 16, &(bytes as u32).to_le_bytes());
    found.extend(MAGIC_END.to_le_bytes());
    Some(found)
}

/// Returns where the state of a feature ends.
fn end_of(feature: u32) -> usize {
    #[expect(unused_unsafe, reason = "older compilers want it")]
    // SAFETY: every processor for x86-64 has the instruction.
    let part = unsafe { std::arch::x86_64::__cpuid_count(0xd, feature) };
    (part.eax + part.ebx) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_system_call_begins_again_and_others_have_their_result() {
        let mut words = [0; crate::ptrace::REGISTERS];
        words[RIP] = 102;
        words[ORIGINAL_RAX] = 202;
        for result in RESTARTS {
            words[RAX] = result.cast_unsigned();
            let resumed = resumed(&words);
            assert_eq!((resumed[RIP], resumed[RAX]), (100, 202));
        }
        for (result, call) in [(7, 202), (-4_i64, 202), (-512, -1_i64)] {
            words[RAX] = result.cast_unsigned();
            words[ORIGINAL_RAX] = call.cast_unsigned();
            assert_eq!(resumed(&words), words);
        }
    }

    #[test]
    fn frames_lie_below_what_a_function_may_use_and_do_not_overlap() {
        let mut state = vec![0; 4096];
        state[MAGIC_AT] = 3;
        state[FEATURES_AT] = 3;
        let at = Instructions {
            system_call: 0x1000,
            sigreturn: 0x2000,
        };
        for low in 0..64 {
            let mut words = [0; crate::ptrace::REGISTERS];
            words[RSP] = 0x7000_0000 + low;
            let found = frames(&words, 0, &state, at).expect("frames");
            assert_eq!(found.range.end, words[RSP] - 128);
            assert_eq!(found.range.start, found.copy);
            assert!(found.copy + FRAME_BYTES as u64 <= found.own);
            let place = (found.own - found.copy) as usize + CONTEXT_AT + 184;
            let state_at = u64::from_le_bytes(*found.bytes[place..].first_chunk().expect("8"));
            assert!(state_at % 64 == 0 && found.own + FRAME_BYTES as u64 <= state_at);
            assert!(state_at + LEAST_STATE as u64 + 4 <= found.range.end);
        }
        assert_eq!(frames(&[0; crate::ptrace::REGISTERS], 0, &state, at), None);
    }
}

//! The registers of the thread that made a paused copy, in the memory of the copy.

/// The layout of the registers. The copy waits in a system call (`ppoll`) whose last argument, which
/// the call has no use for, is their address.
///
/// The first word is [`MAGIC`](CopyRegisters::MAGIC). On x86-64, a word for each register of
/// [`AMD64`](CopyRegisters::AMD64) follows. All are of one place in the code, where the program
/// counter is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CopyRegisters;

impl CopyRegisters {
    /// Tells the registers from other memory.
    pub const MAGIC: u64 = 0x7372_6574_7369_6765;
    /// The number of words.
    pub const WORDS: usize = 11;
    /// The registers on x86-64 by their numbers in DWARF: `rbx`, `rbp`, `r12` to `r15`, the stack
    /// pointer and the program counter.
    pub const AMD64: [usize; 8] = [3, 6, 12, 13, 14, 15, 7, 16];
}

const _: () = assert!(CopyRegisters::AMD64.len() < CopyRegisters::WORDS);

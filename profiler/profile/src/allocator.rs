//! The usable bytes that allocators give for a request.
//!
//! The formulas are those of processors with words of 64 bits, for requests up to 64 KiB that ask
//! for no alignment of more than 16 bytes. A test compares them with the allocators.

/// Larger requests may be mapped pages of their own, or depend on settings.
const MOST_BYTES: u64 = 64 << 10;

/// No request is larger.
const MOST_REQUESTED: u64 = 1 << 62;

/// An allocator whose size classes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Allocator {
    /// The `malloc` of glibc.
    Glibc,
    /// jemalloc with its default settings.
    Jemalloc,
    /// mimalloc without its debug or secure mode.
    Mimalloc,
}

impl Allocator {
    /// Returns its name: `glibc`, `jemalloc` or `mimalloc`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the allocator of a shared library by the library's file name.
    pub fn of_library(file: &str) -> Option<Allocator> {
        let is = |name: &str| {
            let rest = file.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        if is("libjemalloc") {
            Some(Allocator::Jemalloc)
        } else if is("libmimalloc") {
            Some(Allocator::Mimalloc)
        } else {
            None
        }
    }

    /// Returns the allocator with a name that a recording or a snapshot has. The allocator behind
    /// `System` or `libc malloc` may be another one than glibc's: the caller must know.
    pub fn of_name(name: &str) -> Option<Allocator> {
        match name {
            "std::alloc::System" | "libc malloc" | "glibc" => Some(Allocator::Glibc),
            "tikv_jemallocator::Jemalloc" | "jemallocator::Jemalloc" | "jemalloc" => {
                Some(Allocator::Jemalloc)
            }
            "mimalloc::MiMalloc" | "mimalloc" => Some(Allocator::Mimalloc),
            _ => None,
        }
    }

    /// Returns `true` if a block at an address with some usable bytes may be what the allocator
    /// gave for a request, of any size.
    pub fn may_give(self, requested: u64, usable: u64, address: u64) -> bool {
        if requested > usable {
            return false;
        }
        match self {
            Allocator::Glibc => glibc_may_give(requested, usable, address),
            _ => self.usable_bytes(requested) == Some(usable),
        }
    }

    /// Returns the usable bytes of a request, at least; `None` if they are not known.
    pub fn usable_bytes(self, bytes: u64) -> Option<u64> {
        if bytes > MOST_BYTES {
            return None;
        }
        Some(match self {
            Allocator::Glibc => of_glibc(bytes),
            Allocator::Jemalloc => of_jemalloc(bytes),
            Allocator::Mimalloc => of_mimalloc(bytes),
        })
    }
}

/// `request2size` in glibc's `malloc/malloc.c`: a chunk is a multiple of 16 bytes, at least 32, and
/// has a size word of 8 bytes. What is left of a freed chunk and cannot be one itself stays with
/// the block, so a block may have 16 bytes more.
fn of_glibc(bytes: u64) -> u64 {
    (bytes + 8).next_multiple_of(16).max(32) - 8
}

/// A block of glibc may have 16 bytes more than [`of_glibc`] says, and 32 more if `memalign` placed
/// it at an alignment of its own. Large blocks are pages of their own, with two words in front.
fn glibc_may_give(requested: u64, usable: u64, address: u64) -> bool {
    const PAGE: u64 = 4096;
    /// The lowest limit above which a block may be pages of its own, unless it is set.
    const LEAST_MAPPED: u64 = 128 << 10;
    if requested > MOST_REQUESTED {
        return false;
    }
    let chunk = of_glibc(requested) + 8;
    let more = usable.wrapping_sub(chunk - 8);
    let is_aligned = address.is_multiple_of(32);
    if more == 0 || more == 16 || more == 32 && is_aligned {
        return true;
    }
    if !address.wrapping_add(usable).is_multiple_of(PAGE) {
        return false;
    }
    if is_aligned {
        // As much more was asked for as the alignment.
        let alignment = 1_u64 << address.trailing_zeros().min(62);
        usable >= LEAST_MAPPED - PAGE && usable - requested < PAGE + 32 + alignment
    } else {
        // `realloc` may have made the block as small as a page.
        address % PAGE == 16 && (chunk + 8).next_multiple_of(PAGE) - 16 == usable
    }
}

/// `sz_s2u_compute` in jemalloc's `internal/sz.h`: 8, then multiples of 16, then four classes for
/// each power of two. Above the small classes whole pages; jemalloc before 5.3.1 goes on with four
/// classes, so it may give more.
fn of_jemalloc(bytes: u64) -> u64 {
    const LG_QUANTUM: u32 = 4;
    const LG_GROUP: u32 = 2;
    const PAGE: u64 = 4096;
    const SMALL_MAXCLASS: u64 = 14 << 10;
    if bytes <= 8 {
        return 8;
    }
    if bytes > SMALL_MAXCLASS {
        return bytes.next_multiple_of(PAGE);
    }
    let lg = ((bytes << 1) - 1).ilog2();
    let lg_delta = lg.max(LG_GROUP + LG_QUANTUM + 1) - LG_GROUP - 1;
    bytes.next_multiple_of(1 << lg_delta)
}

/// `mi_bin` in mimalloc's `page-queue.c`: one word, then even numbers of words up to eight, then
/// four classes for each power of two.
fn of_mimalloc(bytes: u64) -> u64 {
    let words = bytes.div_ceil(8);
    let words = match words {
        0 | 1 => 1,
        2..=8 => words.next_multiple_of(2),
        _ => words.next_multiple_of(1 << ((words - 1).ilog2() - 2)),
    };
    words * 8
}

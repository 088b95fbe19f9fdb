//! The ways in which a program file can be recorded: by the allocator that it links, by a
//! preloaded library, or not at all.
//!
//! Files are read in pieces and taken for hostile.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, ReadCache};

use tracking_alloc_recording::Recording;

use crate::files::search;

/// The name in the ELF note of a program with tracking-alloc as its allocator. The preloaded
/// library looks for the same note and does nothing in such a program.
const NOTE: &[u8] = b"heapglass";
/// The name of the variable that tracking-alloc reads, in programs of other systems.
const MARKER: &[u8] = b"HEAPGLASS_OUT";
/// Texts that programs contain if they link an allocator of their own under other names.
const ALLOCATORS: [(&[u8], &str); 3] = [
    (b"<jemalloc>: ", "jemalloc"),
    (b"mimalloc: ", "mimalloc"),
    (b"[snmalloc]", "snmalloc"),
];
/// Maximum number of bytes of an executable to search.
const LARGEST: u64 = 4 << 30;
/// Scripts may name scripts as interpreters; Linux follows this many.
const MOST_SCRIPTS: usize = 5;
/// Functions that a program's own allocator replaces.
const FUNCTIONS: [&[u8]; 8] = [
    b"malloc",
    b"calloc",
    b"realloc",
    b"free",
    b"aligned_alloc",
    b"memalign",
    b"posix_memalign",
    b"valloc",
];

/// A program file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Executable {
    /// A text that names its interpreter.
    Script(PathBuf),
    /// A program of Linux.
    Elf(Elf),
    /// A program of another system.
    Foreign {
        /// `true` if it contains tracking-alloc.
        is_linked: bool,
    },
    /// Neither a script nor a program, or not readable.
    Other,
}

/// The facts about an ELF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elf {
    /// It contains tracking-alloc.
    pub(crate) is_linked: bool,
    /// The reason why a preloaded library cannot record it.
    refusal: Option<Refusal>,
    /// It exports a malloc that only its libraries call.
    exports_malloc: bool,
}

/// The way to record a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By tracking-alloc, which it links.
    Linked,
    /// By the preloaded library.
    Preload,
    /// By the preloaded library, in the libraries of the program only.
    Libraries,
}

/// The reason why a preloaded library cannot record a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Static,
    OtherLibc,
    ThirtyTwoBit,
    OtherMachine,
    RaisedPrivileges,
    Go,
    OwnMalloc,
    Unreadable,
    NotLinux,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LINK: &str = "add tracking-alloc to it";
        match self {
            Refusal::Static => write!(f, "it is linked statically, so no library can be preloaded; {LINK}, or link it dynamically"),
            Refusal::OtherLibc => write!(f, "it uses another C library than glibc; {LINK}, or build it for glibc"),
            Refusal::ThirtyTwoBit => f.write_str("it is a 32-bit program; build it for 64 bits"),
            Refusal::OtherMachine => f.write_str("it is a program for another machine; build it for this one"),
            Refusal::RaisedPrivileges => f.write_str("it runs with raised privileges (set-user-id or capabilities), and the system then ignores preloaded libraries; run a copy without them"),
            Refusal::Go => f.write_str("it is a Go program, which does not use malloc; use Go's own profiler, go tool pprof"),
            Refusal::OwnMalloc => write!(f, "it contains a malloc of its own and calls it, so a preloaded library sees nothing; {LINK}, or build it without its allocator"),
            Refusal::Unreadable => f.write_str("it is no program that can be read; name the program itself"),
            Refusal::NotLinux => f.write_str("it is no program of Linux"),
        }
    }
}

impl Executable {
    /// Reads a program file.
    pub(crate) fn of(path: &Path) -> Executable {
        let read = open(path).map(|file| read(path, &file));
        read.and_then(Result::ok).unwrap_or(Executable::Other)
    }

    /// Reads a program file, or the program that interprets it.
    pub(crate) fn interpreted(path: &Path) -> Executable {
        let mut found = Executable::of(path);
        for _ in 0..MOST_SCRIPTS {
            let Executable::Script(interpreter) = &found else {
                break;
            };
            found = Executable::of(interpreter);
        }
        found
    }

    /// Returns `true` if it contains tracking-alloc.
    pub(crate) fn is_linked(&self) -> bool {
        match self {
            Executable::Elf(elf) => elf.is_linked,
            Executable::Foreign { is_linked } => *is_linked,
            Executable::Script(_) | Executable::Other => false,
        }
    }

    /// Returns how to record it.
    pub(crate) fn way(&self) -> Result<Way, Refusal> {
        let elf = match self {
            Executable::Elf(elf) => elf,
            Executable::Foreign { .. } => return Err(Refusal::NotLinux),
            Executable::Script(_) | Executable::Other => return Err(Refusal::Unreadable),
        };
        match elf.refusal {
            _ if elf.is_linked => Ok(Way::Linked),
            Some(refusal) => Err(refusal),
            None if elf.exports_malloc => Ok(Way::Libraries),
            None => Ok(Way::Preload),
        }
    }
}

/// Opens a regular file: others may have no end.
fn open(path: &Path) -> Option<File> {
    let is_regular = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_regular.then(|| File::open(path).ok()).flatten()
}

fn read(path: &Path, file: &File) -> io::Result<Executable> {
    let mut head = Vec::new();
    file.take(1024).read_to_end(&mut head)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let mut words = line.split(u8::is_ascii_whitespace);
        let interpreter = words.find(|word| !word.is_empty()).unwrap_or_default();
        let interpreter = String::from_utf8_lossy(interpreter).into_owned();
        return Ok(Executable::Script(interpreter.into()));
    }
    let foreign: [&[u8]; 3] = [b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ"];
    if foreign.iter().any(|magic| head.starts_with(magic)) {
        let [is_linked] = contains(file, [MARKER])?;
        return Ok(Executable::Foreign { is_linked });
    }
    if !head.starts_with(b"\x7fELF") {
        return Ok(Executable::Other);
    }
    let cache = ReadCache::new(file);
    let mut elf = match head.get(4) {
        Some(2) => parsed(&cache).unwrap_or(Elf {
            refusal: Some(Refusal::Unreadable),
            ..Elf::default()
        }),
        _ => Elf {
            refusal: Some(Refusal::ThirtyTwoBit),
            ..Elf::default()
        },
    };
    if has_raised_privileges(path) {
        elf.refusal = Some(Refusal::RaisedPrivileges);
    }
    Ok(Executable::Elf(elf))
}

fn contains<const COUNT: usize>(
    mut file: &File,
    texts: [&[u8]; COUNT],
) -> io::Result<[bool; COUNT]> {
    io::Seek::rewind(&mut file)?;
    search::contains(file.take(LARGEST), texts)
}

/// Returns the name of an allocator that a program contains under other names than malloc and free.
/// A preloaded library does not see its blocks.
pub(crate) fn hidden_allocator(path: &Path) -> Option<&'static str> {
    let found = contains(&open(path)?, ALLOCATORS.map(|(text, _)| text)).ok()?;
    let mut allocators = ALLOCATORS.iter().zip(found);
    allocators.find_map(|((_, name), is_there)| is_there.then_some(*name))
}

/// Returns `true` if a program has a symbol table, in which the preloaded library finds the functions
/// of such an allocator.
pub(crate) fn has_symbols(path: &Path) -> bool {
    let read = |file: &File| -> object::Result<bool> {
        let cache = ReadCache::new(file);
        let header = Header::parse(&cache)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, &cache)?;
        Ok(!sections
            .symbols(endian, &cache, elf::SHT_SYMTAB)?
            .is_empty())
    };
    open(path).is_some_and(|file| read(&file).unwrap_or(false))
}

/// Returns `true` if the program that wrote a recording links tracking-alloc, and so recorded
/// itself.
pub(crate) fn recorded_itself(recording: &Path) -> bool {
    let Ok(recording) = Recording::open(recording) else {
        return false;
    };
    let program = recording.string(recording.header.executable);
    program.is_some_and(|program| Executable::of(Path::new(&program)).is_linked())
}

/// Returns `true` if the system starts a program with other privileges than the user's.
pub(crate) fn has_raised_privileges(path: &Path) -> bool {
    let by_mode = path
        .metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o6000 != 0);
    let mut value = [0; 64];
    by_mode || rustix::fs::getxattr(path, "security.capability", &mut value[..]).is_ok()
}

type Header = elf::FileHeader64<Endianness>;

fn parsed<'data>(data: &'data ReadCache<&'data File>) -> object::Result<Elf> {
    let mut found = Elf::default();
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let machine = match std::env::consts::ARCH {
        "x86_64" => elf::EM_X86_64,
        "aarch64" => elf::EM_AARCH64,
        _ => elf::EM_NONE,
    };
    if header.e_machine(endian) != machine {
        found.refusal = Some(Refusal::OtherMachine);
        return Ok(found);
    }
    let segments = header.program_headers(endian, data)?;
    for segment in segments {
        let Some(mut notes) = segment.notes(endian, data)? else {
            continue;
        };
        while let Some(note) = notes.next()? {
            found.is_linked |= note.name() == NOTE;
        }
    }
    let interpreter = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, data).transpose())
        .transpose()?;
    let sections = header.sections(endian, data)?;
    let mut names = sections
        .iter()
        .map(|section| sections.section_name(endian, section));
    let is_go = names.any(|name| matches!(name, Ok(b".go.buildinfo" | b".note.go.buildid")));
    found.refusal = match interpreter {
        _ if is_go => Some(Refusal::Go),
        None => Some(Refusal::Static),
        Some(loader) => {
            let name = loader
                .rsplit(|&byte| byte == b'/')
                .next()
                .unwrap_or_default();
            (!name.starts_with(b"ld-linux")).then_some(Refusal::OtherLibc)
        }
    };
    if found.refusal.is_some() {
        return Ok(found);
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    let mut functions: Vec<Range<u64>> = Vec::new();
    for symbol in symbols.iter() {
        let is_defined = symbol.st_shndx(endian) != elf::SHN_UNDEF
            && matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC);
        let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
        if is_defined && FUNCTIONS.contains(&name) {
            let start = symbol.st_value(endian);
            let end = start.saturating_add(symbol.st_size(endian).max(1));
            functions.push(start..end);
            found.exports_malloc |= name == b"malloc";
        }
    }
    if !found.exports_malloc {
        return Ok(found);
    }
    for section in sections.iter() {
        if !section.sh_flags(endian).contains(elf::SHF_EXECINSTR) {
            continue;
        }
        let code = section.data(endian, data)?;
        if calls(code, section.sh_addr(endian), &functions) {
            found.refusal = Some(Refusal::OwnMalloc);
        }
    }
    Ok(found)
}

/// Returns `true` if code calls one of the functions directly, other than from inside of them.
fn calls(code: &[u8], address: u64, functions: &[Range<u64>]) -> bool {
    let is_call = |at: u64, target: u64| {
        functions.iter().any(|function| function.start == target)
            && !functions.iter().any(|function| function.contains(&at))
    };
    if cfg!(target_arch = "aarch64") {
        // B and BL: 26 bits of words.
        let (words, _) = code.as_chunks::<4>();
        return (0_u64..).zip(words).any(|(index, word)| {
            let word = u32::from_le_bytes(*word);
            let at = address.wrapping_add(4 * index);
            let offset = i64::from((word << 6) as i32 >> 6) * 4;
            word & 0x7c00_0000 == 0x1400_0000 && is_call(at, at.wrapping_add_signed(offset))
        });
    }
    // CALL and JMP with an offset of 32 bits.
    memchr::memchr2_iter(0xe8, 0xe9, code).any(|index| {
        let Some(offset) = code
            .get(index + 1..)
            .and_then(|rest| rest.first_chunk::<4>())
        else {
            return false;
        };
        let at = address.wrapping_add(index as u64);
        let offset = i64::from(i32::from_le_bytes(*offset));
        is_call(at, at.wrapping_add(5).wrapping_add_signed(offset))
    })
}

#[cfg(test)]
mod tests;

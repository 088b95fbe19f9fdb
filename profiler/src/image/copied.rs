//! The memory of a paused copy of a process.

use crate::snapshot::{Memory, Page, PageMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The memory of a copy. The copy ends when its holder is dropped, which is done as soon as its
/// contents were read.
#[derive(Debug)]
pub(crate) struct CopyMemory<H> {
    /// `None` once the copy was ended.
    holder: Mutex<Option<H>>,
    file: File,
    /// `None` if the kernel does not tell which pages are resident.
    pages: Option<PageMap>,
}

impl<H> CopyMemory<H> {
    /// Creates it from the open file of the memory of a process.
    pub(crate) fn new(process: u32, file: File, holder: H) -> CopyMemory<H> {
        CopyMemory {
            holder: Mutex::new(Some(holder)),
            file,
            pages: PageMap::open(Path::new(&format!("/proc/{process}"))).ok(),
        }
    }
}

impl<H: Send> Memory for CopyMemory<H> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact(&self.file, address, buffer)
    }

    fn page_bytes(&self) -> u64 {
        self.pages.as_ref().map_or(4096, PageMap::page_bytes)
    }

    fn pages(&self, address: u64, count: usize, pages: &mut Vec<Page>) -> Option<()> {
        self.pages.as_ref()?.pages(address, count, pages).ok()
    }

    fn finished(&self) {
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        drop(holder.take());
    }
}

/// Reads memory. An offset that does not fit is no address of a program.
pub(super) fn read_exact(file: &File, address: u64, buffer: &mut [u8]) -> io::Result<()> {
    if i64::try_from(address).is_err() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.read_exact_at(buffer, address)
}

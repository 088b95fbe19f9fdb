//! Pages of a process, as the kernel tells of them in `/proc/PID/pagemap`.

use super::pages::Page;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of an entry.
const ENTRY: usize = 8;
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// The kind of an entry of the auxiliary vector: the size of a page.
const PAGE_SIZE: u64 = 6;

/// The pages of a process.
///
/// A process may read its own pages, and those of processes that it may trace. Where a process was
/// forked, the copy's private pages are those of the original until one of them writes. A page that
/// was only read shows the kernel's page of zeros: it counts as resident.
#[derive(Debug)]
pub struct PageMap {
    file: File,
    page_bytes: u64,
}

impl PageMap {
    /// Opens the pages of a process by its folder, such as `/proc/self`.
    ///
    /// # Errors
    ///
    /// An error means that a file of the process cannot be read, or says nothing of its pages.
    pub fn open(process: &Path) -> io::Result<PageMap> {
        let file = File::open(process.join("pagemap"))?;
        let words = fs::read(process.join("auxv"))?;
        let (words, _) = words.as_chunks::<ENTRY>();
        let mut words = words.iter().map(|word| u64::from_ne_bytes(*word));
        let page_bytes = loop {
            match (words.next(), words.next()) {
                (Some(PAGE_SIZE), Some(bytes)) => break bytes,
                (Some(_), Some(_)) => {}
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        };
        if !page_bytes.is_power_of_two() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(PageMap { file, page_bytes })
    }

    /// Returns the size of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Appends what stands behind a number of pages, from the one at an address on.
    ///
    /// # Errors
    ///
    /// An error means that the kernel does not tell. The pages beyond the end of the address space
    /// are none.
    pub fn pages(&self, address: u64, count: usize, pages: &mut Vec<Page>) -> io::Result<()> {
        let mut buffer = vec![0; count * ENTRY];
        let start = address / self.page_bytes * ENTRY as u64;
        let mut read = 0;
        while read < buffer.len() {
            match self.file.read_at(&mut buffer[read..], start + read as u64) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let (entries, _) = buffer[..read].as_chunks::<ENTRY>();
        pages.extend(entries.iter().map(|entry| {
            let entry = u64::from_ne_bytes(*entry);
            if entry & PRESENT != 0 {
                Page::Resident
            } else if entry & SWAPPED != 0 {
                Page::Swapped
            } else {
                Page::Untouched
            }
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// A large buffer of this process, of which a few pages are written.
    #[test]
    fn pages_of_this_process() {
        let map = PageMap::open(Path::new("/proc/self")).expect("the pages of this process");
        let page = map.page_bytes() as usize;
        let bytes = 64 << 20;
        let mut buffer = vec![0_u8; bytes];
        let start = (buffer.as_ptr() as usize).next_multiple_of(page);
        let before = start - buffer.as_ptr() as usize;
        let count = (bytes - before) / page;
        let written = [0, 1, 7, count / 2];
        for at in written {
            buffer[before + at * page] = 1;
        }
        black_box(&buffer);
        let mut pages = Vec::new();
        map.pages(start as u64, count, &mut pages).expect("pages");
        assert_eq!(pages.len(), count);
        for at in written {
            assert_eq!(pages[at], Page::Resident);
        }
        // With huge pages, up to 2 MiB are written with one byte.
        let untouched = pages.iter().filter(|&&page| page == Page::Untouched);
        assert!(untouched.count() * page > bytes - 5 * (2 << 20));
        let mut last = Vec::new();
        map.pages(u64::MAX - 4095, 4, &mut last).expect("no pages");
        assert_eq!(last, []);
    }

    #[test]
    fn a_process_that_is_gone() {
        let error = PageMap::open(Path::new("/proc/4294967295")).expect_err("no such process");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

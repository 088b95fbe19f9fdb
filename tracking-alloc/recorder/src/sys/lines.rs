//! Lines of the files in /proc that list mappings, read piece by piece into a buffer.

/// The result of [`Lines::next`].
pub(crate) enum Next<'b> {
    Line(&'b [u8]),
    /// The buffer has no space for the line. The rest of the line comes next, as if it were a line.
    TooLong,
    End,
    Failed,
}

/// The position in a file that is read line by line.
#[derive(Default)]
pub(crate) struct Lines {
    offset: u64,
    /// The part of the buffer that is not parsed yet.
    start: usize,
    end: usize,
}

impl Lines {
    /// Reads the next line. All calls must pass the same buffer. `read` fills a part of it from an
    /// offset in the file.
    pub(crate) fn next<'b>(
        &mut self,
        buffer: &'b mut [u8],
        mut read: impl FnMut(&mut [u8], u64) -> Result<usize, i32>,
    ) -> Next<'b> {
        loop {
            let rest = buffer.get(self.start..self.end).unwrap_or_default();
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self.start..self.start + length;
                self.start += length + 1;
                return Next::Line(buffer.get(line).unwrap_or_default());
            }
            if self.start == 0 && self.end == buffer.len() {
                self.end = 0;
                return Next::TooLong;
            }
            buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            match read(&mut buffer[self.end..], self.offset) {
                Ok(0) => return Next::End,
                Ok(read) => {
                    self.end += read;
                    self.offset += read as u64;
                }
                Err(_) => return Next::Failed,
            }
        }
    }
}

/// Parses the addresses at the start of a mapping's first line: `7f00-7f10 rw-p ..`.
pub(crate) fn mapping_range(line: &[u8]) -> Option<(u64, u64)> {
    let first = line.split(|byte| *byte == b' ').next()?;
    let mut addresses = first.split(|byte| *byte == b'-');
    let mut next = || number(addresses.next()?, 16);
    Some((next()?, next()?))
}

/// Parses digits.
pub(crate) fn number(digits: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()
}

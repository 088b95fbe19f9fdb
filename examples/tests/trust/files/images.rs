//! File systems created for a test, in files of their own.

use heapglass_limits::Command;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A mounted file system, which is unmounted and removed at the end of the test.
pub(super) struct Mounted {
    folder: tempfile::TempDir,
    _image: Option<tempfile::NamedTempFile>,
}

impl Mounted {
    /// Creates a file system of `kind` (ext4, xfs: an image of `mebibytes` MiB; ramfs: memory).
    /// Returns `None` and prints the reason if this machine cannot create one.
    pub(super) fn new(kind: &str, mebibytes: u64) -> Option<Mounted> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut mount = Command::new("mount");
        let mut image = None;
        if kind == "ramfs" {
            mount.args(["-t", kind, "none"]);
        } else {
            let file = tempfile::NamedTempFile::new().expect("a file");
            file.as_file().set_len(mebibytes << 20).expect("a length");
            let made = Command::new(format!("mkfs.{kind}"))
                .arg("-q")
                .arg(file.path())
                .output();
            if !made.as_ref().is_ok_and(|made| made.status.success()) {
                heapglass_examples::skip::skipped(format_args!(
                    "no {kind} can be made here (mkfs.{kind}): {made:?}"
                ));
                return None;
            }
            mount.args(["-o", "loop"]).arg(file.path());
            image = Some(file);
        }
        let mounted = mount.arg(folder.path()).output();
        if !mounted.as_ref().is_ok_and(|done| done.status.success()) {
            heapglass_examples::skip::skipped(format_args!(
                "no {kind} can be mounted here ({mount:?}): {mounted:?}"
            ));
            return None;
        }
        Some(Mounted {
            folder,
            _image: image,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills the file system until `free` bytes are left. Returns the file that takes the space.
    pub(super) fn fill_up_to(&self, free: u64) -> PathBuf {
        let other = self.path().join("other");
        let file = std::fs::File::create(&other).expect("a file");
        // The blocks of removed files become free when the journal is written.
        // SAFETY: an open descriptor.
        unsafe { libc::syncfs(file.as_raw_fd()) };
        let wanted = self.free().saturating_sub(free);
        // Reserved, not written: this is the same for the file system, and fast. Its own tables
        // take some space too.
        let mut bytes = wanted;
        while bytes > 0 && reserve(&file, bytes).is_err() {
            bytes = bytes.saturating_sub(64 << 10);
        }
        other
    }

    /// Returns the bytes that are free for root.
    fn free(&self) -> u64 {
        let path = std::ffi::CString::new(self.path().to_str().expect("text")).expect("no NUL");
        // SAFETY: the path is NUL-terminated, and all-zero bytes are a valid statvfs to write into.
        unsafe {
            let mut status: libc::statvfs = std::mem::zeroed();
            assert_eq!(libc::statvfs(path.as_ptr(), &mut status), 0);
            status.f_bfree * status.f_frsize
        }
    }
}

fn reserve(file: &std::fs::File, bytes: u64) -> std::io::Result<()> {
    // SAFETY: plain numbers and an open descriptor.
    let answer = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as libc::off_t) };
    if answer == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.folder.path())
            .status();
    }
}

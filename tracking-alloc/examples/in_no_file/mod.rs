//! A function whose code is in no file, for the examples that tests run.

/// Returns a function in a page of its own. It calls the function passed to it, and keeps a frame
/// pointer.
pub(crate) fn caller() -> extern "C" fn(extern "C" fn()) {
    // push rbp; mov rbp, rsp; call rdi; pop rbp; ret
    const CODE: [u8; 8] = [0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3];
    // SAFETY: this page is our own and holds a whole function.
    unsafe {
        let (write, run) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::PROT_READ | libc::PROT_EXEC,
        );
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, write, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        page.cast::<[u8; 8]>().write(CODE);
        assert_eq!(libc::mprotect(page, 4096, run), 0);
        std::mem::transmute(page)
    }
}

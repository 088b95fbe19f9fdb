//! Filters of system calls, for examples that run where the kernel refuses or changes some of them.
//!
//! A filter reads `seccomp_data`: the call's number is at offset 0, and arguments of 8 bytes each
//! begin at 16.

pub(crate) fn step(code: u32, jump_true: u8, jump_false: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k,
    }
}

/// Loads the word at an offset.
pub(crate) fn load(offset: u32) -> libc::sock_filter {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

/// Skips `yes` steps if the loaded word is `k`, else `no` steps.
pub(crate) fn equal(k: u32, yes: u8, no: u8) -> libc::sock_filter {
    step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, yes, no, k)
}

/// Ends the filter with a verdict.
pub(crate) fn answer(k: u32) -> libc::sock_filter {
    step(libc::BPF_RET | libc::BPF_K, 0, 0, k)
}

/// Filters the calls of this process from now on.
pub(crate) fn install(program: &mut [libc::sock_filter]) {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program is valid during the call; the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const filter,
        );
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}

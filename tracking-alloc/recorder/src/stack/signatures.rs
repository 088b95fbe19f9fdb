//! Return addresses without their signatures.
//!
//! On aarch64, a function may sign its return address before it saves it (pointer authentication).
//! The signature lies in the bits above those of addresses. It depends on the place of the frame,
//! so return addresses are compared without it.

#[cfg(target_arch = "aarch64")]
use std::sync::atomic::{AtomicU64, Ordering::*};

/// The bits of addresses in user space, at most 48. Code lies higher only if a program asks for it.
#[cfg(target_arch = "aarch64")]
static BITS: AtomicU64 = AtomicU64::new(0xffff_ffff_ffff);

/// Asks the processor where signatures begin. With small address spaces, they begin at bit 39.
///
/// This is done once instead of at each return address, because a mask costs less than `xpaclri`.
pub(crate) fn learn_address_bits() {
    #[cfg(target_arch = "aarch64")]
    {
        // Bit 55 tells user space and kernel apart. The other bits are set.
        let mut bits = (1u64 << 55) - 1;
        // SAFETY: `xpaclri` only removes a signature from x30. Processors without signatures treat
        // it as a `nop`; then the mask stays as it is.
        unsafe {
            std::arch::asm!("mov x30, {bits}", "hint #7", "mov {bits}, x30",
                bits = inout(reg) bits, out("x30") _, options(nomem, nostack, preserves_flags));
        }
        BITS.fetch_and(bits, Relaxed);
    }
}

/// Returns the mask that removes signatures.
#[inline(always)]
pub(super) fn address_bits() -> u64 {
    #[cfg(target_arch = "aarch64")]
    {
        BITS.load(Relaxed)
    }
    #[cfg(not(target_arch = "aarch64"))]
    {
        u64::MAX
    }
}

/// Returns a return address without its signature.
#[inline(always)]
pub(crate) fn without_signature(address: u64) -> u64 {
    address & address_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_code_and_data_keep_all_of_their_bits() {
        learn_address_bits();
        let data = 0u64;
        for address in [
            learn_address_bits as *const () as u64,
            libc::getpid as *const () as u64,
            &raw const data as u64,
        ] {
            assert_eq!(without_signature(address), address);
        }
    }

    /// The instruction signs with a key of this process. It changes nothing on processors without
    /// signatures.
    #[cfg(target_arch = "aarch64")]
    #[test]
    fn a_signed_address_loses_its_signature() {
        learn_address_bits();
        let address = learn_address_bits as *const () as u64;
        let mut signed = 0;
        for place in (0..1024u64).step_by(16) {
            let mut word = address;
            // SAFETY: `pacia1716` only changes x17.
            unsafe {
                std::arch::asm!("hint #8", inout("x17") word, in("x16") place,
                    options(nomem, nostack, preserves_flags));
            }
            assert_eq!(without_signature(word), address, "{word:#x}");
            signed += u32::from(word != address);
        }
        // SAFETY: this only reads the auxiliary vector.
        let features = unsafe { libc::getauxval(libc::AT_HWCAP) };
        assert_eq!(signed != 0, features & libc::HWCAP_PACA != 0);
    }
}

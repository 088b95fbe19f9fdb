//! Tests the figure of machine code. It is a separate program of this one module, because the
//! library would otherwise be built a second time for these two tests.

#[path = "../src/code.rs"]
mod code;

use code::{functions, is_common, loaded_at, reached_from};

#[inline(never)]
extern "C" fn leaf(value: u64) -> u64 {
    std::hint::black_box(value) * 3
}

#[inline(never)]
extern "C" fn branch(value: u64) -> u64 {
    leaf(value) + leaf(value + 1) + 1
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_called_is_counted_once_with_its_caller() {
    assert_eq!(branch(1), 10);
    let whole = reached_from(branch as *const ()).expect("symbols");
    let inner = reached_from(leaf as *const ()).expect("symbols");
    assert!(inner > 0);
    let bytes = std::fs::read("/proc/self/exe").expect("this program");
    let file = object::File::parse(bytes.as_slice()).expect("this program");
    let own = branch as *const () as u64 - loaded_at(&file).expect("a landmark");
    let own = functions(&file)[&own].size;
    assert_eq!(whole, own + inner);
}

#[test]
fn allocator_and_panics_are_common() {
    for name in [
        "_RNvCsgqlKwRK3fr0_7___rustc12___rust_alloc",
        "_ZN4core9panicking9panic_fmt17h0123456789abcdefE",
        "_ZN5alloc5alloc18handle_alloc_error17h0123456789abcdefE",
    ] {
        assert!(is_common(name), "{name}");
    }
    assert!(!is_common(
        "_ZN10serde_json2de8from_str17h0123456789abcdefE"
    ));
}

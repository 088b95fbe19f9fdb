//! A recording in a program that runs already: this library was loaded into it later, by
//! `heapglass attach`, and these functions are called from outside.
//!
//! No environment is read, because a thread of the program may be changing it: the settings are
//! arguments. First all calls are directed here, then the recording begins, so that no free of a
//! recorded block is missed. At the end it is the other way round.

use crate::begin::Malloc;
use crate::{images, inner, linked, loading, operators, redirected, slots};
use heapglass_recorder::{Attached, InnerAllocator, Recording, Settings, Source};
use libc::{c_char, c_int};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// The settings, as the caller passes them.
#[repr(C)]
pub(crate) struct Options {
    /// The size of this structure. A caller with another one is refused.
    bytes: u64,
    /// 0: every event is recorded. 1: samples are taken.
    samples: u64,
    /// The mean number of bytes from one sample to the next; 0 = the default.
    sample_bytes: u64,
    /// The maximum size of the recording; 0 = the default.
    max_bytes: u64,
    /// The path of the recording, which gets a suffix if there is a file.
    path: *const c_char,
}

/// Answers of [`heapglass_attach`] and [`heapglass_detach`]. The text says more.
mod answer {
    pub(super) const DONE: i32 = 0;
    /// The caller is of another version.
    pub(super) const OTHER_VERSION: i32 = 1;
    /// The process is being recorded, or this library records it from its start.
    pub(super) const RECORDS: i32 = 2;
    /// The program contains tracking-alloc.
    pub(super) const RECORDS_ITSELF: i32 = 3;
    /// The recorder refused.
    pub(super) const REFUSED: i32 = 4;
    /// Nothing is recorded.
    pub(super) const NOTHING: i32 = 5;
    /// Another thread is in such a call. There is no text.
    pub(super) const BUSY: i32 = 6;
}

/// The longest text for the caller.
const LONGEST: usize = 4096 + 512;

/// A text for the caller, which ends with NUL.
struct Text(UnsafeCell<[u8; LONGEST]>);

// SAFETY: written only by the one thread that is inside a function of this module.
unsafe impl Sync for Text {}

static TEXT: Text = Text(UnsafeCell::new([0; LONGEST]));
/// `true` while a thread is inside a function of this module.
static IS_BUSY: AtomicBool = AtomicBool::new(false);
/// `true` while somebody is attached.
static IS_ATTACHED: AtomicBool = AtomicBool::new(false);

/// A call from outside.
struct Call {
    _errno: crate::Errno,
}

impl Call {
    /// Returns `None` if another thread is in such a call.
    fn begin() -> Option<Call> {
        let is_first = !IS_BUSY.swap(true, AcqRel);
        is_first.then(|| Call {
            _errno: crate::Errno::keep(),
        })
    }

    /// Sets the text, and returns the answer.
    fn answer(&self, answer: c_int, text: &[u8]) -> c_int {
        // SAFETY: only the thread with the call writes, and the caller reads after it.
        let place = unsafe { &mut *TEXT.0.get() };
        let length = text.len().min(LONGEST - 1);
        place[..length].copy_from_slice(&text[..length]);
        place[length] = 0;
        answer
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        IS_BUSY.store(false, Release);
    }
}

/// Directs all calls of the program here, unless it cannot be recorded.
fn direct_here(call: &Call) -> Result<(), c_int> {
    if !crate::begin::is_late() {
        let text =
            b"the program was started with heapglass; use `heapglass resume` and `heapglass set`";
        return Err(call.answer(answer::RECORDS, text));
    }
    if Recording::current().is_some() {
        return Err(call.answer(answer::RECORDS, b"the program is being recorded already"));
    }
    inner::find();
    if images::links_tracking_alloc() {
        let text =
            b"the program contains tracking-alloc, which records it: start it with HEAPGLASS_OUT";
        return Err(call.answer(answer::RECORDS_ITSELF, text));
    }
    linked::find();
    operators::find();
    slots::attach();
    linked::begin(&redirected::all());
    Ok(())
}

/// Directs all calls of the program here, before [`heapglass_attach`]. Writes pairs of addresses: a
/// function of the allocator, and the one that is called instead. Compilers load a slot before a
/// loop, so threads may have the first ones in registers and on their stacks, and the caller
/// replaces them. Returns the number of pairs, or an answer as a negative number.
///
/// # Safety
/// `pairs` must lead to memory for `room` pairs.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapglass_attach_prepare(pairs: *mut [u64; 2], room: u64) -> c_int {
    let Some(call) = Call::begin() else {
        return -answer::BUSY;
    };
    if let Err(refusal) = direct_here(&call) {
        return -refusal;
    }
    let mut count = 0;
    let mut add = |from: usize, to: usize| {
        if from != 0 && to != 0 && (count as u64) < room {
            // SAFETY: guaranteed by the caller.
            unsafe { pairs.add(count).write([from as u64, to as u64]) };
            count += 1;
        }
    };
    slots::each_address(&mut add);
    linked::each_address(&redirected::all(), &mut add);
    count as c_int
}

/// Starts a recording of the program. The text is then its path, and otherwise the reason.
///
/// # Safety
/// `options` must be null or lead to a `u64` with the size of what is there.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapglass_attach(options: *const Options) -> c_int {
    let Some(call) = Call::begin() else {
        return answer::BUSY;
    };
    // SAFETY: guaranteed by the caller; the size comes first.
    let options = unsafe {
        let is_known = !options.is_null() && *options.cast::<u64>() == size_of::<Options>() as u64;
        is_known.then(|| &*options)
    };
    let Some(options) = options.filter(|options| !options.path.is_null()) else {
        // `heapglass_attach_prepare` has directed calls here.
        if crate::begin::is_late() && Recording::current().is_none() {
            direct_back();
        }
        let text =
            b"the library in the program is of another version of heapglass; restart the program";
        return call.answer(answer::OTHER_VERSION, text);
    };
    if let Err(refusal) = direct_here(&call) {
        return refusal;
    }
    // SAFETY: guaranteed by the caller.
    let path = unsafe { CStr::from_ptr(options.path) }.to_bytes();
    let is_system = matches!(Malloc::inner(), InnerAllocator::System);
    let settings = Settings {
        samples: Some(options.samples != 0),
        sample_bytes: (options.sample_bytes != 0).then_some(options.sample_bytes),
        ..Settings::default()
    };
    let attached = Attached {
        in_use_bytes: is_system.then(bytes_in_use).flatten(),
        max_bytes: options.max_bytes,
        inner_name: Malloc::inner_name(),
        is_system,
    };
    match heapglass_recorder::attach(path, settings, attached) {
        Ok(recording) => {
            IS_ATTACHED.store(true, Release);
            let path = recording.path().unwrap_or_default();
            call.answer(answer::DONE, path.as_os_str().as_encoded_bytes())
        }
        Err(error) => {
            direct_back();
            call.answer(answer::REFUSED, error.to_string().as_bytes())
        }
    }
}

/// Finishes the recording of [`heapglass_attach`], and directs the calls of the program back to its
/// allocator. The text is then the path of the recording, and otherwise the reason.
#[unsafe(no_mangle)]
extern "C" fn heapglass_detach() -> c_int {
    let Some(call) = Call::begin() else {
        return answer::BUSY;
    };
    if !IS_ATTACHED.swap(false, AcqRel) {
        // Somebody may have been interrupted before the recording began. A program that was started
        // with this library goes on recording.
        if crate::begin::is_late() {
            direct_back();
        }
        return call.answer(answer::NOTHING, b"nobody is attached to the program");
    }
    let recording = Recording::current();
    let path = recording.and_then(Recording::path).unwrap_or_default();
    let finished = recording.map(Recording::detach);
    direct_back();
    match finished {
        Some(Ok(())) => call.answer(answer::DONE, path.as_os_str().as_encoded_bytes()),
        Some(Err(error)) => call.answer(answer::REFUSED, error.to_string().as_bytes()),
        None => call.answer(answer::NOTHING, b"the recording has ended already"),
    }
}

/// Returns the text of the last answer.
#[unsafe(no_mangle)]
extern "C" fn heapglass_attach_text() -> *const c_char {
    TEXT.0.get().cast_const().cast()
}

fn direct_back() {
    slots::detach();
    linked::end(&redirected::all());
    loading::forget();
}

/// Returns the bytes that libc's allocator has in use. Older versions of glibc do not tell.
fn bytes_in_use() -> Option<u64> {
    type Mallinfo2 = unsafe extern "C" fn() -> libc::mallinfo2;
    let function = crate::next(c"mallinfo2");
    if function.is_null() {
        return None;
    }
    // SAFETY: the function of that name. It locks one arena after the other, and the calling
    // thread is in none.
    let info = unsafe { std::mem::transmute::<*mut libc::c_void, Mallinfo2>(function)() };
    Some(info.uordblks as u64 + info.hblkhd as u64)
}

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;

/// Finishes the recording when the program exits, after its own handlers.
extern "C" fn destructor() {
    if IS_ATTACHED.swap(false, AcqRel)
        && let Some(recording) = Recording::current()
    {
        // An error means that it was finished meanwhile.
        let _ = recording.finish();
    }
}

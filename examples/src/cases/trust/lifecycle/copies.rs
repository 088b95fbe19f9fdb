//! A library with its own copy of the recorder, loaded and unloaded three times.

use std::ffi::{CString, c_char, c_void};
use std::sync::mpsc;

struct Library {
    handle: *mut c_void,
    path: CString,
}

impl Library {
    fn load(path: &str) -> Library {
        let path = CString::new(path).expect("a path");
        // SAFETY: loading runs std's initializers and nothing else.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} cannot be loaded");
        Library { handle, path }
    }

    fn function(&self, name: &std::ffi::CStr) -> *mut c_void {
        // SAFETY: the handle is open.
        let found = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?}");
        found
    }

    fn record(&self, path: &str) {
        let path = CString::new(path).expect("a path");
        // SAFETY: the library's function has this type.
        let record = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> bool>(
                self.function(c"library_record"),
            )
        };
        // SAFETY: the path is NUL-terminated.
        assert!(unsafe { record(path.as_ptr()) }, "it records");
    }

    fn work(&self) -> extern "C" fn(usize) {
        // SAFETY: the library's function has this type.
        unsafe { std::mem::transmute(self.function(c"library_work")) }
    }

    fn finish(&self) {
        // SAFETY: the library's function has this type.
        let finish = unsafe {
            std::mem::transmute::<*mut c_void, extern "C" fn() -> bool>(
                self.function(c"library_finish"),
            )
        };
        assert!(finish(), "it was recording");
    }

    fn unload(self) {
        // SAFETY: none of its functions is running or will be called.
        unsafe {
            assert_eq!(libc::dlclose(self.handle), 0);
            let still = libc::dlopen(self.path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            assert!(still.is_null(), "it is still loaded");
        }
    }
}

/// Runs with `HOW LIBRARY PATH`. `finish` records to the path and finishes before unloading.
/// `unload` unloads the library while it records, and threads that it recorded continue.
/// `environment` records to the path in the environment, as this program does.
pub(super) fn load(words: &[&str]) {
    let [how, library, path] = words else {
        panic!("load-libraries HOW LIBRARY PATH");
    };
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let library = Library::load(library);
        if *how != "environment" {
            library.record(path);
        }
        let work = library.work();
        work(100);
        for _ in 0..2 {
            let (worked, has_worked) = mpsc::channel();
            let (end, ending) = mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                work(100);
                worked.send(()).expect("somebody waits");
                let _ = ending.recv();
            });
            has_worked.recv().expect("it worked");
            waiting.push((end, thread));
        }
        if *how == "finish" {
            library.finish();
        }
        library.unload();
    }
    // Threads that owned lanes of the unloaded recorder end now.
    for (end, thread) in waiting {
        drop(end);
        thread.join().expect("it ends");
    }
    println!("done");
}

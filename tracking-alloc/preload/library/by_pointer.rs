//! Functions that call others by pointers, which are found while the program runs.

/// Defines a function that calls the one behind the pointer of the same name, in `pointers`.
macro_rules! by_pointer {
    ($(#[$attribute:meta])* $visibility:vis $name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        $(#[$attribute])*
        #[inline(always)]
        $visibility unsafe fn $name($($argument: $type),*) -> $result {
            let function = pointers::$name.load(Relaxed);
            // SAFETY: before this is called, the pointer leads to a function of this name, which
            // has this type. The caller's promises are passed on.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) -> $result =
                    std::mem::transmute(function);
                function($($argument),*)
            }
        }
    };
}

pub(crate) use by_pointer;

//! Functions of C and C++ that are known to hand a block from the allocator to their callers.

use crate::name::FunctionName;
use crate::units::matches_text;

/// Names of functions that ask an allocator and do nothing else, as [patterns](matches_text).
const ALLOCATORS: &[&str] = &[
    // By which a program's own pool reports its blocks.
    "heapglass_allocated",
    "heapglass_reallocated",
    // Programs of GNU, BSD and many others.
    "xmalloc",
    "xcalloc",
    "xzalloc",
    "xrealloc",
    "xnmalloc",
    "xnrealloc",
    "xmallocarray",
    "xreallocarray",
    "emalloc",
    "ecalloc",
    "erealloc",
    "safe_malloc",
    "safe_calloc",
    "safe_realloc",
    // GLib.
    "g_malloc*",
    "g_try_malloc*",
    "g_realloc*",
    "g_try_realloc*",
    "g_slice_alloc*",
    // OpenSSL.
    "CRYPTO_malloc*",
    "CRYPTO_zalloc*",
    "CRYPTO_calloc*",
    "CRYPTO_realloc*",
    "CRYPTO_aligned_alloc*",
    "OPENSSL_malloc*",
    "OPENSSL_zalloc*",
    // SQLite.
    "sqlite3Malloc*",
    "sqlite3MemMalloc",
    "sqlite3MemRealloc",
    "sqlite3Realloc",
    "sqlite3DbMalloc*",
    "sqlite3DbRealloc*",
    "sqlite3_malloc*",
    "sqlite3_realloc*",
    "mallocWithAlarm",
    "dbMallocRawFinish",
    "dbReallocFinish",
    // Redis, zlib.
    "zmalloc*",
    "zcalloc*",
    "zrealloc*",
    "ztrymalloc*",
    "ztrycalloc*",
    "ztryrealloc*",
    // nginx, FFmpeg, libuv, Apache's run-time.
    "ngx_alloc",
    "ngx_calloc",
    "ngx_memalign",
    "ngx_palloc*",
    "ngx_pnalloc",
    "ngx_pcalloc",
    "ngx_create_pool",
    "av_malloc*",
    "av_mallocz*",
    "av_calloc",
    "av_realloc*",
    "av_fast_malloc*",
    "uv__malloc",
    "uv__calloc",
    "uv__realloc*",
    "apr_palloc*",
    // Protocol buffers.
    "upb_*Alloc",
    "upb_*Malloc",
    "upb_*Realloc",
    "upb_global_allocfunc",
    // Interpreters.
    "PyMem_*alloc",
    "PyObject_*alloc",
    "_PyMem_*alloc",
    "_PyObject_*alloc",
    "_PyMem_Raw*alloc",
    "Perl_safesys*alloc",
    "ruby_xmalloc*",
    "ruby_xcalloc*",
    "ruby_xrealloc*",
    "objspace_xmalloc*",
    "objspace_xcalloc*",
    "objspace_xrealloc*",
    "_emalloc*",
    "_ecalloc*",
    "_erealloc*",
    "__zend_malloc",
    "__zend_calloc",
    "__zend_realloc",
];

/// Names of functions that make a text, a list or another value for whoever called them.
const MAKERS: &[&str] = &[
    "strdup",
    "__strdup",
    "strndup",
    "__strndup",
    "wcsdup",
    "xstrdup",
    "xstrndup",
    "xmemdup",
    "estrdup",
    "savestring",
    "g_strdup*",
    "g_strndup",
    "g_memdup*",
    "CRYPTO_strdup",
    "CRYPTO_memdup",
    "CRYPTO_strndup",
    "sqlite3DbStrDup",
    "sqlite3DbStrNDup",
    "zstrdup",
    "av_strdup",
    "av_memdup",
    "PyBytes_FromStringAndSize",
    "_PyBytes_FromSize",
    "PyUnicode_New",
    "PyByteArray_Resize",
    "savepv*",
    "Perl_savepv*",
    "Perl_sv_grow",
    "lua_pushlstring",
    "node::*AllocWithRetry*",
    "node::*ReallocWithRetry*",
];

/// The same for names that other programs have too: only in these images, by their beginnings.
const MAKERS_IN: &[(&str, &[&str])] = &[("list_resize", &["python", "libpython"])];

/// Returns `true` for a function that only asks an allocator, by its name.
pub(super) fn is_allocator(name: &FunctionName<'_>) -> bool {
    is_one_of(name, ALLOCATORS)
}

/// Returns `true` for a function that makes a value for its caller, by its name and image.
pub(super) fn is_maker(name: &FunctionName<'_>, image: &str) -> bool {
    let is_in = |images: &[&str]| images.iter().any(|begin| image.starts_with(begin));
    let mut in_images = MAKERS_IN.iter();
    is_one_of(name, MAKERS)
        || in_images.any(|(maker, images)| is_in(images) && is_one_of(name, &[maker]))
}

fn is_one_of(name: &FunctionName<'_>, patterns: &[&str]) -> bool {
    if name.is_rust() {
        return false;
    }
    let name = name.without_arguments();
    patterns.iter().any(|pattern| matches_text(pattern, &name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Language;

    #[test]
    fn a_common_name_is_that_of_a_wrapper_only_in_the_interpreter() {
        let is_maker = |name, image| is_maker(&FunctionName::parse(name, Language::Cpp), image);
        assert!(is_maker("list_resize", "python3.11"));
        assert!(is_maker("list_resize", "libpython3.12.so.1.0"));
        assert!(!is_maker("list_resize", "shop"));
        assert!(is_maker("xstrdup", "shop"));
    }
}

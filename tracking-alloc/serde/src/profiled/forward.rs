//! Methods of serde's traits that call the same method of the wrapped object.

/// Implements methods of a `Deserializer` around a `D`. `$inner` is the wrapped object, `$passed`
/// the visitor that it gets.
macro_rules! deserialize {
    ($this:ident, $visitor:ident => $inner:expr, $passed:expr; $($method:ident($($arg:ident: $ty:ty),*))*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>($this, $($arg: $ty,)* $visitor: V) -> Result<V::Value, D::Error> {
            let passed = $passed;
            $inner.$method($($arg,)* passed)
        }
    )*};
}

/// Implements methods of a `Visitor` around a `V` that take no value, or a value without contents.
macro_rules! visit {
    ($this:ident => $inner:expr; $($method:ident($($value:ident: $ty:ty)?))*) => {$(
        #[inline]
        fn $method<E: Error>($this, $($value: $ty)?) -> Result<V::Value, E> {
            $inner.$method($($value)?)
        }
    )*};
}

/// Implements methods of a `Visitor` around a `V` that lead further in. `$passed` is what the
/// wrapped object gets.
macro_rules! visit_access {
    ($this:ident, $access:ident => $inner:expr, $passed:expr; $($method:ident: $trait:ident)*) => {$(
        #[inline]
        fn $method<A: $trait<'de>>($this, $access: A) -> Result<V::Value, A::Error> {
            let passed = $passed;
            $inner.$method(passed)
        }
    )*};
}

pub(super) use {deserialize, visit, visit_access};

//! Methods of serde's traits that call the same method of what is wrapped.

/// Of a `Deserializer` around a `D`: `$inner` is the wrapped one, `$passed` the visitor that it
/// gets.
macro_rules! deserialize {
    ($this:ident, $visitor:ident => $inner:expr, $passed:expr; $($method:ident($($arg:ident: $ty:ty),*))*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>($this, $($arg: $ty,)* $visitor: V) -> Result<V::Value, D::Error> {
            let passed = $passed;
            $inner.$method($($arg,)* passed)
        }
    )*};
}

/// Of a `Visitor` around a `V`: those without a value, or with one that nothing lies in.
macro_rules! visit {
    ($this:ident => $inner:expr; $($method:ident($($value:ident: $ty:ty)?))*) => {$(
        #[inline]
        fn $method<E: Error>($this, $($value: $ty)?) -> Result<V::Value, E> {
            $inner.$method($($value)?)
        }
    )*};
}

/// Of a `Visitor` around a `V`: those with what leads further in; `$passed` is what the wrapped one
/// gets.
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

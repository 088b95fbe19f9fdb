//! Size classes of blocks: exact up to 32 bytes, then four per octave. Writer and reader share
//! them.

/// Number of classes: one for each size from 0 to 32, then four for each octave up to 2^48 bytes.
pub const SIZE_CLASSES: usize = 33 + 4 * (48 - 5);

/// Returns the class of a block of `bytes`: one class per size from 0 to 32, above that four per
/// octave. Sizes above 2^48 share the last class.
#[inline]
pub const fn size_class(bytes: u64) -> u16 {
    if bytes <= 32 {
        return bytes as u16;
    }
    let octave = 63 - (bytes - 1).leading_zeros();
    if octave >= 48 {
        return SIZE_CLASSES as u16 - 1;
    }
    let quarter = ((bytes - 1) >> (octave - 2)) & 3;
    (33 + (octave - 5) * 4) as u16 + quarter as u16
}

/// Returns the smallest and largest size of a class, bytes.
pub const fn class_bounds(class: u16) -> (u64, u64) {
    if class <= 32 {
        return (class as u64, class as u64);
    }
    let (octave, quarter) = ((class as u64 - 33) / 4 + 5, (class as u64 - 33) % 4);
    let step = 1u64 << (octave - 2);
    let low = (1u64 << octave) + quarter * step;
    (low + 1, low + step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_lies_within_the_bounds_of_its_class() {
        let sizes = (0..70_000u64)
            .chain((17..48).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        for bytes in sizes {
            let (low, high) = class_bounds(size_class(bytes));
            assert!(
                (low..=high).contains(&bytes),
                "{bytes} is not in {low}..={high}"
            );
        }
        assert!(usize::from(size_class(u64::MAX)) < SIZE_CLASSES);
    }

    #[test]
    fn classes_follow_each_other_without_a_gap() {
        for class in 0..SIZE_CLASSES as u16 - 1 {
            assert_eq!(class_bounds(class).1 + 1, class_bounds(class + 1).0);
        }
    }
}

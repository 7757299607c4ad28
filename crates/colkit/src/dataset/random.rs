//! Names that nobody else has.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A random number. The system seeds the hasher; the rest keeps threads and calls apart.
pub(super) fn number() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(CALLS.fetch_add(1, Ordering::Relaxed));
    hasher.write_u32(std::process::id());
    hasher.write_u128(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()));
    hasher.finish()
}

/// A random UUID.
pub(super) fn uuid() -> String {
    let (high, low) = (number() & !0xF000 | 0x4000, number() >> 2 | 1 << 63);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    )
}

/// The name of a new data file, as Lance makes them: names that begin at random spread well over a store.
pub(super) fn data_file() -> String {
    let (high, low) = (number(), number());
    format!("{:024b}{:010x}{low:016x}.lance", high >> 40, high & 0xFF_FFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_differ_and_look_alike() {
        let names: HashSet<String> = (0..1000).flat_map(|_| [uuid(), data_file()]).collect();
        assert_eq!(names.len(), 2000);
        let uuid = uuid();
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
        assert!(uuid[14..].starts_with('4') && "89ab".contains(&uuid[19..20]), "{uuid}");
        assert_eq!(data_file().len(), "001111011110010000110010424bb345f6b2d4c1e2b7a3d5c1.lance".len());
    }
}

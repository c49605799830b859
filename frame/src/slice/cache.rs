//! A cache with a limit in bytes.

use std::collections::HashMap;
use std::mem;

/// The memory that an entry takes besides its value, in bytes.
const ENTRY_LEN: usize = 64;

/// Keeps values that were used recently, each with its size. All of them together have at most `limit` bytes.
// There are two generations. A value that is used moves to the new generation. If the next value would make the new
// generation larger than half of `limit`, the values of the old generation are dropped, and the new generation becomes
// the old one. So the cache needs no list of all values in the order of their last use.
#[derive(Debug)]
pub(super) struct Cache<V> {
    new: HashMap<u64, (V, usize)>,
    old: HashMap<u64, (V, usize)>,
    /// The size of all values in `new`.
    nbytes: usize,
    limit: usize,
}

impl<V: Clone> Cache<V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { new: HashMap::new(), old: HashMap::new(), nbytes: 0, limit }
    }

    pub(super) fn get(&mut self, key: u64) -> Option<V> {
        if let Some((value, _)) = self.new.get(&key) {
            return Some(value.clone());
        }
        let (value, nbytes) = self.old.remove(&key)?;
        self.put(key, value.clone(), nbytes);
        Some(value)
    }

    /// Keeps a value of `nbytes` bytes, unless the value is larger than half of `limit`.
    pub(super) fn insert(&mut self, key: u64, value: V, nbytes: usize) {
        self.old.remove(&key);
        if let Some((_, before)) = self.new.remove(&key) {
            self.nbytes -= before;
        }
        self.put(key, value, nbytes.saturating_add(ENTRY_LEN));
    }

    fn put(&mut self, key: u64, value: V, nbytes: usize) {
        let half = self.limit / 2;
        if nbytes > half {
            return;
        }
        if self.nbytes + nbytes > half {
            self.old = mem::take(&mut self.new);
            self.nbytes = 0;
        }
        self.new.insert(key, (value, nbytes));
        self.nbytes += nbytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_keeps_what_is_used_within_its_limit() {
        let mut cache = Cache::new(10 * 1000);
        let nbytes = |cache: &Cache<u64>| -> usize {
            cache.new.values().chain(cache.old.values()).map(|(_, nbytes)| nbytes).sum()
        };
        for key in 0..1000 {
            cache.insert(key, key + 1, 900);
            assert!(nbytes(&cache) <= 10 * 1000);
            assert_eq!(cache.get(key), Some(key + 1));
            // A value that is used again and again stays.
            assert_eq!(cache.get(0), Some(1), "{key}");
        }
        assert_eq!((cache.get(999), cache.get(998), cache.get(500)), (Some(1000), Some(999), None));
        cache.insert(999, 7, 900);
        assert_eq!(cache.get(999), Some(7));
        cache.insert(7, 7, 10 * 1000);
        assert_eq!(cache.get(7), None);
        assert!(nbytes(&cache) <= 10 * 1000);
    }
}

//! A match finder with binary trees. It finds several matches at a position: a near one, and longer ones that are
//! farther back.
//!
//! For each hash there is a tree of the positions with this hash, ordered by the bytes that follow them. Each new
//! position becomes the root of its tree. To order the tree below the new root, a search visits the positions with the
//! most similar bytes. These positions are the matches.

use alloc::vec::Vec;

use super::found::Match;
use super::{MIN_LOG, WINDOW, log_of};
use crate::bytes::{common_length, get, hash, load64, narrow, set};

/// The largest number of bits of a hash.
const MAX_LOG: u32 = 17;
/// Matches of three bytes are found with a separate table. They save bytes only at short distances.
const SHORT: u32 = 3;
const SHORT_LOG: u32 = 14;
const MAX_SHORT_DISTANCE: usize = 1 << 14;

/// The indexes of the two subtrees of a position: positions with smaller bytes, and positions with larger bytes.
const SMALLER: usize = 0;
const LARGER: usize = 1;

/// The positions of each hash, as trees. No position is 0, because 0 stands for an empty tree.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    log: u32,
    roots: Vec<u32>,
    /// The roots of the two subtrees of each position in the window.
    children: Vec<[u32; 2]>,
    /// The latest position of each hash of three bytes.
    short: Vec<u32>,
}

impl Trees {
    /// Forgets all positions, and prepares for an input of this length.
    pub(crate) fn start(&mut self, length: usize) {
        self.log = log_of(length).clamp(MIN_LOG, MAX_LOG);
        for (length, table) in [(1 << self.log, &mut self.roots), (1 << SHORT_LOG, &mut self.short)] {
            table.clear();
            table.resize(length, 0);
        }
        // Subtrees from an earlier input are not cleared, because no root leads to them.
        self.children.resize(length.min(WINDOW).next_power_of_two(), [0; 2]);
    }

    /// Adds a position, and passes its matches to `take`. Each match is longer than the one before, and none goes
    /// beyond `end`. The search in the tree looks at no more than `depth` positions. At least eight bytes must be left
    /// from the position on.
    pub(crate) fn find(
        &mut self,
        input: &[u8],
        at: usize,
        end: usize,
        depth: u32,
        mut take: impl FnMut(Match),
    ) {
        let word = load64(input, at);
        let mut best = SHORT as usize - 1;
        let short = hash(word, SHORT, SHORT_LOG);
        let near = get(&self.short, short) as usize;
        set(&mut self.short, short, narrow(at));
        if near > 0 && at - near <= MAX_SHORT_DISTANCE {
            let length = common_length(input, near, at, end);
            if length > best {
                best = length;
                take(Match { length: narrow(length), distance: narrow(at - near) });
            }
        }
        let root = hash(word, 4, self.log);
        let mut candidate = get(&self.roots, root) as usize;
        set(&mut self.roots, root, narrow(at));
        let mask = self.children.len() - 1;
        let lowest = at.saturating_sub(mask).max(1);
        // The slots in `children` where the next position with smaller bytes and the next position with larger bytes
        // will be placed. `common_with_smaller` and `common_with_larger` count the bytes that the last position found
        // on each side has in common with `at`.
        let (mut smaller, mut larger) = ((at & mask, SMALLER), (at & mask, LARGER));
        let (mut common_with_smaller, mut common_with_larger) = (0, 0);
        for _ in 0..depth {
            if candidate < lowest || candidate >= at {
                break;
            }
            let known = common_with_smaller.min(common_with_larger);
            let length = known + common_length(input, candidate + known, at + known, end);
            if length > best {
                best = length;
                take(Match { length: narrow(length), distance: narrow(at - candidate) });
            }
            if at + length >= end {
                // The order of these two positions depends on bytes after the end, so the rest of the tree is dropped.
                break;
            }
            let children = get(&self.children, candidate & mask);
            if get(input, candidate + length) < get(input, at + length) {
                self.place(smaller, candidate);
                (smaller, common_with_smaller) = ((candidate & mask, LARGER), length);
                candidate = children[LARGER] as usize;
            } else {
                self.place(larger, candidate);
                (larger, common_with_larger) = ((candidate & mask, SMALLER), length);
                candidate = children[SMALLER] as usize;
            }
        }
        self.place(smaller, 0);
        self.place(larger, 0);
    }

    #[inline]
    fn place(&mut self, (position, side): (usize, usize), child: usize) {
        if let Some(children) = self.children.get_mut(position) {
            set(children, side, narrow(child));
        }
    }
}

//! Reads a slice from byte ranges that JavaScript fetches. The functions have only numbers as arguments and results, so
//! JavaScript does not access the memory of this program.

use std::cell::RefCell;
use std::mem;
use std::ops::Range;

use b2nd_frame::{Array, Frame, SlicePlan};

struct Reader {
    slice: Vec<Range<u64>>,
    ranges: Vec<Range<u64>>,
    /// The bytes that JavaScript has sent so far, for each of the `ranges`. The ranges that are requested at the same
    /// time are called a wave.
    wave: Vec<Vec<u8>>,
    /// The plan of the slice. `None` until the first wave, which has the frame header, is complete.
    plan: Option<SlicePlan>,
    items: Vec<u8>,
}

thread_local! {
    static READER: RefCell<Reader> = RefCell::new(Reader {
        slice: Vec::new(),
        ranges: vec![0..8192],
        wave: Vec::new(),
        plan: None,
        items: Vec::new(),
    });
}

fn with<T>(call: impl FnOnce(&mut Reader) -> T) -> T {
    READER.with_borrow_mut(call)
}

/// Adds a dimension to the slice.
#[unsafe(no_mangle)]
extern "C" fn select(start: u64, stop: u64) {
    with(|reader| reader.slice.push(start..stop));
}

/// The number of byte ranges in the current wave. It is 0 if all items have been read.
#[unsafe(no_mangle)]
extern "C" fn range_count() -> usize {
    with(|reader| reader.ranges.len())
}

#[unsafe(no_mangle)]
extern "C" fn range_start(number: usize) -> u64 {
    with(|reader| reader.ranges[number].start)
}

#[unsafe(no_mangle)]
extern "C" fn range_stop(number: usize) -> u64 {
    with(|reader| reader.ranges[number].end)
}

/// Adds the lower `count` bytes of `word` to the bytes of a range of the current wave.
#[unsafe(no_mangle)]
extern "C" fn push(number: usize, word: u64, count: usize) {
    with(|reader| {
        reader.wave.resize(reader.ranges.len(), Vec::new());
        reader.wave[number].extend_from_slice(&word.to_le_bytes()[..count]);
    });
}

/// Ends the current wave. JavaScript calls this function when it has sent the bytes of all ranges.
#[unsafe(no_mangle)]
extern "C" fn take() {
    with(|reader| {
        let wave = mem::take(&mut reader.wave);
        let plan = match reader.plan.take() {
            None => {
                let array = Array::new(Frame::parse(&wave[0]).unwrap()).unwrap();
                array.slice(&reader.slice).plan().unwrap()
            }
            Some(mut plan) => {
                plan.take(wave).unwrap();
                plan
            }
        };
        reader.ranges = plan.ranges().to_vec();
        if reader.ranges.is_empty() {
            reader.items = plan.finish().unwrap();
        } else {
            reader.plan = Some(plan);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn items_len() -> usize {
    with(|reader| reader.items.len())
}

#[unsafe(no_mangle)]
extern "C" fn item_byte(number: usize) -> u8 {
    with(|reader| reader.items[number])
}

//! Measures reading and writing rows as structs, and reading the same rows from CSV. `benches/src/sections.py` runs
//! this program, and provides the items and the CSV.
//!
//! The contenders take turns. A turn has only 2000 rows, so that it can reuse the memory of the previous turn, and the
//! system need not provide new pages. The program prints a line for each turn: the seconds of each contender, in the
//! order of `ROWS` in `sections.py`.

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use b2nd_serde::Dtype;
use b2nd_serde_user::rows::{
    Borrowed, DTYPE, Owned, read, read_by_hand, read_by_hand_owned, write, write_by_hand,
};

/// The number of rows of a turn.
const TURN: usize = 2000;

/// Returns the result of a call, and the seconds that the call took.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = black_box(call());
    (result, start.elapsed().as_secs_f64())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let items = fs::read(arguments.next().expect("a file of items")).expect("items");
    let csv = fs::read(arguments.next().expect("a file of CSV")).expect("text");
    let dtype: Dtype = DTYPE.parse().expect("a dtype");
    let mut lines = csv.split_inclusive(|&byte| byte == b'\n');
    let heading = lines.next().expect("names");
    for items in items.chunks(TURN * dtype.item_size()) {
        let (rows, ours) = timed(|| read::<Borrowed<'_>>(&dtype, black_box(items)).expect("rows"));
        let (others, hand) = timed(|| read_by_hand(black_box(items)));
        assert_eq!(rows, others);
        let (owned, ours_owned) = timed(|| read::<Owned>(&dtype, black_box(items)).expect("rows"));
        let (others, hand_owned) = timed(|| read_by_hand_owned(black_box(items)));
        assert_eq!(owned, others);
        let csv: Vec<u8> =
            [heading].into_iter().chain(lines.by_ref().take(owned.len())).flatten().copied().collect();
        let (others, by_csv) = timed(|| {
            let mut reader = csv::Reader::from_reader(black_box(&csv[..]));
            reader.deserialize().collect::<Result<Vec<Owned>, _>>().expect("rows")
        });
        assert_eq!(owned, others);
        let mut written = vec![0xff; items.len()];
        let ((), ours_written) = timed(|| write(&dtype, black_box(&rows), &mut written).expect("items"));
        assert_eq!(written, items);
        let ((), hand_written) = timed(|| write_by_hand(black_box(&rows), &mut written));
        assert_eq!(written, items);
        println!("{ours} {hand} {ours_owned} {hand_owned} {by_csv} {ours_written} {hand_written}");
    }
}

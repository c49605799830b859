//! Runs the copy tasks of a slice in several threads.

use core::mem;

use crate::error::Error;
use crate::queue::in_order;
use crate::slice::copy_task::{CopyTask, ReceiveTask};
use crate::slice::scratch::Scratch;
use crate::slice::selection::Selection;
use crate::slice::shared_array::SharedArray;
use crate::slice::shared_slice::SharedSlice;

/// Runs tasks in several threads, while `produce` reads their stored bytes in the calling thread. If tasks fail, the
/// result is the error of the first failed task in the order of reading, as with one thread.
pub(super) fn in_threads(
    threads: usize,
    selection: &Selection,
    target: &SharedSlice<'_>,
    produce: impl FnOnce(&mut ReceiveTask<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let worker = || {
        let mut borrowed = BorrowedScratch::new(&selection.array);
        move |task: CopyTask| task.run(selection, target, &mut borrowed.scratch)
    };
    in_order(worker(), (1..threads).map(|_| worker()), |queue| {
        let produced = produce(&mut |task| queue.push(task).map(drop));
        // The bytes of all tasks in the queue were read before `produce` failed, so an error of one of these tasks
        // takes precedence.
        while queue.next()?.is_some() {}
        produced
    })
}

/// Memory of a thread for decompressing. When this value is dropped, the array keeps the memory for a later slice.
struct BorrowedScratch<'a> {
    scratch: Scratch,
    array: &'a SharedArray,
}

impl<'a> BorrowedScratch<'a> {
    fn new(array: &'a SharedArray) -> Self {
        Self { scratch: array.scratch(), array }
    }
}

impl Drop for BorrowedScratch<'_> {
    fn drop(&mut self) {
        self.array.keep_scratch(mem::take(&mut self.scratch));
    }
}

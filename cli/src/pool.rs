//! Worker threads, which process a list in batches. They pass on the result of each batch in order, or as soon as the
//! batch is done.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The maximum number of items in a batch. Each batch takes two locks, so shorter batches would cost more.
const BATCH: usize = 64;

/// The number of threads, and the way they share the work.
#[derive(Clone, Copy)]
pub(crate) struct Pool {
    pub(crate) jobs: usize,
    pub(crate) is_ordered: bool,
    /// Whether the work on an item is long, so that each batch has only one item.
    pub(crate) is_slow: bool,
}

/// The items that no thread has taken yet.
struct Queue<I> {
    items: I,
    /// The number of batches that were taken so far.
    batches: usize,
}

/// A function that passes on a part of the result of a batch before the batch is done. So a long result need not be
/// held in memory. If results are ordered, a call waits until it is the turn of the batch. A call returns `Break` if no
/// more parts are wanted.
pub(crate) type PassPart<'p, T> = dyn FnMut(T) -> ControlFlow<()> + 'p;

/// The function that receives the results, and the results that wait for their turn.
struct Results<F, T> {
    take: F,
    /// The number of batches whose results were passed on so far. It stays 0 if results are not ordered.
    batches: usize,
    /// Results that were ready before their turn. There is at most one such result per thread, so memory does not grow
    /// with the number of files.
    early: BTreeMap<usize, T>,
    result: io::Result<()>,
}

impl<F: FnMut(T) -> io::Result<()>, T> Results<F, T> {
    /// The next result in order, if it is ready.
    fn next_in_order(&mut self) -> Option<T> {
        self.early.remove(&self.batches)
    }

    /// Passes a result, or a part of a result, to `take`. After an error of `take`, does nothing.
    fn pass(&mut self, done: T) {
        if self.result.is_ok() {
            self.result = (self.take)(done);
        }
    }
}

impl Pool {
    /// Calls `work` for all items, in batches, and passes the results to `take`. An error of `take` ends the work.
    pub(crate) fn run<I, T>(
        self,
        items: I,
        work: impl Fn(Vec<I::Item>, &mut PassPart<'_, T>) -> T + Sync,
        take: impl FnMut(T) -> io::Result<()> + Send,
    ) -> io::Result<()>
    where
        I: Iterator + Send,
        T: Send,
    {
        let queue = Mutex::new(Queue { items, batches: 0 });
        let results = Mutex::new(Results { take, batches: 0, early: BTreeMap::new(), result: Ok(()) });
        let turn = Condvar::new();
        let ahead = |number: usize, most: usize| {
            let is_ahead = |results: &mut Results<_, _>| {
                self.is_ordered && number >= results.batches + most && results.result.is_ok()
            };
            turn.wait_while(lock(&results), is_ahead).unwrap_or_else(PoisonError::into_inner)
        };
        let work_on = || {
            let _release = Release { results: &results, turn: &turn };
            while let Some((number, batch)) = self.batch(&queue) {
                // The lock is held from the first part on, so that no other result comes between the parts.
                let mut receiver = None;
                let done = work(batch, &mut |part| {
                    let results = receiver.get_or_insert_with(|| ahead(number, 1));
                    results.pass(part);
                    if results.result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
                // If results are ordered, `ahead` waits while the results of `jobs` or more earlier batches have not
                // been passed on. So `early` holds at most one result per thread.
                let mut results = receiver.unwrap_or_else(|| ahead(number, self.jobs));
                if self.is_ordered {
                    results.early.insert(number, done);
                    while let Some(done) = results.next_in_order() {
                        results.pass(done);
                        results.batches += 1;
                    }
                    // Wakes the threads that wait in `ahead`, because `results.batches` may have grown.
                    turn.notify_all();
                } else {
                    results.pass(done);
                }
                if results.result.is_err() {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            // One thread less is started, because the current thread works too.
            for _ in 1..self.jobs {
                // If the system allows no more threads, the existing threads do the work.
                if thread::Builder::new().spawn_scoped(scope, work_on).is_err() {
                    break;
                }
            }
            work_on();
        });
        results.into_inner().unwrap_or_else(PoisonError::into_inner).result
    }

    /// The next batch and its number. The first batches are short, so that even a few items keep all threads busy.
    fn batch<I: Iterator>(self, queue: &Mutex<Queue<I>>) -> Option<(usize, Vec<I::Item>)> {
        let mut queue = lock(queue);
        let number = queue.batches;
        let most = if self.is_slow { 1 } else { BATCH };
        let length = (number / self.jobs).clamp(1, most);
        let batch: Vec<_> = queue.items.by_ref().take(length).collect();
        queue.batches += 1;
        (!batch.is_empty()).then_some((number, batch))
    }
}

/// Releases the other threads if a thread panics, because they may be waiting for the result of its batch.
struct Release<'p, F, T> {
    results: &'p Mutex<Results<F, T>>,
    turn: &'p Condvar,
}

impl<F, T> Drop for Release<'_, F, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(self.results).result = Err(io::Error::other("a thread has panicked"));
            self.turn.notify_all();
        }
    }
}

/// The state behind a mutex. This function also works if a thread has panicked while it held the lock. The other
/// threads end after such a panic, so none of them uses a state that was changed only in part.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_work_and_nobody_waits_for_it() {
        for is_ordered in [true, false] {
            let pool = Pool { jobs: 4, is_ordered, is_slow: true };
            let work = |batch: Vec<i32>, _: &mut PassPart<'_, ()>| assert!(!batch.contains(&3), "on purpose");
            let run = || pool.run(0..1000, work, |()| Ok(()));
            assert!(std::panic::catch_unwind(run).is_err());
        }
    }
}

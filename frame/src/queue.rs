//! A queue of tasks, which several threads run. Slices, `ArrayWriter` and checks of data use it.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The maximum number of threads. More threads do not make the work faster, but they take more memory.
pub(crate) const MAX_THREADS: usize = 256;

/// The maximum number of tasks per thread whose results have not been taken. While a thread runs one task, a second
/// task waits, so the thread can start it as soon as the first is finished.
const TASKS_PER_THREAD: usize = 2;

/// A queue of tasks `T`, whose results are returned in the order of the tasks.
///
/// - Only the calling thread adds tasks and takes results, so the source of the tasks and the destination of the
///   results need not be `Send`. When the calling thread would have to wait for a result, it runs a task instead.
/// - Each task except the first starts another thread, until all threads have started. So a single task runs in the
///   calling thread. If the system refuses to start a thread, the other threads do the work.
/// - The tasks and results in the queue are at most [`TASKS_PER_THREAD`] per thread.
/// - If several tasks fail, the calling thread gets the error of the earliest of them, as if it had run all tasks
///   itself. Later tasks are then dropped, or their results are ignored.
/// - If a task panics, the calling thread panics too.
pub(crate) struct Queue<'q, T, D, E> {
    /// Runs a task in the calling thread.
    run: &'q mut dyn FnMut(T) -> Result<D, E>,
    /// Starts another thread. Returns `false` if no more threads can be started.
    start: &'q mut dyn FnMut() -> bool,
    may_start: bool,
    shared: &'q Shared<T, D, E>,
    /// The maximum number of tasks whose results have not been taken; 0 if only the calling thread works.
    most: usize,
    /// The number of tasks that were added so far, and of results that were taken.
    added: usize,
    taken: usize,
}

/// The state of a queue, shared by its threads.
struct Shared<T, D, E> {
    state: Mutex<State<T, D, E>>,
    /// Wakes threads that wait for a task.
    has_task: Condvar,
    /// Wakes the calling thread, which waits for a result.
    has_result: Condvar,
}

struct State<T, D, E> {
    /// The tasks that no thread has taken, each with its number.
    tasks: VecDeque<(usize, T)>,
    /// The results that have not been taken, by the numbers of their tasks. If the task panicked, the outer result is
    /// an `Err`.
    results: BTreeMap<usize, thread::Result<Result<D, E>>>,
    is_over: bool,
}

/// Calls `manage` with a queue. The calling thread runs tasks of the queue with `own`. Each of up to `others.len()`
/// other threads runs tasks with one of `others`.
pub(crate) fn in_order<T: Send, D: Send, E: Send, W: FnMut(T) -> Result<D, E> + Send, R>(
    mut own: W,
    mut others: impl ExactSizeIterator<Item = W>,
    manage: impl FnOnce(&mut Queue<'_, T, D, E>) -> R,
) -> R {
    let state = State { tasks: VecDeque::new(), results: BTreeMap::new(), is_over: false };
    let shared = &Shared { state: Mutex::new(state), has_task: Condvar::new(), has_result: Condvar::new() };
    if others.len() == 0 {
        return manage(&mut Queue::new(&mut own, &mut || false, shared, 0));
    }
    let most = TASKS_PER_THREAD * (others.len() + 1);
    thread::scope(|scope| {
        let mut start = || {
            let Some(worker) = others.next() else { return false };
            thread::Builder::new().spawn_scoped(scope, move || shared.work(worker)).is_ok()
        };
        manage(&mut Queue::new(&mut own, &mut start, shared, most))
    })
}

impl<'q, T, D, E> Queue<'q, T, D, E> {
    fn new(
        run: &'q mut dyn FnMut(T) -> Result<D, E>,
        start: &'q mut dyn FnMut() -> bool,
        shared: &'q Shared<T, D, E>,
        most: usize,
    ) -> Self {
        Self { run, start, may_start: true, shared, most, added: 0, taken: 0 }
    }

    /// Adds a task. Returns the result of the oldest task if it is ready, or if the queue is full.
    pub(crate) fn push(&mut self, task: T) -> Result<Option<D>, E> {
        if self.most == 0 {
            return (self.run)(task).map(Some);
        }
        if self.added > 0 && self.may_start {
            self.may_start = (self.start)();
        }
        let mut state = self.shared.lock();
        state.tasks.push_back((self.added, task));
        self.added += 1;
        let ready = state.results.remove(&self.taken);
        drop(state);
        self.shared.has_task.notify_one();
        match ready {
            Some(result) => self.take(result).map(Some),
            None if self.added - self.taken < self.most => Ok(None),
            None => self.next(),
        }
    }

    /// Returns the result of the oldest task; `None` if all results have been taken, or after an error.
    pub(crate) fn next(&mut self) -> Result<Option<D>, E> {
        while self.taken < self.added {
            let mut state = self.shared.lock();
            if let Some(result) = state.results.remove(&self.taken) {
                drop(state);
                return self.take(result).map(Some);
            }
            if let Some((number, task)) = state.tasks.pop_front() {
                drop(state);
                let result = Ok((self.run)(task));
                if number == self.taken {
                    return self.take(result).map(Some);
                }
                self.shared.lock().results.insert(number, result);
            } else {
                let is_waiting = |state: &mut State<T, D, E>| !state.results.contains_key(&self.taken);
                let woken = self.shared.has_result.wait_while(state, is_waiting);
                drop(woken.unwrap_or_else(PoisonError::into_inner));
            }
        }
        Ok(None)
    }

    fn take(&mut self, result: thread::Result<Result<D, E>>) -> Result<D, E> {
        self.taken += 1;
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        if result.is_err() {
            self.shared.lock().tasks.clear();
            self.taken = self.added;
        }
        result
    }
}

/// Ends the other threads, also if the calling thread panics.
impl<T, D, E> Drop for Queue<'_, T, D, E> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.tasks.clear();
        drop(state);
        self.shared.has_task.notify_all();
    }
}

impl<T, D, E> Shared<T, D, E> {
    /// Runs tasks until the queue is over.
    fn work(&self, mut run: impl FnMut(T) -> Result<D, E>) {
        while let Some((number, task)) = self.task() {
            // After a panic, nobody uses the values that the task has changed, because the calling thread panics too.
            let result = catch_unwind(AssertUnwindSafe(|| run(task)));
            self.lock().results.insert(number, result);
            self.has_result.notify_one();
        }
    }

    fn task(&self) -> Option<(usize, T)> {
        let is_idle = |state: &mut State<T, D, E>| state.tasks.is_empty() && !state.is_over;
        let woken = self.has_task.wait_while(self.lock(), is_idle);
        woken.unwrap_or_else(PoisonError::into_inner).tasks.pop_front()
    }

    /// Locks the state. No thread panics while it holds this lock.
    fn lock(&self) -> MutexGuard<'_, State<T, D, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::ThreadId;
    use std::time::Duration;

    use super::*;

    /// Runs the tasks 0 to `count`, and returns all results up to the first error, and this error.
    fn run(
        threads: usize,
        count: usize,
        work: impl Fn(usize) -> Result<usize, String> + Sync,
    ) -> (Vec<usize>, Option<String>) {
        let worker = || |task| work(task);
        in_order(worker(), (1..threads).map(|_| worker()), |queue| {
            let mut results = Vec::new();
            for task in 0..count {
                match queue.push(task) {
                    Ok(result) => results.extend(result),
                    Err(error) => return (results, Some(error)),
                }
            }
            loop {
                match queue.next() {
                    Ok(Some(result)) => results.push(result),
                    Ok(None) => return (results, None),
                    Err(error) => return (results, Some(error)),
                }
            }
        })
    }

    /// Waits for a moment in some tasks, so that later tasks are finished earlier.
    fn hesitate(task: usize) {
        if task.is_multiple_of(3) {
            thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn results_and_errors_come_in_the_order_of_the_tasks() {
        for threads in [1, 2, 5] {
            let work = |task| {
                hesitate(task);
                if task < 20 { Ok(10 * task) } else { Err(format!("task {task}")) }
            };
            assert_eq!(run(threads, 15, work), ((0..15).map(|task| 10 * task).collect(), None));
            let expected = ((0..20).map(|task| 10 * task).collect(), Some("task 20".into()));
            assert_eq!(run(threads, 50, work), expected, "{threads}");
        }
    }

    #[test]
    fn after_an_error_nothing_is_left() {
        let worker = || |task: usize| if task == 0 { Err("task 0") } else { Ok(task) };
        in_order(worker(), (1..3).map(|_| worker()), |queue| {
            // The queue holds six tasks, so none of these calls waits for the result of task 0, but one of the calls
            // can return this result.
            let errors = (0..5).filter_map(|task| queue.push(task).err()).count();
            let rest: Vec<_> = core::iter::from_fn(|| queue.next().transpose()).collect();
            assert_eq!(errors + rest.iter().filter(|result| result.is_err()).count(), 1);
        });
    }

    #[test]
    fn tasks_in_the_queue_are_limited() {
        let (added, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let worker = || {
            |task: usize| {
                hesitate(task);
                Ok::<_, ()>(task)
            }
        };
        in_order(worker(), (1..3).map(|_| worker()), |queue| {
            for task in 0..100 {
                let taken = queue.push(task).unwrap();
                let added = added.fetch_add(1, Ordering::Relaxed) + 1;
                let finished = finished.fetch_add(taken.is_some().into(), Ordering::Relaxed);
                assert!(added - finished <= 3 * TASKS_PER_THREAD, "{added} {finished}");
            }
        });
    }

    #[test]
    fn a_single_task_runs_in_the_calling_thread() {
        let threads = Mutex::new(HashSet::<ThreadId>::new());
        let work = |task| {
            threads.lock().unwrap().insert(thread::current().id());
            Ok(task)
        };
        assert_eq!(run(16, 1, work), (vec![0], None));
        assert_eq!(*threads.lock().unwrap(), HashSet::from([thread::current().id()]));
    }

    #[test]
    fn a_panic_of_a_task_is_a_panic_of_the_caller() {
        for threads in [1, 2, 4] {
            for panics in [0, 7, 19] {
                let work = |task| {
                    hesitate(task);
                    assert!(task != panics, "on purpose");
                    Ok(task)
                };
                let panic = catch_unwind(AssertUnwindSafe(|| run(threads, 20, work))).unwrap_err();
                assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
            }
        }
    }

    #[test]
    fn a_panic_of_the_caller_ends_the_threads() {
        let panic = catch_unwind(|| {
            let worker = || |task: usize| Ok::<_, ()>(task);
            in_order(worker(), (1..4).map(|_| worker()), |queue| {
                (0..5).for_each(|task| assert!(queue.push(task).is_ok()));
                panic!("on purpose");
            });
        });
        assert!(panic.is_err());
    }
}

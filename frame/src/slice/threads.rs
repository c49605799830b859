//! Runs the copy tasks of a slice in several threads.

use std::sync::mpsc::{self, Receiver, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::Error;
use crate::slice::copy_task::{CopyTask, ReceiveTask};
use crate::slice::selection::Selection;
use crate::slice::shared_slice::SharedSlice;

/// The maximum number of threads of a read or of an `ArrayWriter`. More threads do not make a read faster, but they
/// take more memory: in a read, the queue can hold one task for each thread.
pub(crate) const MAX_THREADS: usize = 256;

/// A task and its number in the order of reading.
type NumberedTask = (usize, CopyTask);

/// Runs tasks in several threads, while `produce` reads their stored bytes in the calling thread. The result is the
/// error of the first task that failed, in the order of reading: the same error as with one thread.
pub(super) fn in_threads(
    threads: usize,
    selection: &Selection,
    target: &SharedSlice<'_>,
    produce: impl FnOnce(&mut ReceiveTask<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let opened = &selection.opened;
    let mut scratch = opened.scratch();
    if threads == 1 {
        let produced = produce(&mut |task| task.run(selection, target, &mut scratch));
        opened.keep_scratch(scratch);
        return produced;
    }
    let errors = FirstError::default();
    // The queue can hold one task for each thread. So a thread that has finished a task finds another one, but the
    // waiting tasks hold little memory.
    let (sender, receiver) = mpsc::sync_channel(threads);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        let work = || {
            let mut scratch = opened.scratch();
            while let Some((number, task)) = next(&receiver) {
                errors.record(number, task.run(selection, target, &mut scratch));
            }
            opened.keep_scratch(scratch);
        };
        let (mut number, mut unstarted) = (0, threads - 1);
        let produced = produce(&mut |task| {
            // If a task has failed, `produce` should stop. The error `stopped` only makes it stop, and never reaches
            // the caller. It is recorded below with the next task number. The failed task has a lower number, and
            // `record` keeps the error with the lowest number.
            if errors.lock().is_some() {
                return Err(Error::stopped());
            }
            // Each task but the first starts a thread, so a slice with a single task needs none. If the system refuses
            // to start a thread, do not try to start more: the threads that have started and the calling thread do the
            // work.
            if number > 0 && unstarted > 0 {
                let is_started = thread::Builder::new().spawn_scoped(scope, work).is_ok();
                unstarted = if is_started { unstarted - 1 } else { 0 };
            }
            // If the queue is full, the calling thread runs this task instead of waiting.
            if let Err(TrySendError::Full((number, task)) | TrySendError::Disconnected((number, task))) =
                sender.try_send((number, task))
            {
                errors.record(number, task.run(selection, target, &mut scratch));
            }
            number += 1;
            Ok(())
        });
        // Without a sender, the threads stop when the queue is empty. The calling thread helps to empty it.
        drop(sender);
        while let Some((number, task)) = next(&receiver) {
            errors.record(number, task.run(selection, target, &mut scratch));
        }
        // The error of reading gets a higher number than all tasks that were read before it, so an error of these tasks
        // takes precedence.
        errors.record(number, produced);
    });
    errors.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

fn next(receiver: &Mutex<Receiver<NumberedTask>>) -> Option<NumberedTask> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// The error with the lowest task number so far.
#[derive(Default)]
struct FirstError(Mutex<Option<(usize, Error)>>);

impl FirstError {
    fn lock(&self) -> MutexGuard<'_, Option<(usize, Error)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, number: usize, result: Result<(), Error>) {
        let Err(error) = result else { return };
        let mut first = self.lock();
        if first.as_ref().is_none_or(|&(earlier, _)| number < earlier) {
            *first = Some((number, error));
        }
    }
}

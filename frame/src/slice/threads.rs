//! Decompresses the pieces of a slice in several threads.

use std::sync::mpsc::{self, Receiver, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::Error;
use crate::slice::selection::Selection;
use crate::slice::shared_slice::SharedSlice;
use crate::slice::stored_piece::{Piece, ReceivePiece, Scratch};

/// The maximum number of threads of a read. More threads do not help, and each takes a place in the queue.
pub(crate) const MAX_THREADS: usize = 256;

/// A piece and its number in the order of reading.
type NumberedPiece = (usize, Piece);

/// Copies pieces into a slice in several threads, while `produce` reads them in the calling thread. The result is the
/// error of the first piece that failed, in the order of reading: the same error as with one thread.
pub(super) fn in_threads(
    threads: usize,
    selection: &Selection,
    target: &SharedSlice<'_>,
    produce: impl FnOnce(&mut ReceivePiece<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut scratch = Scratch::default();
    if threads == 1 {
        return produce(&mut |piece| piece.copy(selection, target, &mut scratch));
    }
    let errors = FirstError::default();
    // One waiting piece for each thread: a thread that finishes finds work, and the queue holds little memory.
    let (sender, receiver) = mpsc::sync_channel(threads);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        for _ in 1..threads {
            let work = || {
                let mut scratch = Scratch::default();
                while let Some((number, piece)) = next(&receiver) {
                    errors.record(number, piece.copy(selection, target, &mut scratch));
                }
            };
            // The system has no more threads. The threads that started, or the calling thread alone, do the work.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        let mut number = 0;
        let produced = produce(&mut |piece| {
            // `stopped` is never returned, as the recorded error has a lower number.
            if errors.lock().is_some() {
                return Err(Error::stopped());
            }
            // The queue is full: the calling thread copies this piece instead of waiting.
            if let Err(TrySendError::Full((number, piece)) | TrySendError::Disconnected((number, piece))) =
                sender.try_send((number, piece))
            {
                errors.record(number, piece.copy(selection, target, &mut scratch));
            }
            number += 1;
            Ok(())
        });
        // Without a sender, the threads stop when the queue is empty. The calling thread helps to empty it.
        drop(sender);
        while let Some((number, piece)) = next(&receiver) {
            errors.record(number, piece.copy(selection, target, &mut scratch));
        }
        // The error of reading comes after the errors of all pieces read before it.
        errors.record(number, produced);
    });
    errors.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

fn next(receiver: &Mutex<Receiver<NumberedPiece>>) -> Option<NumberedPiece> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// The error with the lowest piece number so far.
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

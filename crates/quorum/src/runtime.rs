//! What raft runs on: tokio, with a beat that falls where the thread wakes up anyway.

use std::future::Future;
use std::time::Duration;

use openraft::{AsyncRuntime, OptionalSend, TokioRuntime};
use tokio::time::Instant;

/// Tokio, but that a time to sleep until is aligned to the thread's grid. Raft sleeps so between its beats and nowhere else; its deadlines
/// for answers are left exact.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Runtime;

type Of = TokioRuntime;

impl AsyncRuntime for Runtime {
    type JoinError = <Of as AsyncRuntime>::JoinError;
    type JoinHandle<T: OptionalSend + 'static> = <Of as AsyncRuntime>::JoinHandle<T>;
    type Sleep = <Of as AsyncRuntime>::Sleep;
    type Instant = <Of as AsyncRuntime>::Instant;
    type TimeoutError = <Of as AsyncRuntime>::TimeoutError;
    type Timeout<R, T: Future<Output = R> + OptionalSend> = <Of as AsyncRuntime>::Timeout<R, T>;
    type ThreadLocalRng = <Of as AsyncRuntime>::ThreadLocalRng;
    type OneshotSender<T: OptionalSend> = <Of as AsyncRuntime>::OneshotSender<T>;
    type OneshotReceiverError = <Of as AsyncRuntime>::OneshotReceiverError;
    type OneshotReceiver<T: OptionalSend> = <Of as AsyncRuntime>::OneshotReceiver<T>;

    fn spawn<T>(future: T) -> Self::JoinHandle<T::Output>
    where
        T: Future + OptionalSend + 'static,
        T::Output: OptionalSend + 'static,
    {
        Of::spawn(future)
    }

    fn sleep(duration: Duration) -> Self::Sleep {
        Of::sleep(duration)
    }

    fn sleep_until(deadline: Self::Instant) -> Self::Sleep {
        Of::sleep_until(Instant::from_std(timer_grid::aligned(deadline.into_std())))
    }

    fn timeout<R, F: Future<Output = R> + OptionalSend>(
        duration: Duration,
        future: F,
    ) -> Self::Timeout<R, F> {
        Of::timeout(duration, future)
    }

    fn timeout_at<R, F: Future<Output = R> + OptionalSend>(
        deadline: Self::Instant,
        future: F,
    ) -> Self::Timeout<R, F> {
        Of::timeout_at(deadline, future)
    }

    fn is_panic(join_error: &Self::JoinError) -> bool {
        Of::is_panic(join_error)
    }

    fn thread_rng() -> Self::ThreadLocalRng {
        Of::thread_rng()
    }

    fn oneshot<T: OptionalSend>() -> (Self::OneshotSender<T>, Self::OneshotReceiver<T>) {
        Of::oneshot()
    }
}

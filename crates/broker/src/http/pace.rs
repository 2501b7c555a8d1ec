//! A client of the HTTP port that does not take its answer is let go: it holds one of few places.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// While a client does not take all that there is for it, it takes at least so many bytes in each time (a guess: no link of today is so slow).
const PACE_BYTES: usize = 64 << 10;

/// The time in which it does.
const PACE_TIME: Duration = Duration::from_secs(10);

/// A stream whose writes fail once its other end has fallen below the pace.
pub(super) struct Paced<S> {
    stream: S,
    /// The end of the present time, if the other end is behind.
    due: Option<Pin<Box<Sleep>>>,
    /// Bytes that it took in this time.
    taken: usize,
}

impl<S> Paced<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self { stream, due: None, taken: 0 }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// Fails where nothing can be written, and the pace is too slow.
    fn check<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            return polled;
        }
        if let Some(due) = &mut self.due {
            ready!(due.as_mut().poll(cx));
            if self.taken < PACE_BYTES {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        self.taken = 0;
        let mut due = Box::pin(tokio::time::sleep(PACE_TIME));
        // It is not over; this has `cx` woken.
        let _ = due.as_mut().poll(cx);
        self.due = Some(due);
        polled
    }

    fn written(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &polled {
            self.taken += bytes;
        }
        self.check(cx, polled)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Nothing waits any more once this is done.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        if polled.is_ready() {
            self.due = None;
        }
        self.check(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.check(cx, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{Instant, advance, timeout};

    use super::*;

    const PIPE_BYTES: usize = 1 << 10;
    const ANSWER_BYTES: usize = 4 * PACE_BYTES;

    /// Writes an answer to a client: what comes of it, and how long it takes. None if nothing ever comes of it.
    async fn answer(client: impl AsyncFnOnce(DuplexStream)) -> Option<(io::Result<()>, Duration)> {
        let begun = Instant::now();
        let (near, far) = duplex(PIPE_BYTES);
        let mut paced = Paced::new(near);
        let write = async {
            paced.write_all(&vec![7; ANSWER_BYTES]).await?;
            paced.flush().await
        };
        let written = tokio::select! {
            written = timeout(Duration::from_secs(3600), write) => written.ok()?,
            () = client(far) => unreachable!("a client goes on for ever"),
        };
        Some((written, begun.elapsed()))
    }

    /// Reads a piece each second.
    async fn read(mut client: DuplexStream, piece: usize) {
        let mut bytes = vec![0; piece];
        loop {
            client.read_exact(&mut bytes).await.unwrap();
            advance(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_let_go() {
        let (written, time) = answer(async |_client| std::future::pending().await).await.unwrap();
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!((PACE_TIME..2 * PACE_TIME).contains(&time), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_little_now_and_then_is_let_go_too() {
        let (written, time) = answer(async |client| read(client, 1).await).await.unwrap();
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!((PACE_TIME..2 * PACE_TIME).contains(&time), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_keeps_the_pace_gets_all_of_it() {
        let (written, time) = answer(async |client| read(client, 8 << 10).await).await.unwrap();
        written.unwrap();
        assert!(time > 3 * PACE_TIME, "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_in_the_end_is_forgotten_by_the_next_answer() {
        let (near, mut far) = duplex(PIPE_BYTES);
        let mut paced = Paced::new(near);
        for _ in 0..3 {
            let mut all = vec![0; 2 * PIPE_BYTES];
            let write = async {
                paced.write_all(&vec![7; 2 * PIPE_BYTES]).await?;
                paced.flush().await
            };
            let read = async {
                advance(PACE_TIME / 2).await;
                far.read_exact(&mut all).await
            };
            let (written, _) = tokio::join!(write, read);
            written.unwrap();
            advance(2 * PACE_TIME).await;
        }
    }
}

//! Whether a client has been silent for a while: its receive buffer is then given back.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

/// A client that has said nothing for this long, or up to twice as long, is silent (a guess: longer than it rests between two requests
/// while it works).
const SILENCE: Duration = Duration::from_secs(10);

/// Watches one connection's reads. Its timer is not set anew for each of them: it looks now and then whether there were any.
#[derive(Debug, Default)]
pub(super) struct IdleWatch {
    /// The next look; none while the client is silent.
    look: Option<Pin<Box<Sleep>>>,
    /// Whether anything came since the last one.
    came: bool,
}

impl IdleWatch {
    /// Waits until `read` gives something. While the client is silent, `release` follows each try that gives nothing.
    pub(super) async fn read<B, T>(
        &mut self,
        buffer: &mut B,
        release: impl Fn(&mut B),
        mut read: impl FnMut(&mut B, &mut Context<'_>) -> Poll<T>,
    ) -> T {
        poll_fn(|cx| {
            let polled = read(buffer, cx);
            if polled.is_ready() {
                self.came = true;
            } else if self.is_silent(cx) {
                release(buffer);
            }
            polled
        })
        .await
    }

    fn is_silent(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            if self.look.as_mut().is_some_and(|look| look.as_mut().poll(cx).is_pending()) {
                return false;
            }
            let came = std::mem::take(&mut self.came);
            self.look = came.then(|| Box::pin(tokio::time::sleep(SILENCE)));
            if !came {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;
    use kafka_wire::FrameReader;
    use tokio::time::timeout;

    use super::*;

    const FRAME_BYTES: usize = 1 << 20;

    /// Takes a large frame in, as a carrier does.
    async fn receive(idle: &mut IdleWatch, frames: &mut FrameReader) {
        idle.read(frames, FrameReader::release, |frames, _| {
            frames.extend(&u32::try_from(FRAME_BYTES).unwrap().to_be_bytes());
            frames.extend(&vec![7; FRAME_BYTES]);
            Poll::Ready(())
        })
        .await;
        assert_eq!(frames.next_frame().unwrap().unwrap().len(), FRAME_BYTES);
    }

    /// Lets time pass in which nothing comes; the room that the buffer has then for what comes next.
    async fn rest(idle: &mut IdleWatch, frames: &mut FrameReader, time: Duration) -> usize {
        let nothing = idle.read(frames, FrameReader::release, |frames, _| {
            assert!(frames.spare().remaining_mut() > 0, "there is always room for a read");
            Poll::<()>::Pending
        });
        timeout(time, nothing).await.unwrap_err();
        frames.spare().remaining_mut()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_falls_silent_keeps_no_room_for_the_likes_of_its_last_frame() {
        let (mut idle, mut frames) = (IdleWatch::default(), FrameReader::new(2 * FRAME_BYTES));
        receive(&mut idle, &mut frames).await;
        assert!(rest(&mut idle, &mut frames, SILENCE / 2).await >= FRAME_BYTES);
        receive(&mut idle, &mut frames).await;
        assert!(rest(&mut idle, &mut frames, SILENCE * 3 / 4).await >= FRAME_BYTES, "it was not silent");
        assert!(rest(&mut idle, &mut frames, SILENCE * 2).await < FRAME_BYTES / 8);
        receive(&mut idle, &mut frames).await;
        assert!(rest(&mut idle, &mut frames, SILENCE / 2).await >= FRAME_BYTES, "it is at work again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_of_a_frame_is_kept_however_long_the_rest_takes() {
        let (mut idle, mut frames) = (IdleWatch::default(), FrameReader::new(1000));
        frames.extend(b"\0\0\0\x04bo");
        rest(&mut idle, &mut frames, 5 * SILENCE).await;
        frames.extend(b"dy");
        assert_eq!(frames.next_frame().unwrap().unwrap(), "body");
    }
}

//! WebSocket frames of a server (RFC 6455, section 5), without a socket: bytes of clients in, events out.
//!
//! ```text
//!  byte 0                 byte 1           0, 2 or 8 bytes     4 bytes       length bytes
//!  | fin 1 | rsv 3 | opcode 4 | mask 1 | length 7 | longer length big-endian | mask key | payload, masked ..
//! ```
//!
//! The payloads of binary messages, one after the other, are one byte stream; where a message or a fragment ends does not
//! matter. So a payload is handed out as it comes and nothing is kept until a message is whole: a message costs no memory,
//! however long it says it is.

use bytes::{Buf, BytesMut};

use super::violation::Violation;

/// The longest payload of a control frame, in bytes (section 5.5).
pub(super) const CONTROL_BYTES_MAX: usize = 125;

/// The longest header that a server writes, in bytes.
const SERVER_HEADER_BYTES_MAX: usize = 10;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
const LENGTH_16: u8 = 126;
const LENGTH_64: u8 = 127;

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// What a client's bytes say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next bytes of the stream.
    Bytes(BytesMut),
    /// A ping; its payload is to come back.
    Ping(BytesMut),
    /// A pong.
    Pong,
    /// The client closes, with its code if it says one.
    Close(Option<u16>),
}

/// Reads a client's frames.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The payload that is under way.
    payload: Option<Payload>,
    /// Whether a message is under way that further fragments belong to.
    fragmented: bool,
}

#[derive(Clone, Copy, Debug)]
struct Payload {
    left: u64,
    mask: [u8; 4],
}

/// A frame's header, read.
struct Header {
    fin: bool,
    opcode: u8,
    length: u64,
    mask: [u8; 4],
    /// Bytes that it takes.
    bytes: usize,
}

impl Decoder {
    /// Takes the next event off the front of what has come; none if more must come first.
    pub(super) fn take(&mut self, received: &mut BytesMut) -> Result<Option<Event>, Violation> {
        loop {
            if let Some(payload) = &mut self.payload {
                if payload.left == 0 {
                    self.payload = None;
                    continue;
                }
                return Ok(payload.take(received).map(Event::Bytes));
            }
            let Some(header) = Header::read(received)? else { return Ok(None) };
            if header.opcode >= CLOSE {
                return header.control(received);
            }
            self.begin(&header)?;
            received.advance(header.bytes);
            self.payload = Some(Payload { left: header.length, mask: header.mask });
        }
    }

    /// A frame of a message begins.
    fn begin(&mut self, header: &Header) -> Result<(), Violation> {
        match header.opcode {
            BINARY if !self.fragmented => {}
            CONTINUATION if self.fragmented => {}
            BINARY | CONTINUATION => return Err(Violation::Fragments),
            TEXT => return Err(Violation::Text),
            opcode => return Err(Violation::Opcode(opcode)),
        }
        self.fragmented = !header.fin;
        Ok(())
    }
}

impl Payload {
    fn take(&mut self, received: &mut BytesMut) -> Option<BytesMut> {
        let ready = usize::try_from(self.left).unwrap_or(usize::MAX).min(received.len());
        if ready == 0 {
            return None;
        }
        let mut bytes = received.split_to(ready);
        unmask(&mut bytes, self.mask);
        self.mask.rotate_left(ready % 4);
        self.left -= ready as u64;
        Some(bytes)
    }
}

impl Header {
    fn read(received: &[u8]) -> Result<Option<Self>, Violation> {
        let Some(([first, second], rest)) = received.split_first_chunk::<2>() else { return Ok(None) };
        if first & RESERVED != 0 {
            return Err(Violation::Reserved);
        }
        if second & MASKED == 0 {
            return Err(Violation::Unmasked);
        }
        let short = second & !MASKED;
        let (length, rest) = match short {
            LENGTH_16 => match rest.split_first_chunk::<2>() {
                Some((bytes, rest)) => (u64::from(u16::from_be_bytes(*bytes)), rest),
                None => return Ok(None),
            },
            LENGTH_64 => match rest.split_first_chunk::<8>() {
                Some((bytes, rest)) => (u64::from_be_bytes(*bytes), rest),
                None => return Ok(None),
            },
            short => (u64::from(short), rest),
        };
        let Some((mask, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let bytes = received.len() - rest.len();
        Ok(Some(Self { fin: first & FIN != 0, opcode: first & 0x0f, length, mask: *mask, bytes }))
    }

    /// A control frame, once it is whole.
    fn control(&self, received: &mut BytesMut) -> Result<Option<Event>, Violation> {
        if !matches!(self.opcode, CLOSE | PING | PONG) {
            return Err(Violation::Opcode(self.opcode));
        }
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        if !self.fin || length > CONTROL_BYTES_MAX {
            return Err(Violation::Control);
        }
        if received.len() < self.bytes + length {
            return Ok(None);
        }
        received.advance(self.bytes);
        let mut payload = received.split_to(length);
        unmask(&mut payload, self.mask);
        Ok(Some(match self.opcode {
            PING => Event::Ping(payload),
            PONG => Event::Pong,
            _ => Event::Close(payload.first_chunk().map(|code| u16::from_be_bytes(*code))),
        }))
    }
}

/// Undoes the mask, four bytes at a time.
fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let (words, rest) = bytes.as_chunks_mut::<4>();
    for word in words {
        *word = (u32::from_ne_bytes(*word) ^ u32::from_ne_bytes(mask)).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

/// The header of a whole binary message of so many bytes.
pub(super) fn binary_header(length: usize) -> BytesMut {
    header(BINARY, length)
}

/// A pong.
pub(super) fn pong(payload: &[u8]) -> BytesMut {
    control(PONG, payload)
}

/// A ping without payload.
pub(super) fn ping() -> BytesMut {
    control(PING, &[])
}

/// A close with its code and reason; a reason that is too long is cut.
pub(super) fn close(code: u16, reason: &str) -> BytesMut {
    let end = reason.floor_char_boundary(CONTROL_BYTES_MAX - size_of::<u16>());
    let payload = [&code.to_be_bytes(), reason.get(..end).unwrap_or_default().as_bytes()].concat();
    control(CLOSE, &payload)
}

fn control(opcode: u8, payload: &[u8]) -> BytesMut {
    let mut frame = header(opcode, payload.len());
    frame.extend_from_slice(payload);
    frame
}

fn header(opcode: u8, length: usize) -> BytesMut {
    let mut header = BytesMut::with_capacity(SERVER_HEADER_BYTES_MAX);
    header.extend_from_slice(&[FIN | opcode]);
    if let Ok(length) = u8::try_from(length)
        && length < LENGTH_16
    {
        header.extend_from_slice(&[length]);
    } else if let Ok(length) = u16::try_from(length) {
        header.extend_from_slice(&[LENGTH_16]);
        header.extend_from_slice(&length.to_be_bytes());
    } else {
        header.extend_from_slice(&[LENGTH_64]);
        header.extend_from_slice(&(length as u64).to_be_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame as a client writes it.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [0x11, 0x22, 0x33, 0x44];
        let mut frame = header(first & 0x0f, payload.len()).to_vec();
        frame[0] = first;
        frame[1] |= MASKED;
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    /// The byte stream and the other events of what a client sends, cut into pieces of `step` bytes.
    fn read(sent: &[u8], step: usize) -> Result<(Vec<u8>, Vec<Event>), Violation> {
        let (mut decoder, mut received) = (Decoder::default(), BytesMut::new());
        let (mut stream, mut others) = (Vec::new(), Vec::new());
        for piece in sent.chunks(step) {
            received.extend_from_slice(piece);
            while let Some(event) = decoder.take(&mut received)? {
                match event {
                    Event::Bytes(bytes) => stream.extend(bytes),
                    other => others.push(other),
                }
            }
        }
        Ok((stream, others))
    }

    #[test]
    fn messages_and_fragments_are_one_byte_stream_however_they_are_cut() {
        let long = vec![7; 70_000];
        let sent = [
            masked(FIN | BINARY, b"one"),
            masked(BINARY, b"two"),
            masked(FIN | PING, b"hello"),
            masked(CONTINUATION, b""),
            masked(FIN | CONTINUATION, &[9; 300]),
            masked(FIN | BINARY, &long),
            masked(FIN | PONG, b""),
            masked(FIN | CLOSE, &[3, 0xe8, b'x']),
        ]
        .concat();
        let stream = [b"onetwo".to_vec(), vec![9; 300], long].concat();
        for step in [1, 3, 64, sent.len()] {
            let (read, others) = read(&sent, step).unwrap();
            assert_eq!(read, stream);
            assert_eq!(
                others,
                [Event::Ping(BytesMut::from(&b"hello"[..])), Event::Pong, Event::Close(Some(1000))],
                "{step}"
            );
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_named() {
        let check = |sent: &[u8], violation| assert_eq!(read(sent, 1), Err(violation));
        check(&masked(FIN | TEXT, b"hi"), Violation::Text);
        check(&[FIN | BINARY, 1, 0], Violation::Unmasked);
        check(&masked(FIN | 0x40 | BINARY, b""), Violation::Reserved);
        check(&masked(FIN | 3, b""), Violation::Opcode(3));
        check(&masked(FIN | 11, b""), Violation::Opcode(11));
        check(&masked(FIN | CONTINUATION, b""), Violation::Fragments);
        check(&[masked(BINARY, b"a"), masked(FIN | BINARY, b"b")].concat(), Violation::Fragments);
        check(&masked(PING, b""), Violation::Control);
        check(&masked(FIN | CLOSE, &[0; 126]), Violation::Control);
    }

    #[test]
    fn a_close_reason_is_cut_at_a_character() {
        let frame = close(1008, &"é".repeat(100));
        assert_eq!((frame[0], frame[1]), (FIN | CLOSE, 124));
        assert!(std::str::from_utf8(&frame[4..]).is_ok());
    }

    proptest! {
        #[test]
        fn decoding_survives_arbitrary_bytes(sent in proptest::collection::vec(any::<u8>(), 0..300), step in 1..50usize) {
            let whole = read(&sent, 300);
            prop_assert_eq!(read(&sent, step), whole);
        }

        #[test]
        fn any_payloads_come_back(payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..10), step in 1..50usize) {
            let sent: Vec<u8> = payloads.iter().flat_map(|payload| masked(FIN | BINARY, payload)).collect();
            prop_assert_eq!(read(&sent, step).unwrap().0, payloads.concat());
        }
    }
}

//! The hot paths of the cores as works: each makes its own inputs, the same in every run, and gives a closure that takes the path once. Who
//! measures, and what, is left to the benches (time) and to the program (instructions).

use log_core::Crc32c;

mod fetch;
mod frames;
mod log;

/// Something worth measuring.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// What people and the file of baselines call it.
    pub name: &'static str,
    /// Makes the inputs and gives what is measured; the checksum is whose code that shall be.
    pub make: fn(Crc32c) -> Box<dyn FnMut()>,
}

/// Those whose instructions do not depend on what the processor can do, as long as the checksum's do not.
pub const PORTABLE: [Work; 6] = [
    Work { name: "batch-parse", make: log::parse },
    Work { name: "batch-build", make: log::build },
    Work { name: "index-look-up", make: log::look_up },
    Work { name: "frame-encode", make: frames::encode },
    Work { name: "frame-decode", make: frames::decode },
    Work { name: "fetch-plan", make: fetch::plan },
];

/// The checksum by itself: which instructions it takes is decided when it runs.
pub const CHECKSUM: Work = Work { name: "crc-32c", make: log::checksum };

/// A sum in place of the checksum: about as cheap as CRC-32C with the processor's help, but the same instructions on every processor. Each pass
/// over bytes shows in their number.
#[must_use]
pub fn portable_sum(so_far: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(so_far, |sum, byte| sum.wrapping_add(u32::from(*byte)))
}

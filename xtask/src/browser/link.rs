//! A slow link that loses packets, between clients and brokers of one network namespace. It is a TUN device whose packets
//! come back with source and destination exchanged: a client that connects to [`FAR`] reaches the broker that listens on
//! every address, and each takes the other for a far machine. Delay and loss are made here, packet by packet.
//!
//! The kernel's `netem` would do the same, but not every kernel has it, and where it stands behind segmentation offload it
//! loses packets of 64 KiB instead of those that a link carries.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::ioctl::{Setter, ioctl};

use crate::process;

/// Where clients find the brokers.
const FAR: &str = "10.77.0.2";
/// Delay in each direction, and the share of packets that is lost in each.
pub(super) const DELAY: Duration = Duration::from_millis(20);
pub(super) const LOST_PERCENT: u64 = 2;

const DEVICE: &str = "highwater0";
const OWN: &str = "10.77.0.1/24";
/// Of a packet on the link, in bytes.
const MTU: usize = 1500;
const LIMIT: Duration = Duration::from_secs(10);

/// `TUNSETIFF`, which makes the device, with `struct ifreq` as its argument: 16 bytes of name, then the flags.
const TUNSETIFF: rustix::ioctl::Opcode = 0x4004_54ca;
const IFREQ_BYTES: usize = 40;
const NAME_BYTES: usize = 16;
/// `IFF_TUN | IFF_NO_PI`: whole IP packets and nothing before them.
const FLAGS: u16 = 0x1001;

/// The name under which a broker is found behind the link: one that its certificate is for.
pub(super) fn name_of(broker: u16) -> String {
    format!("broker-{broker}.highwater.internal")
}

/// Makes the link of the present namespaces, which must be this program's own: loopback is brought up, and the names of so many
/// brokers stand in `/etc/hosts`. All of it ends with the program, as the namespaces do.
pub(super) fn make(brokers: u16, folder: &Path) -> Result<()> {
    let hosts = folder.join("hosts");
    let far: String = (1..=brokers).map(|broker| format!("{FAR} {}\n", name_of(broker))).collect();
    fs::write(&hosts, format!("127.0.0.1 localhost\n{far}"))?;
    process::run_quietly(Command::new("mount").args(["--bind"]).arg(&hosts).arg("/etc/hosts"), LIMIT)?;
    let device =
        File::options().read(true).write(true).open("/dev/net/tun").context("no TUN device can be made")?;
    let mut request = [0; IFREQ_BYTES];
    let (name, rest) = request.split_at_mut(NAME_BYTES);
    name.iter_mut().zip(DEVICE.bytes()).for_each(|(to, from)| *to = from);
    rest.iter_mut().zip(FLAGS.to_ne_bytes()).for_each(|(to, from)| *to = from);
    // SAFETY: TUNSETIFF takes a pointer to a `struct ifreq`, which is so long.
    unsafe { ioctl(&device, Setter::<TUNSETIFF, [u8; IFREQ_BYTES]>::new(request)) }
        .context("the TUN device is refused; is this root?")?;
    let mtu = MTU.to_string();
    for arguments in [
        &["link", "set", "lo", "up"][..],
        &["address", "add", OWN, "dev", DEVICE],
        &["link", "set", DEVICE, "mtu", &mtu, "txqueuelen", "20000", "up"],
    ] {
        process::run_quietly(Command::new("ip").args(arguments), LIMIT)?;
    }
    let writer = device.try_clone()?;
    let (sender, receiver) = channel();
    thread::spawn(move || take(device, &sender));
    thread::spawn(move || give(writer, &receiver));
    Ok(())
}

type OnItsWay = (Instant, Vec<u8>);

/// Takes packets from the system; some are lost.
fn take(mut device: File, sender: &Sender<OnItsWay>) {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut packet = vec![0; 1 << 16];
    while let Ok(length) = device.read(&mut packet) {
        let Some(bytes) = packet.get_mut(..length) else { return };
        if exchange_ends(bytes) && dice.next() % 100 >= LOST_PERCENT {
            // Nobody takes them any more once the program ends.
            let _ = sender.send((Instant::now() + DELAY, bytes.to_vec()));
        }
    }
}

/// Gives them back when their time has come, in the order in which they were taken.
fn give(mut device: File, receiver: &Receiver<OnItsWay>) {
    for (due, packet) in receiver {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // A system that has no room for it loses it, as a link may.
        let _ = device.write(&packet);
    }
}

/// Exchanges source and destination of an IPv4 packet, which leaves every checksum as it is; false for other packets.
fn exchange_ends(packet: &mut [u8]) -> bool {
    if packet.first().is_none_or(|first| first >> 4 != 4) {
        return false;
    }
    let Some((source, destination)) = packet.get_mut(12..20).and_then(|ends| ends.split_at_mut_checked(4))
    else {
        return false;
    };
    source.swap_with_slice(destination);
    true
}

/// Xorshift64: losses that are the same in each run for the same packets.
struct Dice(u64);

impl Dice {
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A command that runs in namespaces of its own for network and mounts, which are gone when the command is.
pub(super) fn in_own_namespace(command: &Command) -> Result<Command> {
    let can = Command::new("unshare")
        .args(["--net", "--mount", "true"])
        .output()
        .context("unshare is not there")?;
    ensure!(can.status.success(), "no network namespace can be made; this needs root");
    let mut inside = Command::new("unshare");
    inside.args(["--net", "--mount", "--"]).arg(command.get_program()).args(command.get_args());
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_and_destination_are_exchanged_in_ipv4_alone() {
        let mut packet: Vec<u8> = (0..24).collect();
        packet[0] = 0x45;
        assert!(exchange_ends(&mut packet));
        assert_eq!(packet[12..20], [16, 17, 18, 19, 12, 13, 14, 15]);
        packet[0] = 0x60;
        assert!(!exchange_ends(&mut packet));
        assert!(!exchange_ends(&mut [0x45; 10]));
    }

    #[test]
    fn two_of_a_hundred_packets_are_lost() {
        let mut dice = Dice(1);
        let lost = (0..100_000).filter(|_| dice.next() % 100 < LOST_PERCENT).count();
        assert!((1_800..2_200).contains(&lost), "{lost}");
    }
}

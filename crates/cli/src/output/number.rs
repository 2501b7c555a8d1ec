//! Numbers as people read them: separators, decimal units, rates.

use std::time::Duration;

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1,234`, or `-` for a number that is not known.
pub(crate) fn offset(number: i64) -> String {
    u64::try_from(number).map_or_else(|_| "-".to_owned(), count)
}

/// `1 record`, `2 records`, `2 batches`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(number))
}

/// `3 partitions with replicas out of sync`; none if there are none.
pub(crate) fn partitions(number: usize, what: &str) -> Option<String> {
    (number > 0).then(|| format!("{} {what}", counted(number as u64, "partition")))
}

/// `6.9 MB`: decimal units, as disks and networks are sold.
pub(crate) fn bytes(number: u64) -> String {
    if number < 1_000 {
        return format!("{number} B");
    }
    let (value, unit) = scaled(number as f64);
    format!("{value} {unit}B")
}

/// `1.1 M records/s`.
pub(crate) fn rate(number: u64, noun: &str, took: Duration) -> String {
    let (value, unit) = scaled(number as f64 / took.as_secs_f64().max(1e-9));
    let space = if unit.is_empty() { "" } else { " " };
    format!("{value}{space}{unit} {noun}/s")
}

/// `0.9 s`, `350 ms`, `180 us`, `2 min 5 s`, `3 h 20 min`, `7 days`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match duration.as_micros() {
        0..1_000 => format!("{} us", duration.as_micros()),
        1_000..10_000 => format!("{:.1} ms", duration.as_secs_f64() * 1e3),
        10_000..500_000 => format!("{} ms", duration.as_millis()),
        500_000..10_000_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ if seconds < 60 => format!("{seconds} s"),
        _ if seconds < 3_600 => pair(seconds / 60, "min", seconds % 60, "s"),
        _ if seconds < 48 * 3_600 => pair(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => pair(seconds / 86_400, "days", seconds % 86_400 / 3_600, "h"),
    }
}

fn pair(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

/// Three digits or so, and the letter of the thousands.
fn scaled(number: f64) -> (String, &'static str) {
    let mut value = number;
    let mut unit = "";
    for next in ["k", "M", "G", "T", "P"] {
        // 999.5 would be shown as 1000.
        if value < 999.5 {
            break;
        }
        value /= 1_000.0;
        unit = next;
    }
    let digits = usize::from(value < 99.95 && (!unit.is_empty() || value.fract() != 0.0));
    (format!("{value:.digits$}"), unit)
}

/// Reads `65536`, `64 KiB`, `1MB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("a number of bytes, such as 65536 or 64KiB, is wanted".to_owned());
    }
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "kib" => 1 << 10,
        "m" | "mb" => 1_000_000,
        "mib" => 1 << 20,
        "g" | "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        _ => return Err(format!("{} is no unit; there are B, kB, MB, GB, KiB, MiB and GiB", unit.trim())),
    };
    let number: u64 =
        number.parse().map_err(|_| "a number of bytes, such as 65536 or 64KiB, is wanted".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is more bytes than there can be".to_owned())
}

/// Reads the size of a batch, which producers have in these bounds.
pub(crate) fn parse_batch_bytes(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        bytes @ 256..=0x400_0000 => Ok(bytes),
        _ => Err("a batch has from 256 B to 64 MiB".to_owned()),
    }
}

/// Reads the size of a record: no broker takes a batch that is longer.
pub(crate) fn parse_record_bytes(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        bytes @ 0..=0x640_0000 => Ok(bytes),
        _ => Err("a record has at most 100 MiB".to_owned()),
    }
}

/// Reads a number of partitions. How many are too many is for the brokers to say.
pub(crate) fn parse_partitions(text: &str) -> Result<u32, String> {
    match text.trim().parse::<i64>() {
        Ok(..1) => Err("a topic has at least 1 partition".to_owned()),
        Ok(count) if count > i64::from(i32::MAX) => Err("no topic has so many partitions".to_owned()),
        Ok(count) => u32::try_from(count).map_err(|_| "no topic has so many partitions".to_owned()),
        Err(_) => Err("a number of partitions, such as 6, is wanted".to_owned()),
    }
}

/// Reads `250ms`, `5s`, `15m`, `2h`, `7d`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let millis: u64 = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("a duration with its unit, such as 250ms, 5s, 15m, 2h or 7d, is wanted".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| format!("{text} has no number before its unit"))?;
    number
        .checked_mul(millis)
        .map(Duration::from_millis)
        .ok_or_else(|| "that is longer than can be".to_owned())
}

/// Reads a duration that somebody waits for.
pub(crate) fn parse_timeout(text: &str) -> Result<Duration, String> {
    parse_duration(text).and_then(|timeout| match timeout.is_zero() {
        true => Err("a timeout is longer than zero".to_owned()),
        false => Ok(timeout),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_partitions_that_no_topic_has_are_refused_in_words() {
        assert_eq!((parse_partitions("1"), parse_partitions("200000")), (Ok(1), Ok(200_000)));
        for (text, said) in [
            ("0", "at least 1"),
            ("-1", "at least 1"),
            ("2147483648", "so many"),
            ("99999999999999999999", "a number of partitions"),
            ("six", "a number of partitions"),
            ("1.5", "a number of partitions"),
        ] {
            let refused = parse_partitions(text).unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }

    #[test]
    fn counts_have_separators() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (166_702, "166,702"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(number), text);
        }
        assert_eq!(counted(1, "partition"), "1 partition");
        assert_eq!(counted(6_000, "partition"), "6,000 partitions");
        assert_eq!(counted(0, "batch"), "0 batches");
        assert_eq!(offset(-1), "-");
    }

    #[test]
    fn sizes_have_decimal_units() {
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (6_888_896, "6.9 MB"),
            (999_999, "1.0 MB"),
            (123_456_789, "123 MB"),
            (u64::MAX, "18447 PB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn rates_are_per_second() {
        let second = Duration::from_secs(1);
        assert_eq!(rate(1_100_000, "records", second), "1.1 M records/s");
        assert_eq!(rate(5, "records", second), "5 records/s");
        assert_eq!(rate(5, "records", Duration::from_secs(2)), "2.5 records/s");
        assert_eq!(rate(0, "records", Duration::ZERO), "0 records/s");
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        for (micros, text) in [
            (0, "0 us"),
            (180, "180 us"),
            (1_240, "1.2 ms"),
            (350_000, "350 ms"),
            (900_000, "0.9 s"),
            (41_000_000, "41 s"),
            (125_000_000, "2 min 5 s"),
            (12_000_000_000, "3 h 20 min"),
            (7 * 86_400_000_000, "7 days"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn sizes_and_durations_are_read() {
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("1 MB"), Ok(1_000_000));
        assert!(parse_bytes("one").is_err());
        assert!(parse_bytes("-1").unwrap_err().starts_with("a number of bytes"));
        assert_eq!((parse_batch_bytes("256"), parse_batch_bytes("64MiB")), (Ok(256), Ok(64 << 20)));
        assert!(parse_batch_bytes("255").is_err() && parse_batch_bytes("65MiB").is_err());
        assert!(parse_bytes("99999999999GiB").is_err());
        assert!(parse_record_bytes("100MiB").is_ok() && parse_record_bytes("99GB").is_err());
        assert_eq!(parse_duration("15m"), Ok(Duration::from_secs(900)));
        assert!(parse_duration("15").is_err());
        assert!(parse_duration("s").is_err());
        assert_eq!(parse_timeout("8s"), Ok(Duration::from_secs(8)));
        assert_eq!(parse_timeout("0s"), Err("a timeout is longer than zero".to_owned()));
    }
}

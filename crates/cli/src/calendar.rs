//! Dates and times in UTC, as people write them, from and to milliseconds since 1970 (the proleptic Gregorian
//! calendar; leap seconds do not exist in Kafka's timestamps).

/// A day in milliseconds.
const DAY_MS: i64 = 86_400_000;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;
/// Days in 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;

/// `2026-12-01T10:59:05.123Z`.
pub(crate) fn timestamp(millis: i64) -> String {
    let (year, month, day) = date_of(millis.div_euclid(DAY_MS));
    let within = millis.rem_euclid(DAY_MS);
    let (hour, minute) = (within / 3_600_000, within / 60_000 % 60);
    let (second, milli) = (within / 1_000 % 60, within % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Reads `2026-12-01`, `2026-12-01T10:59`, `2026-12-01 10:59:05.5Z`, `2026-12-01T10:59:05+02:00`; UTC where no zone is
/// named.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let days = parse_date(date)?;
    if time.is_empty() {
        return days.checked_mul(DAY_MS).filter(|_| !text.contains(['T', 't', ' ']));
    }
    let (clock, zone_minutes) = split_zone(time)?;
    let within = parse_clock(clock)?;
    days.checked_mul(DAY_MS)?.checked_add(within)?.checked_sub(zone_minutes * 60_000)
}

fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) =
        (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let days = days_of(year, month, day);
    // A day that the month does not have comes back as another one.
    (date_of(days) == (year, month, day)).then_some(days)
}

fn parse_clock(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let rest = parts.next().unwrap_or("00");
    let (second, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let second = digits(second, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(((hour * 60 + minute) * 60 + second) * 1_000 + millis_of(fraction)?)
}

fn millis_of(fraction: &str) -> Option<i64> {
    let three: String = fraction.chars().chain("000".chars()).take(3).collect();
    (fraction.len() <= 9 && fraction.chars().all(|c| c.is_ascii_digit())).then(|| three.parse().ok())?
}

/// The time without its zone, and the zone's minutes east of UTC.
fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = text.find(['+', '-']) else { return Some((text, 0)) };
    let (clock, zone) = text.split_at(at);
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let east = digits(hours, 2)? * 60 + digits(minutes, 2)?;
    Some((clock, if zone.starts_with('-') { -east } else { east }))
}

fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days since 1970-01-01. Years begin in March here, so that the leap day is their last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year.div_euclid(400) * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let of_era = days.rem_euclid(ERA_DAYS);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    (year + days.div_euclid(ERA_DAYS) * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_written_and_read_back() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_796_122_745_123, "2026-12-01T10:59:05.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(millis), text);
            assert_eq!(parse(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn shorter_forms_are_read_as_utc() {
        let day = parse("2026-12-01").unwrap();
        assert_eq!(parse("2026-12-01T00:00"), Some(day));
        assert_eq!(parse("2026-12-01 00:00:01.5"), Some(day + 1_500));
        assert_eq!(parse("2026-12-01T02:00:00+02:00"), Some(day));
        assert_eq!(parse("2026-11-30T23:30:00-00:30"), Some(day));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "12",
            "2026",
            "2026-13-01",
            "2026-02-30",
            "2026-12-01T",
            "2026-12-01T24:00",
            "2026-12-01T1:00",
            "2026-12-01T10:00:61",
            "2026-12-01T10:00:00.x",
            "26-12-01",
            "2026-12-01T10:00+2",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

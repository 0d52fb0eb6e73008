//! Values as SQL writes them.

use crate::rows::{Column, Kind};

impl Column {
    /// Appends a value as SQL writes it: 1.50, true, 2026-01-31, 2026-01-31 05:06:07.5 (+00 follows if it is a moment), bytes in
    /// hexadecimal. A float is the shortest text that reads as the same float. Of a NULL nothing is appended.
    pub fn append_text(&self, to: &mut Vec<u8>, row: usize) {
        if self.is_null(row) {
            return;
        }
        let text = match self.field.kind {
            Kind::Bool => self.bool(row).to_string(),
            Kind::Int(_) => self.int(row).to_string(),
            Kind::Uint(_) => self.uint(row).to_string(),
            Kind::Float(bits) => float(self.float(row), bits),
            Kind::Decimal(scale) => decimal(self.decimal(row), scale),
            Kind::Text => return to.extend_from_slice(self.bytes(row)),
            Kind::Binary => self.bytes(row).iter().map(|b| format!("{:02x}", b)).collect(),
            Kind::Date => date(self.int(row)),
            Kind::Time(digits) => clock(self.int(row), digits),
            Kind::Timestamp(digits, moment) => {
                let day = 86400 * 10_i64.pow(digits as u32);
                let value = self.int(row);
                let zone = if moment { "+00" } else { "" };
                format!("{} {}{}", date(value.div_euclid(day)), clock(value.rem_euclid(day), digits), zone)
            }
        };
        to.extend_from_slice(text.as_bytes());
    }
}

/// No exponent where people would not write one, as JSON does (ECMA-262).
fn float(v: f64, bits: usize) -> String {
    if v.is_nan() {
        return "NaN".into();
    }
    if v.is_infinite() {
        return if v > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let plain = v == 0.0 || (1e-6..1e21).contains(&v.abs());
    match (plain, bits) {
        (true, 32) => (v as f32).to_string(),
        (true, _) => v.to_string(),
        (false, 32) => exponent(format!("{:e}", v as f32)),
        (false, _) => exponent(format!("{:e}", v)),
    }
}

/// An exponent with its sign and at least two digits.
fn exponent(text: String) -> String {
    match text.split_once('e') {
        None => text,
        Some((digits, power)) => {
            let (sign, power) = power.strip_prefix('-').map_or(("+", power), |p| ("-", p));
            format!("{}e{}{:0>2}", digits, sign, power)
        }
    }
}

fn decimal(v: i128, scale: usize) -> String {
    let digits = format!("{:0>width$}", v.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let sign = if v < 0 { "-" } else { "" };
    if scale == 0 {
        return format!("{}{}", sign, whole);
    }
    format!("{}{}.{}", sign, whole, part)
}

/// A day of the Gregorian calendar, also before it began. Years are counted from March, so that the day that some years have
/// more is their last.
fn date(days: i64) -> String {
    const ERA: i64 = 146_097; // days in 400 years
    let days = days + 719_468; // since 0000-03-01
    let (eras, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    let year = year + 400 * eras;
    let sign = if year < 0 { "-" } else { "" };
    format!("{}{:04}-{:02}-{:02}", sign, year.abs(), month, day)
}

/// A time of day, without the zeros that end its fraction.
fn clock(value: i64, digits: usize) -> String {
    let unit = 10_i64.pow(digits as u32);
    let (seconds, fraction) = (value / unit, value % unit);
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 {
        return text;
    }
    let fraction = format!("{:0>width$}", fraction, width = digits);
    format!("{}.{}", text, fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times() {
        for (days, want) in [(0, "1970-01-01"), (20484, "2026-01-31"), (11016, "2000-02-29"), (-719162, "0001-01-01"), (2932896, "9999-12-31"), (-719529, "-0001-12-31")] {
            assert_eq!(date(days), want, "{}", days);
        }
        assert_eq!(clock(86_399_999_999, 6), "23:59:59.999999");
        assert_eq!(clock(18_367_500, 3), "05:06:07.5");
        assert_eq!(clock(0, 0), "00:00:00");
    }

    #[test]
    fn numbers() {
        for (v, bits, want) in [(1.5, 64, "1.5"), (0.1_f32 as f64, 32, "0.1"), (1e21, 64, "1e+21"), (-1.7e308, 64, "-1.7e+308"), (2.5e-7, 64, "2.5e-07"), (1e20, 64, "100000000000000000000"), (f64::NAN, 64, "NaN")] {
            assert_eq!(float(v, bits), want);
        }
        for (v, scale, want) in [(1250, 2, "12.50"), (-5, 2, "-0.05"), (7, 0, "7"), (i128::MIN, 0, "-170141183460469231731687303715884105728")] {
            assert_eq!(decimal(v, scale), want);
        }
    }
}

//! A date and its `strftime` in the C locale.

use crate::error::{Result, unsupported};

/// A day at midnight, of the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    year: i32,
    month: u32,
    day: u32,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Date {
    /// A day of the years 1 to 9999.
    pub fn new(year: i32, month: u32, day: u32) -> Option<Date> {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let is_day = (1..=days).contains(&day) && (1..=9999).contains(&year);
        is_day.then_some(Date { year, month, day })
    }

    /// Reads a day as `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Date> {
        let mut parts = text.split('-');
        let mut part = |length: usize| {
            let part = parts.next()?;
            let is_number = part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| is_number)
        };
        let (year, month, day) = (part(4)?, part(2)?, part(2)?);
        let date = Date::new(i32::try_from(year).ok()?, month, day)?;
        parts.next().is_none().then_some(date)
    }

    /// The days before the year, and the days of the year before this one.
    fn days(self) -> (i64, i64) {
        let before = i64::from(self.year) - 1;
        let years = before * 365 + before / 4 - before / 100 + before / 400;
        let first = Date { month: 1, day: 1, ..self };
        let mut day = i64::from(self.day) - 1;
        for month in 1..self.month {
            let next = (29..=32).find(|day| Date::new(first.year, month, *day).is_none());
            day += i64::from(next.unwrap_or(32)) - 1;
        }
        (years, day)
    }

    /// The day of the week; Sunday is 0.
    fn weekday(self) -> i64 {
        let (years, day) = self.days();
        (years + day + 1) % 7
    }

    /// `strftime(format)`, as in glibc.
    pub(crate) fn strftime(self, format: &str) -> Result<String> {
        let mut out = String::new();
        let mut chars = format.chars();
        let (weekday, (_, year_day)) = (self.weekday(), self.days());
        let month = MONTHS[self.month as usize - 1];
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut directive = chars.next();
            let is_bare = directive == Some('-');
            if is_bare {
                directive = chars.next();
            }
            let number = |value: i64, width: usize| match is_bare {
                true => value.to_string(),
                false => format!("{value:0width$}"),
            };
            let (year, day) = (i64::from(self.year), i64::from(self.day));
            let hour_of_day = |hour: i64| number(hour, 2);
            out.push_str(&match directive {
                Some('Y') => year.to_string(),
                Some('G') => self.iso_week().0.to_string(),
                Some('V') => number(self.iso_week().1, 2),
                Some('y') => number(year % 100, 2),
                Some('C') => number(year / 100, 2),
                Some('m') => number(i64::from(self.month), 2),
                Some('d') => number(day, 2),
                Some('e') if is_bare => day.to_string(),
                Some('e') => format!("{day:2}"),
                Some('j') => number(year_day + 1, 3),
                Some('B') => month.into(),
                Some('b' | 'h') => month[..3].into(),
                Some('A') => DAYS[weekday as usize].into(),
                Some('a') => DAYS[weekday as usize][..3].into(),
                Some('w') => weekday.to_string(),
                Some('u') => (if weekday == 0 { 7 } else { weekday }).to_string(),
                Some('U') => number((year_day + 7 - weekday) / 7, 2),
                Some('W') => number((year_day + 7 - (weekday + 6) % 7) / 7, 2),
                Some('H' | 'M' | 'S') => hour_of_day(0),
                Some('I') => hour_of_day(12),
                Some('p') => "AM".into(),
                Some('f') => "000000".into(),
                Some('F') => format!("{year}-{:02}-{day:02}", self.month),
                Some('D' | 'x') => format!("{:02}/{day:02}/{:02}", self.month, year % 100),
                Some('T' | 'X') => "00:00:00".into(),
                Some('R') => "00:00".into(),
                Some('r') => "12:00:00 AM".into(),
                Some('c') => format!(
                    "{} {} {day:2} 00:00:00 {year}",
                    &DAYS[weekday as usize][..3],
                    &month[..3]
                ),
                Some('Z' | 'z') => String::new(),
                Some('n') => "\n".into(),
                Some('t') => "\t".into(),
                Some('%') => "%".into(),
                other => {
                    let other = other.map(String::from).unwrap_or_default();
                    return unsupported(format!("strftime_now with %{other}"));
                }
            });
        }
        Ok(out)
    }

    /// Year and week of ISO 8601.
    fn iso_week(self) -> (i64, i64) {
        let (_, day) = self.days();
        let weekday = (self.weekday() + 6) % 7;
        let week = (day - weekday + 10) / 7;
        let year = i64::from(self.year);
        let weeks = |year: i64| {
            let first = |year: i64| (year + year / 4 - year / 100 + year / 400) % 7;
            if first(year) == 4 || first(year - 1) == 3 { 53 } else { 52 }
        };
        match week {
            0 => (year - 1, weeks(year - 1)),
            week if week > weeks(year) => (year + 1, 1),
            week => (year, week),
        }
    }
}

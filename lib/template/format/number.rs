//! The digits of numbers in formats.

use crate::error::{Result, fault};
use crate::value::print;

/// The digits of a float without its sign, in one of C's forms `e f g %`; in capitals if the form is a capital.
pub fn float(
    value: f64,
    form: char,
    precision: Option<usize>,
    is_alternate: bool,
) -> Result<String> {
    let value = value.abs();
    let precision = precision.unwrap_or(6);
    if precision > 1000 {
        return fault("a precision that is too large");
    }
    if !value.is_finite() {
        let text = if value.is_nan() { "nan" } else { "inf" };
        let text = if form.is_ascii_uppercase() { text.to_uppercase() } else { text.into() };
        return Ok(if form == '%' { text + "%" } else { text });
    }
    let text = match form.to_ascii_lowercase() {
        'f' => fixed(value, precision, is_alternate),
        'e' => scientific(value, precision, is_alternate),
        '%' => fixed(value * 100.0, precision, is_alternate) + "%",
        _ => general(value, precision, is_alternate),
    };
    Ok(if form.is_ascii_uppercase() { text.to_uppercase() } else { text })
}

fn fixed(value: f64, precision: usize, is_alternate: bool) -> String {
    let text = format!("{value:.precision$}");
    if is_alternate && precision == 0 { text + "." } else { text }
}

fn scientific(value: f64, precision: usize, is_alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if is_alternate && precision == 0 { "." } else { "" };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.abs())
}

fn exponent_of(value: f64, precision: usize) -> i32 {
    let text = format!("{value:.*e}", precision - 1);
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

fn without_zeros(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

fn general(value: f64, precision: usize, is_alternate: bool) -> String {
    let precision = precision.max(1);
    let exponent = exponent_of(value, precision);
    if exponent < -4 || exponent >= precision as i32 {
        let text = scientific(value, precision - 1, is_alternate);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        let mantissa = mantissa.to_string();
        let mantissa = if is_alternate { mantissa } else { without_zeros(mantissa) };
        return format!("{mantissa}e{exponent}");
    }
    let text = fixed(value, (precision as i32 - 1 - exponent).max(0) as usize, is_alternate);
    if is_alternate { text } else { without_zeros(text) }
}

/// The digits of a float for a format without a form.
pub fn plain(value: f64, precision: Option<usize>) -> String {
    let value = value.abs();
    let Some(precision) = precision else { return print::float(value) };
    if !value.is_finite() {
        return print::float(value);
    }
    let precision = precision.clamp(1, 1000);
    let exponent = exponent_of(value, precision);
    if exponent < -4 || exponent >= precision as i32 {
        return general(value, precision, false);
    }
    let text = general(value, precision, false);
    // (With a form there would be no digit after the point.)
    match text.contains('.') {
        true => text,
        false if exponent >= precision as i32 - 1 && precision > 0 => {
            // `format(3.0, '.1')` is `3e+00`.
            scientific_short(value, precision)
        }
        false => text + ".0",
    }
}

fn scientific_short(value: f64, precision: usize) -> String {
    let text = scientific(value, precision - 1, false);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
    format!("{}e{exponent}", without_zeros(mantissa.to_string()))
}

/// Puts a mark between groups of `size` digits.
pub fn grouped(digits: &str, mark: char, size: usize) -> String {
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(size) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

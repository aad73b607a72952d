//! What is compared of pairs of answers.

use super::PairKind;
use crate::batch::Header;
use crate::diff::{DiffRecord, DiffView, PARTS, hash};
use crate::error::Result;
use crate::kind::TokenRow;
use crate::kind::TokenTexts;
use crate::kind::diff::shown_tokens;
use crate::record::pairs::{self, Pairs};

impl DiffView for PairKind {
    type Facts = TokenTexts;

    const NAMES: &'static [&'static str] = &pairs::PARTS;

    fn facts(header: &Header) -> Result<TokenTexts> {
        TokenTexts::of(header, None)
    }

    fn hashes(one: &DiffRecord<'_, Pairs<'_>, TokenTexts>) -> Result<[u64; PARTS]> {
        let [prompt, chosen, rejected] = one.rows.parts(one.row).map(|tokens| hash(&tokens));
        Ok([prompt, chosen, rejected, 0])
    }

    fn are_equal(
        a: &DiffRecord<'_, Pairs<'_>, TokenTexts>,
        b: &DiffRecord<'_, Pairs<'_>, TokenTexts>,
    ) -> Result<bool> {
        Ok(a.rows.parts(a.row) == b.rows.parts(b.row))
    }

    fn shown(
        part: &str,
        a: &DiffRecord<'_, Pairs<'_>, TokenTexts>,
        b: &DiffRecord<'_, Pairs<'_>, TokenTexts>,
    ) -> Result<Vec<String>> {
        let number = pairs::PARTS.iter().position(|name| *name == part).unwrap_or(0);
        Ok(shown_tokens(tokens_of(a, number), tokens_of(b, number)))
    }
}

fn tokens_of<'a>(one: &DiffRecord<'a, Pairs<'_>, TokenTexts>, part: usize) -> TokenRow<'a> {
    let texts = one.facts.of_harmony(one.rows.may_be_harmony(one.row));
    TokenRow { tokens: one.rows.parts(one.row)[part], texts }
}

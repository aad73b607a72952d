use super::*;

/// (sequence, start, length) of each piece.
type Row = Vec<(u64, u32, u32)>;

fn packing(algorithm: Algorithm, overflow: Overflow, length: u32) -> Packing {
    let (seq_length, counted, multiple) = (Some(length), RowUnit::Tokens, NonZeroU32::MIN);
    Packing { seq_length, algorithm, overflow, counted, multiple, row_multiple: multiple }
}

/// Rows as lists of (sequence, start, length).
fn rows_of(packing: Packing, lengths: &[u32]) -> Vec<Vec<(u64, u32, u32)>> {
    let (rows, _) = packing.pack(lengths, 0).unwrap();
    let piece = |piece: &Piece| (piece.sequence, piece.start, piece.length);
    rows.iter().map(|row| row.iter().map(piece).collect()).collect()
}

/// The same by the rules as they are written, without any tree.
fn slowly(packing: Packing, lengths: &[u32]) -> Vec<Vec<(u64, u32, u32)>> {
    let mut changed = PackingChanges::default();
    let mut pieces = packing.pieces(lengths, 0, &mut changed).unwrap();
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.length));
    let capacity = packing.seq_length.unwrap();
    // The room of each row, and when it came to it.
    let mut rows: Vec<(u32, usize, Row)> = Vec::new();
    for (now, piece) in pieces.iter().enumerate() {
        let weight = packing.weight(piece.length);
        let fits = rows.iter().enumerate().filter(|(_, row)| row.0 >= weight);
        let chosen = match packing.algorithm {
            Algorithm::Bfd => fits.min_by_key(|(_, row)| (row.0, row.1)).map(|(at, _)| at),
            _ => fits.map(|(at, _)| at).next(),
        };
        let at = chosen.unwrap_or(rows.len());
        if at == rows.len() {
            rows.push((capacity, 0, Vec::new()));
        }
        rows[at].0 -= weight;
        rows[at].1 = now;
        rows[at].2.push((piece.sequence, piece.start, piece.length));
    }
    rows.into_iter().map(|row| row.2).collect()
}

/// Lengths up to `most`, always the same.
fn lengths(count: u32, most: u32, seed: u32) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..count).map(|_| next() % (most + 1)).collect()
}

#[test]
fn rows_are_those_of_the_rules() {
    for (seed, (capacity, most)) in
        (0..).zip([(2, 2), (7, 7), (64, 64), (65, 30), (100, 350), (4096, 900), (5000, 9000)])
    {
        let lengths = lengths(700, most, seed);
        for algorithm in [Algorithm::Bfd, Algorithm::Ffd] {
            for overflow in [Overflow::Drop, Overflow::Split, Overflow::Cut] {
                for counted in [RowUnit::Tokens, RowUnit::Inputs] {
                    let packing = Packing { counted, ..packing(algorithm, overflow, capacity) };
                    let rows = rows_of(packing, &lengths);
                    assert_eq!(rows, slowly(packing, &lengths), "{packing:?}");
                    let weight = |row: &Vec<(u64, u32, u32)>| -> u32 {
                        row.iter().map(|piece| packing.weight(piece.2)).sum()
                    };
                    assert!(rows.iter().all(|row| !row.is_empty() && weight(row) <= capacity));
                }
            }
        }
    }
}

#[test]
fn every_token_is_in_a_row_or_counted() {
    let lengths = lengths(500, 300, 9);
    let all: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    for algorithm in [Algorithm::Bfd, Algorithm::Ffd, Algorithm::Wrapped, Algorithm::None] {
        for overflow in [Overflow::Drop, Overflow::Split, Overflow::Cut] {
            let (rows, changed) = packing(algorithm, overflow, 100).pack(&lengths, 7).unwrap();
            let in_rows: u64 = rows.pieces().iter().map(|piece| u64::from(piece.length)).sum();
            assert_eq!(in_rows + changed.dropped.tokens + changed.cut.tokens, all);
            let mut pieces = rows.pieces().to_vec();
            pieces.sort_by_key(|piece| (piece.sequence, piece.start));
            for pair in pieces.windows(2) {
                let [a, b] = pair else { continue };
                assert!(a.sequence < b.sequence && b.start == 0 || b.start == a.start + a.length);
            }
        }
    }
}

#[test]
fn what_is_too_long_is_told() {
    let packing = packing(Algorithm::Bfd, Overflow::Error, 4);
    let long = TooLong { sequences: 2, longest: 9, first: 11 };
    assert_eq!(packing.pack(&[4, 5, 0, 9], 10), Err(long));
    assert!(packing.pack(&[4, 4, 0], 0).is_ok());
    assert_eq!(rows_of(packing, &[]), Vec::<Vec<(u64, u32, u32)>>::new());
}

#[test]
fn wrapped_rows_are_one_line() {
    let rows = rows_of(packing(Algorithm::Wrapped, Overflow::Error, 4), &[3, 0, 9, 1]);
    let wanted = [vec![(0, 0, 3), (2, 0, 1)], vec![(2, 1, 4)], vec![(2, 5, 4)], vec![(3, 0, 1)]];
    assert_eq!(rows, wanted);
}

/// Pieces take whole multiples, of inputs and of tokens. A piece that is longer than the last multiple is too long.
#[test]
fn padded_pieces() {
    let padded = |counted, length| {
        let multiple = NonZeroU32::new(16).unwrap();
        Packing { counted, multiple, ..packing(Algorithm::Bfd, Overflow::Cut, length) }
    };
    let inputs = padded(RowUnit::Inputs, 50);
    assert_eq!(inputs.most_tokens(), 49);
    for (tokens, weight, padding) in [(0, 0, 0), (1, 0, 0), (2, 16, 15), (17, 16, 0), (18, 32, 15)]
    {
        assert_eq!((inputs.weight(tokens), inputs.padding(tokens)), (weight, padding), "{tokens}");
    }
    let tokens = padded(RowUnit::Tokens, 50);
    assert_eq!((tokens.most_tokens(), tokens.weight(17), tokens.padding(17)), (48, 32, 15));
    // The second does not fit beside the first, though their tokens would.
    let pieces = rows_of(inputs, &[30, 19, 60]);
    assert_eq!(pieces, [vec![(2, 0, 49)], vec![(0, 0, 30)], vec![(1, 0, 19)]]);
}

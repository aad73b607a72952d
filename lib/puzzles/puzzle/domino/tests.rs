//! Domino's tests: tokens, rules, and the states of played games.

use super::*;

fn state() -> DominoState {
    DominoState { table: vec![[1, 2], [2, 2], [2, 6]], hand: vec![[0, 1], [5, 6], [3, 3]] }
}

#[test]
fn encodes_and_decodes() {
    let example = encode(&state(), Split::Train);
    let mut inputs = [0; TOKENS];
    inputs[..6].copy_from_slice(&[2, 3, 3, 3, 3, 7]);
    inputs[56..62].copy_from_slice(&[1, 2, 6, 7, 4, 4]);
    inputs[70..].copy_from_slice(&[2, 7]);
    assert_eq!(example.inputs, inputs);
    let mut labels = [0; TOKENS];
    labels[..3].copy_from_slice(&[6, 7, 2]);
    assert_eq!(example.labels, labels);
    assert_eq!(
        Domino.decode(Side::Inputs, &inputs),
        Ok(json!({
            "table": [[1, 2], [2, 2], [2, 6]],
            "hand": [[0, 1], [5, 6], [3, 3]],
            "left": 1,
            "right": 6,
        }))
    );
    assert_eq!(Domino.decode(Side::Labels, &labels), Ok(json!({"tile": [5, 6], "where": "right"})));
    let drawn = |inputs: &[i32], labels: &[i32]| {
        [Side::Inputs, Side::Labels].map(|s| Domino.picture(s, inputs, labels).unwrap().text())
    };
    let [state, answer] = drawn(&inputs, &labels);
    assert_eq!(state, "chain: 1|2 2|2 2|6\nends: 1 6\nhand: 0|1 5|6 3|3");
    assert_eq!(answer, "play: 5|6 right\nignored: 69 labels");
    assert_eq!(drawn(&inputs, &[0; TOKENS])[1], "play: no move\nignored: 69 labels");
    labels[..5].copy_from_slice(&[9, 1, 4, 0, 2]);
    assert_eq!(drawn(&inputs, &labels)[1], "play: ?9|0 4 2\nignored: 68 labels");
    assert!(Domino.picture(Side::Labels, &inputs, &[0; 3]).is_none());
    assert_eq!(
        Domino.decode(Side::Inputs, &[8; TOKENS]).unwrap_err(),
        "token 8 is not a number of pips"
    );
}

#[test]
fn rules() {
    let good = encode(&state(), Split::Train);
    let find = |change: &dyn Fn(&mut Vec<i32>, &mut Vec<i32>)| -> Vec<String> {
        let (mut inputs, mut labels) = (good.inputs.clone(), good.labels.clone());
        change(&mut inputs, &mut labels);
        let found = Domino.check(&inputs, &labels, None);
        found.into_iter().map(|f| format!("{}: {}", f.rule.id, f.message)).collect()
    };
    assert_eq!(find(&|_, _| ()), [""; 0]);
    assert_eq!(find(&|i, _| i.truncate(71)), ["shape: 71 tokens and 72 labels"]);
    assert_eq!(find(&|i, _| i[9] = 8), ["token: input 8 is not in 0..7"]);
    assert_eq!(find(&|_, l| l[2] = 4), ["token: label 4 is not in 0..3"]);
    assert_eq!(find(&|_, l| l[71] = 1), ["rest: label 71 is 1, expected 0"]);
    assert_eq!(
        find(&|i, _| i[61] = 0),
        ["tile: no whole tile at input 60, or an empty one before"]
    );
    assert_eq!(
        find(&|i, _| i[64..66].copy_from_slice(&[1, 1])),
        ["tile: no whole tile at input 64, or an empty one before"]
    );
    assert_eq!(find(&|i, _| i[60..62].copy_from_slice(&[2, 1])), ["distinct: 1|0 appears twice"]);
    assert_eq!(
        find(&|i, _| i[2..4].copy_from_slice(&[4, 5])),
        ["chain: tiles 1 and 2 do not match: 1|2 3|4"]
    );
    assert_eq!(
        find(&|i, _| i.swap(70, 71)),
        [
            "ends: ends are 6 1, the table ends in 1 6",
            "fits: 5|6 does not fit right: the ends are 6 and 1"
        ]
    );
    assert_eq!(
        find(&|_, l| l[..2].copy_from_slice(&[7, 7])),
        ["target: 6|6 is not in the hand 0|1 5|6 3|3"]
    );
    assert_eq!(find(&|_, l| l[0] = 0), ["target: the tile to play is not a whole tile"]);
    assert_eq!(find(&|_, l| l[2] = 1), ["fits: 5|6 does not fit left: the ends are 1 and 6"]);
    assert_eq!(find(&|_, l| l[2] = 3), ["fits: 5|6 does not fit first: the ends are 1 and 6"]);
    assert_eq!(find(&|_, l| l[2] = 0), ["fits: 5|6 does not fit nowhere: the ends are 1 and 6"]);
    assert_eq!(find(&|_, l| l[..3].fill(0)), ["no_move: no move, but 0|1 fits"]);
    // Turned round in the label it is the same tile.
    assert_eq!(find(&|_, l| l.swap(0, 1)), [""; 0]);
}

#[test]
fn an_empty_table() {
    let state = DominoState { table: vec![], hand: vec![[0, 1]] };
    let mut example = encode(&state, Split::Train);
    assert_eq!(example.labels[..3], [1, 2, 3]);
    assert_eq!(Domino.check(&example.inputs, &example.labels, None), []);
    // Ends that it cannot have are one finding: what fits is judged by the table.
    let mut inputs = example.inputs.clone();
    inputs[70..].copy_from_slice(&[2, 3]);
    let found = Domino.check(&inputs, &example.labels, None);
    assert_eq!(found.iter().map(|finding| finding.rule.id).collect::<Vec<_>>(), ["ends"]);
    example.labels[2] = 1;
    let found = Domino.check(&example.inputs, &example.labels, None);
    assert_eq!(found[0].message, "0|1 does not fit left: the ends are an empty table");
    example.labels[..3].fill(0);
    assert_eq!(Domino.check(&example.inputs, &example.labels, None)[0].rule.id, "no_move");
}

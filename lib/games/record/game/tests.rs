//! Games through a batch and back, and errors in batches of other writers.

use super::*;
use crate::game2048::{Board, CELLS, Step};

fn game(number: u64, steps: u32) -> Game {
    let mut game = Game {
        run_id: number,
        seed: Some(u64::MAX - number),
        score: (number > 0).then_some(40),
        source: Some(format!("d6/g{number}")),
        meta: if number == 0 { String::new() } else { r#"{"x":[1, 2.50]}"#.to_string() },
        session: (number == 0).then(|| "{}".to_string()),
        ..Game::default()
    };
    for index in 0..steps {
        let name = game.valuation_index(["tuple11", "new"][index as usize % 2]);
        game.steps.push(Step {
            step_index: index,
            board: Board::new([index as u8 % 18; CELLS]).unwrap(),
            board_eval: Some(-(index as i32)),
            move_dir: Some(index as u8 % 4),
            valuation_type: name.filter(|_| index != 4),
            valuation: (index != 1).then_some(0.1),
            ev_legal: (index != 3).then_some(9),
            max_rank: Some(3),
            seed: (number > 0).then_some(1 << 63),
            branch_evs: [Some(-0.0), None, None, Some(1.5)].map(|ev| ev.filter(|_| index != 3)),
        });
    }
    game
}

#[test]
fn games_come_out_as_they_went_in() {
    let games = [game(0, 7), game(1, 0), game(2, 3)];
    let mut builder = GamesBuilder::default();
    games.iter().for_each(|game| builder.push(game).unwrap());
    assert_eq!((builder.len(), builder.steps()), (3, 10));
    let batch = builder.finish().unwrap();
    assert!(builder.is_empty());
    for batch in [batch.clone(), batch.slice(1, 2)] {
        let view = Games::of(&batch).unwrap();
        let mut read = game(9, 9);
        for (row, game) in games[games.len() - view.len()..].iter().enumerate() {
            view.read(row, &mut read).unwrap();
            assert_eq!(&read, game);
            assert_eq!(view.steps.range(row..row + 1).len(), game.steps.len());
        }
    }
    let lists = Games::of(&batch).unwrap().steps;
    let (steps, range) = (lists.items, lists.range(2..3));
    assert_eq!(steps.step_index.slice(range.clone()).values(), [0, 1, 2]);
    assert_eq!(steps.valuation.slice(range.clone()).get(1), None);
    assert_eq!(steps.board.row(range.start + 2), [2; CELLS]);
    assert_eq!(steps.valuation_type.get(range.start + 1), Some("new"));
}

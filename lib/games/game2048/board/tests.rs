use super::*;

/// Boards of a fixed pseudo-random sequence: some dense, some with equal tiles and gaps.
pub(in crate::game2048) fn random_boards(count: usize) -> impl Iterator<Item = Board> {
    let mut random = xorshift(0x9e37_79b9_7f4a_7c15);
    (0..count).map(move |i| {
        let ranks = [3, 6, 12, 18][i % 4];
        Board::new(std::array::from_fn(|_| (random() % ranks) as u8)).unwrap()
    })
}

pub(in crate::game2048) fn xorshift(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    }
}

fn board(cells: [u8; CELLS]) -> Board {
    Board::new(cells).unwrap()
}

/// A simple slide: the board is turned so that every move is a left move.
fn slide_directly(board: &Board, direction: Direction) -> Slide {
    let mut cells = [0; CELLS];
    let mut gained = 0;
    for line in 0..4 {
        let at: Vec<usize> = (0..4)
            .map(|step| match direction {
                Direction::Up => 4 * step + line,
                Direction::Down => 12 - 4 * step + line,
                Direction::Left => 4 * line + step,
                Direction::Right => 4 * line + 3 - step,
            })
            .collect();
        let mut tiles: Vec<u8> = at.iter().map(|&i| board.cells()[i]).collect();
        tiles.retain(|&tile| tile != 0);
        let mut i = 0;
        while i + 1 < tiles.len() {
            if tiles[i] == tiles[i + 1] {
                tiles[i] += 1;
                gained += 1u32 << tiles[i];
                tiles.remove(i + 1);
            }
            i += 1;
        }
        for (&i, tile) in at.iter().zip(tiles) {
            cells[i] = tile;
        }
    }
    Slide { cells, gained }
}

#[test]
fn directions_have_their_numbers_and_names() {
    for (index, name) in ["up", "down", "left", "right"].into_iter().enumerate() {
        let direction = Direction::from_name(name).unwrap();
        assert_eq!(direction as usize, index);
        assert_eq!(direction.name(), name);
        assert_eq!(Direction::from_index(index as u8), Some(direction));
        assert_eq!(direction.bit(), 1 << index);
    }
    assert_eq!(Direction::from_name("Up"), None);
    assert_eq!(Direction::from_index(4), None);
}

#[test]
fn slides_equal_a_direct_computation() {
    for board in random_boards(100_000) {
        let mut legal = 0;
        for direction in Direction::ALL {
            let slide = board.slide(direction);
            assert_eq!(slide, slide_directly(&board, direction), "{board:?} {direction:?}");
            if slide.cells != *board.cells() {
                legal |= direction.bit();
            }
        }
        assert_eq!(board.legal(), legal, "{board:?}");
    }
}

#[test]
fn exponents_over_17_are_no_board() {
    let mut cells = [0; CELLS];
    cells[9] = 18;
    assert_eq!(Board::new(cells), None);
    cells[9] = 17;
    assert_eq!(board(cells).max_rank(), 17);
}

#[test]
fn packing_puts_cell_0_first() {
    let packed = board([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0]).pack();
    assert_eq!(packed, PackedBoard { nibbles: 0x1234_5678_9abc_def0, tile_65536_mask: 0 });
    let packed = board([16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17]).pack();
    assert_eq!(packed, PackedBoard { nibbles: 0xf000_0000_0000_000f, tile_65536_mask: 0x8001 });
}

#[test]
fn unpacking_is_the_inverse_up_to_16_and_17() {
    for board in random_boards(100_000) {
        let (packed, max_rank) = (board.pack(), board.max_rank());
        assert!(packed.mask_is_sound());
        let back = unpack(packed, max_rank);
        assert_eq!(back.pack(), packed);
        if !unpack_is_ambiguous(packed, max_rank) {
            assert_eq!(back, board);
        }
    }
}

#[test]
fn a_masked_cell_is_16_or_the_only_17() {
    let one = PackedBoard { nibbles: 0xf000_0000_0000_0000, tile_65536_mask: 1 };
    let two = PackedBoard { nibbles: 0xff00_0000_0000_0000, tile_65536_mask: 3 };
    assert_eq!(unpack(one, 16).cells()[0], 16);
    assert_eq!(unpack(one, 17).cells()[0], 17);
    assert_eq!(unpack(two, 17).cells()[..2], [16, 16]);
    assert!(!unpack_is_ambiguous(one, 17) && !unpack_is_ambiguous(two, 16));
    assert!(unpack_is_ambiguous(two, 17));
    let none = PackedBoard { nibbles: 0xf000_0000_0000_0000, tile_65536_mask: 0 };
    assert_eq!(unpack(none, 15).cells()[0], 15);
    assert!(!PackedBoard { nibbles: 0xe000_0000_0000_0000, tile_65536_mask: 1 }.mask_is_sound());
}

#[test]
fn the_next_board_has_one_new_tile() {
    let before = board([1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let after = |change: &[(usize, u8)]| {
        let mut cells = before.slide(Direction::Left).cells;
        for &(i, tile) in change {
            cells[i] = tile;
        }
        board(cells).follows(&before, Direction::Left)
    };
    assert!(after(&[(5, 1)]));
    assert!(after(&[(1, 2)]));
    assert!(!after(&[]), "no new tile");
    assert!(!after(&[(5, 3)]), "a new 8");
    assert!(!after(&[(5, 1), (6, 1)]), "two new tiles");
    assert!(!after(&[(0, 1)]), "in place of another tile");
    let mut cells = *before.cells();
    cells[2] = 1;
    assert!(!board(cells).follows(&before, Direction::Up), "an illegal move");
}

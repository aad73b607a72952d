//! A game in place: one step after another, by itself and by keys.

use std::time::{Duration, Instant};

use super::shown::ShownGame;
use super::term::{step_lines, title};
use crate::cli::{Screen, TerminalEvent, screen_size};
use crate::error::{Error, Result};
use crate::view::term::{DrawingOptions, Line, Style};

/// The effect of a key.
enum Command {
    Quit,
    Pause,
    /// Goes this many steps forward, or back.
    Go(isize),
    First,
    Last,
    Faster,
    Slower,
}

/// Shows a game until the user leaves it. `step` is shown first; `fps` steps follow in a second.
pub fn film(game: &ShownGame, step: usize, fps: f64, colour: bool) -> Result<()> {
    if game.is_empty() {
        return Err(Error::data("--film: the game has no steps"));
    }
    let last = game.len() - 1;
    let mut screen = Screen::take()?;
    let (mut place, mut fps, mut is_playing) = (step.min(last), fps, true);
    let mut keys = Keys::default();
    loop {
        screen.draw(&frame(game, place, (is_playing, fps), colour))?;
        let due = Instant::now() + Duration::from_secs_f64(1.0 / fps);
        is_playing &= place < last;
        // A key takes effect at once; the next step waits for its time.
        loop {
            let time = is_playing.then(|| due.saturating_duration_since(Instant::now()));
            let Some(event) = screen.wait(time) else {
                place += 1;
                break;
            };
            let command = match event {
                TerminalEvent::Redraw => break,
                TerminalEvent::Key(key) => keys.take(key),
            };
            match command {
                None => continue,
                Some(Command::Quit) => return Ok(()),
                Some(Command::Pause) => {
                    // Play at the last step begins the game again.
                    place = if place == last && !is_playing { 0 } else { place };
                    is_playing = !is_playing;
                }
                Some(Command::Go(by)) => {
                    is_playing = false;
                    place = place.saturating_add_signed(by).min(last);
                }
                Some(Command::First) => (place, is_playing) = (0, false),
                Some(Command::Last) => (place, is_playing) = (last, false),
                Some(Command::Faster) => fps = (fps * 1.5).min(60.0),
                Some(Command::Slower) => fps = (fps / 1.5).max(0.1),
            }
            break;
        }
    }
}

fn frame(
    game: &ShownGame,
    place: usize,
    (is_playing, fps): (bool, f64),
    colour: bool,
) -> Vec<String> {
    let (width, height) = screen_size();
    let drawing = DrawingOptions {
        width,
        colour,
        height: None,
        lines: None,
        tokens: false,
        steps: Vec::new(),
    };
    let mut lines = title(game, "").wrapped(width);
    if let Some(step) = game.step(place) {
        lines.extend(step_lines(&step, game.len(), &drawing));
    }
    let all = width.saturating_sub(4).min(76);
    let done = if game.len() > 1 { all * place / (game.len() - 1) } else { all };
    lines.push(
        Line::new()
            .add(Style::PLAIN, "  ")
            .add(Style::FINAL, &"━".repeat(done))
            .add(Style::DIM, &"─".repeat(all - done)),
    );
    let state = if is_playing { format!("{fps:.1} steps a second") } else { "paused".to_string() };
    let keys = "space: play  ←→: step  ↑↓: 100 steps  +-: speed  q: quit";
    lines.push(Line::new().add(Style::BOLD, &format!("  {state}")));
    lines.extend(Line::new().add(Style::DIM, &format!("  {keys}")).wrapped(width));
    let lines = lines.iter().take(height.max(1));
    lines.map(|line| line.finish(width, colour)).collect()
}

/// Decodes the bytes of keys; some keys are sequences of bytes.
#[derive(Default)]
struct Keys {
    escape: Vec<u8>,
}

impl Keys {
    fn take(&mut self, key: u8) -> Option<Command> {
        if !self.escape.is_empty() || key == 0x1b {
            return self.sequence(key);
        }
        Some(match key {
            b'q' | b'Q' | 4 => Command::Quit,
            b' ' => Command::Pause,
            b'l' | b'.' => Command::Go(1),
            b'h' | b',' => Command::Go(-1),
            b'k' => Command::Go(100),
            b'j' => Command::Go(-100),
            b'g' | b'0' => Command::First,
            b'G' | b'$' => Command::Last,
            b'+' | b'=' => Command::Faster,
            b'-' => Command::Slower,
            _ => return None,
        })
    }

    /// Decodes arrows, Home and End: `ESC [ C`, `ESC O C`.
    fn sequence(&mut self, key: u8) -> Option<Command> {
        self.escape.push(key);
        let is_open = match self.escape[..] {
            [_] => true,
            [_, second] => matches!(second, b'[' | b'O'),
            _ => !(0x40..=0x7e).contains(&key),
        };
        if is_open && self.escape.len() < 8 {
            return None;
        }
        let sequence = std::mem::take(&mut self.escape);
        Some(match sequence[1..] {
            [_, b'C'] => Command::Go(1),
            [_, b'D'] => Command::Go(-1),
            [_, b'A'] => Command::Go(100),
            [_, b'B'] => Command::Go(-100),
            [_, b'H'] | [_, b'1', b'~'] => Command::First,
            [_, b'F'] | [_, b'4', b'~'] => Command::Last,
            _ => return None,
        })
    }
}

//! Defects of rows that other tools made.

use serde_json::{Value, json};

use super::defects::{Defect, defect};
use crate::common::TempDir;
use crate::common::models::{CHATML, write_model_at};

/// Writes three rows of a model, of which the first is changed; `f.jsonl` and the folder `model`.
fn rows(dir: &TempDir, change: fn(&mut Row)) {
    write_model_at(&dir.path().join("model"), CHATML, &[]);
    let chat = |number: usize| {
        let message = |role: &str, text: &str| json!({"role": role, "content": text});
        let turn = |turn: usize| {
            let answer = format!("it is {}, I think", number + turn);
            [message("user", &format!("{number} and {turn}?")), message("assistant", &answer)]
        };
        let messages = [turn(0), turn(1)].concat();
        json!({"id": format!("{number}"), "messages": messages})
    };
    let lines: String = (0..3).map(|number| format!("{}\n", chat(number))).collect();
    dir.write("x.jsonl", lines);
    let made = dir.bash(
        "set -o pipefail; chat-tok -q --model model x.jsonl | span-mask --align token --to ndjson",
    );
    let lines = made.ok().records().into_iter().map(|record| {
        let numbers = |name: &str| -> Vec<i64> {
            record[name].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect()
        };
        let (ids, mask) = (numbers("tokens"), numbers("loss_mask"));
        let labels = ids.iter().zip(&mask).map(|(id, mask)| if *mask == 1 { *id } else { -100 });
        Row { labels: labels.collect(), ids, more: json!({}) }
    });
    let mut all: Vec<Row> = lines.collect();
    change(&mut all[0]);
    let lines: String = all.iter().map(|row| format!("{}\n", row.json())).collect();
    dir.write("f.jsonl", lines);
}

/// A row: the question, `<|im_end|>`, a newline, `<|im_start|>`, `assistant`, a newline, the answer, `<|im_end|>`, a
/// newline; twice.
struct Row {
    ids: Vec<i64>,
    labels: Vec<i64>,
    /// Other columns.
    more: Value,
}

impl Row {
    fn json(&self) -> Value {
        let mut row = json!({"input_ids": self.ids, "labels": self.labels});
        row.as_object_mut().unwrap().extend(self.more.as_object().unwrap().clone());
        row
    }

    /// The first token of an answer, and the token behind its stop token.
    fn answer(&self, number: usize) -> (usize, usize) {
        let is_trained = |at: usize| at < self.labels.len() && self.labels[at] != -100;
        let starts = (1..self.labels.len()).filter(|at| is_trained(*at) && !is_trained(at - 1));
        let start = starts.clone().nth(number).unwrap();
        (start, (start..).find(|at| !is_trained(*at)).unwrap())
    }

    fn label(&mut self, at: usize) {
        self.labels[at] = self.ids[at];
    }

    fn remove(&mut self, at: usize) {
        self.ids.remove(at);
        self.labels.remove(at);
    }

    fn push(&mut self, id: i64, label: i64) {
        self.ids.push(id);
        self.labels.push(label);
    }
}

const F: &str = "f.jsonl --model model";

pub const FOREIGN: &[Defect] = &[
    defect("foreign.empty", F, |dir| {
        rows(dir, |row| (row.ids, row.labels) = (Vec::new(), Vec::new()))
    }),
    defect("foreign.lengths", F, |dir| rows(dir, |row| row.labels.truncate(row.ids.len() - 1))),
    defect("foreign.value", F, |dir| {
        rows(dir, |row| {
            let at = row.answer(0).0;
            row.labels[at] += 1
        })
    }),
    defect("foreign.value", F, |dir| {
        rows(dir, |row| row.more = json!({"loss_mask": vec![2; row.ids.len()]}))
    }),
    // Labels of the next token.
    defect("foreign.shifted", F, |dir| rows(dir, |row| row.labels.rotate_left(1))),
    // The mask alone, one too early and one too late.
    defect("foreign.shifted", F, |dir| {
        rows(dir, |row| {
            for number in [0, 1] {
                let (start, end) = row.answer(number);
                row.label(start - 1);
                row.labels[end - 1] = -100;
            }
        })
    }),
    defect("foreign.shifted", F, |dir| {
        rows(dir, |row| {
            for number in [0, 1] {
                let (start, end) = row.answer(number);
                row.label(end);
                row.labels[start] = -100;
            }
        })
    }),
    defect("foreign.positions", F, |dir| {
        rows(dir, |row| row.more = json!({"seq_lengths": [row.ids.len() - 1]}))
    }),
    defect("foreign.positions", F, |dir| {
        rows(dir, |row| {
            let positions = (0..row.ids.len()).map(|at| at + usize::from(at > 9));
            row.more = json!({"position_ids": positions.collect::<Vec<_>>()})
        })
    }),
    defect("foreign.positions", F, |dir| {
        rows(dir, |row| row.more = json!({"length": row.ids.len() + 2}))
    }),
    defect("foreign.padding", F, |dir| {
        rows(dir, |row| {
            let mut mask = vec![1; row.ids.len()];
            row.push(0, 0);
            mask.push(0);
            row.more = json!({"attention_mask": mask})
        })
    }),
    // `<pad>`, without an attention mask.
    defect("foreign.padding", F, |dir| {
        rows(dir, |row| {
            let stop = row.ids[row.answer(0).1 - 1];
            row.push(stop + 1, stop + 1)
        })
    }),
    defect("foreign.nothing", F, |dir| rows(dir, |row| row.labels.fill(-100))),
    defect("foreign.all", "f.jsonl", |dir| rows(dir, |row| row.labels = row.ids.clone())),
    defect("foreign.role", F, |dir| rows(dir, |row| row.label(6))),
    defect("foreign.prompt", F, |dir| {
        rows(dir, |row| {
            let start = row.answer(1).0;
            row.label(start - 1)
        })
    }),
    defect("foreign.stop.missing", F, |dir| {
        rows(dir, |row| {
            let end = row.answer(0).1;
            row.remove(end - 1)
        })
    }),
    defect("foreign.stop.untrained", F, |dir| {
        rows(dir, |row| {
            let end = row.answer(0).1;
            row.labels[end - 1] = -100
        })
    }),
    defect("foreign.stop.behind", F, |dir| {
        rows(dir, |row| {
            let end = row.answer(0).1;
            row.label(end)
        })
    }),
    defect("foreign.cut", F, |dir| {
        rows(dir, |row| {
            let end = row.answer(1).1 - 3;
            row.ids.truncate(end);
            row.labels.truncate(end)
        })
    }),
    defect("foreign.bos", F, |dir| {
        rows(dir, |row| {
            // (`<s>` stands before `<|im_start|>` in the list of tokens.)
            let begin = row.ids[0] - 2;
            row.ids.splice(0..0, [begin; 2]);
            row.labels.splice(0..0, [-100; 2]);
        })
    }),
    defect("foreign.token", F, |dir| rows(dir, |row| row.ids[6] = 100_000)),
    defect("foreign.token", "f.jsonl", |dir| rows(dir, |row| row.ids[6] = -7)),
    // The tokens of two bytes in place of the one token of both (` t`).
    defect("foreign.text", F, |dir| {
        rows(dir, |row| {
            let space = row.ids[row.answer(0).0 + 2];
            let t = row.ids[row.answer(0).0 + 1];
            row.ids.splice(6..6, [space, t]);
            row.labels.splice(6..6, [-100; 2]);
        })
    }),
    defect("foreign.pair", F, |dir| {
        rows(dir, |_| {});
        dir.write(
            "f.jsonl",
            "{\"chosen_input_ids\": [1, 2], \"rejected_input_ids\": [1, 3]}\n\
             {\"chosen_input_ids\": [4, 5], \"rejected_input_ids\": [4, 5]}\n",
        );
    }),
    defect("foreign.pair", "f.jsonl", |dir| {
        dir.write("f.jsonl", "{\"prompt_ids\": [1], \"chosen_ids\": [4], \"rejected_ids\": [4]}\n");
    }),
    defect("foreign.unmasked", F, |dir| {
        rows(dir, |_| {});
        dir.bash("jq -c 'del(.labels)' f.jsonl > g.jsonl; mv g.jsonl f.jsonl").ok();
    }),
    defect("foreign.untrained", "f.jsonl --model model --skip=foreign.nothing", |dir| {
        rows(dir, |_| {});
        dir.bash("jq -c '.labels = [.labels[] | -100]' f.jsonl > g.jsonl; mv g.jsonl f.jsonl").ok();
    }),
    defect("stream.content.repeated", F, |dir| {
        rows(dir, |_| {});
        dir.bash("head -n 1 f.jsonl >> f.jsonl").ok();
    }),
];

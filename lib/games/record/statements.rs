//! What headers state of games.

use crate::batch::statements;
use crate::format::raw_games::Legality;

statements! {
    pub LEGALITY: Legality = "legality",
        "mx-decode; ds-cat, if all packs agree": "`board` or `values`: which branches count as legal";
    pub LEFT_OUT: Vec<String> = "left_out",
        "ds-cat": "what is in the pools and not in the games (`embeddings-*.npy`, fields of other names); absent if nothing";
}

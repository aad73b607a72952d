//! What headers state of conversations, and of the tokens that are made of them.

use serde_json::Value;

use crate::batch::statements;
use crate::harmony::Alignment;

statements! {
    // (A name that is not known here is kept.)
    pub POLICY: String = "policy",
        "harmony-tok, chat-harmony, chat-tok for gpt-oss": "`synth-kd-v1` or `chat`; of NDJSON conversations what the first \
         record says in its field `policy`";
    pub ID_FIELD: String = "id_field",
        "harmony-tok": "the field that `--id-field` names; absent without it";
    pub CONVERSION: Value = "conversion",
        "synth-harmony": "an object with `metadata_fields`, `system_message`, `developer_message` (or null), \
         `keep_without_reasoning`, `reference` (`drop` or `append`), `inputs` (name, bytes, rows and sha256 of the footer of \
         each Parquet input) and `limits` (`rows`, `slice`, each null if not set)",
        "chat-harmony, chat-tok": "an object with `chat` (how chats are read and rendered), `id_field`, `inputs` and `limits`; \
         of chat-harmony also `metadata_fields`";
    pub INPUTS: Vec<Value> = "inputs",
        "harmony-tok, `--hash-inputs`": "name, bytes, rows and sha256 of the footer of each Parquet input; of raw rows \
         each file, with the sha256 of all of it (rows null where only decoding counts them)";
    pub TOKENIZER: Value = "tokenizer",
        "harmony-tok, chat-tok for gpt-oss": "`type` (`o200k_harmony`), `model_path`, `model_sha256`, `vocab_size` (padded)",
        "chat-tok for a folder": "`type` (`huggingface`), `model_sha256` (of `tokenizer.json`), `vocab_size` (the highest id \
         and one), `template_sha256`, `tools_template_sha256` if chats with tools have another, `bos_token`, `eos_token`, \
         `stop_tokens`, `variables`, `date`";
    pub END: i32 = "eod_token_id",
        "harmony-tok, chat-tok for gpt-oss": "199999; of other tokenizers absent (documents end as their template ends), but \
         from a root what `mmidx-write --append-eod` appended";
    pub ALIGNMENT: Alignment = "alignment",
        "span-mask": "`label` or `token`: whether position t of the masks is about `tokens[t+1]` or `tokens[t]`";
    pub SPANS: Value = "spans",
        "span-mask": "span id of each assistant channel";
}

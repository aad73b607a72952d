"""What Megatron's dataset classes ask of a tokenizer: ids and a name, no text."""

from __future__ import annotations

from .contents import EOD, VOCABULARY_SIZE

#: The class that vpMoE's --tokenizer-type O200kHarmonyTokenizer makes.
_CLASS = "megatron.core.tokenizers.text.models.default_tokenizer.DefaultTokenizerText"


class HarmonyIds:
    """o200k_harmony for a GPTDatasetConfig. The path stands in the names of index caches: give the
    trainer's (--tokenizer-model) to share them with it."""

    eod = EOD
    pad = -1
    vocab_size = VOCABULARY_SIZE

    def __init__(self, path: str = "tokenizer/o200k_base.tiktoken") -> None:
        self.unique_identifiers = {"class": _CLASS, "tokenizer_path": path}

import json
from pathlib import Path


def write_model(folder, template, tokens, eos=None, bos=None, stops=()):
    """A folder of a model of single bytes: added tokens are pairs (text, whether it is special)."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    characters = [chr(byte if byte in own else next(others)) for byte in range(256)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    added = [
        {"id": 256 + at, "content": text, "special": special, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for at, (text, special) in enumerate(tokens)
    ]  # fmt: skip
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": {character: byte for byte, character in enumerate(characters)}, "merges": [],
    }  # fmt: skip
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": model,
    }  # fmt: skip
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, "chat_template": template}
    config |= {name: text for name, text in (("eos_token", eos), ("bos_token", bos)) if text}
    ids = {text: 256 + at for at, (text, _) in enumerate(tokens)}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [ids[stop] for stop in stops]}))

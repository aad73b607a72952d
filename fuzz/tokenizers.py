"""Writes small files `tokenizer.json` of all kinds into a directory: tokenizers.py DIRECTORY."""

import base64
import json
import sys
from pathlib import Path

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = CL100K.replace("{1,3}", "")


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def added(number, content, special=True, **flags):
    token = {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False}
    return token | {"normalized": False, "special": special} | flags


def whole(model, count, **parts):
    file = {"version": "1.0", "truncation": None, "padding": None}
    file["added_tokens"] = [added(count, "<|end|>"), added(count + 1, "<think>", False, normalized=True)]
    file |= {"normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}
    return file | parts | {"model": model}


def bpe(letters, merges, as_text=False, **fields):
    vocabulary = {letter: place for place, letter in enumerate(letters)}
    for left, right in merges:
        vocabulary.setdefault(left + right, len(vocabulary))
    prefix = fields.get("continuing_subword_prefix", "")
    merges = [[left, prefix + right] for left, right in merges]
    merges = [" ".join(pair) for pair in merges] if as_text else merges
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    return model | {"vocab": vocabulary, "merges": merges} | fields, len(vocabulary)


# A double array of 256 units that matches nothing, and no texts.
CHARSMAP = base64.b64encode((1024).to_bytes(4, "little") + bytes(1024)).decode()

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
LETTERS = list("HelowrdabcĠĊ!'t,12")
MERGES = [["h", "e"], ["l", "l"], ["He", "ll"], ["H", "e"], ["Hell", "o"], ["Ġ", "w"], ["o", "r"], ["a", "b"]]


def level(pattern):
    return {"type": "Sequence", "pretokenizers": [split(pattern), BYTES]}


# Merges in the order of ids, as our own engine takes them.
ORDERED = [["H", "e"], ["l", "l"], ["He", "ll"], ["Hell", "o"], ["Ġ", "w"], ["a", "b"], ["ab", "c"]]
FILES = {
    "cl100k": whole(*bpe(LETTERS, ORDERED), pre_tokenizer=level(CL100K), decoder=BYTES),
    "qwen": whole(
        *bpe(LETTERS, ORDERED, True, ignore_merges=True),
        normalizer={"type": "NFC"}, pre_tokenizer=level(QWEN), decoder=BYTES,
    ),
    "gpt2": whole(*bpe(LETTERS, ORDERED), pre_tokenizer=BYTES | {"use_regex": True}, decoder=BYTES),
    "sentencepiece": whole(
        *bpe(["<unk>", "<0xC3>", "<0xA9>", *"Helo▁wrd"], [["H", "e"], ["l", "l"], ["▁", "w"]], byte_fallback=True,
             unk_token="<unk>", fuse_unk=True),
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    ),
    "prefix": whole(
        *bpe(["a", "##b", "##c", "ab"], [["a", "b"]], continuing_subword_prefix="##", end_of_word_suffix="</w>"),
        pre_tokenizer={"type": "Whitespace"}, decoder={"type": "BPEDecoder", "suffix": "</w>"},
    ),
    "unigram": whole(
        {"type": "Unigram", "unk_id": 0, "byte_fallback": True,
         "vocab": [["<unk>", 0.0], ["▁", -2.0], ["▁He", -1.5], ["l", -2.5], ["lo", -1.0], ["<0xC3>", -9.0]]}, 6,
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"},
            {"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}]},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}]},
        decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    ),
    "wordpiece": whole(
        {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
         "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "hell": 1, "##o": 2, "world": 3}}, 4,
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                    "strip_accents": None, "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
    ),
    "wordlevel": whole(
        {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "hello": 1, "world": 2}}, 3,
        added_tokens=[added(3, "<|end|>", lstrip=True, rstrip=True), added(4, "x", False, single_word=True)],
        pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"},
            {"type": "CharDelimiterSplit", "delimiter": " "}, {"type": "UnicodeScripts"},
            {"type": "Split", "pattern": {"String": "o"}, "behavior": "MergedWithNext", "invert": False}]},
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}, {"type": "ByteLevel"}]},
        decoder={"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
        truncation={"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        padding={"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                 "pad_type_id": 0, "pad_token": "?"},
        post_processor={"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                        "pair": [{"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {}},
    ),
}

directory = Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)
for name, file in FILES.items():
    text = json.dumps(file, ensure_ascii=False, separators=(",", ":"))
    (directory / f"{name}.json").write_text(text, encoding="utf-8")

"""Tokens that only the files beside tokenizer.json state: the ids of chat-tok beside those of transformers.

    stated_tokens.py CHAT_TOK [COUNT [SEED]]

Random folders over a tokenizer of single bytes: added tokens in `added_tokens_decoder`, in `added_tokens.json` or in
`special_tokens_map.json`, special tokens by name (as texts and as objects), further ones in lists, in the vocabulary and
not, in tokenizer.json and not. The ids must be the same, or chat-tok refuses where a stated id is not the token's place.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import fit_cases
from transformers import AutoTokenizer

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOKENS = ["<mill>", "<|pause|>", "[PAD]", "<s>", "</s>", "<unk>", "<tool>", "<|im_end|>", "<|begin|>", "<x y>"]
NAMES = ["bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token", "image_token"]


def flags(rng, token):
    # (Behind the stop token a text is cut.)
    if token == "<|im_end|>":
        return {"special": True}
    return {name: rng.random() < 0.3 for name in ("lstrip", "rstrip", "single_word", "normalized", "special")}


def write(folder, rng):
    """Returns whether the stated ids are those that the tokens get."""
    tokens = [("<|im_start|>", True)] + [(token, rng.random() < 0.5) for token in TOKENS if rng.random() < 0.4]
    fit_cases.write_model(folder, TEMPLATE, tokens)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary, added = tokenizer["model"]["vocab"], tokenizer["added_tokens"]
    for token in TOKENS:
        if rng.random() < 0.2 and all(token != of["content"] for of in added):
            vocabulary[token] = len(vocabulary)
    for at, token in enumerate(added):
        token["id"] = len(vocabulary) + at
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    known = {token["content"]: token["id"] for token in added}
    config = json.loads((folder / "tokenizer_config.json").read_text())
    new = [token for token in TOKENS if token not in known and rng.random() < 0.4]
    ids, place = dict(known), len(vocabulary) + len(added)
    for token in new:
        ids[token] = vocabulary.get(token, place)
        place += token not in vocabulary
    # (In the order of the ids, new ones get their places.)
    order = sorted(new, key=ids.get)
    is_right = rng.random() < 0.9 or not [token for token in new if token not in vocabulary]
    if not is_right:
        ids[rng.choice([token for token in new if token not in vocabulary])] += 100
    kind = rng.choice(["decoder", "added", "map", "none"])
    if kind == "decoder":
        stated = {str(token["id"]): {key: token[key] for key in token if key != "id"} for token in added}
        stated |= {str(ids[token]): {"content": token, **flags(rng, token)} for token in order}
        config["added_tokens_decoder"] = stated
    elif kind == "added":
        (folder / "added_tokens.json").write_text(json.dumps({token: ids[token] for token in order}))
    named = {}
    for name in rng.sample(NAMES, rng.randrange(1, 5)):
        token = rng.choice(TOKENS)
        named[name] = {"__type": "AddedToken", "content": token, **flags(rng, token)} if rng.random() < 0.3 else token
    if kind == "map":
        plain = {name: {k: v for k, v in of.items() if k != "__type"} if isinstance(of, dict) else of for name, of in named.items()}
        (folder / "special_tokens_map.json").write_text(json.dumps(plain))
    else:
        config |= named
    if rng.random() < 0.3:
        config[rng.choice(["extra_special_tokens", "additional_special_tokens"])] = rng.sample(TOKENS, 2)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text("{}")
    return is_right or kind not in ("decoder", "added")


def main():
    program, count, seed = sys.argv[1], int((sys.argv[2:] or [200])[0]), int((sys.argv[3:] or [1])[0])
    rng = random.Random(seed)
    same = refused = 0
    for number in range(count):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "model"
            is_right = write(folder, rng)
            words = [rng.choice(TOKENS + ["the", " mill ", "é", "\n", "  "]) for _ in range(12)]
            # (At the ends of an answer a text is cut, also within a token that takes the spaces beside it.)
            text = f"x{''.join(words)}x"
            chat = [{"role": "user", "content": "q"}, {"role": "assistant", "content": text}]
            record = json.dumps({"id": "x", "messages": chat})
            arguments = [program, "-q", "--model", str(folder), "--allow-special", "--turns", "all"]
            run = subprocess.run(arguments, input=record.encode(), capture_output=True)
            if run.returncode != 0:
                refused += 1
                error = run.stderr.decode()
                assert not is_right and "but its place is" in error, f"{number}: {error}"
                continue
            ours = json.loads(run.stdout)["tokens"]
            theirs = AutoTokenizer.from_pretrained(folder)
            ids = theirs.apply_chat_template(chat, tokenize=True, return_dict=True)["input_ids"]
            config = {k: v for k, v in json.loads((folder / "tokenizer_config.json").read_text()).items() if k != "chat_template"}
            assert ours == ids, f"{number}: {text!r}\n{ours}\n{ids}\n{theirs.added_tokens_decoder}\n{config}"
            same += 1
    print(json.dumps({"same": same, "refused": refused}))


main()

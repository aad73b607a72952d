"""What the scripts of this folder share: a model of two small layers, and losses from the triples
themselves, by numpy: no row and no trainer between.

    python docs/trainers/NAME.py ROOT/train/shard_00 FILE ...
"""

from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

#: Types of tokens, by their codes in an .idx file.
TYPES = {4: "<i4", 8: "<u2"}


def model(of):
    """The same weights each time, with the ids of the sequences; without its vocabulary some thousand parameters."""
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=max(int(tokens.max()) for tokens, _ in of) + 1,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=16_384,
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        # Large weights: attention that crosses a seam is seen in the loss.
        for weights in model.parameters():
            weights.mul_(8)
    return model


def tokenizer():
    """Trainers want one to pad with; it tokenizes nothing here."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2}, "<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")


def sequences(prefix):
    """Tokens and label-aligned masks of each sequence of a triple."""
    head = Path(f"{prefix}_tokens.idx").read_bytes()
    count = int(np.frombuffer(head, "<u8", 1, 18)[0])
    ends = np.cumsum(np.frombuffer(head, "<i4", count, 34), dtype=np.int64)[:-1]
    tokens = np.split(np.fromfile(f"{prefix}_tokens.bin", TYPES[head[17]]).astype("<i4"), ends)
    masks = np.split(np.fromfile(f"{prefix}_lossmask.bin", "u1"), ends)
    return list(zip(tokens, masks))


@torch.no_grad()
def expected(model, of):
    """The mean loss over the tokens that are trained on, each sequence by itself."""
    total, count = 0.0, 0
    for tokens, mask in of:
        tokens = torch.from_numpy(tokens.astype(np.int64))
        logits = model(input_ids=tokens[None]).logits[0]
        # Position t of the mask is about token t + 1; the last is about none.
        losses = torch.nn.functional.cross_entropy(logits[:-1], tokens[1:], reduction="none")
        trained = torch.from_numpy(mask[:-1] == 1)
        total += losses[trained].double().sum().item()
        count += int(trained.sum())
    return total / count


def found(of, tokens):
    """The sequence that these tokens are; rows of gpt-oss lack its last token, the end of the document."""
    by_tokens = {values[0][:end].tobytes(): values for values in of for end in (-1, None)}
    return by_tokens[np.asarray(tokens, "<i4").tobytes()]


def same(name, losses, wanted):
    for step, (loss, own) in enumerate(zip(losses, wanted, strict=True)):
        print(f"{name}, step {step}: loss {loss:.6f}, from the masks {own:.6f}")
        assert abs(loss - own) < 2e-5 * own, (loss, own)

"""What the values of a triple must be: token ids, EOD, masks, and their alignment with the messages.

Masks speak of labels: position t of `loss_mask` and `span_id` is about `tokens[t + 1]`.

Where the tokens are Harmony conversations, the spans are derived from their roles and channels
again and compared, which finds masks that belong to the token itself or are shifted twice.
Sequences without any control token of Harmony are not conversations; of those only the values are
checked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

EOD = 199_999
VOCABULARY_SIZE = 201_088

# The control tokens of o200k_harmony (lib/tokenizer/special.rs).
START_OF_TEXT = 199_998
RETURN = 200_002
CONSTRAIN = 200_003
CHANNEL = 200_005
START = 200_006
END = 200_007
MESSAGE = 200_008
CALL = 200_012

_NAMES = {
    EOD: "<|endoftext|>",
    RETURN: "<|return|>",
    CONSTRAIN: "<|constrain|>",
    CHANNEL: "<|channel|>",
    START: "<|start|>",
    END: "<|end|>",
    MESSAGE: "<|message|>",
    CALL: "<|call|>",
}
_ENDS = (END, RETURN, CALL)

# The ids of the words in the headers of messages, in o200k.
_ASSISTANT = 173_781
_CHANNELS = {35_644: "analysis", 17_196: "final"}

#: The span id of each supervised channel, where no manifest says another.
SPANS: Mapping[str, int] = {"analysis": 1, "final": 2}

#: In derived spans: any span id may stand here.
_ANY = 255
#: A channel that is neither analysis nor final, or none.
_OTHER = ""


class ContentError(ValueError):
    """A wrong value. `member` is "tokens", "lossmask" or "span"."""

    def __init__(self, member: str, cause: str) -> None:
        super().__init__(cause)
        self.member = member
        self.cause = cause


class Rules(NamedTuple):
    """What the manifest of a part says of its tokens and masks."""

    #: The span id of each supervised channel; None if it is not known.
    spans: Mapping[str, int] | None = SPANS
    #: Whether messages may have no span, by their weights.
    is_weighted: bool = False
    #: The token that ends documents; None if none does.
    eod: int | None = EOD
    #: Ids are below it; None if it is not known.
    vocabulary_size: int | None = VOCABULARY_SIZE


def spans_of(prefix: str) -> Mapping[str, int] | None:
    """The span id of each supervised channel, as the manifest of the part at `prefix` states it;
    `None` if it says that they are not known, and `SPANS` where there is no manifest."""
    return rules_of(prefix).spans


def rules_of(prefix: str) -> Rules:
    """As the manifest of the part at `prefix` states them, or those where there is none."""
    # (In its own folder a prefix is a bare name.)
    folder, name = os.path.split(os.path.abspath(prefix))
    root, split = os.path.split(folder)
    paths = [f"{prefix}.part.json"]
    if split in ("train", "valid"):
        paths.append(os.path.join(root, "parts", f"{name}.json"))
    for path in paths:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                part = json.load(file)
            splits = part.get("splits", {}).values()
            is_weighted = any(split.get("untrained_messages") for split in splits)
            source = part.get("source", {})
            rules = Rules(source.get("spans"), is_weighted)
            tokenizer = source.get("tokenizer") or {}
            if tokenizer.get("type") != "huggingface":
                return rules
            eod = (part.get("config") or {}).get("eod_token_id")
            return rules._replace(eod=eod, vocabulary_size=tokenizer.get("vocab_size"))
    return Rules()


def check_masks(
    loss_mask: np.ndarray, span_id: np.ndarray, spans: Mapping[str, int] | None = SPANS
) -> None:
    """The values of masks, of any part of any sequences. `spans` None: any ids."""
    # Of the bytes of a good pair, mask 0 has span 0, and mask 1 has the id of a channel.
    known = np.ones(256, bool)
    if spans is not None:
        known[1:] = False
        known[list(spans.values())] = True
    supervised = span_id > 0
    if np.array_equal(loss_mask, supervised) and known[span_id].all():
        return
    place = first_of(loss_mask > 1)
    if place is not None:
        hint = ""
        if known[loss_mask].all() and span_id.max() <= 1:
            hint = "; loss mask and span ids seem to be swapped"
        raise ContentError("lossmask", f"position {place} is {loss_mask[place]}, not 0 or 1{hint}")
    place = first_of(~known[span_id])
    if place is not None:
        first, last = np.flatnonzero(known)[:-1], np.flatnonzero(known)[-1]
        names = f"{', '.join(map(str, first))} or {last}"
        raise ContentError("span", f"position {place} is {span_id[place]}, not {names}")
    place = first_of(loss_mask != supervised)
    cause = f"position {place} has loss mask {loss_mask[place]} and span id {span_id[place]}"
    raise ContentError("lossmask", cause)


def check_sequence(
    tokens: np.ndarray,
    loss_mask: np.ndarray,
    span_id: np.ndarray,
    eod: int | None = EOD,
    vocabulary_size: int | None = VOCABULARY_SIZE,
    spans: Mapping[str, int] | None = SPANS,
    is_weighted: bool = False,
) -> None:
    """All that can be said of one whole sequence. Raises ContentError. With `is_weighted` a message may
    have no span at all. Messages are known in tokens of o200k alone."""
    check_masks(loss_mask, span_id, spans)
    if len(tokens) == 0:
        return
    most = np.iinfo(np.int32).max if vocabulary_size is None else vocabulary_size - 1
    if tokens.min() < 0 or tokens.max() > most:
        place = first_of((tokens < 0) | (tokens > most))
        limit = f"the vocabulary [0, {most + 1})"
        raise ContentError("tokens", f"token {place} is {tokens[place]}, outside {limit}")
    _check_eod(tokens, eod)
    if eod == EOD:
        _check_conversation(tokens, span_id, spans, is_weighted)
    _check_end(tokens, loss_mask, eod)


def _check_eod(tokens: np.ndarray, eod: int | None) -> None:
    if eod is None:
        return
    place = first_of(tokens[:-1] == eod)
    if place is not None:
        length = len(tokens)
        raise ContentError("tokens", f"token {place} of {length} is {eod} (EOD), not the last")


def _check_end(tokens: np.ndarray, loss_mask: np.ndarray, eod: int | None) -> None:
    """Neither EOD nor the first token of the next document is supervised."""
    length = len(tokens)
    last = length - 1 if tokens[-1] != eod else max(length - 2, 0)
    place = first_of(loss_mask[last:] > 0)
    if place is not None:
        cause = f"position {last + place} of {length} is supervised; it labels no message"
        raise ContentError("lossmask", cause)


def _check_conversation(
    tokens: np.ndarray, span_id: np.ndarray, spans: Mapping[str, int] | None, is_weighted: bool
) -> None:
    places = np.flatnonzero(tokens >= START_OF_TEXT)
    controls = tokens[places].tolist()
    if controls in ([], [EOD]):
        return
    for place, control in zip(places.tolist(), controls):
        if control not in _NAMES:
            raise ContentError("tokens", f"token {place} is {control}, a reserved id")
    weighted = span_id if is_weighted else None
    _compare(span_id, _derive(tokens, places.tolist(), controls, spans, weighted))


def _derive(
    tokens: np.ndarray,
    places: list[int],
    controls: list[int],
    spans: Mapping[str, int] | None,
    weighted: np.ndarray | None,
) -> np.ndarray:
    """The span ids, aligned with the labels, that the messages of a conversation have. One that has none
    in `weighted` where it begins, has none."""
    length = len(tokens)
    if controls[-1] != EOD:
        raise ContentError("tokens", f"the last of {length} tokens is not {EOD} (EOD)")
    derived = np.zeros(length, np.uint8)
    for begin, end, channel in _messages(tokens, places, controls):
        first = max(begin - 1, 0)
        if weighted is None or weighted[first]:
            derived[first : end - 1] = _span_of(channel, spans)
        returns = tokens[end - 1] == RETURN
        last_final = end == length - 1 and channel == "final"
        if returns != last_final and channel != _OTHER:
            cause = "a last final message does not end in <|return|>"
            if returns:
                cause = "<|return|> is not the end of a last final message"
            raise ContentError("tokens", f"token {end - 1}: {cause}")
    return derived


def _messages(
    tokens: np.ndarray, places: list[int], controls: list[int]
) -> Iterator[tuple[int, int, str | None]]:
    """Where each message begins, where it ends, and its channel. EOD is the last control token."""
    found = list(zip(places, controls))
    begin = number = 0
    while begin < places[-1]:
        _expect((START,), found[number], at=begin, tokens=tokens)
        header = [begin]
        number += 1
        while controls[number] in (CHANNEL, CONSTRAIN):
            header.append(places[number])
            number += 1
        _expect((MESSAGE,), found[number])
        message = places[number]
        _expect((END, RETURN, CALL), found[number + 1])
        end = places[number + 1] + 1
        yield begin, end, _channel_of(tokens, header, message)
        begin = end
        number += 2


def _expect(
    expected: tuple[int, ...],
    found: tuple[int, int],
    at: int | None = None,
    tokens: np.ndarray | None = None,
) -> None:
    """That the next control token is one of the expected, and where it must be, at this place."""
    place, control = found
    if control in expected and at in (None, place):
        return
    if at is not None and tokens is not None:
        place, control = at, int(tokens[at])
    names = " or ".join(_NAMES[name] for name in expected)
    cause = f"token {place}: {_NAMES.get(control, control)} instead of {names}"
    raise ContentError("tokens", f"{cause}: not a Harmony conversation")


def _span_of(channel: str | None, spans: Mapping[str, int] | None) -> int:
    """_ANY for an assistant's message whose span is not known."""
    if channel is None:
        return 0
    return _ANY if channel == _OTHER or spans is None else spans.get(channel, 0)


def _channel_of(tokens: np.ndarray, header: list[int], message: int) -> str | None:
    """The channel of an assistant's message, _OTHER if it is neither analysis nor final; of other
    roles None."""
    ends = header[1:] + [message]
    role = tokens[header[0] + 1 : ends[0]].tolist()
    if role[:1] != [_ASSISTANT]:
        return None
    for place, end in zip(header[1:], ends[1:]):
        if tokens[place] == CHANNEL:
            channel = tokens[place + 1 : end].tolist()
            return _CHANNELS.get(channel[0], _OTHER) if len(channel) == 1 else _OTHER
    return _OTHER


def _compare(span_id: np.ndarray, derived: np.ndarray) -> None:
    place = first_of((span_id != derived) & (derived != _ANY))
    if place is None:
        return
    token = np.concatenate([derived[:1] * 0, derived[:-1]])
    twice = np.concatenate([derived[1:], derived[:1] * 0])
    found, wanted = span_id[place], derived[place]
    cause = f"position {place} has span id {found}; its label's message has {wanted}"
    if np.array_equal(span_id, token):
        cause += ": masks are aligned to their own token, not to the label"
    elif np.array_equal(span_id, twice):
        cause += ": masks are shifted twice"
    raise ContentError("span", cause)


def first_of(wrong: np.ndarray) -> int | None:
    """Of booleans: the place of the first."""
    place = int(wrong.argmax()) if len(wrong) else 0
    return place if len(wrong) and wrong[place] else None

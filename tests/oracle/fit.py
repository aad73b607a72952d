"""Chats for `--turns fit` by transformers alone: every prefix of a chat is rendered.

    fit.py MODEL [CHATS] [--template FILE] [--stop TOKEN] [--special refuse|token] [NAME=VALUE...]

Prints a line of JSON a record: {id, text, messages, ranges, tokens, mask}, the ranges in characters; or a line
{id, refused} for a chat that is refused. Nothing is taken from the Rust code but the definition.

R(i) is the rendering of the messages up to i; G(i) that of the messages before i with the generation prompt; Q is what
the prompt adds, G(i) without what it has in common with R(i-1). Own texts are those of message i: content, reasoning,
names and arguments of calls. P(i) is R(i) up to the end of what the model said for message i.

Messages. Content that is null or absent is "". Arguments that are JSON text become objects. Of a message whose weight
is 0 nothing is trained on; what follows the last trained message is not rendered. A chat of which nothing is trained on,
or which begins with a trained message, is refused; so are a trained message that is "" and calls nothing, and a chat
that the template refuses for a prefix that is needed.

Texts. A text is shown where the rendering changes when the text is changed at both ends (outside of its outer spaces,
so that these belong to it where they are printed). Each leaf of a call's arguments is changed, numbers too. A text of
white space alone is not looked for. A call's name that is not printed is shown if its id is, and holds it. What a trained
message says must stand there as it is, without its outer spaces: a template that splits it is refused. In every
record all contents, calls and tools must be shown, those of messages that are not trained, too. Reasoning that R(i)
does not show is counted ("lost").

Begin, the first that holds:
  a  G(i) is a prefix of R(i): behind it.
  b  The template reads enable_thinking or thinking, which is not set, and G(i) with false or true for it is a prefix of
     R(i): behind the longest such.
  d  Q without its white space stands in R(i) without white space, behind the texts of all earlier messages and before
     the own texts (their own outer spaces too); the last such place counts. Behind it; and behind the spaces with
     which Q ends if they follow there, else behind all spaces before the own texts. If Q is nothing but spaces, all of
     G(i) is looked for, and only at the beginning of R(i).
  c  G(i) and R(i) have R(i-1) in common, as far as G(i) has it. Of what both have, and not behind the beginning of the
     own texts, the last place at which in G(i) a mark begins, or ends, or ends with the white space behind it, or at which
     the own texts begin; not inside a mark of R(i). Between R(i-1) and this place is more than white space (the header),
     or the own texts begin there and in G(i) a mark. A mark is an added token, or a tag in angle or square brackets
     without white space. (Words of a prompt like "Here are my reasoning steps:" are not cut in two.) If G(i) ends, from
     the beginning of a later mark on, with what stands in R(i) at such a place and before the own texts, the range begins
     behind that, with or without a header: DeepSeek V3.2 asks with "<think></think>" and prints "</think>".
A begin behind the end of the own texts is refused.

End. The first stated stop behind the own texts. If there is none, the end of R(i) without the white space that the
template puts there (own white space stays): behind the special token with which R(i) ends, if it ends with one.
Refused: a stated stop between the first own text and the last (one before the first own text is part of what the model
said), a text of another message inside the range. If P(i) does not end with a stated stop, and in a record one follows
P(i) at once, the range goes on to its end.

Records. Message i may be trained in R(k) if P(i) is a prefix of R(k). Records are the R(i) of trained messages that no
R(k) of a later trained message k may hold; each message is trained in the first record that may hold it.
"""

import argparse
import collections
import copy
import json
import os
import re
import string
import sys
from pathlib import Path

from jinja2 import Environment
from transformers import PreTrainedTokenizerFast

import templates  # noqa: F401 (the day that strftime_now gives)

# White space is what `str.strip()` of a template removes.
BLANK = "".join(c for c in map(chr, range(0x110000)) if c.isspace())
MARK = "\ue000"
REASONING = ("reasoning_content", "reasoning", "thinking")
SWITCHES = ("enable_thinking", "thinking")
TAG = r"<[^<>\s]+>|\[[^\[\]\s]+\]"


class Refused(Exception):
    pass


def common(text, other):
    return len(os.path.commonprefix([text, other]))


def leaves(value, mark):
    """The arguments of a call with each leaf and key changed; the same if there are none."""
    if isinstance(value, dict):
        return {mark + key + mark: leaves(item, mark) for key, item in value.items()}
    if isinstance(value, list):
        return [leaves(item, mark) for item in value]
    return f"{mark}{value}{mark}"


def texts(message):
    """The texts of a message: the kind of each, and how to change it."""

    def with_call(at, change):
        def changed(mark):
            made = copy.deepcopy(message)
            call = made["tool_calls"][at]
            change(call.get("function", call), call, mark)
            return made

        return changed

    def with_part(key, place, part):
        def changed(mark):
            made = copy.deepcopy(message)
            holder = made if place is None else made[key][place]
            name = key if place is None else "text"
            if isinstance(part, str):
                holder[name] = mark + part + mark
            return made

        return changed

    def name(function, _, mark):
        function["name"] = mark + function["name"] + mark

    def arguments(function, _, mark):
        function["arguments"] = leaves(function["arguments"], mark)

    def identity(_, call, mark):
        call["id"] = mark + call["id"] + mark

    content = message.get("content")
    if isinstance(content, str) and content.strip():
        yield "content", with_part("content", None, content)
    elif isinstance(content, list):
        for place, part in enumerate(content):
            if isinstance(part, dict) and (part.get("text") or "").strip():
                yield "content", with_part("content", place, part["text"])
    for key in REASONING:
        if isinstance(message.get(key), str) and message[key].strip():
            yield "reasoning", with_part(key, None, message[key])
    for at, call in enumerate(message.get("tool_calls") or []):
        function = call.get("function", call)
        has_id = function["name"] in (call.get("id") or "")
        yield ("name or id" if has_id else "name"), with_call(at, name)
        if has_id:
            yield "id", with_call(at, identity)
        if function.get("arguments"):
            yield "arguments", with_call(at, arguments)


def difference(text, other):
    """Where a text is not another; None if they are equal."""
    if text == other:
        return None
    start = common(text, other)
    tail = common(text[start:][::-1], other[start:][::-1])
    return start, len(text) - tail


class Model:
    """A folder: its tokenizer, its template, and the tokens with which turns end."""

    def __init__(self, folder, template=None, stops=()):
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        self.template = template
        self.added = self.tokenizer.added_tokens_decoder
        stated = [self.tokenizer.eos_token, *stops]
        for name in ("config.json", "generation_config.json"):
            path = Path(folder, name)
            eos = json.loads(path.read_text()).get("eos_token_id") if path.exists() else None
            stated += [self.tokenizer.convert_ids_to_tokens(of) for of in (eos if isinstance(eos, list) else [eos]) if of is not None]
        self.stops = list(dict.fromkeys(stop for stop in stated if stop))
        longest = sorted((re.escape(token.content) for token in self.added.values()), key=len, reverse=True)
        self.mark = re.compile("|".join([*longest, TAG]))
        self.special = [token.content for token in self.added.values() if token.special]

    def source(self, tools):
        return self.template or self.tokenizer.get_chat_template(None, tools or None)

    def stop(self, text, start, end=None):
        """The first stop token in a part of a text."""
        longest = sorted(map(re.escape, self.stops), key=len, reverse=True)
        return re.compile("|".join(longest)).search(text, start, len(text) if end is None else end) if longest else None

    def marks(self, text):
        """Where added tokens and tags stand in a text."""
        return [match.span() for match in self.mark.finditer(text)]

    def encoded(self, text, places):
        """The ids of a text, and the place of each; cut where one of the places would be inside a token."""
        cuts = set()
        while True:
            bounds = sorted(cuts)
            ids, offsets = [], []
            for start, end in zip([0, *bounds], [*bounds, len(text)]):
                piece = self.tokenizer(text[start:end], add_special_tokens=False, return_offsets_mapping=True)
                ids += piece["input_ids"]
                offsets += [(a + start, b + start) for a, b in piece["offset_mapping"]]
            ends = {0, len(text), *(b for _, b in offsets)}
            new = set(places) - ends - cuts
            if not new:
                return ids, offsets
            cuts |= new


class Fit:
    def __init__(self, model, chat, variables):
        self.model = model
        self.variables = variables | chat.get("chat_template_kwargs", {})
        self.tools = chat.get("tools") or None
        self.messages = copy.deepcopy(chat["messages"])
        self.weights = [message.pop("weight", 1) for message in self.messages]
        for message in self.messages:
            if message.get("content") is None:
                message["content"] = ""
            for call in message.get("tool_calls") or []:
                function = call.get("function", call)
                if isinstance(function.get("arguments"), str):
                    function["arguments"] = json.loads(function["arguments"])
        self.source = model.source(self.tools)
        self.rendered = {}
        self.rules = collections.Counter()
        self.notes = []
        self.lost = 0

    def render(self, messages, prompt=False, tools=None, **variables):
        try:
            return self.model.tokenizer.apply_chat_template(
                messages, tools=tools or self.tools, chat_template=self.source, tokenize=False,
                add_generation_prompt=prompt, **(self.variables | variables),
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 (what is raised is the template's business)
            raise Refused(f"after message {len(messages) - 1}: {type(error).__name__}: {error}") from None

    def text(self, at):
        """R(i)."""
        return self.asked(at + 1, False)

    def asked(self, count, prompt=True, **variables):
        """The first messages, with the generation prompt: G(i)."""
        key = count, prompt, *variables.items()
        if key not in self.rendered:
            self.rendered[key] = self.render(self.messages[:count], prompt, **variables)
        return self.rendered[key]

    def changed(self, at, messages):
        """Where R(i) is another with these messages, which are changed by a function of the mark."""
        text = self.text(at)
        other = self.render(messages(MARK))
        if MARK.encode("unicode-escape").decode() in other:
            # Where marks are escaped, a letter or digit that is nowhere in the text.
            free = next((c for c in string.digits + string.ascii_letters if c not in text), None)
            if free is None:
                raise Refused("no letter is free")
            other = self.render(messages(free))
        return difference(text, other)

    def places(self, at, of):
        """Where R(i) shows the texts of a message: a list of (kind, place)."""
        key = "places", at, of
        if key not in self.rendered:
            found = []
            for kind, change in texts(self.messages[of]):
                head, tail = self.messages[:of], self.messages[of + 1 : at + 1]
                try:
                    found.append((kind, self.changed(at, lambda mark: [*head, change(mark), *tail])))
                except Refused:
                    raise Refused(f"message {of}: the template refuses it with other texts") from None
            self.rendered[key] = found
        return self.rendered[key]

    def block(self, at, of):
        """From the first text of a message to the last, in R(i)."""
        places = [place for _, place in self.places(at, of) if place]
        return (min(start for start, _ in places), max(end for _, end in places)) if places else None

    def begin(self, at):
        text, prompted = self.text(at), self.asked(at)
        own = self.block(at, at)
        limit = own[0] if own else len(text)
        if text.startswith(prompted):
            return len(prompted), "a", None
        names = {word for _, kind, word in Environment(extensions=["jinja2.ext.loopcontrols"]).lex(self.source) if kind == "name"}
        switched = []
        for name in SWITCHES:
            if name in names and name not in self.variables:
                for value in (False, True):
                    try:
                        other = self.asked(at, **{name: value})
                    except Refused:
                        continue
                    if text.startswith(other):
                        switched.append((len(other), "b", f"{name}={value}"))
        if switched:
            return max(switched)
        before = common(prompted, self.text(at - 1))
        place = self.word_for_word(at, text, prompted, prompted[before:], limit)
        if place is not None:
            return place, "d", prompted[before:]
        both = common(prompted, text)
        found = self.header_end(text, prompted, before, min(both, limit), limit) if both >= before else None
        if found is not None:
            return found[0], "c", prompted[found[1] :]
        raise Refused(f"message {at}: the prompt {prompted[before:]!r} does not stand before it: {text[max(0, both - 40) : limit + 20]!r}")

    def header_end(self, text, prompted, before, high, limit):
        """Where the range begins behind the header that the prompt and the text have in common, and where this ends."""
        bounds = {limit}
        for start, end in self.model.marks(prompted):
            bounds |= {start, end, end + len(prompted[end:]) - len(prompted[end:].lstrip(BLANK))}
        marks = {start for start, _ in self.model.marks(prompted)}
        for place in sorted((place for place in bounds if before <= place <= high), reverse=True):
            if any(start < place < end for start, end in self.model.marks(text)):
                continue
            # What the prompt supplies to the last, though the text lacks what is before.
            tails = [prompted[mark:] for mark in sorted(marks) if mark > place and text.startswith(prompted[mark:], place, limit)]
            if tails:
                return place + len(tails[0]), place
            if prompted[before:place].strip(BLANK) or place == limit and place in marks:
                return place, place
        return None

    def word_for_word(self, at, text, prompted, prompt, limit):
        """Where the generation prompt ends that stands before the own texts, but for white space."""
        earlier = max((block[1] for block in (self.block(at, of) for of in range(at)) if block), default=0)
        is_blank = not prompt.strip(BLANK)
        wanted = [c for c in (prompted if is_blank else prompt) if c not in BLANK]
        low = 0 if is_blank else earlier
        places = [place for place in range(low, limit) if text[place] not in BLANK]
        for first in [0] if is_blank else range(len(places) - len(wanted), -1, -1):
            those = places[first : first + len(wanted)]
            if [text[place] for place in those] == wanted:
                place = those[-1] + 1 if those else 0
                spaces = text[place:limit][: len(text[place:limit]) - len(text[place:limit].lstrip(BLANK))]
                own = prompt[len(prompt.rstrip(BLANK)) :]
                return place + len(own if spaces.startswith(own) else spaces)
        return None

    def said(self, at):
        """The range of a message in R(i)."""
        if at == 0:
            raise Refused("message 0: nothing is asked")
        if not self.messages[at]["content"] and not self.messages[at].get("tool_calls"):
            raise Refused(f"message {at}: an answer without text")
        text = self.text(at)
        begin, rule, note = self.begin(at)
        own = self.block(at, at)
        if own and own[1] < begin:
            raise Refused(f"message {at}: the prompt ends behind the texts")
        last = max(begin, own[1]) if own else begin
        if own and self.model.stop(text, max(begin, own[0]), last):
            raise Refused(f"message {at}: texts on both sides of a stop")
        stop = self.model.stop(text, last)
        if stop:
            end = stop.end()
        else:
            end = max(last, len(text.rstrip(BLANK)))
        for other in range(at):
            for _, place in self.places(at, other):
                if place and place[0] < end and begin < place[1]:
                    raise Refused(f"message {at}: a text of message {other} stands inside of it")
        self.rules[rule] += 1
        if note is not None:
            self.notes.append((rule, note))
        self.lost += bool([1 for kind, _ in self.places(at, at) if kind == "reasoning"]) and not any(
            place for kind, place in self.places(at, at) if kind == "reasoning"
        )
        return begin, end

    def all_shown(self, at):
        """Fails if R(i) does not show what was said in it."""
        for of in range(at + 1):
            places = self.places(at, of)
            has_id = any(place for kind, place in places if kind == "id")
            for kind, place in places:
                if place is None and kind not in ("reasoning", "id") and not (kind == "name or id" and has_id):
                    raise Refused(f"message {of}: its {kind} is not shown")
        if self.tools:
            other = copy.deepcopy(self.tools)
            for tool in other:
                function = tool.get("function", tool)
                function["name"] = MARK + function["name"] + MARK
            try:
                is_shown = self.render(self.messages[: at + 1], tools=other) != self.text(at)
            except Refused:
                is_shown = True
            if not is_shown:
                raise Refused("the tools are not shown")

    def records(self):
        """Each as (message, text, {message: range})."""
        trained = [at for at, message in enumerate(self.messages) if message["role"] in ("assistant", "model") and self.weights[at]]
        if not trained:
            raise Refused("nothing is trained on")
        said = {at: self.said(at) for at in trained}
        starts = {at: self.text(at)[: said[at][1]] for at in trained}
        holds = lambda k, i: k >= i and self.text(k).startswith(starts[i])
        places = [i for i in trained if not any(holds(k, i) for k in trained if k > i)]
        made = {k: {} for k in places}
        for i in trained:
            k = next((k for k in places if holds(k, i)), None)
            if k is None:
                raise Refused(f"message {i}: no record holds it")
            begin, end = said[i]
            if not any(starts[i].endswith(stop) for stop in self.model.stops):
                stop = self.model.stop(self.text(k), end)
                end = stop.end() if stop and stop.start() == end else end
            made[k][i] = (begin, end)
            content = self.messages[i]["content"]
            if isinstance(content, str) and content.strip() not in self.text(k)[begin:end]:
                raise Refused(f"message {i}: its content is shown otherwise")
        for k in places:
            self.all_shown(k)
        return [(k, self.text(k), made[k]) for k in places]


def spelled(model, value):
    """A special token that a text spells."""
    if isinstance(value, str):
        return next((token for token in model.special if token in value), None)
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return next(filter(None, (spelled(model, item) for item in items)), None)


def records(model, chat, variables=None, special="refuse"):
    """What is written for a chat."""
    name = chat.get("id")
    try:
        token = special == "refuse" and spelled(model, [chat["messages"], chat.get("tools")])
        if token:
            raise Refused(f"a text spells {token}")
        fit = Fit(model, chat, variables or {})
        found = fit.records()
    except Refused as error:
        return [{"id": name, "refused": str(error)}]
    made = []
    for number, (_, text, ranges) in enumerate(found, 1):
        order = sorted(ranges.values())
        places = [place for start, end in order for place in (start, end)]
        touching = {end for _, end in order} & {start for start, _ in order}
        ids, offsets = model.encoded(text, set(places) - touching)
        mask = [int(any(a <= start and end <= b for a, b in order)) for start, end in offsets]
        made.append({
            "id": name if len(found) == 1 or name is None else f"{name}#{number}", "text": text, "messages": sorted(ranges),
            "ranges": [list(pair) for pair in order], "tokens": ids, "mask": mask,
        })  # fmt: skip
    made[0] |= {"rules": fit.rules, "notes": fit.notes, "lost": fit.lost}
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("chats", nargs="?", default="-")
    parser.add_argument("variables", nargs="*")
    parser.add_argument("--template")
    parser.add_argument("--stop", action="append", default=[])
    parser.add_argument("--special", choices=["refuse", "token"], default="refuse")
    arguments = parser.parse_args()
    model = Model(arguments.model, arguments.template and Path(arguments.template).read_text(), arguments.stop)
    variables = {name: json.loads(value) for name, value in (of.split("=", 1) for of in arguments.variables)}
    with sys.stdin if arguments.chats == "-" else open(arguments.chats) as lines:
        for line in lines:
            for record in records(model, json.loads(line), variables, arguments.special):
                print(json.dumps(record, ensure_ascii=False))


if __name__ == "__main__":
    main()

"""What the model said in the text of a chat, found with transformers alone, beside what the Rust program finds.

    ranges.py PROGRAM [COUNT [SEED]]

PROGRAM is lib/template/examples/turns. Each kind of text of each message is changed by itself, and the
rendering compared with the one that was not changed: nothing is taken from the Rust code but the rules,
which are in the head of lib/template/turns/mod.rs. Text, turns, segments and what is not shown must be the
same, or both must refuse.
"""

import collections
import copy
import json
import os
import random
import re
import sys

import template_chats as chats
import templates

MARK = "\ue000"  # of the private use area, in no chat
SPACE = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
REASONING = ("reasoning_content", "thinking", "reasoning")
CHANNELS = {"content": "Final", "reasoning": "Analysis", "name": "Commentary", "arguments": "Commentary"}
ROLES = {"system": "System", "developer": "System", "assistant": "Assistant", "model": "Assistant"}
ROLES |= {"tool": "Tool", "function": "Tool", "ipython": "Tool"}


class Refused(Exception):
    pass


def role(message):
    name = message.get("role")
    return ROLES.get(name, "User") if isinstance(name, str) else "User"


def marked(text, mark):
    core = text.strip(SPACE)
    return text.replace(core, mark + core + mark, 1) if core else text


def change(value, mark):
    """All texts in a value, changed at both ends."""
    if isinstance(value, str):
        return marked(value, mark)
    if isinstance(value, list):
        return [change(item, mark) for item in value]
    if isinstance(value, dict):
        return {key: change(item, mark) for key, item in value.items()}
    return value


def changed_object(value, mark):
    """All keys and texts changed."""
    if isinstance(value, list):
        return [changed_object(item, mark) for item in value]
    if isinstance(value, dict):
        return {change(key, mark): changed_object(item, mark) for key, item in value.items()}
    return change(value, mark)


def changed_call(call, kind, mark):
    """A call with another name, or other arguments."""
    made = dict(call)
    if isinstance(call.get("function"), dict):
        made["function"] = changed_call(call["function"], kind, mark)
    if kind == "arguments" and kind in call or isinstance(call.get(kind), str):
        made[kind] = change(call[kind], mark)
    return made


def changed(message, kind, mark=MARK):
    """A message in which one kind of text is changed; the same if there is nothing to change."""
    made = dict(message)
    if kind == "content":
        content = message.get("content")
        if isinstance(content, str):
            made["content"] = marked(content, mark)
        elif isinstance(content, list):
            made["content"] = [
                part | {"text": marked(part["text"], mark)}
                if isinstance(part, dict) and isinstance(part.get("text"), str)
                else change(part, mark) if isinstance(part, str) else part
                for part in content
            ]
        elif isinstance(content, dict):
            made["content"] = changed_object(content, mark)
    elif kind == "reasoning":
        for key in REASONING:
            if isinstance(message.get(key), str):
                made[key] = marked(message[key], mark)
    elif isinstance(message.get("tool_calls"), list):
        calls = copy.deepcopy(message["tool_calls"])
        if isinstance(calls[kind[1]], dict):
            calls[kind[1]] = changed_call(calls[kind[1]], kind[0], mark)
        made["tool_calls"] = calls
    return made


def kinds(message):
    calls = message.get("tool_calls")
    count = range(len(calls) if isinstance(calls, list) else 0)
    found = ["content", "reasoning"] + [(part, at) for part in ("name", "arguments") for at in count]
    return [kind for kind in found if changed(message, kind) != message]


def difference(text, other):
    if text == other:
        return None
    start = len(os.path.commonprefix([text, other]))
    tail = len(os.path.commonprefix([text[start:][::-1], other[start:][::-1]]))
    return start, len(text) - tail


def closed(text):
    """A text until a tag that it leaves open."""
    for begin, end in ("<>", "[]"):
        if begin in text and end not in text[text.rindex(begin) :]:
            return closed(text[: text.rindex(begin)])
    return text


def tails(text):
    return [text[at:] for at in range(len(text))]


class Oracle:
    def __init__(self, case, prompt=False):
        self.case = case
        self.messages = case["messages"]
        self.prompt = prompt
        self.text = self.render(self.messages, prompt)
        self.cache = {}

    def render(self, messages, prompt=False, **other):
        done = templates.render(self.case | {"messages": messages, "prompt": prompt} | other)
        if "error" in done:
            raise Refused(done["error"])
        return done["text"]

    def shown(self, at, kind):
        if (at, kind) not in self.cache:
            messages = list(self.messages)
            messages[at] = changed(self.messages[at], kind)
            other = self.render(messages, self.prompt)
            if MARK.encode("unicode-escape").decode() in other:
                # Where marks are escaped, a letter or digit that is nowhere in the text.
                free = next(c for c in "0123456789abcdefghijklmnopqrstuvwxyz" if c not in self.text)
                messages[at] = changed(self.messages[at], kind, free)
                other = self.render(messages, self.prompt)
            place = difference(self.text, other)
            if place and kind[0] == "name":
                # Where it is shown again, it is that of the call's result.
                call = self.messages[at]["tool_calls"][kind[1]]
                name = call.get("function", call)["name"].strip(SPACE)
                if self.text.startswith(name, place[0]):
                    place = place[0], place[0] + len(name)
            self.cache[at, kind] = place
        return self.cache[at, kind]

    def block(self, at):
        places = [self.shown(at, kind) for kind in kinds(self.messages[at])]
        places = [place for place in places if place]
        return (min(place[0] for place in places), max(place[1] for place in places)) if places else None

    def unseen(self):
        found = []
        for at, message in enumerate(self.messages):
            for kind in kinds(message):
                name = [kind if isinstance(kind, str) else "call", at]
                if self.shown(at, kind) is None and name not in found:
                    found.append(name)
        tools = self.case.get("tools")
        if tools:
            others = [changed_tool(tool) for tool in tools]
            try:
                if self.render(self.messages, tools=others) == self.text:
                    found.append(["tools", None])
            except Refused:
                pass
        return found

    def turn(self, at):
        place = self.block(at)
        start, whole = self.start(at, place)
        end = max(start, place[1]) if place else start
        limit = len(self.text)
        for later in range(at + 1, len(self.messages)):
            other = self.block(later)
            if other and other[0] >= end:
                limit = other[0]
                break
        stop = self.stop(end, limit)
        if stop:
            return start, stop.end(), True, whole, self.channels(at, start, stop.start(), stop.end())
        content = self.messages[at].get("content")
        spaces = content[len(content.rstrip(SPACE)) :] if isinstance(content, str) else ""
        end += len(os.path.commonprefix([self.text[end:limit], spaces]))
        return start, end, False, whole, self.channels(at, start, end, end)

    def stop(self, low, high):
        stops = "|".join(re.escape(stop) for stop in sorted(self.case["stops"], key=len, reverse=True))
        return re.compile(stops).search(self.text, low, high) if stops else None

    def start(self, at, place):
        if at == 0:
            raise Refused("nothing is asked")
        prompted = self.render(self.messages[:at], prompt=True)
        if self.text.startswith(prompted):
            if place and len(prompted) > place[1]:
                raise Refused("the prompt ends after the texts")
            return len(prompted), True
        if place is None:
            raise Refused("no text")
        bare = self.render(self.messages[:at])
        prompt = prompted[len(os.path.commonprefix([prompted, bare])) :]
        before, asked = self.block(at - 1), Oracle(self.case | {"messages": self.messages[:at]}, True)
        asked_block = asked.block(at - 1)
        if before and asked_block and before[1] <= place[0]:
            low, wanted = before[1], prompted[asked_block[1] :]
        else:
            found = [self.text.rfind(prompt[:length], 0, place[0]) for length in range(len(prompt), 0, -1)]
            found = [index for index in found if index >= 0]
            if not found:
                raise Refused("the prompt does not stand before the texts")
            low, wanted = found[0], prompt
        between = self.text[low : place[0]]
        same = os.path.commonprefix([between, wanted])
        # Back to before a tag that is open.
        same = closed(same)
        if not same or (prompt and len(same) <= len(wanted) - len(prompt)):
            raise Refused("the prompt does not stand before the texts")
        end = next((end for end in tails(wanted[len(same) :]) if between.startswith(end, len(same))), "")
        return low + len(same) + len(end), same == wanted

    def channels(self, at, start, stop, end):
        """From where which channel goes on."""
        places = {}
        for kind in kinds(self.messages[at]):
            channel = CHANNELS[kind if isinstance(kind, str) else kind[0]]
            place = self.shown(at, kind)
            if place:
                low, high = places.get(channel, place)
                places[channel] = (min(low, place[0]), max(high, place[1]))
        order = sorted(places, key=lambda channel: places[channel])
        letters = [None] * (end - start)
        begin = start
        for index, channel in enumerate(order):
            if index + 1 == len(order):
                until = stop
            elif channel == "Final":
                until = places[channel][1]
            elif (channel, order[index + 1]) == ("Analysis", "Commentary"):
                low, high = places[channel][1], places[order[index + 1]][0]
                until = min(max(self.without_content(at, low), min(low, high)), high)
            else:
                until = places[order[index + 1]][0]
            until = min(max(until, begin), stop)
            for letter in range(begin, until):
                letters[letter - start] = channel
            begin = until
        return [channel or "Final" for channel in letters]

    def without_content(self, at, default):
        messages = list(self.messages)
        messages[at] = messages[at] | {"content": MARK}
        try:
            place = difference(self.text, self.render(messages))
        except Refused:
            return default
        return place[0] if place else default

    def end_of(self, low, high):
        stop = self.stop(low, high)
        return stop.end() if stop else low

    def find(self):
        count = len(self.messages)
        unseen = self.unseen()
        wanted = self.case.get("wanted")
        turns, named = {}, self.generations()
        for at in range(count):
            if role(self.messages[at]) == "Assistant":
                try:
                    turns[at] = self.turn(at)
                    if named is not None and [*turns[at][:2]] not in named:
                        del turns[at]
                        raise Refused("the template says otherwise")
                except Refused:
                    if wanted is None or at in wanted:
                        raise
        order = sorted(turns)
        for one, other in zip(order, order[1:]):
            if turns[one][1] > turns[other][0]:
                raise Refused("turns overlap")
        if named and len(turns) == sum(role(message) == "Assistant" for message in self.messages):
            if len(named) != len(turns):
                raise Refused("the template names what is no turn")
        # Who says each letter.
        owners = []

        def to(end, *owner):
            owners.extend([owner] * (end - len(owners)))

        for at, message in enumerate(self.messages):
            if at in turns:
                start, end, _, _, channels = turns[at]
                to(start, "Assistant", None, at)
                for place, channel in enumerate(channels, start + 1):
                    to(place, "Assistant", channel, at)
                continue
            place = self.block(at)
            if place is None:
                continue
            end = len(self.text)
            for later in range(at + 1, count):
                block = self.block(later)
                begin = turns[later][0] if later in turns else block and block[0]
                if begin is not None and begin >= place[1]:
                    end = self.end_of(place[1], begin)
                    break
            to(end, role(message), None, at)
        to(len(self.text), role(self.messages[-1]), None, count - 1)
        segments = []
        for letter, owner in enumerate(owners):
            if segments and tuple(segments[-1][2:]) == owner:
                segments[-1][1] = letter + 1
            else:
                segments.append([letter, letter + 1, *owner])
        shown = [[at, *turns[at][:4]] for at in order if wanted is None or at in wanted]
        return {"text": self.text, "turns": shown, "segments": segments, "unseen": unseen}

    def generations(self):
        """The ranges that the template names, joined; none if it does not name any."""
        if not re.search(r"{%[-+]?\s*generation", self.case["template"]):
            return None
        ranges = []
        for start, end in templates.render(self.case | {"prompt": False})["generations"]:
            if start == end:
                continue
            if ranges and ranges[-1][1] == start:
                ranges[-1][1] = end
            else:
                ranges.append([start, end])
        return ranges


def changed_tool(tool):
    made = dict(tool)
    if isinstance(tool.get("function"), dict) and isinstance(tool["function"].get("name"), str):
        made["function"] = tool["function"] | {"name": marked(tool["function"]["name"], MARK)}
    return made


def find(case):
    try:
        return Oracle(case).find()
    except Refused as error:
        return {"error": str(error)}


def main():
    path, count, seed = sys.argv[1], int((sys.argv[2:] + ["2000"])[0]), int((sys.argv[3:] + ["1"])[0])
    rng = random.Random(seed)
    sources = chats.templates()
    cases = []
    for _ in range(count):
        case = chats.case(rng, sources) | {"date": templates.DATE, "stops": chats.STOPS}
        turns = [at for at, message in enumerate(case["messages"]) if role(message) == "Assistant"]
        how = rng.randrange(3)
        if how and turns:
            case["wanted"] = turns[-1:] if how == 1 else [rng.choice(turns)]
        if rng.random() < 0.05:
            case["stops"] = rng.choice([[], ["<|im_end|>"], ["</s>", "</s>x"]])
        cases.append(case)
    differ = refused = 0
    reasons = collections.defaultdict(collections.Counter)
    names = {source: name for name, source in sources.items()}
    for case, ours in zip(cases, templates.program(path, cases), strict=True):
        theirs = find(case)
        refused += "error" in theirs
        reasons[names[case["template"]]][theirs.get("error", "found")[:50]] += 1
        if "error" in ours and "error" in theirs or ours == theirs:
            continue
        differ += 1
        if differ <= int(os.environ.get("SHOWN", "10")):
            shown = {key: value for key, value in case.items() if key != "template"}
            print(names[case["template"]], json.dumps(shown, ensure_ascii=False))
            for key in theirs.keys() | ours.keys():
                if ours.get(key) != theirs.get(key) or key == "text":
                    print(f"  {key}\n    ours   {ours.get(key)!r}\n    theirs {theirs.get(key)!r}")
    print(f"ranges: {differ} differences of {len(cases)}, {refused} refused, {len(sources)} templates")
    if "REASONS" in os.environ:
        for name in sorted(reasons):
            print(name, dict(reasons[name]))
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()

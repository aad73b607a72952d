"""The inputs of the bench, made once in its directory: from the reference data (GRISTMILL_DATA) and
from generators of our own. Names say sizes, so that --quick and a full run share what they can."""

import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Inputs:
    def __init__(self, bench, data):
        self.bench, self.data = bench, pathlib.Path(data)
        self.sample = self.data / "synth_harmony/synth_harmony_shard_00.parquet"

    def path(self, name):
        return pathlib.Path(self.bench.directory, name)

    def made(self, name, script):
        """Makes a file or directory by a script that writes `$out`; whole, or not at all."""
        if not self.path(name).exists():
            print(f"making {name}", file=sys.stderr)
            self.bench.shell(f"rm -rf new; out=new; {script}; mv new {name}")
        return name

    def vocabulary(self):
        """A directory for TIKTOKEN_ENCODINGS_BASE."""
        script = "mkdir $out; encode vocabulary > $out/o200k_base.tiktoken"
        return self.made("vocabulary", script)

    def conversations(self, rows):
        """A shard of distinct rows."""
        make = ROOT / "benches/suite/make_synth_rows.py"
        name = f"conversations_{rows}.parquet"
        return self.made(name, f"{sys.executable} {make} {self.sample} $out {rows} 1")

    def real_conversations(self, rows):
        """A shard of rows of distinct real text. Fails as `real_texts` does."""
        texts, _ = self.real_texts()
        make = f"{sys.executable} {ROOT}/benches/suite/make_real_rows.py {self.sample} {texts}/real.ndjson"
        return self.made(f"real_conversations_{rows}.parquet", f"{make} $out {rows}")

    def raw_rows(self, rows):
        """Raw SYNTH rows, as many, with the texts of these conversations."""
        make = ROOT / "benches/suite/make_raw_rows.py"
        shard = self.conversations(rows)
        return self.made(f"raw_rows_{rows}.parquet", f"{sys.executable} {make} {shard} $out")

    def chats(self, rows):
        """Chats as people have them, as many, with the texts of these conversations."""
        make = ROOT / "benches/suite/make_chats.py"
        return self.made(f"chats_{rows}.ndjson", f"{sys.executable} {make} {self.conversations(rows)} $out")

    def model_chats(self, rows, with_reasoning):
        """Chats for any model's template, as many; with reasoning and calls, or texts alone."""
        make = f"{sys.executable} {ROOT}/benches/suite/make_model_chats.py {self.chats(rows)} $out"
        kind, plain = ("reasoning", "") if with_reasoning else ("plain", " --plain")
        return self.made(f"model_chats_{kind}_{rows}.ndjson", make + plain)

    def same_chats(self, rows):
        """Chats with reasoning and calls, which all have the same system text and tools."""
        make = f"{sys.executable} {ROOT}/benches/suite/make_model_chats.py {self.chats(rows)} $out --same"
        return self.made(f"same_chats_{rows}.ndjson", make)

    def spelling_chats(self, rows, with_reasoning, tokens):
        """The same, and each text spells one of these control tokens."""
        make = f"{sys.executable} {ROOT}/benches/suite/make_model_chats.py {self.chats(rows)} $out"
        kind, plain = ("reasoning", "") if with_reasoning else ("plain", " --plain")
        return self.made(f"spelling_chats_{kind}_{rows}.ndjson", f"{make}{plain} --spelling {shlex.join(tokens)}")

    def pairs(self, rows):
        """Preference data of chats of texts alone; the rejected answer is that of the chat before."""
        make = f"{sys.executable} {ROOT}/benches/suite/pair_peer.py make {self.model_chats(rows, False)} $out"
        return self.made(f"pairs_{rows}.ndjson", make)

    def other_rows(self, rows, model):
        """Rows as another tool has prepared them, of chats with reasoning and calls, for a model's folder."""
        chats = f"chat-tok -q --turns all --model {model} {self.model_chats(rows, True)}"
        mask, own = "span-mask -q --span commentary=3", "own_rows.parquet"
        strip = f"{sys.executable} {ROOT}/benches/suite/rows_peer.py make {own} $out; rm {own}"
        return self.made(f"other_rows_{rows}.parquet", f"{chats} | {mask} | seq-pack -q -o {own} --overwrite; {strip}")

    def trace(self, chats, calls):
        """Chats of an agent: reasoning, a call and its result, again and again."""
        make = f"{sys.executable} {ROOT}/benches/suite/make_trace.py {chats} {calls} > $out"
        return self.made(f"trace_{chats}_{calls}.ndjson", make)

    def sessions(self, form, megabytes):
        """Sessions of agents, most of whose bytes are results of tools; the files."""
        make = f"{sys.executable} {ROOT}/benches/suite/make_sessions.py {form} {megabytes} $out"
        path = self.path(self.made(f"sessions_{form}_{megabytes}", make))
        return sorted(path.iterdir()) if path.is_dir() else [path]

    def tokens(self, rows):
        """Masked tokens records, the input of mmidx-write."""
        shard = self.conversations(rows)
        return self.made(f"tokens_{rows}.arrows", f"harmony-tok -q {shard} | span-mask -q > $out")

    def raw_games(self, copies):
        """Raw logs: the games of the reference data, several times."""
        script = f"mkdir $out; for i in $(seq -w {copies}); do"
        script += f" ln -s {self.data}/macroxue/raw_bench $out/$i; done"
        return self.made(f"raw_{copies}", script)

    def few_games(self):
        """Raw logs of some ten thousand moves."""
        return self.made("raw_few", f"mkdir $out; ln -s {self.data}/macroxue/raw_small $out/0")

    def games(self, copies):
        """Game records, the input of npy-pack."""
        raw = self.raw_games(copies)
        return self.made(f"games_{copies}.arrows", f"mx-decode -q {raw} > $out")

    def pack(self, copies):
        raw = self.raw_games(copies)
        return self.made(f"pack_{copies}", f"mx-decode -q {raw} | npy-pack -q -o $out")

    def root(self, rows):
        """A finished dataset of tokens."""
        tokens = self.tokens(rows)
        script = f"mmidx-write -q --root $out --shard shard_00 < {tokens}; ds-manifest -q $out"
        return self.made(f"root_{rows}", script)

    def short_root(self, rows):
        """A root of short sequences, each with an id."""
        make = f"{sys.executable} {ROOT}/benches/suite/make_short_rows.py {rows}"
        script = f"{make} | harmony-tok -q | span-mask -q | mmidx-write -q --root $out --shard shard_00"
        return self.made(f"short_{rows}", script)

    def sudoku(self, augmentations):
        raw = self.data / "hrm/raw/sudoku"
        script = f"puzzle-encode sudoku -q --train {raw}/train.csv --test {raw}/test.csv"
        script += f" --num-aug {augmentations} | npy-pack -q -o $out"
        return self.made(f"sudoku_{augmentations}", script)

    def arc(self, augmentations):
        script = f"puzzle-encode arc -q {self.data}/hrm/raw/arc --num-aug {augmentations}"
        return self.made(f"arc_{augmentations}", f"{script} | npy-pack -q -o $out")

    def texts(self):
        """Files of distinct texts, one JSON string a line: name, what it is."""
        for name, what, texts in [
            ("synth", "distinct texts of the SYNTH sample", self.synth_texts),
            ("python", "Python source: the modules of numpy in the test venv", python_sources),
            ("harmony", "texts of the Harmony cases: every script, odd on purpose", self.case_texts),
        ]:
            file = self.path(f"texts_{name}.ndjson")
            if not file.exists():
                lines = "".join(json.dumps(text) + "\n" for text in dict.fromkeys(texts()))
                file.write_text(lines)
            yield file.name, what

    def real_texts(self):
        """The directory of the real texts, and what is in it; made once, which takes minutes and
        half a gigabyte of packages. A CalledProcessError where there is no network, or no Debian."""
        directory = self.path("texts")
        if not (directory / "made.json").exists():
            print(f"making {directory.name}: downloads 500 MB", file=sys.stderr)
            script = ROOT / "benches/suite/real_texts.py"
            subprocess.run([sys.executable, script, directory], stdout=subprocess.DEVNULL, check=True)
        return directory, json.loads((directory / "made.json").read_text())

    def synth_texts(self):
        import pyarrow.parquet

        for row in pyarrow.parquet.read_table(self.sample).column("messages_json").to_pylist():
            yield from texts_of(json.loads(row))

    def case_texts(self):
        for line in (self.data / "harmony/cases.jsonl").read_text().splitlines():
            # Some cases are invalid on purpose: a lone surrogate is not text.
            for text in texts_of(json.loads(line).get("messages")):
                if not any(0xD800 <= ord(character) < 0xE000 for character in text):
                    yield text


def texts_of(value):
    if isinstance(value, list):
        for part in value:
            yield from texts_of(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            if not isinstance(part, str):
                yield from texts_of(part)
            elif name in ("text", "content", "instructions"):
                yield part


def python_sources():
    import numpy

    for path in sorted(pathlib.Path(numpy.__file__).parent.rglob("*.py")):
        yield path.read_text(encoding="utf-8")

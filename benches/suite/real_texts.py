"""The benchmark's text: distinct real documents in many languages, with code, tables and logs, made
of Debian's packages and never committed.

    real_texts.py DIR [--packages DIR]

Downloads the packages of real_texts.txt (`apt-get download`, nothing is installed), takes the plain
text of their files, removes paragraphs that came before, cuts documents of 3 to 6 kB, and writes
DIR/real.ndjson (all, in an order drawn with a fixed seed), DIR/real_KIND.ndjson for each script and
kind (and for some scripts that are part of one), one JSON string a line, and DIR/made.json: versions, sizes and SHA-256. Needs Debian 12 (or
its sources in apt), dpkg-deb and the network.
"""

import argparse
import hashlib
import json
import pathlib
import random
import re
import subprocess
import sys

import plain

# The most of each kind, in bytes of text: about 190 MB, as much of English, code and Latin script
# as a collection of real documents has, and enough of every other script to be measured.
MOST = {
    "english": 52e6,
    "code": 38e6,
    "latin": 48e6,
    "cjk": 26e6,
    "cyrillic": 12e6,
    "arabic": 5e6,
    "devanagari": 5e6,
    "thai": 5e6,
    "numbers": 6e6,
    "other": 6e6,
}
LEAST, LARGEST = 3000, 6000

SCRIPTS = {
    "cjk": re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "arabic": re.compile("[\u0600-\u06ff]"),
    "devanagari": re.compile("[\u0900-\u097f]"),
    "thai": re.compile("[\u0e00-\u0e7f]"),
    "latin": re.compile("[\u00c0-\u024f\u1e00-\u1eff]"),
    "other": re.compile("[\u0370-\u03ff\u0530-\u05ff\u0980-\u0dff\u1000-\u13ff\u1780-\u17ff]"),
}
# Scripts that are also measured by themselves, each with the kind that it is a part of.
PARTS = {
    "korean": ("cjk", re.compile("[\uac00-\ud7af]")),
    "greek": ("other", re.compile("[\u0370-\u03ff]")),
    "khmer": ("other", re.compile("[\u1780-\u17ff]")),
}
DIGITS = re.compile(r"[0-9]")


def kind_of(text, is_source):
    """By what a document consists of; code by where it comes from."""
    if len(DIGITS.findall(text)) > 0.25 * len(text):
        return "numbers"
    shares = {name: len(found.findall(text)) / len(text) for name, found in SCRIPTS.items()}
    most = max(shares, key=shares.get)
    if shares[most] >= (0.01 if most == "latin" else 0.15):
        return most
    return "code" if is_source else "english"


def pieces(paragraph):
    """A paragraph in parts that fit a document, cut at ends of lines where there are some."""
    lines, size = [], 0
    for line in paragraph.splitlines(keepends=True):
        content = line.encode()
        while len(content) > LARGEST:
            head = content[:LARGEST].decode("utf-8", "ignore")
            yield from (part for part in ("".join(lines), head) if part)
            lines, size, content = [], 0, content[len(head.encode()) :]
        if size + len(content) > LARGEST:
            yield "".join(lines)
            lines, size = [], 0
        lines.append(content.decode())
        size += len(content)
    yield "".join(lines)


class Documents:
    """Cuts what is given into documents; paragraphs that were seen are left out."""

    def __init__(self):
        self.seen, self.kinds, self.repeated = set(), {kind: [] for kind in MOST}, 0
        self.open, self.size = [], 0

    def add(self, text, is_source):
        for paragraph in plain.paragraphs(text):
            if self.is_new(paragraph):
                for piece in pieces(paragraph):
                    self.piece(piece, is_source)

    def is_new(self, paragraph):
        words = " ".join(paragraph.split())
        # Closing braces and headings belong to their texts, however often they come.
        if len(words) < 24:
            return True
        digest = hashlib.blake2b(words.encode(), digest_size=12).digest()
        self.repeated += digest in self.seen
        new = digest not in self.seen
        self.seen.add(digest)
        return new

    def piece(self, piece, is_source):
        size = len(piece.encode())
        if self.size + size > LARGEST:
            self.close(is_source)
        self.open.append(piece)
        self.size += size + 2
        if self.size >= LEAST:
            self.close(is_source)

    def close(self, is_source):
        """Ends a document; what is left of a folder is too small to be one."""
        text = "\n\n".join(self.open)
        self.open, self.size = [], 0
        if len(text.encode()) >= LEAST // 2:
            self.kinds[kind_of(text, is_source)].append(text)


def download(names, directory):
    """The packages as files, downloaded unless they are there."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name in names:
        package, version = name.split("=")
        # apt writes the colon of a version as %3a.
        pattern = f"{package}_{version.replace(':', '%3a')}_*.deb"
        found = list(directory.glob(pattern))
        if not found:
            done = subprocess.run(
                ["apt-get", "download", "-q", name],
                cwd=directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            found = list(directory.glob(pattern))
            if done.returncode or not found:
                cause = (done.stderr.strip() or "no file").splitlines()[-1]
                sys.exit(f"real_texts.py: {name} cannot be downloaded: {cause}")
        paths[name] = found[0]
    return paths


def read(path, documents):
    """All texts of a package, in the order of their names, a folder's small files together."""
    archive = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE)
    with archive:
        texts = []
        for name, content in plain.files(archive.stdout):
            text = plain.text_of(name, content)
            if text:
                texts.append((name, text))
    if archive.returncode:
        sys.exit(f"real_texts.py: {path}: dpkg-deb failed")
    folder = None
    for name, text in sorted(texts):
        is_source = plain.is_source(name)
        if (name.rpartition("/")[0], is_source) != folder:
            documents.close(folder[1] if folder else False)
            folder = name.rpartition("/")[0], is_source
        documents.add(text, is_source)
    documents.close(folder[1] if folder else False)


def chosen(kinds):
    """As many documents of each kind as it may have, drawn with a fixed seed."""
    for kind, texts in kinds.items():
        random.Random(kind).shuffle(texts)
        size = 0
        for count, text in enumerate(texts):
            size += len(text.encode())
            if size > MOST[kind]:
                del texts[count:]
                break
    return kinds


def write(path, texts):
    """Writes texts as JSON strings; their size and the SHA-256 of the file."""
    digest, size = hashlib.sha256(), 0
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        for text in texts:
            line = json.dumps(text, ensure_ascii=False).encode() + b"\n"
            size += len(text.encode())
            digest.update(line)
            file.write(line)
    new.rename(path)
    return {"documents": len(texts), "bytes": size, "sha256": digest.hexdigest()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--packages", type=pathlib.Path, help="where they are kept")
    options = parser.parse_args()
    out = options.directory
    out.mkdir(parents=True, exist_ok=True)

    listed = pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines()
    names = [line for line in listed if line and not line.startswith("#")]
    paths = download(names, options.packages or out / "packages")
    documents = Documents()
    for name in names:
        read(paths[name], documents)
        sizes = {kind: len(texts) for kind, texts in documents.kinds.items()}
        print(f"{name}: {sizes}", file=sys.stderr)

    kinds = chosen(documents.kinds)
    made = {kind: write(out / f"real_{kind}.ndjson", texts) for kind, texts in kinds.items()}
    for name, (kind, found) in PARTS.items():
        texts = [text for text in kinds[kind] if len(found.findall(text)) > 0.15 * len(text)]
        made[name] = write(out / f"real_{name}.ndjson", texts)
    everything = [text for texts in kinds.values() for text in texts]
    random.Random(1).shuffle(everything)
    made = {"all": write(out / "real.ndjson", everything), **made}
    facts = {"packages": names, "repeated_paragraphs": documents.repeated, "files": made}
    (out / "made.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()

"""Plain text out of the files of a package: manual pages, HTML, catalogues of translations, sources.
The rules are simple: enough that words and lines are those of the author, no more."""

import gzip
import html
import io
import lzma
import re
import struct
import tarfile

SOURCES = ".c .h .cc .cpp .S .rs .go .py .pl .pm .el .js .ts .sql .sh .java .lua .vim .y .json .cfg .conf"
PROSE = ".txt .rst .md .pod .texi .u8 .log .csv .tsv .dat .g .tbl"
MARKUP = ".html .htm .xhtml .page .xml .docbook"
SOURCES, PROSE, MARKUP = (tuple(names.split()) for names in (SOURCES, PROSE, MARKUP))

MANUAL = re.compile(r"/man/(?:[\w.@]+/)?man\d[^/]*/[^/]+\.\d\w*$")
SKIPPED = re.compile(r"(?s)<(script|style|head|nav)\b.*?</\1\s*>|<!--.*?-->|<[?!][^>]*>")
BREAKS = re.compile(r"</?(?:p|div|h\d|table|ul|ol|dl|section|title|note|steps|pre|page|media)\b[^>]*>")
LINES = re.compile(r"<(?:br|li|tr|dt|dd|item|td|th)\b[^>]*>")
TAGS = re.compile(r"<[^<>]*>")
EMPTY_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")


def files(archive):
    """The files of a tar stream: (name, bytes), those in .gz and .tar.xz opened."""
    with tarfile.open(fileobj=archive, mode="r|*") as tar:
        for member in tar:
            if not member.isfile() or not 0 < member.size < 200e6:
                continue
            content, name = tar.extractfile(member).read(), "/" + member.name.removeprefix("./")
            if name.endswith(".tar.xz"):
                yield from files(io.BytesIO(lzma.decompress(content)))
            elif name.endswith(".gz"):
                yield name.removesuffix(".gz"), gunzipped(content)
            else:
                yield name, content


def gunzipped(content):
    try:
        return gzip.decompress(content)
    except (OSError, EOFError):  # named so only
        return b""


def text_of(name, content):
    """The text of a file, or None: what is no text, and encodings other than UTF-8, are left out."""
    reader = reader_of(name, content)
    if not reader:
        return None
    try:
        text = reader(content if reader is catalogue else content.decode("utf-8"))
    except (UnicodeDecodeError, struct.error):
        return None
    return None if "\0" in text else text.replace("\r\n", "\n")


def reader_of(name, content):
    base = name.rsplit("/", 1)[-1]
    if base.startswith("auto-libm-test-out"):  # 90 MB of one kind
        return None
    if name.endswith(".mo"):
        return catalogue
    if MANUAL.search(name):
        return manual
    if name.endswith(MARKUP):
        return markup
    if name.endswith(SOURCES + PROSE) or base.startswith(("changelog", "NEWS", "README")):
        return str
    # Names without an ending: logs, tables, collections of quotations.
    return str if "." not in base and len(content) > 2000 else None


def is_source(name):
    return name.endswith(SOURCES)


def markup(text):
    text = SKIPPED.sub("", text)
    text = LINES.sub("\n", BREAKS.sub("\n\n", text))
    return html.unescape(TAGS.sub("", text))


# What roff writes for a character, and what is for its eyes only.
GLYPHS = {"(aq": "'", "(dq": '"', "-": "-", "e": "\\", "&": "", "(co": "©", "(bu": "•", "(em": "—",
    "(en": "–", "(lq": "“", "(rq": "”", "(oq": "‘", "(cq": "’", " ": " ", "~": " ", "|": "", "^": "",
    "%": "", ":": "", "c": "", "/": "", ",": "", "(ti": "~", "(ha": "^", "(ga": "`", "0": " "}  # fmt: skip
ESCAPES = re.compile(r"\\(f\(..|f\[[^]]*\]|f.|s[-+]?\d|m\[[^]]*\]|\*\(..|\*\[[^]]*\]|\[[^]]*\]|\(..|.)")
REQUESTS_WITH_TEXT = {"B", "I", "BR", "IR", "RB", "RI", "BI", "IB", "SM", "SB", "SH", "SS", "TH", "IP", "TP",
    "Sh", "Ss", "Nm", "Nd", "Fl", "Ar", "Pa", "Xr", "It", "Em", "Sy", "Ql", "Dq", "Op", "Va", "Li"}  # fmt: skip
PARAGRAPHS = {"SH", "SS", "PP", "P", "LP", "TP", "IP", "HP", "sp", "Sh", "Ss", "Pp", "It", "TH"}


def manual(text):
    lines = []
    for line in text.split("\n"):
        if line.startswith((".\\\"", "'\\\"", "\\\"")):
            continue
        if not line.startswith((".", "'")):
            lines.append(line)
            continue
        request, _, rest = line[1:].lstrip().partition(" ")
        if request in PARAGRAPHS:
            lines.append("")
        if request in REQUESTS_WITH_TEXT:
            lines.append(rest.replace('"', ""))
    return ESCAPES.sub(lambda escape: GLYPHS.get(escape[1], ""), "\n".join(lines))


def catalogue(content):
    """The translations of a .mo file, a paragraph each."""
    (magic,) = struct.unpack_from("<I", content)
    order = {0x950412DE: "<", 0xDE120495: ">"}.get(magic)
    if order is None:
        raise struct.error("no catalogue")
    count, _, at = struct.unpack_from(order + "III", content, 8)
    texts = []
    for entry in range(count):
        size, start = struct.unpack_from(order + "II", content, at + 8 * entry)
        texts.append(content[start : start + size].decode("utf-8").replace("\0", "\n"))
    return "\n\n".join(texts[1:])  # the first is the header


def paragraphs(text):
    return [part for part in EMPTY_LINES.split(text.strip("\n")) if part.strip()]

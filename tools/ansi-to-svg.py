#!/usr/bin/env python3
"""Draws what a program prints on a terminal as an SVG: stdin to stdout.

Understands text and the escapes for colour, bold, faint, underline and reverse (`ESC [ ... m`);
any other escape is an error. With --command TEXT the first line is a prompt with that command. The
picture is light or dark as its reader's screen is.
"""

import argparse
import re
import sys
import unicodedata
from xml.sax.saxutils import escape

WIDTH, HEIGHT, SIZE, MARGIN = 8.4, 18, 14, 14
NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
LIGHT = ["#24292f", "#b42318", "#1a7f37", "#8a5a00", "#0a4fa3", "#8250df", "#0b6b75", "#6e7781",
         "#57606a", "#d1242f", "#218c3c", "#9a6700", "#0969da", "#a475f9", "#1b7c83", "#8c959f"]
DARK = ["#484f58", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#b1bac4",
        "#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff"]
COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
GROUND = {"light": ("#1b1f24", "#f6f8fa"), "dark": ("#e6edf3", "#0d1117")}


def cube(number):
    """A colour of the 256 beyond the first 16."""
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    number -= 16
    steps = [number // 36, number // 6 % 6, number % 6]
    return "#" + "".join(f"{0 if step == 0 else 55 + 40 * step:02x}" for step in steps)


class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.ink, self.paper = "ink", None
        self.classes = set()
        self.reverse = False

    def apply(self, codes):
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 3, 4):
                self.classes.add({1: "bold", 2: "faint", 3: "italic", 4: "under"}[code])
            elif code == 22:
                self.classes -= {"bold", "faint"}
            elif code in (23, 24):
                self.classes.discard({23: "italic", 24: "under"}[code])
            elif code in (7, 27):
                self.reverse = code == 7
            elif code in (38, 48) and codes[:1] == [5]:
                number = codes[1]
                codes = codes[2:]
                self.set(code == 38, f"f{number}" if number < 16 else cube(number))
            elif code == 39:
                self.ink = "ink"
            elif code == 49:
                self.paper = None
            elif 30 <= code <= 37 or 40 <= code <= 47:
                self.set(code < 40, f"f{code % 10}")
            elif 90 <= code <= 97 or 100 <= code <= 107:
                self.set(code < 100, f"f{code % 10 + 8}")
            else:
                sys.exit(f"ansi-to-svg.py: cannot draw the escape ESC[{code}m")

    def set(self, is_ink, colour):
        if is_ink:
            self.ink = colour
        else:
            self.paper = colour

    def key(self):
        ink, paper = (self.paper or "paper", self.ink) if self.reverse else (self.ink, self.paper)
        return ink, paper, tuple(sorted(self.classes))


def columns(character):
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pieces(line, style):
    """The runs of a line in one style: (column, columns, text, style)."""
    runs, column = [], 0
    for part in COLOUR.split(line):
        if COLOUR.fullmatch(part):
            style.apply(part[2:-1])
            continue
        if "\x1b" in part:
            sys.exit("ansi-to-svg.py: an escape that is no colour")
        # Each word is put in its place, whatever the font's width is.
        for group in re.findall(r" +|[^ ]+", part):
            width = sum(map(columns, group))
            runs.append((column, width, group, style.key()))
            column += width
    return runs, column


def painted(colour, classes=()):
    """The attributes of a colour, and of what else a style has."""
    if colour.startswith("#"):
        names, fill = classes, f' fill="{colour}"'
    else:
        names, fill = (colour, *classes), ""
    return (f' class="{" ".join(names)}"' if names else "") + fill


def style_sheet():
    def rules(palette, scheme):
        ink, paper = GROUND[scheme]
        found = [f".f{number}{{fill:{colour}}}" for number, colour in enumerate(palette)]
        return "".join(found) + f".ink{{fill:{ink}}}.paper{{fill:{paper}}}"
    return (f"{rules(LIGHT, 'light')}"
            "text{white-space:pre}.bold{font-weight:700}.faint{opacity:.7}.italic{font-style:italic}"
            ".under{text-decoration:underline}"
            f"@media(prefers-color-scheme:dark){{{rules(DARK, 'dark')}}}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", help="the command that printed it")
    parser.add_argument("--title", default="output of a terminal", help="what the picture shows")
    arguments = parser.parse_args()
    lines = sys.stdin.read().removesuffix("\n").split("\n")
    if arguments.command:
        lines = [f"\x1b[2m$\x1b[0m \x1b[1m{arguments.command}\x1b[0m"] + lines
    style, back, front, most = Style(), [], [], 80
    for row, line in enumerate(lines):
        runs, width = pieces(line, style)
        most = max(most, width)
        top = MARGIN + row * HEIGHT
        for column, wide, text, (ink, paper, classes) in runs:
            left, length = round(MARGIN + column * WIDTH, 2), round(wide * WIDTH, 2)
            if paper:
                back.append(f'<rect x="{left}" y="{top}" width="{length}" height="{HEIGHT}"'
                            f"{painted(paper)}/>")
            if text.strip():
                front.append(f'<text x="{left}" y="{top + 13}" textLength="{length}"'
                             f"{painted(ink, classes)}>{escape(text)}</text>")
    width = round(2 * MARGIN + most * WIDTH, 2)
    height = 2 * MARGIN + len(lines) * HEIGHT
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
          f' height="{height}" role="img" aria-label="{escape(arguments.title)}"'
          f' font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace"'
          f' font-size="{SIZE}"><title>{escape(arguments.title)}</title>'
          f"<style>{style_sheet()}</style>")
    print(f'<rect class="paper" width="{width}" height="{height}" rx="8"/>')
    print("\n".join(back + front))
    print("</svg>")


if __name__ == "__main__":
    main()

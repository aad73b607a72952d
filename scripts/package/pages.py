#!/usr/bin/env python3
"""The manual page and the shell completions of a script, made from its --help.

  gristmill-synth-kd --help | pages.py man|bash|zsh|fish NAME [ABOUT VERSION DATE]
"""

import re
import sys

OPTION = re.compile(r"^  (-\S.*?)(?:  +(\S.*))?$")
CONTINUED = re.compile(r"^ {8,}(\S.*)$")
COMMANDS = ("plan", "status", "finish")


class Help:
    """A script's help: usage, then paragraphs, lists of options, examples and exit codes."""

    def __init__(self, text, name):
        head, _, body = text.partition("\n\n")
        self.usage = [line.removeprefix("Usage:").strip() for line in head.splitlines()]
        self.commands = [c for c in COMMANDS if any(f"{name} {c} " in line for line in self.usage)]
        # A block is a paragraph (str) or a list of options [[title, text], ...].
        self.blocks, self.examples, self.codes = [], [], ""
        for block in body.rstrip().split("\n\n"):
            self._read(block)
        # Every option that the help names, with what is known of it.
        self.flags = dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z-]*\b", text), ("", ""))
        for title, told in self._options():
            value = next(iter(re.findall(r" ([A-Za-z|]+)$", title)), "")
            for flag in re.findall(r"--[a-z-]+", title):
                self.flags[flag] = (value, re.split(r"[;(.]", told)[0].strip())

    def _options(self):
        return (option for block in self.blocks if isinstance(block, list) for option in block)

    def _read(self, block):
        lines = block.splitlines()
        if lines[0].strip() == "Examples:":
            self.examples = [line.strip() for line in lines[1:]]
        elif lines[0].strip().startswith("Exit codes: "):
            self.codes = " ".join(map(str.strip, lines)).removeprefix("Exit codes: ")
        elif OPTION.match(lines[0]):
            options = []
            for line in lines:
                if found := OPTION.match(line):
                    options.append([found[1], found[2] or ""])
                elif found := CONTINUED.match(line):
                    options[-1][1] += " " + found[1]
                else:
                    sys.exit(f"pages.py: a line of the help that is no option: {line!r}")
            self.blocks.append(options)
        else:
            self.blocks.append("\n".join(map(str.strip, lines)))


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def man(text, name, about, version, date):
    page = [f'.TH {roff(name.upper())} 1 {date} "gristmill {version}"']
    page += [".SH NAME", f"{roff(name)} \\- {roff(about)}", ".SH SYNOPSIS", ".nf"]
    page += [f".B {roff(line)}" for line in text.usage] + [".fi", ".SH DESCRIPTION"]
    is_first = True
    for block in text.blocks:
        if isinstance(block, str):
            page += ([] if is_first else [".PP"]) + [roff(block)]
        else:
            for title, told in block:
                page += [".TP", f".B {roff(title)}", roff(told or "Print this help.")]
        is_first = False
    page += [".SH EXAMPLES", ".RS", ".nf", *map(roff, text.examples), ".fi", ".RE"]
    page += [".SH EXIT STATUS", roff(text.codes)]
    page += [".SH SEE ALSO", ".BR gristmill (7)"]
    return "\n".join(page)


def choices(value):
    return value.split("|") if "|" in value else []


def bash(text, name):
    function = "_" + name.replace("-", "_")
    flags = text.flags
    lines = [f"{function}() {{", '    local current=${COMP_WORDS[COMP_CWORD]}', "    COMPREPLY=()",
             "    case ${COMP_WORDS[COMP_CWORD - 1]} in"]
    for flag, (value, _) in flags.items():
        if choices(value):
            words = " ".join(choices(value))
            lines.append(f'    {flag}) mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$current") && return ;;')
    lines += ["    esac", "    local words=''"]
    if text.commands:
        lines.append(f'    ((COMP_CWORD > 1)) || words="{" ".join(text.commands)}"')
    lines += [f'    [[ $current != -* ]] || words="{" ".join(flags)}"',
              '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")', "}",
              # Where nothing of this fits, names of files.
              f"complete -o default -F {function} {name}"]
    return "\n".join(lines)


def zsh(text, name):
    lines = [f"#compdef {name}", "_arguments \\"]
    for flag, (value, told) in text.flags.items():
        told = re.sub(r"[\[\]:']", "", told)
        action = f"({' '.join(choices(value))})" if choices(value) else "_files" if value in ("DIR", "FILE") else ""
        argument = f":{value}:{action}" if value else ""
        lines.append(f"    '*{flag}[{told}]{argument}' \\")
    if text.commands:
        lines.append(f"    '1:folder: _alternative \"commands\\:command\\:({' '.join(text.commands)})\" "
                     "\"files\\:file\\:_files\"' \\")
    return "\n".join([*lines, "    '*:file:_files'"])


def fish(text, name):
    lines = []
    if text.commands:
        lines.append(f"complete -c {name} -n __fish_use_subcommand -a '{' '.join(text.commands)}'")
    for flag, (value, told) in text.flags.items():
        told = told.replace("'", "")
        line = f"complete -c {name} -l {flag[2:]}" + (f" -d '{told}'" if told else "")
        if choices(value):
            line += f" -x -a '{' '.join(choices(value))}'"
        elif value:
            line += " -r"
        lines.append(line)
    return "\n".join(lines)


def main():
    what, name, *more = sys.argv[1:]
    text = Help(sys.stdin.read(), name)
    if what == "man" and not (text.examples and text.codes):
        sys.exit(f"pages.py: the help of {name} has no examples or no exit codes")
    print({"man": man, "bash": bash, "zsh": zsh, "fish": fish}[what](text, name, *more))


if __name__ == "__main__":
    main()

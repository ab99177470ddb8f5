#!/usr/bin/env python3
"""Checks the prose of comments, room by room: how many words only refer to
others, and that no comment begins with a word that has no subject.

usage: check_prose.py [--self-test]

Prints the share of each room, and each place that is over the budget.
"""

import collections
import re
import sys

import csource

FOLDERS = ["src", "compiler", "include", "cli", "bench"]
SUFFIXES = {".c", ".h", ".hpp", ".cpp"}

REFERRING = set("it they those one other what who there such".split())
SHARE_MAX = 4.0  # percent of the words of a room's comments
WORDS_MIN = 100  # fewer words have no share
OPENINGS = re.compile(r"(What|Of|Those|Who)\b")


def comments(text):
    """(line, text) of every comment; whole-line comments in a row are one."""
    code = csource.without_comments(text).splitlines()
    begin, words, block = 0, [], False
    for number, line in enumerate(csource.comments_only(text).splitlines(), 1):
        # A block of /* */ has lines without a mark of their own.
        comment = re.sub(r"^\s*(/\*+|\*+/|\*|//+)|\*/\s*$", "", line).strip()
        whole = bool(comment) and not code[number - 1].strip()
        if words and not (whole and block):
            yield begin, " ".join(words)
            words = []
        if comment:
            begin = number if not words else begin
            words.append(comment)
        block = whole
    if words:
        yield begin, " ".join(words)


def check(root):
    """(the figures, the problems)."""
    total, referring = collections.Counter(), collections.Counter()
    problems = []
    for path in csource.files(root, FOLDERS, SUFFIXES):
        name = path.relative_to(root)
        for line, text in comments(path.read_text()):
            words = re.findall(r"[a-z']+", text.lower())
            total[str(name.parent)] += len(words)
            referring[str(name.parent)] += sum(w in REFERRING for w in words)
            opening = OPENINGS.match(text)
            if opening:
                problems.append(f"{name}:{line}: begins with "
                                f"\"{opening[0]}\": name the subject")
    figures = []
    for room, count in sorted(total.items()):
        if count < WORDS_MIN:
            continue
        share = 100 * referring[room] / count
        figures.append(f"  {room:<34} {count:>6} words {share:>5.1f} %")
        if share > SHARE_MAX:
            problems.append(
                f"{room}: {share:.1f} % of the words in comments are referring "
                f"words ({', '.join(sorted(REFERRING))}), {SHARE_MAX:g} % are "
                "allowed: name the things")
    return figures, problems


PLAIN = "// The queue keeps its operations in order.\n"
VAGUE = "// The queue keeps it.\n"  # one word of four

CASES = [
    # (file, text, what must be said; None for nothing)
    ("src/a.c", PLAIN * 20, None),
    ("src/a.c", PLAIN * 20 + VAGUE * 5, None),
    ("src/a.c", PLAIN * 20 + VAGUE * 15, "referring words"),
    ("src/a.c", VAGUE, None),
    ("tests/a.c", VAGUE * 40, None),
    ("src/a.c", "int it, those;\n" * 100 + "char *s = \"// it\";\n", None),
    ("src/a.c", "// What the queue keeps.\n", "begins with \"What\""),
    ("src/a.c", "int x;  // Of the queue\n", "begins with \"Of\""),
    ("src/a.c", "/* Those of the queue. */\n", "begins with \"Those\""),
    ("src/a.c", "/*\n * Who waits.\n */\n", "begins with \"Who\""),
    ("src/a.c", "// The queue. Says\n// What the caller asked.\n", None),
    ("src/a.c", "int x;  // first\n// What follows.\n", "begins with \"What\""),
    ("src/a.c", "// Official names.\n", None),
    ("cli/a.h", "const char *s = \"// What is it?\";\n", None),
]


def self_test():
    return csource.run_cases(CASES, lambda root: check(root)[1], "check_prose self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    shares, breaches = check(csource.ROOT)
    print("\n".join(shares))
    sys.exit(csource.report(breaches, "prose"))

#!/usr/bin/env python3
"""Checks that no file of the repository tells of one machine: no absolute path
of somebody's folders, no host of a package registry.

usage: check_words.py [--self-test]
"""

import pathlib
import re
import sys
import tempfile

import csource

# Spelled so that this file passes.
FORBIDDEN = [
    (r"(?<![\w.$}{-])/(wo" r"rk|ro" r"ot|ho" r"me)/[\w.-]",
     "a path of one machine"),
    (r"(?<![\w.$}{-])/tmp/bui" r"ld\b", "a path of one machine"),
    (r"\b(de" r"b\.debian|py" r"pi|fi" r"les\.pythonhosted|reg" r"istry\.npmjs|"
     r"cra" r"tes|pro" r"xy\.golang|ppa\.laun" r"chpad)\.(org|io|com|net)\b",
     "the host of a package registry"),
    (r"\b(art" r"ifactory|ne" r"xus)\b[\w.-]*\.[a-z]{2,}", "a package mirror"),
    (r"(?<![\d.])(10|192\.168|127\.\d+)(\.\d+){2,3}(?![\d.])", "an address"),
]

RULES = [(re.compile(p, re.I), what) for p, what in FORBIDDEN]


def check(root):
    problems = []
    for path in csource.tracked(root):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        name = path.relative_to(root)
        for number, line in enumerate(text.splitlines(), 1):
            for rule, what in RULES:
                match = rule.search(line)
                if match:
                    problems.append(f"{name}:{number}: '{match[0]}': {what}")
    return problems


CASES = [
    ("see /wo" "rk/main/src", True),
    ("'/ro" "ot/.cache'", True),
    ("cd /ho" "me/ann/x", True),
    ("-B /tmp/bui" "ld-x", True),
    ("http://de" "b.debian.org/debian", True),
    ("https://py" "pi.org/simple", True),
    ("http://art" "ifactory.example.com/deb", True),
    ("proxy at 10.1." "2.3:80", True),
    ("the frame" "work/house is fine", False),
    ("$HOME/.cache, ${ro" "ot}/work", False),
    ("/usr/include, /etc/OpenCL, /tmp", False),
    ("Debian 12, version 0.1.0, 12.2.0", False),
    ("src/wo" "rk/queue.c", False),
]


def self_test():
    problems = []
    for text, forbidden in CASES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.txt").write_text(text + "\n")
            if bool(check(root)) != forbidden:
                problems.append(f"{text!r}: found {check(root)}")
    return csource.report(problems, "check_words self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT), "words"))

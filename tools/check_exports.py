#!/usr/bin/env python3
"""Checks what librunnel.so shows to the world: it exports exactly the functions
that the public headers declare with RNL_API, each with the version of a release
(cmake/runnel.map), and needs no library but libc.

usage: check_exports.py LIBRARY
       check_exports.py --self-test
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import csource

# Debian's names of libc and of what was part of it once, and of the loader.
NEEDED = re.compile(r"(libc|libdl|libpthread|librt|ld-linux[\w-]*|ld64)\.so\.\d")


def declared(root):
    names = set()
    for path in csource.files(root, ["include"], {".h"}):
        text = path.read_text()
        starts = {f.first: f.name for f in csource.prototypes(text)}
        lines = text.splitlines()
        for first, name in starts.items():
            if "RNL_API" in lines[first - 1]:
                names.add(name)
    return names


def run(*command):
    return subprocess.run(command, capture_output=True, check=True,
                          text=True).stdout


def exported(library):
    """Defined dynamic symbols, as NAME@VERSION where they have one."""
    names = set()
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind not in "aA":
            names.add(name.replace("@@", "@"))
    return names


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", library))


def check(root, library):
    symbols, want = exported(library), declared(root)
    have = {symbol.split("@")[0] for symbol in symbols}
    problems = [f"{s} has no version of a release" for s in sorted(symbols)
                if not re.fullmatch(r"\w+@RUNNEL_\d+\.\d+(\.\d+)?", s)]
    problems += [f"{n} is declared in the headers and not exported"
                for n in sorted(want - have)]
    problems += [f"{n} is exported and not declared in the headers"
                 for n in sorted(have - want)]
    problems += [f"the library needs {n}"
                 for n in needed(library) if not NEEDED.fullmatch(n)]
    return problems


HEADER = "// Adds.\nRNL_API int rnl_add(int a,\n                    int b);\n" \
         "\nstatic inline int rnl_inline(void)\n{\n    return 0;\n}\n"

MAP = "RUNNEL_0.1 { global: rnl_*; leaked; local: *; };\n"

# (source of the library, linker flags, what must be said)
CASES = [
    ("int rnl_add(int a) { return a; }", ["MAP"], None),
    ("int rnl_add(int a) { return a; }", [], "rnl_add has no version of a release"),
    ("int rnl_other(void) { return 0; }", ["MAP"], "not exported"),
    ("int rnl_add(int a) { return a; } int leaked;", ["MAP"],
     "leaked is exported"),
    ("double sin(double); int rnl_add(int a) { return (int)sin(a); }",
     ["MAP", "-lm"], "needs libm"),
]


def self_test():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "include/runnel").mkdir(parents=True)
        (root / "include/runnel/a.h").write_text(HEADER)
        (root / "a.map").write_text(MAP)
        for source, flags, expected in CASES:
            (root / "a.c").write_text(source + "\n")
            run(os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o",
                str(root / "a.so"), str(root / "a.c"),
                *(f"-Wl,--version-script={root}/a.map" if flag == "MAP"
                  else flag for flag in flags))
            found = check(root, str(root / "a.so"))
            right = any(expected in p for p in found) if expected else not found
            if not right:
                problems.append(f"{source!r}: expected {expected!r}, "
                                f"found {found}")
    return csource.report(problems, "check_exports self-test")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT, sys.argv[1]), "exports"))

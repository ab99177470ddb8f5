#!/usr/bin/env python3
"""Checks what librunnel.so and librunnel-comm.so show to the world: each exports
exactly the functions that its public headers declare with RNL_API, each with the
version of a release (cmake/runnel.map), and needs no library but libc, and the
second one the first.

usage: check_exports.py LIBRARY...
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

# The library of a header, if it is another one than that of the rest.
HEADERS = {"comm.h": "librunnel-comm"}


def name_of(library):
    return pathlib.Path(library).name.split(".so")[0]


def declared(root, name):
    names, own = set(), name if name in HEADERS.values() else None
    for path in csource.files(root, ["include"], {".h"}):
        if HEADERS.get(path.name) != own:
            continue
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
    name = name_of(library)
    symbols, want = exported(library), declared(root, name)
    have = {symbol.split("@")[0] for symbol in symbols}
    problems = [f"{s} has no version of a release" for s in sorted(symbols)
                if not re.fullmatch(r"\w+@RUNNEL_\d+\.\d+(\.\d+)?", s)]
    problems += [f"{n} is declared in the headers and not exported"
                for n in sorted(want - have)]
    problems += [f"{n} is exported and not declared in the headers"
                 for n in sorted(have - want)]
    problems += [f"the library needs {n}"
                 for n in needed(library) if not NEEDED.fullmatch(n) and
                 not (name in HEADERS.values() and name_of(n) == "librunnel")]
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
                str(root / "liba.so"), str(root / "a.c"),
                *(f"-Wl,--version-script={root}/a.map" if flag == "MAP"
                  else flag for flag in flags))
            found = check(root, str(root / "liba.so"))
            right = any(expected in p for p in found) if expected else not found
            if not right:
                problems.append(f"{source!r}: expected {expected!r}, "
                                f"found {found}")
    return csource.report(problems, "check_exports self-test")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    sys.exit(csource.report([p for library in sys.argv[1:]
                             for p in check(csource.ROOT, library)],
                            "exports"))

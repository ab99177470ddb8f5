#!/usr/bin/env python3
"""Checks that a name means one thing: no struct, union or enum tag is defined in
two files, and no two sources have the same name unless they have the same part
in two layers or two backends.

usage: check_names.py [--self-test]
"""

import collections
import re
import sys

import csource

FOLDERS = ["src", "compiler", "cli"]
SUFFIXES = {".c", ".h", ".hpp", ".cpp"}
TAG = re.compile(r"(?m)^(?:struct|union|enum)\s+(\w+)\s*\{")

# Sources of the same name, and their common part.
FILES = {
    "compile": "takes a source to a binary: for a backend, for a program",
    "context": "contexts, above the backends and in one",
    "copy": "copies, above the backends and in one",
    "device": "devices, above the backends and in each",
    "dump": "what a compilation leaves for people to read, and its options",
    "event": "events, above the backends and in each",
    "graph_launch": "launches of graphs, in two backends",
    "help": "the help of a program",
    "host_function": "host functions, above the backends and in one",
    "interprocess_event": "events of processes, above the backends and in one",
    "launch": "launches of kernels, above the backends and in one",
    "load": "the loading of a vendor's driver",
    "main": "the main function of a program",
    "memory": "memory of a backend",
    "module": "modules, above the backends and in each",
    "options": "options of a program, or of a call",
    "passes": "the table of passes, and its listing",
    "source": "the source of a module, and a program's reading of it",
    "stream": "streams, above the backends and in each",
    "stream_attribute": "stream attributes, above the backends and in one",
    "text": "growing texts, of the library and of the compiler",
    "user_overrides": "names of the prelude that a source defines",
    "warp_ops": "warp functions, for lanes and for threads",
    "check": "checks of invariants, and the command of that name",
}

# Tags of the same meaning in two programs or two backends.
TAGS = {
    "step": "a step of a backend's plan of a graph",
    "text": "growing texts, of the library and of the compiler",
}


def check(root):
    problems = []
    stems, tags = collections.defaultdict(set), collections.defaultdict(set)
    for path in csource.files(root, FOLDERS, SUFFIXES):
        name = str(path.relative_to(root))
        if "prelude" in path.parts:
            continue
        if path.suffix in (".c", ".cpp"):
            stems[path.stem].add(name)
        for match in TAG.finditer(csource.code_only(path.read_text())):
            tags[match[1]].add(name)
    for kind, names, allowed in (("file", stems, FILES), ("tag", tags, TAGS)):
        for name, where in sorted(names.items()):
            if len(where) > 1 and name not in allowed:
                problems.append(f"the {kind} name '{name}' has {len(where)} "
                                f"meanings: {' '.join(sorted(where))}")
    return problems


CASES = [
    # (file, text, what must be said; None for nothing)
    ("src/a.c", "struct a {\n    int b;\n};\n", None),
    ("src/a/b.c src/c/b.c", "int a;\n", "the file name 'b' has 2 meanings"),
    ("src/a.c src/b.c", "struct c {\n    int d;\n};\n",
     "the tag name 'c' has 2 meanings"),
    ("src/a.c src/b.c", "enum c { D };\n", "the tag name 'c' has 2 meanings"),
    ("src/a.c src/b.c", "struct c;\n", None),
    ("src/a.c src/b.c", "// struct c {\n", None),
    ("src/a/stream.c src/b/stream.c", "int a;\n", None),
]


def self_test():
    return csource.run_cases(CASES, check, "check_names self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT), "names"))

#!/usr/bin/env python3
"""Checks that private words of earlier days do not come back: the field's own
words have taken their place (docs/glossary.md).

usage: check_retired.py [--self-test]

Looked at are the names of files, identifiers and comments of the sources, and
the text of the documentation. Literals may have any word.
"""

import re
import sys

import csource

FOLDERS = ["src", "compiler", "cli", "include"]
SUFFIXES = {".c", ".h", ".hpp", ".cpp", ".S", ".def"}

# In any identifier, comment or page: the word and what stands for it now.
WORDS = {
    "doubt": "asynchronous failure",
    "weave": "interleave",
    "seldom": "cold path, rarely",
    "recipe": "node params",
    "trash": "retire queue",
    "decider": "condition kernel",
}
WORD = re.compile(r"(?i)(?<![a-z])(" + "|".join(
    f"{word}(?:s|d|ed)?" for word in WORDS) + r")(?![a-z])")

# Names that begin so.
NAMES = {
    "cache_tend": "cache_evict",
    "object_keep": "object_ref",
    "object_drop": "object_unref",
    "stream_hold": "stream_defer",
}
NAME = re.compile(r"\b(" + "|".join(NAMES) + r")\w*")

# Functions that begin so.
FUNCTIONS = {
    "held_": "deferred_",
    "quiet_": "sync_gate_",
    "told_": "reported_",
    "given_": "submitted_",
    "interchange_": "loop_interchange_",
    "along_": "unroll_rows_",
    "often_": "read_mostly_",
    "service_": "progress_",
}
FUNCTION = re.compile(r"\b(" + "|".join(FUNCTIONS) + r")\w*(?=\s*\()")

# Files that are called so, without the ending.
FILES = set(WORDS) | set("""
    along apart awaited bundle callee chain cut demote distance early ends explain
    flatten given group halves held hosts interchange lane members merge often order
    own parts past pending pieces quiet recent region rising rotate service sort
    steady tend through told used watch worth wrap""".split())

# Only the GPU backends had a service thread; the cpu's kernels have services.
SERVICE = re.compile(r"\bservice\b")
GPU = ("src/backends/cudalike/", "src/backends/cuda/", "src/backends/hip/")

EXCEPTIONS = [
    # The prelude's functions and the compiler's table name each other by text.
    re.compile(r"\b(rnl_seldom_|RNL_SELDOM)\w*"),
    re.compile(r"\b(has_)?quiet_NaN\b"),
    # Functions behind struct rnl_cpu_services.
    re.compile(r"\bservice_(block_memory|sync|sync_at|yield|trap|scratch|"
               r"print)\b"),
]


def base_of(word):
    return next(base for base in WORDS if word.lower().startswith(base))


def without_exceptions(text):
    for exception in EXCEPTIONS:
        text = exception.sub(lambda m: " " * len(m[0]), text)
    return text


def problems_of(name, text):
    """(index, sentence) of each retired word in a file."""
    for match in WORD.finditer(text):
        yield match.start(), f"'{match[0]}': {WORDS[base_of(match[1])]}"
    for match in NAME.finditer(text):
        yield match.start(), f"{match[0]}: {NAMES[match[1]]}"
    if name.endswith(".md"):
        return
    for match in FUNCTION.finditer(text):
        yield match.start(), f"{match[0]}: {FUNCTIONS[match[1]]}"
    if name.startswith(GPU):
        for match in SERVICE.finditer(text):
            yield match.start(), "'service': progress thread"


def check(root):
    problems = []
    pages = [p for p in csource.tracked(root) if p.suffix == ".md"
             and p.name != "CHANGELOG.md"]
    for path in csource.files(root, FOLDERS, SUFFIXES) + pages:
        name = str(path.relative_to(root))
        if path.stem in FILES:
            problems.append(f"{name}: a file of that name is gone")
        text = path.read_text()
        if path.suffix != ".md":
            # The insides of literals are blanked, comments are not.
            comments, code = csource.comments_only(text), csource.code_only(text)
            text = "".join(a if b.isspace() else b
                           for a, b in zip(comments, code))
        text = without_exceptions(text)
        problems += [f"{name}:{csource.line_of(text, at)}: {problem}"
                     for at, problem in problems_of(name, text)]
    return problems


CASES = [
    # (file, text, what must be said; None for nothing)
    ("src/a.c", "// A stream in doubt.\n", "asynchronous failure"),
    ("src/a.c", "int take_recipes(int a);\n", "node params"),
    ("src/a.c", "struct weave *weaver;\n", "interleave"),
    ("src/a.c", "// Seldom used.\n", "cold path"),
    ("src/a.c", "const char *s = \"seldom\";  // a text\n", None),
    ("compiler/a.c", "f(rnl_seldom_sinf);  // rnl_seldom_NAME\n", None),
    ("compiler/a.h", "float quiet_NaN();\n", None),
    ("src/a.c", "quiet_look_begin(gpu);\n", "sync_gate_"),
    ("src/a.c", "int held_count = thread->held, quiet_ns;\n", None),
    ("src/a.c", "held_submit(op);\n", "deferred_"),
    ("src/a.c", "loop_interchange_run(); taken_along_all();\n", None),
    ("src/held.c", "int a;\n", "is gone"),
    ("src/backends/cpu/a.c", "service_print(a);  // a service\n", None),
    ("src/backends/cudalike/a.c", "// The service asks.\n", "progress thread"),
    ("src/backends/cudalike/a.c", "struct rnl_cpu_services;\n", None),
    ("docs/a.md", "the trash of `a`\n", "retire queue"),
    ("docs/a.md", "`stream_hold_all`\n", "stream_defer"),
    ("docs/a.md", "A service of held_work (often).\n", None),
    ("tests/a.c", "// in doubt\n", None),
    ("CHANGELOG.md", "in doubt\n", None),
]


def self_test():
    return csource.run_cases(CASES, check, "check_retired self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT), "retired words"))

#!/usr/bin/env python3
"""Checks that the documentation names what there is: functions with their
number of arguments, private names and files.

usage: check_docs_functions.py [--self-test]

In the code of a page, that is in code spans and code blocks:

- `rnl_name` is a name of a header; `rnl_name_*` and `rnl_name_…` begin one.
- `name(a, b)` has as many arguments as the function, hook or macro of a header.
  Without arguments, or with an ellipsis, the function only has to be there.
- docs/backends/porting.md names every hook of struct backend.
- docs/decisions/README.md lists every decision, under its title and date.
- A span of one name in lower case with a `_` is a name of the tree, and a span
  that is a path is a file or folder of it. Pages of docs/decisions may tell of
  names that are gone.
"""

import re
import sys

import csource

DECLARED = ["include", "src", "compiler"]
# Where else names of the tree are.
NAMED = DECLARED + ["cli", "bench", "examples", "tests", "tools", "cmake"]
NAMED_SUFFIXES = {".c", ".h", ".hpp", ".cpp", ".def", ".py", ".txt", ".cmake",
                  ".cu", ".sh", ".S", ""}

# Names in spans that belong to others: CUDA, the system, the compilers; suites
# that the build names after a source and a tier.
FOREIGN = re.compile(
    r"(cu[A-Z]\w*|__\w+|_\w+|pthread_\w+|std_\w+|\w+_t|x86_64|cl_\w+|"
    r"block_tile_memory|grid_group|thread_block|coalesced_threads|ld_\w+|"
    r"\w+_cc|posix_\w+|omp_\w+|llvm_\w+|clang_\w+)$")

# Examples of names, and a file that a run makes.
MADE_UP = {"out_x", "src/backends/x", "tests/fuzz/seeds/TARGET",
           "bench/results/latest.json"}

PORTING = "docs/backends/porting.md"

FENCE = re.compile(r"(?ms)^```(\w*)\n(.*?)^```")
SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
NAME = re.compile(r"\brnl_[a-z0-9_]+")
CALL = re.compile(r"(?<![\w.>:])([a-z_][a-z0-9_]*)(\()")
HOOK = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*(\()")
PATH = re.compile(r"\.?[\w.-]+(/[\w.-]+)+/?$")
TREE = ("src", "include", "compiler", "cli", "bench", "tests", "tools", "docs",
        "examples", "cmake", "core", "base", "backends", ".ci")


class Tree:
    """The names of a source tree."""

    def __init__(self, root):
        self.root = root
        self.arities = {}  # name: {number of arguments}; None: any
        self.values = {}  # macros that give several arguments, and how many
        self.names = set()
        for path in csource.files(root, DECLARED, {".h", ".hpp"}):
            self.read_header(path.read_text())
        for path in csource.files(root, NAMED, NAMED_SUFFIXES):
            try:
                self.names.update(re.findall(r"[a-z_]\w*", path.read_text()))
            except UnicodeDecodeError:
                continue
            self.names.add(path.stem)

    def read_header(self, text):
        code = csource.code_only(text)
        for function in csource.functions(text) + csource.prototypes(text):
            self.declare(function.name, function.parameters)
        for match in HOOK.finditer(code):
            end = csource.closing(code, match.start(2))
            self.declare(match[1], csource.count_parameters(
                code[match.start(2) + 1:end - 1]))
        for name, parameters in re.findall(
                r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)", code):
            self.declare(name, None if "..." in parameters
                         else csource.count_parameters(parameters))
        for match in re.finditer(r"\b(\w+)\s*\([^;{}()]*\.\.\.\s*\)", code):
            self.arities[match[1]] = {None}
        # A macro may stand for several arguments.
        for name, body in re.findall(
                r"(?m)^[ \t]*#[ \t]*define[ \t]+([A-Z]\w*)(?:\([^)\n]*\))?"
                r"((?:[^\n]*\\\n)*[^\n]*)", code):
            count = csource.count_parameters(body)
            if count > 1 and not re.search(r"[;=]", body):
                self.values[name] = count

    def declare(self, name, count):
        self.arities.setdefault(name, set()).add(count)

    def has_path(self, page, name):
        name = name.rstrip("/")
        bases = [self.root, self.root / "src", page.parent]
        if page.name == "README.md" or "docs" in page.parts:
            bases += [self.root / "compiler", self.root / "compiler/simt",
                      self.root / "include"]
        bases += [p for p in (self.root / "src/backends").glob("*")
                  if p.is_dir()]
        return any((base / name).exists() for base in bases)


def codes(text):
    """(where, code, whether it is a span) of all code in a page that is none of
    Python's, which has functions of the same names."""
    blocks = []
    for match in FENCE.finditer(text):
        if match[1] != "python":
            blocks.append((match.start(2), match[2], False))
    rest = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return blocks + [(m.start(1), m[1], True) for m in SPAN.finditer(rest)]


def check_page(tree, page, text):
    history = "decisions" in page.parts
    for where, code, span in codes(text):
        line = csource.line_of(text, where)
        yield from ((line + csource.line_of(code, at) - 1, problem)
                    for at, problem in check_code(tree, page, code, span,
                                                  history))


def check_code(tree, page, code, span, history):
    for match in NAME.finditer(code):
        rest = code[match.end():match.end() + 1]
        if rest and rest in "*…<" or match[0].endswith("_"):
            known = any(n.startswith(match[0]) for n in tree.names)
        else:
            known = match[0] in tree.names
        if not known:
            yield match.start(), f"there is no {match[0]}"
    for match in CALL.finditer(csource.code_only(code)):
        yield from check_call(tree, code, match)
    if not span or history or code in MADE_UP:
        return
    plain = re.match(r"[a-z][a-z0-9]*(_[a-z0-9]+)+(?:\(\))?$", code)
    name = code.removesuffix("()")
    if plain and not NAME.match(name) and not FOREIGN.match(name) \
            and name not in tree.names:
        yield 0, f"there is no {name}"
    if PATH.match(code) and code.split("/")[0] in TREE \
            and not tree.has_path(page, code):
        yield 0, f"there is no file {code}"


def check_call(tree, code, match):
    name, opening = match[1], match.start(2)
    allowed = tree.arities.get(name)
    end = csource.closing(code, opening)
    arguments = code[opening + 1:end - 1]
    if not allowed or None in allowed or not arguments.strip() \
            or "…" in arguments or "..." in arguments or code[end - 1] != ")":
        return
    count = csource.count_parameters(arguments)
    count += sum(tree.values.get(word, 1) - 1
                 for word in re.findall(r"[A-Z]\w+", arguments))
    if count not in allowed:
        wanted = " or ".join(str(n) for n in sorted(allowed))
        yield match.start(), (f"{name} takes {wanted} arguments, "
                              f"{count} are given")


def check(root):
    tree = Tree(root)
    problems = []
    for path in csource.tracked(root):
        if path.suffix != ".md" or path.name == "CHANGELOG.md":
            continue
        page = path.relative_to(root)
        for line, problem in check_page(tree, path, path.read_text()):
            problems.append(f"{page}:{line}: {problem}")
    return problems + list(check_hooks(root)) \
        + list(check_decisions(root))


def check_hooks(root):
    """That the page for ports names all hooks, by name or as `prefix_*`."""
    header, page = root / "src/core/backend.h", root / PORTING
    if not header.is_file() or not page.is_file():
        return
    code = csource.code_only(header.read_text())
    table = re.search(r"\bstruct\s+backend\s*\{", code)
    if not table:
        return
    end = csource.closing(code, table.end() - 1)
    spans = [c for _, c, span in codes(page.read_text()) if span]
    named = set(spans)
    prefixes = tuple(s[:-1] for s in spans if re.fullmatch(r"\w+_\*", s))
    for match in HOOK.finditer(code, table.end(), end):
        if match[1] not in named and not match[1].startswith(prefixes):
            yield f"{PORTING}: the hook {match[1]} is not named"


def check_decisions(root):
    """That decisions have numbers without a gap, dates, and a row of the index."""
    folder = root / "docs/decisions"
    index = folder / "README.md"
    rows = index.read_text() if index.is_file() else ""
    pages = [p for p in sorted(folder.glob("*.md")) if p.name != "README.md"]
    for number, page in enumerate(pages, 1):
        name = page.relative_to(root)
        lines = page.read_text().splitlines() + ["", "", ""]
        date = re.match(r"Decided (\d{4}-\d\d-\d\d)\. ", lines[2])
        if page.name[:5] != f"{number:04d}-":
            yield f"{name}: the next number is {number:04d}"
        elif not lines[0].startswith("# ") or not date:
            yield f"{name}:3: no \"Decided YYYY-MM-DD.\" below the title"
        elif f"| {number:04d} | {date[1]} | [{lines[0][2:]}]({page.name}) |" \
                not in rows:
            yield f"docs/decisions/README.md: no row for {page.name}"


HEADER = """RNL_API int rnl_buffer_make(int a, int b);
struct backend {
    int (*stream_submit)(struct stream *stream, struct op *ops);
};
#define AFTER(...) \\
    (const int[]){__VA_ARGS__}, COUNT(__VA_ARGS__)
int fail(int status, const char *format, ...);
static inline void op_finish(struct op *op)
{
}
#define ROW(a, b) (a)
"""

DECISION = "docs/decisions/0001-a.md"
TITLE = "# A title\n\nDecided 2026-01-02. In force.\n"
INDEX = "| 0001 | 2026-01-02 | [A title](0001-a.md) | in force |\n"

CASES = [
    # (page, text, what must be said; None for nothing)
    ("a.md", "`rnl_buffer_make(a, b)` and `rnl_buffer_make()`", None),
    ("a.md", "`rnl_buffer_make(a, …)`", None),
    ("a.md", "`rnl_buffer_make(AFTER(a, b))`", None),
    ("a.md", "`rnl_buffer_make(a, AFTER(a, b))`", "3 are given"),
    ("a.md", "`rnl_buffer_make(a)`", "takes 2 arguments, 1 are given"),
    ("a.md", "```c\nif (rnl_buffer_make(f(a, b), \"x,y\", c))\n```\n",
     "a.md:2: rnl_buffer_make takes 2"),
    ("a.md", "```python\nrnl_buffer_make(a)\n```\n", None),
    ("a.md", "`rnl_buffer_*`, `rnl_buffer_…`", None),
    ("a.md", "`rnl_buffer_gone`", "there is no rnl_buffer_gone"),
    ("a.md", "`rnl_gone_*`", "there is no rnl_gone_"),
    ("a.md", "`stream_submit(stream, list)`", None),
    ("a.md", "`stream_submit(stream)`", "takes 2"),
    ("a.md", "`fail(status, \"%d %d\", a, b)`", None),
    ("a.md", "`op_finish`, `op_finish(op)`", None),
    ("a.md", "`op_finish(op, status)`", "takes 1"),
    ("a.md", "`op_gone`", "there is no op_gone"),
    ("a.md", "op_gone and rnl_gone in prose", None),
    (DECISION, TITLE + "`op_gone`, `src/gone.c`", None),
    (DECISION, TITLE + "`rnl_gone`", "there is no rnl_gone"),
    (DECISION, "# A title\n", "no \"Decided"),
    (DECISION, TITLE.replace("A", "B"), "no row for 0001-a.md"),
    ("docs/decisions/0002-a.md", TITLE, "the next number is 0001"),
    ("a.md", "`src/a.h`, `src/`, `/etc/passwd`, `size_t`", None),
    ("a.md", "`src/b.h`", "there is no file src/b.h"),
    ("CHANGELOG.md", "`rnl_gone`", None),
    (PORTING, "`stream_submit`", None),
    (PORTING, "`stream_*`", None),
    (PORTING, "`stream_submit(stream, list)`", "stream_submit is not named"),
    (PORTING, "`event_*`", "stream_submit is not named"),
]


def self_test():
    return csource.run_cases(CASES, check, "check_docs_functions self-test",
                             [("src/a.h", HEADER),
                              ("src/core/backend.h", HEADER),
                              ("docs/decisions/README.md", INDEX)])


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT), "names in the documentation"))

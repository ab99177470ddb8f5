#!/usr/bin/env python3
"""Checks the budgets: how long, how wide, how much prose.

usage: check_budgets.py [--self-test]

Prints every figure, and each place that is over its budget.
"""

import collections
import pathlib
import re
import statistics
import sys

import csource

FUNCTION_MEDIAN, FUNCTION_P90, FUNCTION_MAX = 12, 40, 80
FILE_MAX = 700
HEADER_MAX, PRIVATE_HEADER_MAX = 400, 250
FOLDER_MAX = 20  # sources
PROSE_MIN = 40  # percent of the public headers' lines, all together
NAME_MAX = 32
PARAMETERS_MAX = 6
HOOKS_MAX = 46
LINE_MAX, TABLE_LINE_MAX = 80, 88

SOURCE = ["src", "compiler", "cli"]
ALL_C = SOURCE + ["include", "examples", "bench", "tests"]
C = {".c", ".h", ".hpp", ".cpp"}


class Check:
    def __init__(self, root):
        self.root = root
        self.problems = []
        self.figures = []

    def complain(self, path, line, text):
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def figure(self, what, value, budget):
        self.figures.append(f"  {what:<34} {value:>8}   budget {budget}")

    def read(self, folders, suffixes):
        return [(p, p.read_text())
                for p in csource.files(self.root, folders, suffixes)]

    # --- Functions -----------------------------------------------------------

    def functions(self):
        # The prelude is the dialect's own list of names, not Runnel's code.
        found = [(path, f) for path, text in self.read(SOURCE, {".c", ".h"})
                 if "prelude" not in path.parts
                 for f in csource.functions(text)]
        for path, f in found:
            if f.lines > FUNCTION_MAX:
                self.complain(path, f.first, f"{f.name} has {f.lines} lines, "
                              f"{FUNCTION_MAX} are allowed")
            self.name_and_parameters(path, f)
        lines = sorted(f.lines for _, f in found)
        if not lines:
            return
        median = statistics.median(lines)
        p90 = lines[min(len(lines) - 1, int(len(lines) * 0.9))]
        self.figure("functions", len(lines), "-")
        self.figure("function length, median", median, FUNCTION_MEDIAN)
        self.figure("function length, p90", p90, FUNCTION_P90)
        self.figure("function length, most", lines[-1], FUNCTION_MAX)
        if median > FUNCTION_MEDIAN:
            self.problems.append(f"functions: the median length is {median}, "
                                 f"{FUNCTION_MEDIAN} are allowed")
        if p90 > FUNCTION_P90:
            self.problems.append(f"functions: the 90th percentile is {p90}, "
                                 f"{FUNCTION_P90} are allowed")

    def name_and_parameters(self, path, f):
        if len(f.name) > NAME_MAX:
            self.complain(path, f.first, f"the name {f.name} has "
                          f"{len(f.name)} characters, {NAME_MAX} are allowed")
        if f.parameters > PARAMETERS_MAX:
            self.complain(path, f.first, f"{f.name} has {f.parameters} "
                          f"parameters, {PARAMETERS_MAX} are allowed")

    # --- Files and lines -----------------------------------------------------

    def lengths(self):
        longest = 0
        for path, text in self.read(ALL_C, {".c"}):
            lines = text.count("\n")
            longest = max(longest, lines)
            if lines > FILE_MAX:
                self.complain(path, lines, f"{lines} lines, {FILE_MAX} are "
                              "allowed")
        self.figure(".c file, most lines", longest, FILE_MAX)

    def private_headers(self):
        longest = 0
        for path, text in self.read(SOURCE, {".h", ".hpp"}):
            lines = text.count("\n")
            if "prelude" in path.parts:  # a program's header, not ours
                continue
            longest = max(longest, lines)
            if lines > PRIVATE_HEADER_MAX:
                self.complain(path, lines, f"{lines} lines, "
                              f"{PRIVATE_HEADER_MAX} are allowed in a private "
                              "header")
        self.figure("private header, most lines", longest, PRIVATE_HEADER_MAX)

    def folders(self):
        counts = collections.Counter(
            path.parent for path, _ in self.read(SOURCE, {".c", ".cpp"}))
        for folder, count in counts.items():
            if count > FOLDER_MAX:
                self.problems.append(f"{folder.relative_to(self.root)}: {count} "
                                     f"sources, {FOLDER_MAX} are allowed in a "
                                     "folder")
        self.figure("sources of a folder, most",
                    max(counts.values(), default=0), FOLDER_MAX)

    def widths(self):
        for path, text in self.read(ALL_C, C):
            table = False
            for number, line in enumerate(text.splitlines(), 1):
                if "clang-format o" in line:
                    table = "clang-format off" in line
                # A row of a table, or of a macro.
                row = re.match(r"\s+(\{|\[|\.\w+ =|X\(|\w+\()|.*\\$", line)
                limit = TABLE_LINE_MAX if table or row else LINE_MAX
                if len(line) > limit:
                    self.complain(path, number, f"{len(line)} columns, {limit} "
                                  "are allowed")

    # --- Public headers ------------------------------------------------------

    def headers(self):
        prose = total = count = longest = documented = 0
        for path, text in self.read(["include"], {".h", ".hpp"}):
            lines = text.count("\n")
            longest = max(longest, lines)
            if lines > HEADER_MAX:
                self.complain(path, lines, f"{lines} lines, {HEADER_MAX} are "
                              "allowed in a public header")
            comments = csource.comments_only(text).splitlines()
            words, filled = prose_lines(text, comments)
            prose, total = prose + words, total + filled
            for f in csource.prototypes(text):
                count += 1
                self.name_and_parameters(path, f)
                if has_comment(text.splitlines(), f.first - 1):
                    documented += 1
                else:
                    self.complain(path, f.first, f"no comment above {f.name}")
        if not total:
            return
        share = 100 * prose / total
        self.figure("public header, most lines", longest, HEADER_MAX)
        self.figure("prose in public headers", f"{share:.0f} %",
                    f"45-55 % is the aim, {PROSE_MIN} % the least")
        self.figure("public functions with a comment",
                    f"{documented}/{count}", "all")
        if share < PROSE_MIN:
            self.problems.append(f"include: {share:.0f} % of the lines are "
                                 f"prose, {PROSE_MIN} % is the least")

    # --- Macros, hooks, marks ------------------------------------------------

    def macros(self):
        for path, text in self.read(SOURCE + ["include"], C):
            if "prelude" in path.parts:
                continue
            for line, name, body in csource.macros(text):
                rest, defines = csource.macro_without_functions(body)
                # The row of a switch made from a list is no hidden exit.
                row = re.match(r"case\b", rest)
                if not row and re.search(r"\b(return|goto)\b", rest):
                    self.complain(path, line, f"the macro {name} leaves its "
                                  "caller")
                elif not defines and DECLARATION.match(rest):
                    self.complain(path, line, f"the macro {name} declares in "
                                  "its caller")

    def hooks(self):
        path = self.root / "src/core/backend.h"
        if not path.is_file():
            return
        code = csource.code_only(path.read_text())
        match = re.search(r"\bstruct\s+backend\s*\{", code)
        if not match:
            self.complain(path, 1, "there is no struct backend")
            return
        table = code[match.end():csource.closing(code, match.end() - 1)]
        count = len(re.findall(r"\(\s*\*\s*\w+\s*\)\s*\(", table))
        self.figure("hooks of a backend", count, HOOKS_MAX)
        if count > HOOKS_MAX:
            self.complain(path, 1, f"struct backend has {count} hooks, "
                          f"{HOOKS_MAX} are allowed")

    def marks(self):
        for path in csource.tracked(self.root):
            if path.suffix not in C | {".py", ".txt", ".cmake", ".S", ".def"}:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                mark = MARK.search(line)
                if mark:
                    self.complain(path, number, f"{mark[0]}: do it, or open an "
                                  "issue")

    def run(self):
        for part in (self.functions, self.lengths, self.private_headers,
                     self.folders, self.widths, self.headers, self.macros,
                     self.hooks, self.marks):
            part()
        return self


# Spelled so that this file passes.
MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")

# `int x = 0`, `struct a *b;` and the like. What begins with static, extern or
# typedef stands at file scope.
DECLARATION = re.compile(
    r"\s*(?:const\s+|volatile\s+|unsigned\s+|_Atomic\s+)*"
    r"(?:struct\s+\w+|enum\s+\w+|union\s+\w+|bool|char|short|int|long|float|"
    r"double|unsigned|\w+_t|rnl_\w+)\s[\s*]*[\w#]+\s*(?:=|;|\[|$)")


def prose_lines(text, comments):
    """(lines that are or carry prose, lines that are not empty)."""
    words = filled = 0
    for line, comment in zip(text.splitlines(), comments):
        if not line.strip():
            continue
        filled += 1
        words += bool(re.search(r"\w", comment))
    return words, filled


def has_comment(lines, index):
    """Whether a comment stands above line `index`, or above the run of
    prototypes without an empty line that it belongs to."""
    index -= 1
    while index >= 0 and lines[index].strip():
        stripped = lines[index].strip()
        if stripped.startswith("//") or stripped.endswith("*/"):
            return True
        if stripped.endswith(("{", "}")) or stripped.startswith("#"):
            return False
        index -= 1
    return False


def check(root):
    return Check(root).run()


# --- Self-test: each rule finds its own breach, and only that -----------------

def body(count):
    return "int f(void)\n{\n" + "    f();\n" * (count - 3) + "}\n"


PROSE = "// What it does, in words.\n// And more of them.\n"

CASES = [
    # (file, text, what must be said; None for nothing)
    ("src/a.c", body(12), None),
    ("src/a.c", body(13), "median"),
    ("src/a.c", body(81) + "int g(void) { return 0; }\n" * 30, "81 lines"),
    ("src/a.c", body(41) * 2 + "int g(void) { return 0; }\n" * 10,
     "90th percentile"),
    ("src/a.c", "int x;\n" * 700, None),
    ("src/a.c", "int x;\n" * 701, "701 lines"),
    (" ".join(f"src/a{i}.c" for i in range(20)), "int x;\n", None),
    (" ".join(f"src/a{i}.c" for i in range(21)), "int x;\n", "21 sources"),
    ("src/a.h", "int x;\n" * 250, None),
    ("src/a.h", "int x;\n" * 251, "251 lines"),
    ("src/a.c", "//" + "x" * 78 + "\n", None),
    ("src/a.c", "//" + "x" * 79 + "\n", "81 columns"),
    ("src/a.c", "    {" + "1," * 40 + "},\n", None),
    ("src/a.c", "    {" + "1," * 41 + "},\n", "89 columns"),
    ("src/a.c", "int " + "n" * 33 + "(void) { return 0; }\n", "33 characters"),
    ("src/a.c", "int n(int a, int b, int c, int d, int e, int f)\n{\n}\n",
     None),
    ("src/a.c", "int n(int a, int b, int c, int d, int e, int f, int g)\n{\n"
     "}\n", "7 parameters"),
    ("src/a.c", "int n(void (*f)(int, int, int, int, int, int, int))\n{\n}\n",
     None),
    ("src/a.c", "#define TRY(x) do { if (x) return; } while (0)\n", "leaves"),
    ("src/a.c", "#define TRY(x) if (x) goto fail\n", "leaves"),
    ("src/a.c", "#define VALUE(x) int x##_value = 0\n", "declares"),
    ("src/a.c", "#define NAME(x) struct name *x;\n", "declares"),
    ("src/a.c", "#define GET(x) \\\n    static int get_##x(void) \\\n    { "
     "\\\n        return x; \\\n    }\n", None),
    ("src/a.c", "#define ROW(x) [x] = #x,\n", None),
    ("src/a.c", "#define ROW(x) case x: return #x;\n", None),
    ("src/a.c", "#define SUM(a, b) ((a) + (b))\n", None),
    ("src/a.c", "// TO" "DO: later\n", "open an issue"),
    ("src/a.c", 'const char *s = "a { b"; // {\nint x;\n', None),
    ("src/core/backend.h", "struct backend {\n"
     + "    int (*hook)(int a);\n" * 46 + "};\n", None),
    ("src/core/backend.h", "struct backend {\n"
     + "    int (*hook)(int a);\n" * 47 + "};\n", "47 hooks"),
    ("include/runnel/a.h", PROSE + "RNL_API int rnl_a(int a);\n"
     "RNL_API int rnl_b(int a);\n", None),
    ("include/runnel/a.h", PROSE * 9 + "\nRNL_API int rnl_a(int a);\n",
     "no comment"),
    ("include/runnel/a.h", PROSE * 9 + "RNL_API int rnl_a(int a);\n\n"
     "RNL_API int rnl_b(int a);\n", "no comment above rnl_b"),
    ("include/runnel/a.h", PROSE + "int a,\n" + "    b,\n" * 3 + "    c;\n",
     "prose"),
    ("include/runnel/a.h", "// A word.\n" * 401, "401 lines"),
    ("include/runnel/a.h", PROSE * 9 + "RNL_API int rnl_" + "a" * 29
     + "(int a);\n", "33 characters"),
]


def self_test():
    return csource.run_cases(CASES, lambda root: check(root).problems,
                             "check_budgets self-test")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    result = check(csource.ROOT)
    print("\n".join(result.figures))
    return csource.report(result.problems, "budgets")


if __name__ == "__main__":
    sys.exit(main())

"""Reads C files for the checks in this folder: what is code, what is comment,
where functions and macros begin and end. No parser: it knows the house style.
"""

import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def files(root, folders, suffixes):
    """The files of the repository below `folders`, sorted."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                found.append(path)
    return found


def tracked(root):
    """Every file that git knows or would add; all files without git."""
    try:
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], capture_output=True, check=True).stdout
        names = [n for n in listing.decode().split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(root)) for p in root.rglob("*")
                 if not str(p.relative_to(root)).startswith(("build", ".git"))]
    return [p for p in (root / n for n in sorted(set(names))) if p.is_file()]


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """`text` with comments blanked; every line keeps its place."""
    return _TOKEN.sub(
        lambda m: _blank(m[0]) if m[0][0] == "/" else m[0], text)


def code_only(text):
    """`text` with comments and the insides of literals blanked."""
    return _TOKEN.sub(
        lambda m: _blank(m[0]) if m[0][0] == "/"
        else m[0][0] + _blank(m[0][1:-1]) + m[0][0], text)


def comments_only(text):
    """`text` with all but the comments blanked."""
    out, last = [], 0
    for match in _TOKEN.finditer(text):
        if match[0][0] == "/":
            out += [_blank(text[last:match.start()]), match[0]]
            last = match.end()
    return "".join(out) + _blank(text[last:])


def _blank_directives(code):
    return re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
                  lambda m: _blank(m[0]), code)


def macros(text):
    """(line, name, body) of every macro with a body, continuations joined."""
    code = code_only(text)
    for match in re.finditer(
            r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?"
            r"((?:[^\n]*\\\n)*[^\n]*)", code):
        body = match[3].replace("\\\n", "\n").strip()
        if body:
            yield code.count("\n", 0, match.start()) + 1, match[1], body


def closing(code, opening):
    """The index behind the bracket that closes the one at `opening`."""
    pairs = {"{": "}", "(": ")"}
    left, right = code[opening], pairs[code[opening]]
    depth = 0
    for i in range(opening, len(code)):
        depth += (code[i] == left) - (code[i] == right)
        if depth == 0:
            return i + 1
    return len(code)


class Function:
    """A definition or prototype: name, first and last line, parameters."""

    def __init__(self, code, name, start, end, parameters):
        self.name = name
        self.first = code.count("\n", 0, start) + 1
        self.last = code.count("\n", 0, end - 1) + 1
        self.lines = self.last - self.first + 1
        self.parameters = count_parameters(parameters)


def count_parameters(text):
    depth, count, text = 0, 1, text.strip()
    if text in ("", "void"):
        return 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        count += letter == "," and depth == 0
    return count


_ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)|_Noreturn|alignas\(.*?\)",
                        re.S)
_HEAD = re.compile(r"(\w+)\s*(\()")


def _head(declaration):
    """(name, parameters) when `declaration` is one of a function."""
    declaration = _ATTRIBUTE.sub(lambda m: _blank(m[0]), declaration)
    match = _HEAD.search(declaration)
    if not match or "=" in declaration[:match.start()]:
        return None
    end = closing(declaration, match.start(2))
    rest = declaration[end:].strip()
    before = declaration[:match.start()].strip()
    if rest or not before or before.startswith("typedef"):
        return None
    return match[1], declaration[match.start(2) + 1:end - 1]


def functions(text):
    """Every function definition of a C file, and those in its macros not."""
    return [f for f, body in _declarations(text) if body]


def prototypes(text):
    """Every function prototype at file scope."""
    return [f for f, body in _declarations(text) if not body]


def _declarations(text):
    code = _blank_directives(code_only(text))
    # A linkage block is not a scope.
    code = re.sub(r'extern\s*"\s*"\s*\{', lambda m: _blank(m[0]), code)
    code = re.sub(r"\bRNL_(BEGIN|END)_DECLS\b", lambda m: _blank(m[0]), code)
    found, start, i = [], 0, 0
    while i < len(code):
        letter = code[i]
        if letter in "{;":
            head = _head(code[start:i])
            end = closing(code, i) if letter == "{" else i + 1
            if head:
                first = start + len(code[start:]) - len(code[start:].lstrip())
                found.append((Function(code, head[0], first, end, head[1]),
                              letter == "{"))
            # What follows the brace of an initialiser or type ends in `;`.
            if letter == "{" and not head:
                i = end
                if re.match(r"[^;{}]*;", code[i:]):
                    i += code[i:].index(";") + 1
                start = i
                continue
            start = i = end
            continue
        if letter == "(":
            i = closing(code, i)
            continue
        if letter == "}":
            start = i + 1
        i += 1
    return found


def macro_without_functions(body):
    """A macro's body with the functions it defines taken out."""
    pattern = re.compile(r"([\w#]+)\s*\(")
    at, found = 0, False
    while match := pattern.search(body, at):
        end = closing(body, match.end() - 1)
        rest = re.match(r"\s*(?:__attribute__\s*\(\([^{;]*\)\))?\s*\{", body[end:])
        keyword = match[1] in ("if", "for", "while", "switch")
        if not rest or keyword or not body[:match.start()].strip():
            at = match.end()
            continue
        brace = end + rest.end() - 1
        close = closing(body, brace)
        body = body[:match.start()] + _blank(body[match.start():close]) \
            + body[close:]
        at, found = close, True
    return body, found


def report(problems, what):
    """Prints the problems and the verdict; the exit status."""
    for problem in problems:
        print(problem)
    print(f"{what}: " + (f"{len(problems)} problems" if problems else "fine"))
    return 1 if problems else 0


def run_cases(cases, check, what, others=()):
    """Runs (files, their text, what a problem must say; None for nothing) through
    `check`, which gives the problems of a root; the exit status. Each root also
    has the files `others`."""
    problems = []
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            files = [(path, text) for path in name.split()]
            for path, content in (*files, *others):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            found = check(root)
        right = (len(found) == 1 and expected in found[0]) if expected \
            else not found
        if not right:
            problems.append(f"{name}: {text[:60]!r}: expected {expected!r}, "
                            f"found {found}")
    return report(problems, what)


def line_of(text, index):
    return text.count("\n", 0, index) + 1

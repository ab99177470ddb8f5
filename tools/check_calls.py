#!/usr/bin/env python3
"""Checks that every public function ends what it guards: the hazard pointers of
src/core/object/handle.h.

usage: check_calls.py [--self-test]

A check of a kind that is guarded notes the object in a place of the thread.
The public function that does so, itself or by what it calls, clears the place
at its end: `CALL status = ...` clears all, object_unprotect and object_clear_hazard one.
Two more slips are found: a place that is used twice in one function, and a
guarded object that is used behind a call of a function with a CALL of its own.
"""

import pathlib
import re
import sys
import tempfile

import csource

ALL = frozenset({"HAZARD_CONTEXT", "HAZARD_STREAM", "HAZARD_CODE", "HAZARD_OTHER"})

# check_<name> by the macro that defines it.
DEFINED = re.compile(
    r"(?m)^OBJECT_CHECK_HAZARD\(\s*(\w+),\s*\w+,\s*\w+,\s*(HAZARD_\w+)\)")
NOTED = re.compile(r"\bobject_(?:protect|set_hazard)\(([^;]*?)(HAZARD_\w+)\)", re.S)
CLEARED = re.compile(r"\bobject_(?:unprotect|clear_hazard)\(\s*(HAZARD_\w+)\s*\)")
SCOPED = re.compile(r"(?m)^\s+CALL\s+\w+\s*=")
CALLED = re.compile(r"(->|\.)?\b([a-z_]\w*)\s*\(")
# What a call through a pointer in a struct means: functions that are assigned to
# the member, or stand for it in a table.
MEMBER = re.compile(r"(?:->|\.)([a-z_]\w*) = &?([a-z_]\w*)[,;]")

# Whose guards end in the functions that they call last.
TAIL_CALLS = {"rnl_enqueue_function", "inline_launch"}

# Behind their first public call they use handles only.
BY_HANDLE = {"rnl_time_and_wait"}


class Function:
    def __init__(self, path, found, body):
        self.path, self.name, self.line = path, found.name, found.first
        self.body = body
        self.scoped = bool(SCOPED.search(body))
        self.notes = []  # (where in the body, place)
        self.clears = set(ALL) if self.scoped else set(CLEARED.findall(body))
        self.calls = [(m.start(), m[2]) for m in CALLED.finditer(body)
                      if not m[1]]
        self.by_pointer = [(m.start(), m[2]) for m in CALLED.finditer(body)
                           if m[1]]


def checks_of(text):
    return {f"check_{name}": place for name, place in DEFINED.findall(text)}


def functions_of(root, path, checks):
    text = csource.code_only((root / path).read_text())
    lines = text.split("\n")
    for found in csource.functions(text):
        body = "\n".join(lines[found.first - 1:found.last])
        body = " " * body.find("{") + body[body.find("{"):]
        function = Function(path, found, body)
        for where, name in function.calls:
            if name in checks:
                function.notes.append((where, checks[name]))
        for match in NOTED.finditer(body):
            function.notes.append((match.start(), match[2]))
        yield function


class House:
    """All functions of the core, and which one a name means in a file."""

    def __init__(self, root):
        folder = root / "src/core"
        files = sorted(folder.rglob("*.[ch]"))
        self.checks = {}
        for file in files:
            self.checks.update(checks_of(file.read_text()))
        self.by_file, self.by_name, self.members = {}, {}, {}
        for file in files:
            path = file.relative_to(root)
            for function in functions_of(root, path, self.checks):
                self.by_file[path, function.name] = function
                self.by_name.setdefault(function.name, function)
        for file in files:
            path = file.relative_to(root)
            for member, name in MEMBER.findall(
                    csource.code_only(file.read_text())):
                callee = self.find(path, name)
                if callee:
                    self.members.setdefault(member, []).append(callee)

    def find(self, path, name):
        return self.by_file.get((path, name), self.by_name.get(name))

    def called(self, function):
        for where, name in function.calls:
            callee = self.find(function.path, name)
            if callee and callee is not function:
                yield where, callee
        for where, name in function.by_pointer:
            for callee in self.members.get(name, []):
                if callee is not function:
                    yield where, callee

    # Whether a call of it ends all that is guarded, as its own.
    def ends_all(self, function, seen=()):
        return function.scoped or any(
            self.ends_all(callee, seen + (callee,))
            for _, callee in self.called(function) if callee not in seen)

    # What a call of it clears, and leaves noted.
    def clears(self, function, seen=()):
        cleared = set(function.clears)
        for _, callee in self.called(function):
            if callee not in seen:
                cleared |= self.clears(callee, seen + (callee,))
        return cleared

    def leaves(self, function, seen=()):
        left = {place for _, place in function.notes}
        for _, callee in self.called(function):
            if callee not in seen:
                left |= self.leaves(callee, seen + (callee,))
        tail = function.name in TAIL_CALLS
        return left - (self.clears(function) if tail else function.clears)


def problems_of(house, function):
    where = f"{function.path}:{function.line}: {function.name}"
    left = house.leaves(function)
    if function.name.startswith("rnl_") and left:
        yield (f"{where} leaves {', '.join(sorted(left))} noted: it needs "
               "'CALL status', or to clear that at its end")
    noted = [place for _, place in function.notes]
    for place in sorted(set(noted)):
        if noted.count(place) > 1:
            yield (f"{where} uses {place} twice: the second check guards "
                   "nothing but its own, check_other_... has another place")
    if not noted or function.name in TAIL_CALLS | BY_HANDLE:
        return
    first = min(at for at, _ in function.notes)
    for at, callee in house.called(function):
        if at > first and house.ends_all(callee):
            yield (f"{where} calls {callee.name}, where a CALL ends what is "
                   "guarded here")


def check(root):
    house = House(root)
    if not house.checks:
        return ["src/core: there are no guarded checks"]
    return [problem for function in house.by_file.values()
            for problem in problems_of(house, function)]


HEADER = """
OBJECT_CHECK_HAZARD(context, context, OBJECT_CONTEXT, HAZARD_CONTEXT)
OBJECT_CHECK_HAZARD(stream, stream, OBJECT_STREAM, HAZARD_STREAM)
"""
FIND = "static int find(void *h)\n{\n    return check_stream(h);\n}\n"

# (a file of the core, whether it breaks a rule)
CASES = [
    ("int rnl_a(void *h)\n{\n    CALL s = ENTER();\n"
     "    return s ? s : check_stream(h);\n}", False),
    ("int rnl_a(void *h)\n{\n    int s = ENTER();\n"
     "    return s ? s : check_stream(h);\n}", True),
    ("int rnl_a(void *h)\n{\n    // CALL s = ENTER();\n"
     "    return check_stream(h);\n}", True),
    (FIND + "int rnl_a(void *h)\n{\n    return find(h);\n}", True),
    (FIND + "int rnl_a(void *h)\n{\n    CALL s = find(h);\n    return s;\n}",
     False),
    ("int rnl_a(void *h)\n{\n    int s = check_stream(h);\n"
     "    object_unprotect(HAZARD_STREAM);\n    return s;\n}", False),
    ("int rnl_a(void *h)\n{\n    int s = check_context(h);\n"
     "    object_unprotect(HAZARD_STREAM);\n    return s;\n}", True),
    ("int rnl_a(void *h)\n{\n"
     "    object_protect(h, OBJECT_STREAM, HAZARD_STREAM);\n    return 0;\n}",
     True),
    ("int rnl_a(void *h, void *k)\n{\n    CALL s = check_stream(h);\n"
     "    return s ? s : check_stream(k);\n}", True),
    ("int rnl_b(void *h)\n{\n    CALL s = check_context(h);\n"
     "    return s;\n}\n"
     "int rnl_a(void *h)\n{\n    CALL s = check_stream(h);\n"
     "    return s ? s : rnl_b(h);\n}", True),
    ("int rnl_b(void *h)\n{\n    CALL s = check_context(h);\n"
     "    return s;\n}\n"
     "int rnl_a(void *h)\n{\n    return rnl_b(h);\n}", False),
    ("int helper(void *h)\n{\n    return check_stream(h);\n}", False),
    # Through a table of functions.
    ("int b(void *h)\n{\n    CALL s = check_context(h);\n    return s;\n}\n"
     "const struct table t = {\n    .go = b,\n};\n"
     "int rnl_a(void *h)\n{\n    CALL s = check_stream(h);\n"
     "    return s ? s : now->go(h);\n}", True),
]


def self_test():
    problems = []
    for text, broken in CASES:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name).resolve()
            (root / "src/core").mkdir(parents=True)
            (root / "src/core/check.h").write_text(HEADER)
            (root / "src/core/a.c").write_text(text + "\n")
            found = check(root)
            if bool(found) != broken:
                problems.append(f"{text!r}: found {found}")
    return csource.report(problems, "check_calls self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT), "calls"))

#!/usr/bin/env python3
"""Checks that the folders of the compiler and the library, its rooms, form no
circle: a room uses functions and variables only of the rooms that its row in
ROOMS names.

usage: check_rooms.py BUILD
       check_rooms.py --self-test

The symbols of the object files in the build folder tell who uses whom, and the
include lines of the sources who sees whom. An object whose source is gone, or
in no room, is left out.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import csource

# A room, by its folder, and the rooms that it may use. The longest folder that
# a file lies in is its room.
ROOMS = {
    "compiler/base": [],
    "compiler/object": ["compiler/base"],
    "compiler/source": ["compiler/base"],
    "compiler/simt/ir": [],
    "compiler/simt/kernel": ["compiler/simt/ir"],
    "compiler/simt/analysis": ["compiler/simt/ir", "compiler/simt/kernel"],
    "compiler/simt/transform": ["compiler/simt/ir", "compiler/simt/kernel",
                                "compiler/simt/analysis"],
    "compiler/simt/widen": ["compiler/simt/ir", "compiler/simt/kernel",
                            "compiler/simt/analysis"],
    "compiler/simt/codegen": ["compiler/simt/ir", "compiler/simt/kernel",
                              "compiler/simt/analysis",
                              "compiler/simt/widen"],
    "compiler/simt/pipeline": ["compiler/simt/ir", "compiler/simt/kernel",
                               "compiler/simt/analysis",
                               "compiler/simt/transform",
                               "compiler/simt/widen",
                               "compiler/simt/codegen"],
    "compiler/frontend": ["compiler/simt/pipeline", "compiler/source"],
    "compiler/driver": ["compiler/base", "compiler/object", "compiler/source",
                        "compiler/frontend", "compiler/simt/pipeline"],
}



def layers(folder, names, below):
    """Rooms of a folder, lowest first: each uses those before it."""
    rooms = {}
    for name in names.split():
        rooms[f"{folder}/{name}"] = below + list(rooms)
    return rooms


LIBRARY = layers("src", "base", [])
LIBRARY |= layers("src/core", "object stream memory module graph context",
                  list(LIBRARY))
ROOMS |= LIBRARY
ROOMS |= layers("src/backends/cpu", "machine kernel jit scheduler",
                list(LIBRARY))
ROOMS |= layers("src/backends/cudalike",
                "driver timeline module stream graph context", list(LIBRARY))

# Sources that define functions of an outside library, for its other parts.
STAND_INS = {"compiler/frontend/targets.cpp"}

# Folders that include lines count from.
BASES = ["compiler", "src", ""]

INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"')


def room_of(path, rooms):
    """The room of a source file, as its folder; None outside of all rooms."""
    found = [r for r in rooms if path.startswith(r + "/")]
    return max(found, key=len) if found else None


def source_of(build, path):
    """The source of an object file of CMake's, relative to the repository."""
    parts = path.relative_to(build).as_posix().removesuffix(".o")
    match = re.fullmatch(r"(?:(.*)/)?CMakeFiles/[^/]+\.dir/(.*)", parts)
    if not match:
        return None
    return os.path.normpath(
        os.path.join(match[1] or "", match[2].replace("__/", "../")))


def symbols_of(path):
    """(the symbols that an object defines, those that it leaves to others)"""
    defined, wanted = set(), set()
    listing = subprocess.run(["nm", "-P", str(path)], capture_output=True,
                             check=True, text=True).stdout
    for line in listing.splitlines():
        name, kind = line.split()[:2]
        if kind in "Uw":
            wanted.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, wanted


def circle_of(rooms):
    """A circle in the table, as a list of rooms; None if there is none."""
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        path.append(room)
        for used in rooms.get(room, []):
            found = visit(used)
            if found:
                return found
        done.add(path.pop())
        return None

    return next((c for c in map(visit, rooms) if c), None)


def check_table(rooms):
    circle = circle_of(rooms)
    if circle:
        yield "the table has a circle: " + " > ".join(circle)
    for room, used in rooms.items():
        for name in used:
            if name not in rooms:
                yield f"the row of {room} names {name}, which is no room"


def check_symbols(root, build, rooms):
    defined = collections.defaultdict(set)  # (top folder, symbol) to sources
    wanted = {}
    for path in sorted(build.rglob("*.o")):
        source = source_of(build, path)
        if not source or source in STAND_INS or \
                not room_of(source, rooms) or not (root / source).is_file():
            continue
        symbols = symbols_of(path)
        for symbol in symbols[0]:
            defined[source.split("/")[0], symbol].add(source)
        wanted.setdefault(source, set()).update(symbols[1])
    for source, symbols in sorted(wanted.items()):
        own = room_of(source, rooms)
        for symbol in sorted(symbols):
            for other in sorted(defined[source.split("/")[0], symbol]):
                room = room_of(other, rooms)
                if room != own and room not in rooms[own]:
                    yield (f"{symbol}: {source} uses {other}, but {own} may "
                           f"not use {room}")
    if not wanted:
        yield f"{build} has no object file of a room"


def check_includes(root, rooms):
    tops = sorted({room.split("/")[0] for room in rooms})
    for path in csource.files(root, tops, {".c", ".h", ".cpp"}):
        source = path.relative_to(root).as_posix()
        own = room_of(source, rooms)
        if not own:
            continue
        text = csource.without_comments(path.read_text())
        for match in INCLUDE.finditer(text):
            bases = [os.path.dirname(source)] + BASES
            header = next((h for h in (os.path.join(b, match[1])
                                       for b in bases)
                           if (root / h).is_file()), "")
            room = room_of(os.path.normpath(header), rooms)
            if room and room != own and room not in rooms[own]:
                yield (f"{source}:{csource.line_of(text, match.start())}: "
                       f"includes '{match[1]}', but {own} may not use {room}")


def check(root, build, rooms):
    return [*check_table(rooms), *check_symbols(root, build, rooms),
            *check_includes(root, rooms)]


# --- Self-test: each rule finds its own breach, and only that -----------------

TABLE = {"src/low": [], "src/high": ["src/low"], "src/high/attic": []}

# (files with their texts, the table, what must be said; None for nothing)
CASES = [
    ({"src/low/a.c": "int low(void) { return 1; }",
      "src/high/b.c": "int low(void);\nint high(void) { return low(); }"},
     TABLE, None),
    ({"src/low/a.c": "int high(void);\nint low(void) { return high(); }",
      "src/high/b.c": "int high(void) { return 1; }"}, TABLE,
     "high: src/low/a.c uses src/high/b.c"),
    ({"src/low/a.c": "extern int high;\nint low(void) { return high; }",
      "src/high/b.c": "int high = 1;"}, TABLE,
     "high: src/low/a.c uses src/high/b.c"),
    # A symbol of another top folder is another symbol.
    ({"src/low/a.c": "int f(void);\nint low(void) { return f(); }",
      "src/low/f.c": "int f(void) { return 1; }",
      "tool/high/b.c": "int f(void) { return 1; }"},
     {"src/low": [], "tool/high": []}, None),
    # The longest folder counts.
    ({"src/high/b.c": "int low(void);\nint high(void) { return low(); }",
      "src/high/attic/c.c": "int low(void) { return 1; }"}, TABLE,
     "may not use src/high/attic"),
    ({"src/low/a.c": '#include "high/b.h"\nint low;', "src/high/b.h": ""},
     TABLE, "src/low/a.c:1: includes 'high/b.h'"),
    ({"src/high/b.c": '#include "low/a.h"\nint high;', "src/low/a.h": ""},
     TABLE, None),
    ({"src/low/a.c": "int low;"},
     {"src/low": ["src/high"], "src/high": ["src/low"]},
     "circle: src/low > src/high > src/low"),
    ({"src/low/a.c": "int low;"}, {"src/low": ["src/none"]},
     "which is no room"),
    ({"other/a.c": "int low;"}, TABLE, "has no object file"),
]


def found_by(files, rooms):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        for name in (n for n in files if n.endswith(".c")):
            top, rest = name.split("/", 1)
            made = root / "build" / top / "CMakeFiles/x.dir" / (rest + ".o")
            made.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([os.environ.get("CC", "cc"), "-c", "-I",
                            str(root / "src"), "-o", str(made),
                            str(root / name)], check=True)
        return check(root, root / "build", rooms)


def self_test():
    problems = []
    for files, rooms, expected in CASES:
        found = found_by(files, rooms)
        right = (len(found) == 1 and expected in found[0]) if expected \
            else not found
        if not right:
            problems.append(f"{files}: expected {expected!r}, found {found}")
    if source_of(pathlib.Path("/b"), pathlib.Path(
            "/b/a/c/CMakeFiles/x.dir/__/d/e.c.o")) != "a/d/e.c":
        problems.append("the source of an object beside its CMakeLists.txt")
    return csource.report(problems, "check_rooms self-test")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    return csource.report(
        check(csource.ROOT, pathlib.Path(sys.argv[1]).resolve(), ROOMS),
        "rooms")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks that the folders of the compiler and the library, its rooms, form no
circle: a room uses functions and variables only of the rooms that its row in
ROOMS names. Files within a room form circles only as large as CIRCLES says.

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
    "compiler/hip": ["compiler/base"],
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

# How many files of a room may call each other in a circle: an engine whose parts
# drive each other, as instructions and their operands, or blocks and barriers.
CIRCLES = {
    "compiler/frontend": 6,
    "compiler/simt/analysis": 3,
    "compiler/simt/kernel": 6,
    "compiler/simt/widen": 14,
    "src/backends/cpu/kernel": 7,
    "src/backends/cpu/scheduler": 12,
    "src/backends/cudalike/stream": 12,
    "src/base": 2,
    "src/core/graph": 4,
    "src/core/memory": 5,
    "src/core/module": 3,
    "src/core/stream": 4,
}

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


def symbols_of(paths):
    """{path: (symbols that the object defines, those that it leaves to others)}"""
    found = {str(path): (set(), set()) for path in paths}
    listing = subprocess.run(["nm", "-A", "-P", *found], capture_output=True,
                             check=True, text=True).stdout
    for line in listing.splitlines():
        path, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        if kind in "Uw":
            found[path][1].add(name)
        elif kind.isupper():
            found[path][0].add(name)
    return found


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


def uses_of(root, build, rooms):
    """{source: {(symbol, source that defines the symbol)}} of all rooms"""
    sources = {str(path): source_of(build, path)
               for path in build.rglob("*.o")}
    sources = {path: source for path, source in sources.items()
               if source and source not in STAND_INS
               and room_of(source, rooms) and (root / source).is_file()}
    if not sources:
        return {}
    defined = collections.defaultdict(set)  # (top folder, symbol) to sources
    wanted = collections.defaultdict(set)
    for path, symbols in symbols_of(sources).items():
        source = sources[path]
        for symbol in symbols[0]:
            defined[source.split("/")[0], symbol].add(source)
        wanted[source] |= symbols[1]
    return {source: {(symbol, other) for symbol in symbols
                     for other in defined[source.split("/")[0], symbol]}
            for source, symbols in wanted.items()}


def check_symbols(uses, rooms):
    for source in sorted(uses):
        own = room_of(source, rooms)
        for symbol, other in sorted(uses[source]):
            room = room_of(other, rooms)
            if room != own and room not in rooms[own]:
                yield (f"{symbol}: {source} uses {other}, but {own} may "
                       f"not use {room}")


def reached_from(source, uses):
    found, left = set(), [source]
    while left:
        for _, other in uses[left.pop()]:
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def check_circles(uses, rooms, most):
    """Files that call each other in a circle, directly or not: in each room no
    more than its row in `most` says."""
    reached = {source: reached_from(source, uses) for source in uses}
    largest = {}
    for source, others in reached.items():
        circle = sorted(o for o in others if source in reached[o])
        room = room_of(source, rooms)
        if len(circle) > len(largest.get(room, [])) and len(circle) > 1:
            largest[room] = circle
    for room, circle in sorted(largest.items()):
        if len(circle) > most.get(room, 1):
            yield (f"{len(circle)} files of {room} call each other, "
                   f"{most.get(room, 1)} may: " + " ".join(
                       os.path.basename(name) for name in circle))
    for room, count in most.items():
        if len(largest.get(room, [])) < count:
            yield (f"CIRCLES allows {count} files of {room}, "
                   f"{len(largest.get(room, []))} call each other")


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


def check(root, build, rooms, most):
    uses = uses_of(root, build, rooms)
    if not uses:
        return [f"{build} has no object file of a room"]
    return [*check_table(rooms), *check_symbols(uses, rooms),
            *check_circles(uses, rooms, most), *check_includes(root, rooms)]


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
    ({"src/low/a.c": "int b(void);\nint a(void) { return b(); }",
      "src/low/b.c": "int a(void);\nint b(void) { return a(); }",
      "src/high/a.c": "int d(void);\nint c(void) { return d(); }",
      "src/high/b.c": "int c(void);\nint d(void) { return c(); }"}, TABLE,
     "2 files of src/low call each other, 1 may: a.c b.c"),
]


def found_by(files, rooms, most):
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
        return check(root, root / "build", rooms, most)


def self_test():
    problems = []
    for files, rooms, expected in CASES:
        most = {"src/high": 2} if "src/high/a.c" in files else {}
        found = found_by(files, rooms, most)
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
        check(csource.ROOT, pathlib.Path(sys.argv[1]).resolve(), ROOMS,
              CIRCLES), "rooms")


if __name__ == "__main__":
    sys.exit(main())

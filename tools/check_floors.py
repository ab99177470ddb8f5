#!/usr/bin/env python3
"""Checks which folder includes what: nobody looks upwards or sideways.

usage: check_floors.py [--self-test]

The table below is the architecture. A line that breaks it is a defect, also
where it compiles.
"""

import pathlib
import re
import sys
import tempfile

import csource

STANDARD = set("""
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp
signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn
string tgmath threads time uchar wchar wctype""".split())

# What libc and the kernel's interface bring, and the compiler's own headers.
LIBC = re.compile(r"""(sys|linux|asm|netinet|arpa)/[\w/]+\.h|
    (alloca|cpuid|dirent|dlfcn|elf|endian|errno|execinfo|fcntl|ftw|getopt|glob|
     grp|immintrin|libgen|link|malloc|netdb|poll|pthread|pwd|regex|sched|semaphore|
     spawn|strings|syscall|termios|ucontext|unistd|wordexp)\.h|
    sanitizer/\w+\.h""", re.X)

PUBLIC = {"public"}
BACKEND = {"base", "core", "public", "libc"}
TESTS = PUBLIC | {"libc", "support", "cmocka"}

# Who (the first pattern that fits) may include what, besides its own folder.
FLOORS = [
    (r"include/runnel/.*\.hpp", PUBLIC | {"standard", "c++"}),
    (r"include/runnel/.*", PUBLIC | {"standard"}),
    (r"src/base/.*", {"libc", "hash", "public/base", "public/status",
                      "public/host", "public/version"}),
    (r"src/core/module/module_option\.c", {"core", "tables"}),
    (r"src/core/.*", {"base", "public", "libc"}),
    (r"src/backends/builtin\.c", {"base", "core", "public"}),
    (r"src/backends/(cuda|hip)/.*", BACKEND | {"backend:cudalike"}),
    (r"src/backends/cpu/jit/imports\.c", BACKEND | {"tables"}),
    (r"src/backends/\w+/.*", BACKEND),
    (r"src/comm/.*", PUBLIC | {"libc"}),
    (r"compiler/frontend/.*", {"libc", "llvm", "llvm c++", "c++"}),
    (r"compiler/.*", {"libc", "public/cpu_object", "llvm"}),
    (r"examples/.*\.cpp", PUBLIC | {"c++"}),
    (r"(cli|examples)/.*", PUBLIC | {"libc"}),
    (r"bench/.*\.cpp", PUBLIC | {"libc", "peers", "c++"}),
    (r"bench/.*", PUBLIC | {"libc", "peers", "cjson"}),
    (r"tests/support/.*", TESTS),
    (r"tests/(conformance|install|headers)/.*", TESTS),
    (r"tests/cli/.*", TESTS | {"cli"}),
    (r"tests/comm/.*", TESTS | {"comm"}),
    (r"tests/compiler/.*", TESTS | {"compiler", "base", "core", "backend:cpu"}),
    # Fuzz targets call every part at its own entry.
    (r"tests/fuzz/.*", TESTS | {"base", "core", "backend:cpu", "backend:cuda",
                                "backend:cudalike", "compiler", "cli",
                                "tests/programs"}),
    (r"tests/simt/.*", TESTS | {"compiler", "llvm"}),
    (r"tests/cpp/.*", TESTS | {"c++"}),
    (r"tests/fakes/abi.*", {"backend:cudalike", "backend:hip", "libc", "vendor",
                            "c++"}),
    (r"tests/fakes/hip_wave\.cpp", {"compiler", "libc", "c++"}),
    (r"tests/fakes/(rtc|over_cuda|hip_code)\.c", TESTS | {
        "base", "core", "backend:cpu", "backend:cudalike", "backend:cuda",
        "backend:hip", "tables"}),
    (r"tests/.*", TESTS | {"base", "core", "backend:null", "backend:cpu",
                           "backend:cudalike", "backend:cuda", "backend:hip",
                           "cjson"}),
]

OUTSIDE = [
    (re.compile(r"xxhash\.h"), "hash"),
    (re.compile(r"cmocka\.h"), "cmocka"),
    (re.compile(r"cuda\.h|hip/hip_runtime_api\.h"), "vendor"),
    (re.compile(r"cjson/cJSON\.h"), "cjson"),
    (re.compile(r"(CL/\w+|omp|oneapi/tbb/\w+)\.h"), "peers"),
    (re.compile(r"(llvm-c|clang-c)/[\w/]+\.h"), "llvm"),
    (re.compile(r"(llvm|clang|lld)/[\w/]+\.(h|def)"), "llvm c++"),
    (re.compile(r"[a-z_]+"), "c++"),
]

INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]')


def folder(path):
    """The floor that a file of the repository stands on."""
    parts = path.parts
    if parts[0] == "include":
        return "public"
    if parts[:2] == ("src", "backends"):
        return f"backend:{parts[2]}" if len(parts) > 3 else "builtin"
    if parts[0] == "tests":
        return "support" if parts[1] == "support" else "/".join(parts[:2])
    return parts[1] if parts[0] == "src" else parts[0]


def target(root, path, quote, name):
    """The words of the table that stand for an included file."""
    if name.startswith("runnel/"):
        if not (root / "include" / name).is_file():
            return set()
        return {"public", "public/" + name[len("runnel/"):].split(".")[0]}
    if re.fullmatch(r"compiler/\w+_table\.h", name):
        return {"tables"}  # rules that library and compiler share
    if quote == '"':
        # Tests of a part of the house see that part's own headers.
        part = path.parts[1] if path.parts[0] == "tests" else "src"
        room = "compiler" if path.parts[0] == "compiler" else "src"
        for base in (root / path.parent, root / room, root / "src",
                     root / part, root / "compiler", root / "tests/support",
                     root):
            file = (base / name).resolve()
            if file.is_file() and root in file.parents:
                return {folder(file.relative_to(root))}
        return set()
    if name.removesuffix(".h") in STANDARD and name.endswith(".h"):
        return {"standard", "libc"}
    if LIBC.fullmatch(name):
        return {"libc"}
    return {next((w for p, w in OUTSIDE if p.fullmatch(name)), "unknown")}


def backend_names(root):
    return [p.name for p in sorted((root / "src/backends").glob("*"))
            if p.is_dir()]


def check_file(root, path):
    text = csource.without_comments((root / path).read_text())
    allowed = next((a for p, a in FLOORS if re.fullmatch(p, str(path))), None)
    if allowed is None:
        return
    allowed = allowed | {folder(path)}
    for match in INCLUDE.finditer(text):
        words = target(root, path, match[1], match[2])
        where = f"{path}:{csource.line_of(text, match.start())}"
        if not words:
            if not match[2].endswith(".inc"):  # made by the build
                yield f"{where}: there is no '{match[2]}'"
        elif not words & allowed:
            yield (f"{where}: {folder(path)} may not include '{match[2]}' "
                   f"({', '.join(sorted(words))})")
    if path.parts[0] == "src" and path.name != "builtin.c":
        for name in backend_names(root):
            if folder(path) == f"backend:{name}":
                continue
            for match in re.finditer(rf"\b{name}_backend\b", text):
                yield (f"{path}:{csource.line_of(text, match.start())}: only "
                       f"builtin.c may name the backend {name}")


def check(root):
    problems = []
    for path in csource.files(
            root, ["include", "src", "compiler", "cli", "examples", "bench",
                   "tests"], {".c", ".h", ".hpp", ".cpp", ".def"}):
        problems += check_file(root, path.relative_to(root))
    return problems


# (file, its text, whether it breaks a rule)
CASES = [
    ("include/runnel/base.h", "#include <stdint.h>", False),
    ("include/runnel/stream.h", "#include <runnel/base.h>", False),
    ("include/runnel/stream.h", "#include <unistd.h>", True),
    ("include/runnel/stream.h", '#include "base/text.h"', True),
    ("include/runnel/stream.h", "#include <runnel/absent.h>", True),
    ("src/base/text.c", '#include "base/text.h"\n#include <xxhash.h>', False),
    ("src/base/text.c", "#include <runnel/stream.h>", True),
    ("src/base/text.c", '#include "core/backend.h"', True),
    ("src/core/stream/op.c",
     '#include "base/text.h"\n#include <pthread.h>', False),
    ("src/core/stream/op.c", '#include "backends/cpu/scheduler/queue.h"', True),
    ("src/core/stream/op.c", '#include "compiler/option_table.h"', True),
    ("src/core/module/module_option.c",
     '#include "compiler/option_table.h"', False),
    ("src/core/stream/op.c", "#include <cuda.h>", True),
    ("src/core/stream/op.c", "extern int cpu_backend;", True),
    ("src/core/stream/op.c", "// cpu_backend, #include <cuda.h>", False),
    ("src/backends/builtin.c", "extern int cpu_backend;", False),
    ("src/backends/cpu/scheduler/pool.c",
     '#include "queue.h"\n#include "core/backend.h"',
     False),
    ("src/backends/cpu/scheduler/pool.c", '#include "../../null/null.h"', True),
    ("src/backends/cpu/scheduler/pool.c",
     '#include "backends/null/null.h"', True),
    ("src/backends/cuda/abi.c", '#include "backends/cudalike/driver.h"', False),
    ("src/backends/cpu/scheduler/pool.c",
     '#include "backends/cudalike/driver.h"', True),
    ("compiler/main.c", "#include <runnel/cpu_object.h>", False),
    ("compiler/main.c", "#include <runnel/stream.h>", True),
    ("compiler/main.c", '#include "base/text.h"', True),
    ("cli/main.c", "#include <runnel/stream.h>\n#include <getopt.h>", False),
    ("cli/main.c", '#include "core/backend.h"', True),
    ("bench/peer.c", "#include <CL/cl.h>", False),
    ("examples/a.c", "#include <CL/cl.h>", True),
    ("tests/conformance/a.c", '#include "test.h"', False),
    ("tests/conformance/a.c", '#include "core/backend.h"', True),
    ("tests/unit/a.c", '#include "core/backend.h"', False),
    ("tests/unit/a.c", '#include <llvm-c/Core.h>', True),
    ("tests/simt/a.c", '#include <llvm-c/Core.h>', False),
    ("tests/simt/a.c", '#include "core/backend.h"', True),
    ("tests/fuzz/a.c",
     '#include "core/backend.h"\n#include "cli/cli.h"', False),
    ("tests/unit/a.c", '#include "cli/cli.h"', True),
]

HOUSE = ["include/runnel/base.h", "include/runnel/stream.h",
         "include/runnel/cpu_object.h", "src/base/text.h", "src/core/backend.h",
         "src/backends/cpu/scheduler/queue.h", "src/backends/null/null.h",
         "src/backends/cudalike/driver.h", "tests/support/test.h",
         "cli/cli.h"]


def self_test():
    problems = []
    for name, text, broken in CASES:
        with tempfile.TemporaryDirectory() as folder_name:
            root = pathlib.Path(folder_name).resolve()
            for file in HOUSE + [name]:
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text("")
            (root / name).write_text(text + "\n")
            found = check(root)
            if bool(found) != broken:
                problems.append(f"{name}: {text!r}: found {found}")
    return csource.report(problems, "check_floors self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT), "floors"))

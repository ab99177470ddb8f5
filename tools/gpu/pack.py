"""gpu-check pack: what was built here, in one folder that runs on a machine
with neither the tools nor the libraries of this one.
"""

import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess

import gpu.differential as differential

MOST_BYTES = 40 << 20

# Programs of the build folder; the tests among them are listed by ctest.
PROGRAMS = ["bin/*", "tests/bin/conformance", "tests/bin/unit"]
TARGETS = ["runnel", "runnel-cli", "runnel-bench", "runnel-cc",
           "runnel-hip-cc",
           "test_conformance", "test-corpus", "test-differential",
           "test-programs", "test_unit"]

# A C library cannot be carried, and a C++ library is there with a compiler.
SYSTEM = re.compile(r"^(linux-vdso|ld-linux|lib(c|m|mvec|dl|pthread|rt|"
                    r"resolv|gcc_s|stdc\+\+))[.-]")


def _targets(build):
    help_text = subprocess.run(
        ["cmake", "--build", str(build), "--target", "help"],
        capture_output=True, text=True, check=True).stdout
    there = set(re.findall(r"^(?:\.\.\. )?([\w.-]+)(?:: phony)?\s*$",
                           help_text, re.M))
    return [name for name in TARGETS if name in there] + sorted(
        name for name in there if name.startswith("example-"))


def _make(build, jobs):
    command = ["cmake", "--build", str(build), "-j", str(jobs), "--target"]
    subprocess.run(command + _targets(build), check=True)


def make(build, jobs, headers):
    """Configures and builds the tree with what this machine has."""
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    found = [f"-DRUNNEL_XXHASH_FOLDER={headers.resolve()}"] if headers else []
    subprocess.run(["cmake", "-S", str(differential.TREE), "-B", str(build),
                    *generator, *found,
                    "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], check=True)
    _make(build, jobs)


def tests_of(build):
    """The tests that are one program of the build folder and its arguments:
    name, command relative to the folder, environment."""
    listing = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1"],
        capture_output=True, text=True, check=True).stdout
    found = []
    prefix = f"{build}/"
    for test in json.loads(listing)["tests"]:
        command = test.get("command", [])
        if not command or not command[0].startswith(prefix):
            continue
        command[0] = command[0][len(prefix):]
        if any(prefix in part for part in command):
            continue
        properties = {entry["name"]: entry["value"]
                      for entry in test.get("properties", [])}
        settings = properties.get("ENVIRONMENT", [])
        if any(one.startswith("RUNNEL_CUDA=") for one in settings):
            continue  # with the fake driver: stays at home
        settings = [one for one in settings
                    if "=" in one and prefix not in one]
        found.append({"name": test["name"], "command": command,
                      "environment": settings})
    return found


def _libraries(program):
    listing = subprocess.run(["ldd", str(program)], capture_output=True,
                             text=True, check=False).stdout
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", listing, re.M):
        if not SYSTEM.match(name):
            yield name, pathlib.Path(path)


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    strip = shutil.which("strip")
    if strip:
        # Names of functions stay: they are the stacks of what hangs.
        subprocess.run([strip, "--strip-debug", str(target)], check=False,
                       stderr=subprocess.DEVNULL)


def _headers(build, folder):
    """What the tree includes that is no part of it, for `make` over there."""
    cache = (build / "CMakeCache.txt").read_text()
    found = re.search(r"^RUNNEL_XXHASH_FOLDER:PATH=(.*)", cache, re.M)
    for header in sorted(pathlib.Path(found[1]).glob("xxh*.h")):
        _copy(header, folder / header.name)


def _programs(build):
    for pattern in PROGRAMS:
        for path in sorted(build.glob(pattern)):
            if path.is_file() and os.access(path, os.X_OK):
                yield path


def _compress(program):
    """The kernel compiler has LLVM in it: a quarter of it travels."""
    with open(program, "rb") as plain, lzma.open(
            f"{program}.xz", "wb", preset=1) as packed:
        shutil.copyfileobj(plain, packed)
    program.unlink()


def unpack(folder):
    """Undoes that on the other machine."""
    for packed in folder.glob("bin/*.xz"):
        program = packed.with_suffix("")
        with lzma.open(packed) as source, open(program, "wb") as target:
            shutil.copyfileobj(source, target)
        program.chmod(0o755)
        packed.unlink()


def pack(build, folder, jobs, make):
    """Fills `folder`, which must be new, empty or an older pack."""
    if make:
        _make(build, jobs)
    manifest = folder / "tests.json"
    if folder.exists() and any(folder.iterdir()) and not manifest.exists():
        raise SystemExit(f"gpu-check: {folder} is something else")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    libraries = {}
    programs = list(_programs(build))
    for program in programs:
        _copy(program, folder / program.relative_to(build))
        libraries.update(_libraries(program))
    _compress(folder / "bin" / "runnel-cc")
    for name, path in sorted(libraries.items()):
        _copy(path.resolve(), folder / "lib" / name)
    _headers(build, folder / "include")
    carried = {str(path.relative_to(build)) for path in programs}
    tests = [test for test in tests_of(build) if test["command"][0] in carried]
    manifest.write_text(json.dumps(tests, indent=0))
    shutil.copytree(differential.TREE / differential.CORPUS,
                    folder / differential.CORPUS)
    total = sum(path.stat().st_size for path in folder.rglob("*"))
    print(f"{folder}: {len(programs)} programs, {len(libraries)} libraries, "
          f"{len(tests)} tests, {total / (1 << 20):.1f} MiB")
    if total > MOST_BYTES:
        raise SystemExit(f"gpu-check: more than {MOST_BYTES >> 20} MiB")

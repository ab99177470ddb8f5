#!/usr/bin/env python3
"""Checks the package descriptions in packaging/: they parse, have the headers'
version, and choose the parts of the tree.

usage: check_packaging.py
       check_packaging.py --self-test

With conan, rattler_build and yaml installed (PyPI: conan, py-rattler-build,
PyYAML), those read them as well.
"""

import ast
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import csource

def version():
    header = (csource.ROOT / "include/runnel/version.h").read_text()
    return ".".join(re.findall(
        r"#define RNL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


# (file, what stands before and behind the version)
VERSIONS = [
    ("debian/changelog", r"^runnel \(([^)-]*)-\d+\) "),
    ("conda/recipe.yaml", r'version: "([^"]*)"'),
    ("vcpkg/runnel/vcpkg.json", r'"version": "([^"]*)"'),
    ("spack/packages/runnel/package.py", r'version\("([^"]*)"'),
]


def wrong_versions(folder):
    want = version()
    for name, pattern in VERSIONS:
        found = re.search(pattern, (folder / name).read_text(), re.MULTILINE)
        if not found:
            yield f"packaging/{name} has no version"
        elif found[1] != want:
            yield (f"packaging/{name} has version {found[1]}, "
                   f"include/runnel/version.h {want}")


# Files that describe a build: each chooses or leaves out each part of the tree.
BUILDS = ("conda/recipe.yaml", "conan/conanfile.py", "vcpkg/runnel/portfile.cmake",
          "spack/packages/runnel/package.py")
# Parts that are wanted unless something else is said.
WANTED = {"COMPILER", "CLI"}


def parts_not_chosen(folder):
    options = (csource.ROOT / "CMakeLists.txt").read_text()
    parts = set(re.findall(r"^option\(RUNNEL_BUILD_(\w+)", options, re.MULTILINE))
    for name in BUILDS:
        text = (folder / name).read_text()
        for part in sorted(parts - WANTED):
            if not re.search(rf"(RUNNEL_BUILD_|\"){part}\b", text):
                yield f"packaging/{name} does not choose RUNNEL_BUILD_{part}"


def parsed_by_python(folder):
    for path in sorted(folder.rglob("*.py")):
        try:
            ast.parse(path.read_text())
        except SyntaxError as error:
            yield f"{path.relative_to(folder)}: {error}"
    for path in sorted(folder.rglob("*.json")):
        try:
            json.loads(path.read_text())
        except ValueError as error:
            yield f"{path.relative_to(folder)}: {error}"


def read_by_their_tools(folder):
    recipe = folder / "conda/recipe.yaml"
    if importlib.util.find_spec("rattler_build"):
        import rattler_build
        try:
            rattler_build.Stage0Recipe.from_yaml(recipe.read_text())
        except rattler_build.RattlerBuildError as error:
            yield f"packaging/conda/recipe.yaml: {error}"
    elif importlib.util.find_spec("yaml"):
        import yaml
        try:
            yaml.safe_load(recipe.read_text())
        except yaml.YAMLError as error:
            yield f"packaging/conda/recipe.yaml: {error}"
    if shutil.which("conan"):
        done = subprocess.run(["conan", "inspect", folder / "conan"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"packaging/conan: {done.stderr.strip()}"


def check(folder):
    return [*wrong_versions(folder), *parts_not_chosen(folder),
            *parsed_by_python(folder), *read_by_their_tools(folder)]


# (file, what is replaced there, by what, what must be said)
CASES = [
    ("vcpkg/runnel/vcpkg.json", '"version": "', '"version": "9', "has version 9"),
    ("debian/changelog", "runnel (", "other (", "has no version"),
    ("vcpkg/runnel/vcpkg.json", "}", "", "vcpkg.json: "),
    ("spack/packages/runnel/package.py", '"PYTHON"', '"CLI"',
     "does not choose RUNNEL_BUILD_PYTHON"),
    ("conan/conanfile.py", "class", "klass", "conanfile.py: "),
]


def self_test():
    problems = []
    for name, old, new, expected in CASES:
        with tempfile.TemporaryDirectory() as copy:
            folder = pathlib.Path(copy, "packaging")
            shutil.copytree(csource.ROOT / "packaging", folder)
            text = (folder / name).read_text()
            (folder / name).write_text(text.replace(old, new, 1))
            found = [*wrong_versions(folder), *parts_not_chosen(folder),
                     *parsed_by_python(folder)]
            if not any(expected in problem for problem in found):
                problems.append(f"{name}: expected {expected!r}, found {found}")
    return csource.report(problems, "check_packaging self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(csource.report(check(csource.ROOT / "packaging"), "packaging"))

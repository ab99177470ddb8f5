#!/usr/bin/env python3
"""Compiles and runs the complete programs in one page of the documentation:
every ```c or ```cpp block that contains `int main`. Other blocks are fragments
and are skipped. Every program has to compile without a warning and to exit
with 0.

usage: run_examples.py FILE.md WORK_FOLDER C_COMPILER C++_COMPILER [FLAG]...
"""

import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(c|cpp)\n(.*?)^```$", re.M | re.S)
TIME_LIMIT = 60  # seconds, of one program


def programs(text):
    """Each complete program: the line of its first line, its language, its text."""
    for match in BLOCK.finditer(text):
        if "int main" in match[2]:
            yield text.count("\n", 0, match.start(2)) + 1, match[1], match[2]


def run(page, line, what, command):
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        print(f"{page}:{line}: {what}: not done after {TIME_LIMIT} s")
        return False
    sys.stdout.write(result.stdout.decode(errors="replace"))
    if result.returncode != 0:
        print(f"{page}:{line}: {what}: exit status {result.returncode}")
    return result.returncode == 0


def main(page, folder, c_compiler, cpp_compiler, *flags):
    compilers = {"c": [c_compiler, "-std=c11"],
                 "cpp": [cpp_compiler, "-std=c++17"]}
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    count = failed = 0
    for line, language, text in programs(pathlib.Path(page).read_text()):
        count += 1
        source = folder / f"line{line}.{language}"
        program = folder / f"line{line}"
        # The compiler's messages name the page and its lines.
        source.write_text(f'#line {line} "{page}"\n{text}')
        build = [*compilers[language], "-Wall", "-Wextra", "-Wpedantic",
                 "-Wno-missing-field-initializers", "-Werror", str(source),
                 "-o", str(program), *flags]
        if not (run(page, line, "compiling", build) and
                run(page, line, "running", [str(program)])):
            failed += 1
    print(f"{page}: {count} programs, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""The table in the documentation is the one that the tests assert.

usage: check_table.py PROGRAM PAGE [--write]
"""
import pathlib
import subprocess
import sys


def is_row(line):
    return line.startswith("|")


def main():
    printed = subprocess.run(
        [sys.argv[1], "the_table_of_captures_is_printed"], check=True,
        capture_output=True, text=True).stdout
    rows = [line for line in printed.splitlines() if is_row(line)]
    page = pathlib.Path(sys.argv[2])
    lines = page.read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if not is_row(line)]
    if "--write" in sys.argv:
        page.write_text("\n".join(head + rows) + "\n", encoding="utf-8")
        return 0
    if rows and lines == head + rows:
        return 0
    print(f"{page} is not what the tests assert; write it again with "
          f"{sys.argv[0]} PROGRAM PAGE --write")
    return 1


sys.exit(main())

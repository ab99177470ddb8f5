"""Every handle parameter of every public function has its row in handles*.c."""
import pathlib
import re
import sys

HANDLE = re.compile(
    r"rnl_(?:device|context|stream|event|buffer|module|function|"
    r"graph|graph_exec|node) (\w+)$")


def parameters(headers):
    """(function, parameter) of every handle parameter in the headers."""
    found = set()
    for path in sorted(headers.glob("*.h")):
        if path.name == "comm.h":
            continue  # of another library: tests/comm/refusals.c
        text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        for name, list_ in re.findall(
                r"RNL_API\s+rnl_status\s+(rnl_\w+)\(([^;]*)\);", text):
            for parameter in list_.split(","):
                match = HANDLE.match(" ".join(parameter.split()))
                if match:
                    found.add((name, match.group(1)))
    return found


def main():
    needed = parameters(pathlib.Path(sys.argv[1]))
    table = "".join(pathlib.Path(path).read_text(encoding="utf-8")
                    for path in sys.argv[2:])
    rows = set(re.findall(r'\{"(rnl_\w+)", "(\w+)"', table))
    for function, parameter in sorted(needed - rows):
        print(f"no row for {function}({parameter})")
    for function, parameter in sorted(rows - needed):
        print(f"no such parameter: {function}({parameter})")
    print(f"{len(rows)} rows for {len(needed)} handle parameters")
    return 0 if needed and needed == rows else 1


sys.exit(main())

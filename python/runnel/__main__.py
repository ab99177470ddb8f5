"""The command line program, as `python -m runnel` and `runnel`."""

import os
import shutil
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(__file__), "_lib", "bin", "runnel")
    if not os.path.exists(program):
        # Debian's package: the program is one of another package.
        program = shutil.which("runnel") or program
    if not os.path.exists(program):
        sys.exit("runnel: the command line program is not in this package: "
                 "%s is missing" % program)
    os.execv(program, ["runnel"] + sys.argv[1:])


if __name__ == "__main__":
    main()

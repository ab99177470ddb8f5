#!/usr/bin/env python3
"""The scorecard of reliability: what was tried against the library, beside the
goals. Prints a table, writes JSON, and puts the table into a page.

usage: tools/scorecard.py [--short] [--build DIR] [--json FILE] [--page FILE]

--short    runs nothing: the figures are those of the last `make test`
--build    a build of the preset dev with its tests; build/dev if not given
--log      files that hold the output of runs, in the place of running anything
--json     where the figures go; DIR/scorecard.json if not given
--page     replaces the table between the two scorecard marks of that page

Tests print lines "figure: NAME COUNT", which are added up over all programs, and
"member: NAME ID", whose IDs are counted once (tests/support/test.h). A line
"count: N name" is a figure, too. Programs that are not there give no row a
figure: "not there yet". Coverage and sanitizers are read from the last run of
`make coverage`, `make asan`, `make tsan` and `make msan`, fuzz executions from
that of `make fuzz`; their rows have the date of that run.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "<!-- scorecard -->"
TODAY = datetime.date.today().isoformat()
FIGURE = re.compile(r"^figure: (\S+) (\d+)\s*$", re.M)
MEMBER = re.compile(r"^member: (\S+) (.+?)\s*$", re.M)
COUNT = re.compile(r"^count: (\d+) (\S+)\s*$", re.M)
NEGATIVE = re.compile(r"RNL_ERROR_|expect_error|fail_next|fail_kernel|sweep_|"
                      r"round_sweep")

# Tests that print figures: a regular expression of names, and what is set for
# them in the long form.
PRINTING = [
    (r"^(cache_)?sweeps\.", {"RUNNEL_SWEEP": "full"}),
    (r"^cuda_faults\.", {"RUNNEL_SWEEP": "full"}),
    (r"^conformance\.\w+_are_released_while_they_are_used$", {}),
    (r"^conformance\.nodes_are_removed_while_they_are_used$", {}),
    (r"^conformance\.delayed_", {}),
    (r"^conformance\.every_call_does_in_a_capture_what_the_table_says$", {}),
]
DELAY_SEEDS = 20


class Figures:
    """What test programs printed, and how many of them failed."""

    def __init__(self):
        self.sums = collections.Counter()
        self.members = collections.defaultdict(set)
        self.runs = self.failed = 0

    def read(self, text):
        for name, count in FIGURE.findall(text):
            self.sums[name] += int(count)
        for count, name in COUNT.findall(text):
            self.sums[name] += int(count)
        for name, member in MEMBER.findall(text):
            self.members[name].add(member)

    def get(self, *names):
        """The sum of those that were printed, or None."""
        found = [self.sums[name] for name in names if name in self.sums]
        return sum(found) if found else None

    def count(self, name):
        return len(self.members[name]) if name in self.members else None


def listed(build):
    """(name, command, environment) of every test of a build."""
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                          check=True, capture_output=True, text=True).stdout
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        environment = dict(item.split("=", 1)
                           for item in properties.get("ENVIRONMENT", []))
        if "command" in test:
            yield test["name"], test["command"], environment


def run(figures, command, environment, limit):
    """Runs one test and keeps what it printed."""
    figures.runs += 1
    try:
        done = subprocess.run(command, env={**os.environ, **environment},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit)
        text = done.stdout.decode("utf-8", "replace")
        failed = done.returncode not in (0, 77)
    except subprocess.TimeoutExpired as late:
        text, failed = (late.stdout or b"").decode("utf-8", "replace"), True
    figures.read(text)
    figures.failed += failed
    if failed:
        print(f"FAILED: {' '.join(command)}\n{text[-2000:]}", file=sys.stderr)


def run_random(figures, tests, name, count):
    """A generator of random cases, once with many seeds of its own."""
    seed = str(int(datetime.date.today().strftime("%y%m%d")) * 1000)
    for test, command, environment in tests:
        if test == name:
            run(figures, [command[0], "--seed", seed, "--count", str(count)],
                environment, 24 * 3600)


def run_all(figures, tests):
    for name, command, environment in tests:
        for pattern, extra in PRINTING:
            if not re.search(pattern, name) or ".delayed_2." in name:
                continue
            seeds = range(1, 1 + (DELAY_SEEDS if ".delayed_" in name else 1))
            for seed in seeds:
                run(figures, command,
                    {**environment, **extra, "RUNNEL_DELAYS": str(seed)}, 7200)
    run_random(figures, tests, "programs.random_1", 200000)
    run_random(figures, tests, "differential.random_1", 2000)


def read_last(figures, build):
    """What tools/run-tests kept of the last whole run."""
    log = pathlib.Path(build) / "output.log"
    if not log.exists():
        sys.exit(f"{log} is missing: run `make test` first, without TESTS=")
    text = log.read_text(encoding="utf-8", errors="replace")
    figures.read(text)
    figures.runs = len(re.findall(r"^Test (?:Passed|Failed)", text, re.M))
    figures.failed = len(re.findall(r"^Test Failed", text, re.M))


def functions(paths):
    """(name, is a test, body) of each function in C files."""
    start = re.compile(r"^(RNL_TEST\((?P<test>\w+)\)|[a-z][\w \*]*?"
                       r"(?P<name>\w+)\([^;{}]*\))\n\{\n(?P<body>.*?)^\}",
                       re.M | re.S)
    for path in paths:
        for match in start.finditer(path.read_text(encoding="utf-8")):
            yield (match["test"] or match["name"], bool(match["test"]),
                   match["body"])


def sign_of_tests():
    """How many tests in C expect a failure, themselves or by a function of
    their folder, and how many do not."""
    negative = positive = 0
    for folder in sorted((ROOT / "tests").glob("*/")):
        found = list(functions(sorted(folder.glob("*.c"))))
        failing = {name for name, _, body in found if NEGATIVE.search(body)}
        for _ in range(2):
            failing |= {name for name, _, body in found
                        if failing & set(re.findall(r"\w+(?=\()", body))}
        for name, is_test, _ in found:
            negative += is_test and name in failing
            positive += is_test and name not in failing
    return negative, positive


def rows_of(*paths, pattern):
    return sum(len(re.findall(pattern, path.read_text(encoding="utf-8"), re.M))
               for path in (ROOT / "tests" / "conformance" / name
                            for name in paths) if path.exists())


def sites():
    """Calls in the library of functions that tests/faults stands in for."""
    text = (ROOT / "tests/faults/fault.c").read_text(encoding="utf-8")
    names = re.findall(r"^(?:SYSTEM|STAND_IN)\((?:FAULT_\w+, )?[^,]+, (\w+),",
                       text, re.M) + ["open", "openat"]
    return names


def count_sites(build):
    library = pathlib.Path(build) / "lib/librunnel.so"
    try:
        text = subprocess.run(["objdump", "-dR", library], check=True,
                              capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    names = "|".join(sites())
    return len(re.findall(rf"(?:call|jmp)\s.*<({names})@", text)) or None


def coverage(build):
    """{folder: (lines %, branches %)} of the last coverage run, and its date."""
    folder = pathlib.Path(build).parent / "coverage"
    log = folder / "tests.log"
    found = {}
    if not log.exists():
        return found, None
    for part in ("src/base", "src/core", "src/backends/cpu",
                 "src/backends/cudalike", "src/backends/cuda", "src/backends/hip",
                 "compiler", "cli"):
        try:
            text = subprocess.run(
                ["gcovr", "--root", ROOT, "--filter", f"{ROOT}/{part}/",
                 "--gcov-ignore-parse-errors", "--json-summary", folder],
                check=True, capture_output=True, text=True).stdout
            got = json.loads(text)
            found[part] = got["line_percent"], got["branch_percent"]
        except (OSError, subprocess.CalledProcessError, ValueError, KeyError):
            continue
    return found, dated(log)


def dated(path):
    return datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()


def sanitizers(build):
    """What the last run of each sanitizer gave."""
    for name in ("asan", "tsan", "msan"):
        log = pathlib.Path(build).parent / name / "tests.log"
        if not log.exists():
            yield name, None, None
            continue
        text = log.read_text(encoding="utf-8", errors="replace")
        passed = len(re.findall(r"Test +#\d+: .* Passed ", text))
        failed = len(re.findall(r"Test +#\d+: .*\*\*\*(?!Skipped)", text))
        yield name, f"{passed} passed, {failed} failed", dated(log)


def fuzz_executions(build):
    """(executions, no goal, date) of the last run of each fuzz target."""
    logs = sorted((pathlib.Path(build).parent / "fuzz").glob("*.log"))
    units = re.compile(r"^stat::number_of_executed_units: *(\d+)", re.M)
    counts = [int(count) for log in logs for count in
              units.findall(log.read_text(encoding="utf-8", errors="replace"))]
    return (sum(counts), None, dated(logs[-1])) if counts else (None,)


class Card:
    """The rows."""

    def __init__(self):
        self.rows = []

    def add(self, name, figure, goal=None, date=TODAY):
        met = None
        if isinstance(goal, (int, float)) and figure is not None:
            met = figure >= goal
        self.rows.append({"name": name, "figure": figure, "goal": goal,
                          "met": met,
                          "date": date if figure is not None else None})

    def table(self):
        yield "| what | figure | goal | of |"
        yield "|---|---:|---:|---|"
        for row in self.rows:
            figure = shown(row["figure"])
            if row["met"] is False:
                figure += " (not met)"
            yield (f"| {row['name']} | {figure} | {shown(row['goal'], '')} | "
                   f"{row['date'] or ''} |")


def shown(value, absent="not there yet"):
    if value is None:
        return absent
    return f"{value:,}" if isinstance(value, int) else str(value)


def add_injected(card, figures, build):
    card.add("scenarios of faults", figures.count("scenarios"), 60)
    card.add("failed allocations", figures.get("failed-allocations"), 100000)
    card.add("failed driver calls", figures.get("failed-driver-calls"), 30000)
    card.add("error codes of the driver", figures.count("driver-codes"), 11)
    card.add("failed thread starts", figures.get("failed-thread-starts"), 1000)
    card.add("failed system calls", figures.get("failed-system-calls"), 1000)
    card.add("places of the library that met one",
             figures.count("failed-sites"), count_sites(build))
    card.add("pairs of faults",
             figures.get("fault-pairs", "driver-call-pairs"), 10000)
    card.add("delays at locks and waits",
             figures.get("delays", "interruptions"), 100000)


def add_matrices(card, figures):
    card.add("rows of the handle matrix",
             rows_of("handles.c", "handles_graph.c",
                     pattern=r'^\s*\{"rnl_\w+", "\w+"'))
    card.add("cells of the capture matrix", figures.get("capture-cells"))
    card.add("cells of the release races",
             figures.count("release-cells"), 178)


def make(arguments):
    figures, card = Figures(), Card()
    tests = list(listed(arguments.build))
    for log in arguments.log:
        figures.read(log.read_text(encoding="utf-8", errors="replace"))
    if arguments.short and not arguments.log:
        read_last(figures, arguments.build)
    elif not arguments.log:
        run_all(figures, tests)
    negative, positive = sign_of_tests()
    card.add("tests", len(tests))
    card.add("tests in C that expect a failure, and others",
             f"{negative} : {positive}")
    add_injected(card, figures, arguments.build)
    add_matrices(card, figures)
    card.add("fuzz executions", *fuzz_executions(arguments.build))
    card.add("random programs", figures.get("random-programs"))
    card.add("random kernels", figures.get("random-kernels"))
    covered, date = coverage(arguments.build)
    for part, (lines, branches) in covered.items():
        goals = (98, 92) if part == "src/core" else (None, None)
        card.add(f"lines of {part} covered, %", lines, goals[0], date)
        card.add(f"branches of {part} covered, %", branches, goals[1], date)
    if not covered:
        card.add("lines and branches covered", None)
    for name, result, when in sanitizers(arguments.build):
        card.add(f"tests under {name}", result, date=when)
    if not arguments.log:
        card.add("runs for this card", figures.runs)
        card.add("runs that failed", figures.failed)
    return card, figures


def put_into(page, lines, short):
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(MARK, 1)
    after = rest.split(MARK, 1)[1]
    note = "Short form of " if short else ""
    page.write_text(f"{before}{MARK}\n{note}{TODAY}\n\n" + "\n".join(lines) +
                    f"\n{MARK}{after}", encoding="utf-8")


def self_test():
    figures = Figures()
    figures.read("figure: a 3\nfigure: a 4\nmember: m x y\nmember: m x y\n"
                 "count: 9 b\nno figure: a 1\n")
    assert figures.get("a") == 7 and figures.get("b") == 9
    assert figures.count("m") == 1 and figures.get("c") is None
    card = Card()
    card.add("low", 5, 6)
    card.add("none", None, 6)
    assert card.rows[0]["met"] is False and card.rows[1]["met"] is None
    assert "not there yet" in list(card.table())[3]
    assert len(sites()) > 20
    negative, positive = sign_of_tests()
    assert negative > 0 and positive > 0
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--build", default=str(ROOT / "build/dev"))
    parser.add_argument("--log", type=pathlib.Path, nargs="+", default=[])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    card, figures = make(arguments)
    lines = list(card.table())
    print("\n".join(lines))
    out = arguments.json or pathlib.Path(arguments.build) / "scorecard.json"
    out.write_text(json.dumps({"date": TODAY, "short": arguments.short,
                               "rows": card.rows,
                               "figures": dict(figures.sums)}, indent=1) + "\n",
                   encoding="utf-8")
    if arguments.page:
        put_into(arguments.page, lines, arguments.short)
    # The short form ran nothing: `make test` has told what failed.
    return 1 if figures.failed and not arguments.short else 0


sys.exit(main())

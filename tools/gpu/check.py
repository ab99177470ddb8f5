"""gpu-check run: the parts one after the other, and the table."""

import json
import os
import pathlib

import gpu.benches as benches
import gpu.differential as differential
import gpu.machine as machine
import gpu.running as running
import gpu.sanitizer as sanitizer
import gpu.suite as suite

# With their shares of a time that is limited.
PARTS = {"conformance": 4, "differential": 1, "sanitizer": 2, "bench": 4}
GROUPS_MOST = 20


def add_options(parser):
    add = parser.add_argument
    add("folder", type=pathlib.Path, help="a pack or a build folder")
    add("--device", default=machine.usual_device(),
        help="cuda:0, or hip:0 where there are only AMD GPUs")
    add("--only", action="append", choices=list(PARTS),
        help="this part; may be given again")
    add("--filter", default=r"^conformance\.", metavar="REGEX",
        help="the tests to run, by name; default: the suite's")
    add("--limit", type=float, default=0, metavar="SECONDS",
        help="of everything; what is not done by then is left out")
    add("--test-limit", type=float, default=20, metavar="SECONDS",
        help="of one test; default: 20")
    add("--random", type=int, default=differential.RANDOM_TESTS,
        metavar="N",
        help=f"so many times {differential.RANDOM_KERNELS} random kernels and "
             f"{differential.PROGRAMS} programs; "
             f"default: {differential.RANDOM_TESTS}")
    add("--sanitizer-filter", metavar="REGEX",
        help="the tests to run with compute-sanitizer; default: some forty")
    add("--bench-filter", default=".", metavar="REGEX",
        help="the rows of runnel-bench to measure")
    add("--quick", action="store_true",
        help="fewer rounds of each row: a look, not for quoting")
    add("--no-peers", action="store_true",
        help="leave cuda.core, CuPy and PyTorch out")
    add("--most-failures", type=int, default=0, metavar="N",
        help="no further test after so many")
    add("--jobs", type=int, default=max(1, min(8, os.cpu_count() or 1)),
        help="tests at once; default: at most 8")
    add("--out", type=pathlib.Path,
        default=pathlib.Path(os.environ.get("OUT", "gpu-check")),
        help="the folder for results; default: $OUT, or gpu-check")
    add("--json", action="store_true",
        help="print the table as JSON instead")


class Report:
    """What goes into the files, and what is printed last."""

    def __init__(self, folder):
        self.folder = folder
        self.lines = []
        self.data = {}
        self.good = True
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, name, text):
        (self.folder / name).write_text(text[:16 << 20], encoding="utf-8")

    def section(self, title, lines):
        self.lines += ["", f"== {title} =="] + lines
        # At once: a machine may be taken away.
        self.write("table.txt", "\n".join(self.lines[1:]) + "\n")
        self.write("results.json", json.dumps(self.data, indent=1) + "\n")


def _run_suite(name, tests, place, options, clock, report):
    print(f"{len(tests)} tests on {place.device}, {options.jobs} at once",
          flush=True)
    ran = suite.Suite(place, options, clock)
    ran.run(tests)
    report.write(f"{name}.txt", suite.texts_of(ran))
    report.data[name] = suite.json_of(ran)
    report.good = report.good and bool(tests) and not ran.bad()
    report.section(f"{name} on {place.device}, {clock.spent():.0f} s",
                   suite.lines_of(ran, GROUPS_MOST))


def _conformance(place, options, clock, report):
    _run_suite("conformance", suite.load(place, options.filter), place,
               options, clock, report)


def _differential(place, options, clock, report):
    _run_suite("differential",
               differential.tests_for(place, options.random), place, options,
               clock, report)


def _sanitizer(place, options, clock, report):
    if place.device.startswith("hip"):
        report.section("sanitizer", ["skipped: there is none for AMD GPUs"])
        return
    program = sanitizer.find()
    if not program:
        report.section("sanitizer", ["skipped: no compute-sanitizer"])
        return
    tests = sanitizer.choose(suite.load(place, "."), options.sanitizer_filter)
    print(f"{len(tests)} tests with compute-sanitizer", flush=True)
    ran = sanitizer.Sanitized(place, options, clock, program)
    ran.run(tests)
    report.write("sanitizer.txt", suite.texts_of(ran))
    report.data["sanitizer"] = suite.json_of(ran)
    report.good = report.good and not ran.bad()
    report.section(f"compute-sanitizer, {clock.spent():.0f} s",
                   sanitizer.lines_of(ran))


def _bench(place, options, clock, report):
    ran = benches.Benches(place, options, clock)
    ran.run(report.folder)
    report.write("bench.txt", "\n".join(ran.texts))
    report.data["bench"] = {"rows": list(ran.rows.values()),
                            "goals": ran.goals, "wrong": ran.wrong,
                            "python": ran.peers}
    report.good = report.good and not ran.wrong
    report.section(f"benches on {place.device}, "
                   f"{clock.spent():.0f} s"
                   f"{' (quick: not for quoting)' if options.quick else ''}",
                   benches.lines_of(ran))


_RUNS = {"conformance": _conformance, "differential": _differential,
         "sanitizer": _sanitizer, "bench": _bench}


def run(options):
    clock = running.Clock(options.limit)
    place = machine.Place(options.folder, options.device)
    report = Report(options.out)
    facts, line = machine.describe(place)
    report.write("machine.txt", facts)
    report.data["machine"] = line
    report.section("machine", [line])
    print(line, flush=True)
    there, told = machine.has_device(place)
    if there:
        left = [part for part in PARTS
                if not options.only or part in options.only]
        while left:
            share = PARTS[left[0]] / sum(PARTS[part] for part in left)
            _RUNS[left.pop(0)](place, options, clock.share(share), report)
    else:
        report.good = False
        report.section(f"no {place.device}", told.splitlines()[:40])
    print(json.dumps(report.data) if options.json
          else "\n".join(report.lines), flush=True)
    return 0 if report.good else 1

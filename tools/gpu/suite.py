"""gpu-check run: tests of the suite on the device, each a process of its own."""

import collections
import json
import re
import threading

import gpu.running as running

SKIPPED = 77
AGAIN_MOST = 40  # failed tests that are run once more, alone
STACKS_MOST = 6  # tests that hang and are asked where
PROGRESS_SECONDS = 10

Test = collections.namedtuple("Test", "name command environment")
Outcome = collections.namedtuple("Outcome", "state why seconds output")

# Of a failed test's output, what says nothing about the failure.
_FRAME = re.compile(r"^\[(=====|  PASSED|  FAILED|\s*RUN|\s*OK|\s*LINE)"
                    r"|^ *\d+ FAILED TEST|^\s*$|^skipped: ")


def load(where, pattern):
    """The tests of a pack, or of a build folder, whose name matches."""
    manifest = where.folder / "tests.json"
    if manifest.exists():
        listed = json.loads(manifest.read_text())
    else:
        from gpu.pack import tests_of
        listed = tests_of(where.folder)
    chosen = re.compile(pattern)
    return [Test(one["name"], one["command"], one["environment"])
            for one in listed if chosen.search(one["name"])]


def cause(output):
    """One line of a failed test's output that stands for the rest: what the
    assertion says, else what was printed last before it; and where it is."""
    said, text = [], ""
    for line in output.splitlines():
        if line.startswith("[  ERROR   ] ---"):
            text = line.removeprefix("[  ERROR   ] ---").strip()
            break
        if not _FRAME.search(line):
            said.append(line.strip())
    if not text or text.startswith("[   LINE"):
        errors = [line for line in said if line.startswith("ERROR:")]
        if len(said) > 1 and said[-1].startswith("gave "):
            said[-2] = said[-2].partition("(")[0]
        text = " ".join(errors[:1] or said[-2:]) or "it printed nothing"
    place = re.search(r"([\w.]+\.c:\d+): error", output)
    return f"{text} ({place[1]})" if place else text


def _waits_in(output):
    """The call of the library that the main thread of a process is in."""
    stack = output.rpartition("\nThread 1 ")[2]
    call = re.search(r"\b(rnl_\w+) \(", stack)
    return f", in {call[1]}" if call else ""


def judge(result):
    if result.timed_out:
        return "hung", (f"not done after {result.seconds:.0f} s"
                        f"{_waits_in(result.output)}")
    if result.code == 0:
        return "passed", ""
    if result.code == SKIPPED:
        said = re.search(r"^skipped: (.*)$", result.output, re.M)
        why = said[1] if said else "it does not say why"
        state = "skipped"
        if "is expected to fail this:" in why:
            state = "expected"
        elif "cannot do this:" in why:
            state = "unsupported"
        return state, why
    if result.code < 0:
        return "crashed", (f"{running.signal_name(result.code)}: "
                           f"{cause(result.output)}")
    return "failed", cause(result.output)


class Suite:
    """Runs tests and remembers how they went. `wrap` gives the program to run
    one with, and `judge` makes a state and a reason of its result."""

    judge = staticmethod(judge)

    @staticmethod
    def wrap(_test):
        return []

    def __init__(self, where, options, clock):
        self.where = where
        self.options = options
        self.clock = clock
        self.jobs = options.jobs
        self.test_limit = options.test_limit
        self.outcomes = {}
        self.again = {}
        self.stacks = 0
        self.lock = threading.Lock()
        self.said = 0.0

    def _wants_stacks(self):
        with self.lock:
            self.stacks += 1
            return self.stacks <= STACKS_MOST

    def _limit(self, test):
        return min(self.test_limit, self.clock.left())

    def _one(self, test):
        if self.clock.left() <= 1 or self._enough():
            return Outcome("not run", "no time was left", 0.0, "")
        environment = self.where.environment(test.environment)
        program = self.where.folder / test.command[0]
        limit = self._limit(test)
        result = running.run([*self.wrap(test), program,
                              *test.command[1:]],
                             limit, environment, self._wants_stacks)
        if result.timed_out and limit < self.test_limit:
            return Outcome("not run", "no time was left", result.seconds,
                           result.output)
        return Outcome(*self.judge(result), result.seconds, result.output)

    def _enough(self):
        most = self.options.most_failures
        return most and len(self.bad()) >= most

    def _tell(self, test, outcome):
        self.outcomes[test.name] = outcome
        count, total = len(self.outcomes), self.total
        bad = outcome.state in ("failed", "crashed", "hung")
        now = self.clock.spent()
        if bad and len(self.bad()) <= 60:
            print(f"[{count:4}/{total} {now:4.0f} s] {outcome.state}: "
                  f"{test.name}: {outcome.why[:160]}", flush=True)
        elif now - self.said > PROGRESS_SECONDS:
            self.said = now
            print(f"[{count:4}/{total} {now:4.0f} s] "
                  f"{len(self.bad())} failed", flush=True)

    def run(self, tests):
        self.total = len(tests)
        self.said = self.clock.spent()
        running.several(self.jobs, tests, self._one, self._tell)
        bad = set(self.bad())
        for test in [test for test in tests if test.name in bad][:AGAIN_MOST]:
            if self.outcomes[test.name].state != "hung" or len(bad) < 4:
                self.again[test.name] = self._one(test)

    def bad(self):
        return [name for name, outcome in self.outcomes.items()
                if outcome.state in ("failed", "crashed", "hung")]

    def counts(self):
        return collections.Counter(outcome.state
                                   for outcome in self.outcomes.values())

    def groups(self, *states):
        """Names by the reason that they share, the largest group first.
        Numbers and addresses in a reason make no difference."""
        groups = collections.defaultdict(list)
        for name, outcome in self.outcomes.items():
            if outcome.state in states:
                same = re.sub(r"0x[0-9a-f]+|\d+", "#", outcome.why)
                groups[outcome.state, same].append(name)
        return sorted(groups.items(), key=lambda group: -len(group[1]))


def _unprefixed(names):
    return [name.split(".", 1)[-1] for name in names]


def lines_of(suite, most):
    """What the table at the end says of the suite."""
    counts = suite.counts()
    states = ["passed", "failed", "crashed", "hung", "expected", "unsupported",
              "skipped", "not run"]
    lines = ["  ".join(f"{counts[state]} {state}" for state in states
                       if counts[state] or state in ("passed", "failed"))]
    shown = 0
    for (state, _), names in suite.groups("failed", "crashed", "hung"):
        if shown == most:
            lines.append("  … and more, in the folder of results")
            break
        shown += 1
        why = suite.outcomes[names[0]].why
        lines.append(f"  {state} x {len(names)}: {why[:180]}")
        text = " ".join(_unprefixed(names))
        lines.append(f"      {text[:180]}{'…' if len(text) > 180 else ''}")
    alone = [name for name, outcome in suite.again.items()
             if outcome.state == "passed"]
    if alone:
        lines.append(f"  passed when run alone: {' '.join(_unprefixed(alone))}")
    for (state, _), names in suite.groups("expected", "unsupported",
                                          "skipped"):
        why = suite.outcomes[names[0]].why
        example = names[0].split(".", 1)[-1]
        lines.append(f"  {state} x {len(names)}: {why[:150]} ({example}…)")
    slow = sorted(suite.outcomes.items(), key=lambda one: -one[1].seconds)[:3]
    lines.append("  slowest: " + ", ".join(
        f"{name.split('.', 1)[-1]} {outcome.seconds:.1f} s"
        for name, outcome in slow))
    return lines


def texts_of(suite):
    """The whole output of what did not pass."""
    parts = []
    for name in suite.bad():
        outcome = suite.outcomes[name]
        parts.append(f"=== {name}: {outcome.state} after "
                     f"{outcome.seconds:.1f} s: {outcome.why}\n"
                     f"{outcome.output}")
        if name in suite.again:
            parts.append(f"--- alone: {suite.again[name].state}\n")
    return "\n".join(parts) + "\n"


def json_of(suite):
    return {name: {"state": outcome.state, "why": outcome.why,
                   "seconds": round(outcome.seconds, 3)}
            for name, outcome in suite.outcomes.items()}

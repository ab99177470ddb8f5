"""gpu-check run: the rows of runnel-bench, each a process of its own so that
one that crashes or hangs does not lose the others, and the Python peers.
"""

import json
import pathlib
import re
import sys

import gpu.running as running

ROW_LIMIT = 90
PEERS_LIMIT = 90
PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench/cuda_peers.py"


class Benches:
    def __init__(self, place, options, clock):
        self.place = place
        self.options = options
        self.clock = clock
        self.program = place.program("runnel-bench")
        self.environment = place.environment()
        self.rows = {}     # by name: the row of its JSON
        self.goals = []
        self.wrong = []    # (name, why)
        self.texts = []
        self.peers = {}

    def _ask(self, *arguments, limit=30):
        return running.run([self.program, "--device", self.options.device,
                            *arguments], limit, self.environment)

    def names(self):
        listed = self._ask("--list").output
        chosen = re.compile(self.options.bench_filter)
        return [line.split()[0] for line in listed.splitlines()
                if line.strip() and chosen.search(line.split()[0])]

    def _row(self, name, folder):
        found = folder / "row.json"
        found.unlink(missing_ok=True)
        arguments = ["--row", name, "--json", str(found)]
        if self.options.quick:
            arguments.append("--quick")
        result = self._ask(*arguments, limit=min(ROW_LIMIT, self.clock.left()))
        self.texts.append(f"=== {name}: exit status {result.code}, "
                          f"{result.seconds:.1f} s\n{result.output}")
        if result.timed_out:
            self.wrong.append((name, f"hung: {result.seconds:.0f} s"))
        elif result.code < 0:
            self.wrong.append((name, running.signal_name(result.code)))
        print(self._measured(name, result.output), flush=True)
        if not found.exists():
            if not result.timed_out and result.code >= 0:
                self.wrong.append((name, "no figures in JSON: see bench.txt"))
            return
        told = json.loads(found.read_text())
        self.goals += told["goals"]
        for row in told["rows"]:
            self.rows[row["name"]] = row
            for series in row["series"]:
                if "wrong" in series:
                    self.wrong.append((name, f"{series['name']}: "
                                             f"{series['wrong']}"))
        found.unlink()

    @staticmethod
    def _measured(name, output):
        lines = output.splitlines()
        for number, line in enumerate(lines):
            if line.startswith(f"{name}:"):
                rest = lines[number + 1:]
                end = next((i for i, text in enumerate(rest)
                            if not text.startswith("  ")), len(rest))
                return "\n".join([line] + rest[:end])
        return f"{name}: nothing was measured"

    def run(self, folder):
        for name in self.names():
            if self.clock.left() < 5:
                self.wrong.append((name, "no time was left"))
                continue
            self._row(name, folder)
        if (self.clock.left() > 10 and not self.options.no_peers
                and self.options.device.startswith("cuda")):
            self._run_peers()

    def _run_peers(self):
        limit = min(PEERS_LIMIT, self.clock.left())
        result = running.run([sys.executable, PEERS, str(limit - 5)], limit)
        self.texts.append(f"=== Python peers\n{result.output}")
        told = [line for line in result.output.splitlines()
                if line.startswith("{")]
        self.peers = json.loads(told[-1]) if told else {}


def _time(value):
    for unit in ("ns", "µs", "ms"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} s"


def _goal_line(goal):
    own = _time(goal["own_ns"]) if "own_ns" in goal else "-"
    peer = _time(goal["peer_ns"]) if "peer_ns" in goal else "-"
    ratio = goal.get("ratio")
    figures = "-"
    if ratio:
        figures = (f"{ratio['median']:.2f} ({ratio['low95']:.2f}.."
                   f"{ratio['high95']:.2f})")
    verdict = goal["verdict"] + (" ~" if goal.get("in_noise") else "")
    wanted = " / ".join(filter(None, [goal["goal"], goal["beyond"]]))
    return (f"{goal['what']:28} {own:>8} {peer:>8} {figures:>20}  "
            f"{wanted:22} {verdict}")


def _why_not(ran, goal):
    row = ran.rows.get(goal["row"], {})
    for series in row.get("series", []):
        if "skipped" in series:
            return f"    {series['name']}: {series['skipped'][:150]}"
    return None


def _middle(ran, row, name):
    for series in ran.rows.get(row, {}).get("series", []):
        if series["name"] == name and "p50_ns" in series:
            return _time(series["p50_ns"])
    return "-"


def _peer_lines(ran):
    if not ran.peers:
        return []
    launch = "cuda/launch/3-arguments"
    pool = "cuda/allocate/4Ki"
    rows = [("Runnel", _middle(ran, launch, "runnel"),
             _middle(ran, pool, "runnel, on a stream")),
            ("the driver", _middle(ran, launch, "driver"),
             _middle(ran, pool, "cuMemAllocAsync"))]
    lines = [f"{'beside':12} {'launch':>8} {'allocate + free 4 KiB':>22}"]
    for name, figures in ran.peers.items():
        if "skipped" in figures:
            lines.append(f"{name:12} skipped: {figures['skipped'][:120]}")
        else:
            rows.append((f"{name}", _time(figures["launch_ns"]),
                         _time(figures["allocate_ns"])))
    return lines[:1] + [f"{name:12} {one:>8} {other:>22}"
                        for name, one, other in rows] + lines[1:]


def lines_of(ran):
    lines = [f"{'what':28} {'runnel':>8} {'peer':>8} "
             f"{'peer / runnel (95 %)':>20}  {'goal / beyond':22}"]
    said = set()
    for goal in ran.goals:
        lines.append(_goal_line(goal))
        why = _why_not(ran, goal)
        if goal["verdict"] == "not measured" and why and why not in said:
            said.add(why)
            lines.append(why)
    lines += [f"WRONG {name}: {why}" for name, why in ran.wrong]
    return lines + _peer_lines(ran)

#!/usr/bin/env python3
"""The model of docs/concepts/communication.md for an all-reduce: computes the
table there and the errors that the page states, and compares.

usage: scaling.py PAGE     ends with 1 where the page has other numbers
       scaling.py --print
"""

import math
import pathlib
import sys

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
HOST = 8  # devices of a host
SIZES = (MIB, 64 * MIB, GIB)

# Of hosts with 8 H100 and a network card of 400 Gbit/s for each.
STEP_IN_HOST = 0.9e-6
ENTER_NETWORK = 29.5e-6
STEP_BETWEEN_HOSTS = 2.5e-6
LINK = 367e9
CARD = 47e9


def seconds(size, hosts):
    """Rings within the hosts, halving and doubling between them, at once."""
    latency = 2 * (HOST - 1) * STEP_IN_HOST
    inside = 2 * size * (HOST - 1) / (HOST * LINK)
    between = 0.0
    if hosts > 1:
        latency += ENTER_NETWORK + 2 * math.log2(hosts) * STEP_BETWEEN_HOSTS
        between = 2 * size * (hosts - 1) / (hosts * HOST * CARD)
    return latency + max(inside, between)


def bus_bandwidth(size, hosts):
    devices = HOST * hosts
    return 2 * (devices - 1) / devices * size / seconds(size, hosts)


def time_text(value):
    return f"{value * 1e6:.0f} us" if value < 1e-3 else f"{value * 1e3:.2f} ms"


def table():
    for hosts in (1, 8, 32, 128):
        cells = [f"{time_text(seconds(size, hosts))}, "
                 f"{bus_bandwidth(size, hosts) * 1e-9:.0f} GB/s"
                 for size in SIZES]
        yield f"| {HOST * hosts:,} | {' | '.join(cells)} |"


# (hosts, bytes, what was published in GB/s or as a time in us)
PUBLISHED = [
    (1, 4 * GIB, 367, "GB/s"),
    (4, 4 * GIB, 320, "GB/s"),
    (8, 4 * GIB, 280, "GB/s"),
    (16, 8, 62, "us"),
    (16, 64 * MIB, 150, "GB/s"),
    (248, 512 * MIB, 350, "GB/s"),
]


def comparisons():
    for hosts, size, value, unit in PUBLISHED:
        model = (bus_bandwidth(size, hosts) * 1e-9 if unit == "GB/s"
                 else seconds(size, hosts) * 1e6)
        yield f"| {value} {unit} | {model:.0f} {unit} |"


# The two hosts of 8 in the page's first source: bytes and microseconds.
SOURCE = [(MIB, 203.2), (8 * MIB, 571.9), (16 * MIB, 977.6), (64 * MIB, 1261.6),
          (GIB, 6759.0)]


def one_level():
    """A single ring: 123 us for few bytes, and 339 GB/s at 8 GiB."""
    for size, measured in SOURCE:
        bytes_sent = 2 * size * 15 / 16
        model = 123 + bytes_sent / 339e9 * 1e6
        yield (f"| {size // MIB:,} MiB | {measured:,.0f} us | {model:,.0f} us | "
               f"{100 * (model / measured - 1):.0f} % |")


def main(page):
    lines = [*table(), *comparisons(), *one_level()]
    if page == "--print":
        print("\n".join(lines))
        return 0
    text = pathlib.Path(page).read_text()
    missing = [line for line in lines if line not in text]
    for line in missing:
        print(f"{page}: the model gives: {line}")
    print(f"{page}: {len(lines)} rows, {len(missing)} are others")
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

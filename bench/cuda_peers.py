"""What launches and allocations cost from Python on this GPU, with cuda.core,
CuPy and PyTorch: shown beside runnel-bench's rows, not in them, since a call
from Python pays for Python. Prints one JSON object; a peer that cannot be
imported has its reason.

usage: cuda_peers.py [SECONDS]
"""

import json
import statistics
import sys
import time

SOURCE = r"""
extern "C" __global__ void add(unsigned long long *sum, int value, int ignored)
{ if (sum) *sum += value; }
"""
CALLS = 200
ROUNDS = 15


def median_ns(calls, wait):
    """The median of the rounds, ns a call; the waits are not in it."""
    times = []
    for number in range(ROUNDS + 3):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            calls()
        times.append((time.perf_counter_ns() - start) / CALLS)
        wait()
        if number < 3:  # warming
            times.pop()
    return statistics.median(times)


def cuda_core():
    try:
        from cuda.core import (Device, LaunchConfig, Program, ProgramOptions,
                               launch)
    except ImportError:
        from cuda.core.experimental import (Device, LaunchConfig, Program,
                                            ProgramOptions, launch)
    import numpy
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    program = Program(SOURCE, code_type="c++", options=options)
    kernel = program.compile("cubin").get_kernel("add")
    config = LaunchConfig(grid=1, block=1)
    arguments = (0, numpy.int32(1), numpy.int32(2))

    def allocate():
        device.allocate(4096, stream=stream).close(stream)
    return {"launch_ns": median_ns(
                lambda: launch(stream, config, kernel, *arguments),
                stream.sync),
            "allocate_ns": median_ns(allocate, stream.sync)}


def cupy():
    import cupy as library
    import numpy
    kernel = library.RawKernel(SOURCE, "add")
    arguments = (numpy.uint64(0), numpy.int32(1), numpy.int32(2))
    wait = library.cuda.get_current_stream().synchronize
    return {"launch_ns": median_ns(
                lambda: kernel((1,), (1,), arguments), wait),
            "allocate_ns": median_ns(
                lambda: library.cuda.alloc(4096), wait)}


def torch():
    import torch as library
    small = library.zeros(1, device="cuda")
    wait = library.cuda.synchronize
    return {"launch_ns": median_ns(lambda: small.add_(1), wait),
            "allocate_ns": median_ns(
                lambda: library.empty(4096, dtype=library.uint8,
                                      device="cuda"), wait)}


def main():
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
    end = time.monotonic() + limit
    found = {}
    for name, peer in [("cuda.core", cuda_core), ("CuPy", cupy),
                       ("PyTorch", torch)]:
        if time.monotonic() > end:
            found[name] = {"skipped": "no time was left"}
        else:
            try:
                found[name] = peer()
            # Whatever a peer says is its reason.
            except Exception as problem:  # pylint: disable=broad-except
                found[name] = {"skipped": f"{type(problem).__name__}: "
                                          f"{problem}"[:200]}
        # At once: importing may end the process.
        print(json.dumps(found), flush=True)


main()

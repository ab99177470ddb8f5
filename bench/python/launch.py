#!/usr/bin/env python3
"""What a launch with four arguments costs the caller, side by side: in C, from
Python, through ctypes, and where they are installed with cuda.core and CuPy.

usage: PYTHONPATH=build/dev/python bench/python/launch.py [DEVICE] [BATCHES]

Each batch enqueues 100 launches of a kernel that does nothing, by a clock of
the host, and then waits, which is not counted. Batches of all kinds take turns;
a row shows the least, the median and the 90th percentile of its batches.
"""

import ctypes
import os
import sys
import time

import runnel

SOURCE = """extern "C" __global__ void small(float *a, float *b, int n, float x)
{ if (n < 0) *a = *b + x; }"""
SIZE = 100


def timed(launch, wait):
    """A function that gives the nanoseconds of a launch in one batch."""
    def batch():
        clock = time.perf_counter_ns
        repeat = range(SIZE)
        begin = clock()
        for i in repeat:
            launch(i)
        end = clock()
        wait()
        return (end - begin) / SIZE
    return batch


# --- Each kind ---------------------------------------------------------------

def empty_loop():
    return timed(lambda i: None, lambda: None)


def python_rows(device):
    context = runnel.Context(device)
    stream = context.stream()
    function = context.compile(SOURCE, "small")
    a, b = context.buffer(16, "float32"), context.buffer(16, "float32")
    enqueue = stream.enqueue_function

    def by_stream(i):
        enqueue(function, 1, 32, a, b, i, 1.5)

    def by_call(i):
        function(1, 32, a, b, i, 1.5, stream=stream)
    yield "Python, enqueue_function", timed(by_stream, stream.synchronize)
    yield "Python, function(...)", timed(by_call, stream.synchronize)


class Dim3(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in "xyz"]


class Launch(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("grid", Dim3), ("block", Dim3),
        ("cluster", Dim3), ("shared_size", ctypes.c_size_t),
        ("attributes", ctypes.c_void_p), ("attribute_count", ctypes.c_size_t),
        ("constants", ctypes.c_void_p), ("constant_count", ctypes.c_size_t),
        ("label", ctypes.c_char_p), ("file", ctypes.c_char_p),
        ("line", ctypes.c_int)]


class Value(ctypes.Union):
    _fields_ = [("integer", ctypes.c_uint64), ("single", ctypes.c_float),
                ("pointer", ctypes.c_void_p)]


class Arg(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("size", ctypes.c_uint32),
                ("value", Value)]


class Args(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("count", ctypes.c_size_t),
                ("items", ctypes.POINTER(Arg))]


def ctypes_row(library, api, index):
    """The call without an extension: structs built for each launch."""
    context, stream, function, a, b = (ctypes.c_void_p() for _ in range(5))

    def good(status):
        assert status == 0, status
    good(library.rnl_context_open(api, ctypes.c_size_t(index), None,
                                  ctypes.byref(context)))
    good(library.rnl_stream_create(context, None, ctypes.byref(stream)))
    good(library.rnl_function_compile(context, SOURCE.encode(), b"small", None,
                                      ctypes.byref(function)))
    for buffer in a, b:
        good(library.rnl_buffer_create(context, ctypes.c_size_t(64), None,
                                       ctypes.byref(buffer)))

    def launch(i):
        items = (Arg * 4)(
            Arg(16, 8, Value(pointer=a.value)), Arg(16, 8, Value(pointer=b.value)),
            Arg(2, 4, Value(integer=i)), Arg(3, 4, Value(single=1.5)))
        args = Args(ctypes.sizeof(Args), 4, items)
        shape = Launch(ctypes.sizeof(Launch), Dim3(1, 1, 1), Dim3(32, 1, 1))
        good(library.rnl_enqueue_function(stream, function, ctypes.byref(shape),
                                          ctypes.byref(args)))

    def wait():
        good(library.rnl_stream_synchronize(stream, ctypes.c_uint64(2**64 - 1)))
    return timed(launch, wait)


def cupy_row():
    import cupy
    kernel = cupy.RawKernel(SOURCE, "small")
    a, b = cupy.zeros(16, "float32"), cupy.zeros(16, "float32")
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.float32(1.5)
    stream.use()
    return timed(lambda i: kernel((1,), (32,), (a, b, i, x)),
                 stream.synchronize)


def cuda_core_row():
    import ctypes as types
    try:
        from cuda.core import (Device, LaunchConfig, Program, ProgramOptions,
                               launch)
    except ImportError:
        from cuda.core.experimental import (Device, LaunchConfig, Program,
                                            ProgramOptions, launch)
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    program = Program(SOURCE, code_type="c++", options=ProgramOptions(
        arch="sm_%s" % device.arch if hasattr(device, "arch") else
        "sm_%d%d" % tuple(device.compute_capability)))
    kernel = program.compile("cubin").get_kernel("small")
    a = device.allocate(64, stream=stream)
    b = device.allocate(64, stream=stream)
    config = LaunchConfig(grid=1, block=32)
    x = types.c_float(1.5)
    return timed(lambda i: launch(stream, config, kernel, a, b,
                                  types.c_int(i), x), stream.sync)


# --- The table ---------------------------------------------------------------

def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu:0"
    batches = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    api, _, index = device.partition(":")
    index = int(index or 0)
    own = ctypes.CDLL(os.environ.get(
        "RUNNEL_BENCH_LAUNCH", os.path.join(os.path.dirname(
            os.path.dirname(os.path.dirname(runnel.__file__))), "lib",
            "librunnel-bench-launch.so")))
    times = (ctypes.c_double * 20)()

    def in_c():
        status = own.c_launch(api.encode(), ctypes.c_size_t(index),
                              ctypes.c_size_t(20), ctypes.c_size_t(SIZE), times)
        assert status == 0, status
        return sorted(times)[10]
    rows = [("C", in_c), ("an empty loop of Python", empty_loop())]
    rows += python_rows(device)
    rows.append(("ctypes, structs for each call",
                 ctypes_row(own, api.encode(), index)))
    if api == "cuda":
        for name, make in ("cuda.core", cuda_core_row), ("CuPy", cupy_row):
            try:
                rows.append((name, make()))
            except Exception as error:
                print("%s: left out, %s: %s" % (name, type(error).__name__,
                                                str(error).split("\n")[0]))
    results = {name: [] for name, batch in rows}
    for turn in range(batches):
        for name, batch in rows:
            if name != "C" or turn % 10 == 0:
                results[name].append(batch())
    print("%s, launches with 4 arguments, ns each" % runnel.Context(device).device)
    print("%-32s %8s %8s %8s" % ("", "least", "median", "90 %"))
    for name, values in results.items():
        values.sort()
        print("%-32s %8.0f %8.0f %8.0f" % (
            name, values[0], values[len(values) // 2],
            values[len(values) * 9 // 10]))


main()

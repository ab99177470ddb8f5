"""What a launch costs beside the C call, in instructions: these do not drift
with the machine as times do."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import runnel

# A launch from Python may cost 250 ns more than in C. With Python 3.11 it was
# 1430 to 1590 instructions more, and 180 to 210 ns on a core of 2.6 GHz; 450 of
# them release the GIL and take it again.
MOST = 1850

PROGRAM = """
import runnel
context = runnel.Context("cpu")
stream = context.stream()
f = context.compile('extern "C" __global__ void f(float *a, float *b, int n, '
                    'float x) { if (n < 0) *a = *b + x; }', "f")
a, b = context.buffer(16, "float32"), context.buffer(16, "float32")
for i in range(%d):
    stream.enqueue_function(f, 1, 32, a, b, i, 1.5)
    if i %% 50 == 0:
        stream.synchronize()
stream.synchronize()
"""


def instructions(tmp_path, function, count):
    """All that `count` launches execute below a function."""
    out = tmp_path / ("%s.%d" % (function, count))
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--toggle-collect=" + function,
         "--callgrind-out-file=%s" % out, sys.executable, "-S", "-c",
         PROGRAM % count], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=110, env=dict(os.environ, RUNNEL_THREADS="1",
                                         RUNNEL_SPIN_US="0",
                                         RUNNEL_CPU_TARGET="x86-64-v2",
                                         PYTHONHASHSEED="0"))
    assert done.returncode == 0, done.stdout
    return int(re.search(r"Collected : (\d+)", done.stdout).group(1))


def test_a_launch_costs_few_instructions_beside_the_call(tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    runnel.Context("cpu").compile("")  # a compiler is there

    def each(function):
        return (instructions(tmp_path, function, 1200) -
                instructions(tmp_path, function, 200)) / 1000
    whole, call = each("stream_enqueue_function"), each("rnl_enqueue_function")
    print("instructions of a launch: %.0f, %.0f of these in C" % (whole, call))
    assert 50 < call < whole
    assert whole - call < MOST

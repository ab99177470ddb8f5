"""What the tests of the package share. RUNNEL_TEST_DEVICE names the device."""

import gc
import os
import subprocess
import sys
import threading
import time

import pytest

import runnel

DEVICE = os.environ.get("RUNNEL_TEST_DEVICE", "cpu:0")

SOURCE = """
extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void scale(float *a, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= factor;
}

extern "C" __global__ void count(unsigned *a) { atomicAdd(a, 1u); }

struct pair { int a; double b; };
extern "C" __global__ void take(
    char c, unsigned char uc, short s, int i, unsigned u, long long l,
    unsigned long long ul, float f, double d, bool flag, pair p, double *out)
{
    out[0] = c; out[1] = uc; out[2] = s; out[3] = i; out[4] = u; out[5] = l;
    out[6] = ul; out[7] = f; out[8] = d; out[9] = flag; out[10] = p.a;
    out[11] = p.b;
}

extern "C" __global__ void crash(int *a) { *(volatile int *)16 = 1; }
"""


@pytest.fixture(scope="session")
def context():
    return runnel.Context(DEVICE)


@pytest.fixture
def stream(context):
    with runnel.Stream(context) as stream:
        yield stream


@pytest.fixture(scope="session")
def module(context):
    return context.compile(SOURCE)


@pytest.fixture
def on_cpu(context):
    if context.device.api != "cpu":
        pytest.skip("asks for a cpu device")


def need(context, feature):
    reason = context.reason_against(feature)
    if reason is not None:
        pytest.skip(reason)


class Gate:
    """Holds a stream shut until open() is called."""

    def __init__(self, stream):
        self._event = threading.Event()
        self.entered = threading.Event()
        stream.enqueue_host_function(self._wait)

    def _wait(self):
        self.entered.set()
        assert self._event.wait(60)

    def open(self):
        self._event.set()


def wait_until(condition):
    """For what follows soon, on another thread; ends with a failure."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "this did not become true in 30 s"
        gc.collect()
        runnel.collect()
        time.sleep(0.001)


def run_python(code, **environment):
    """Runs a program of its own; gives what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=100, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(os.environ, RUNNEL_TEST_DEVICE=DEVICE, **environment))
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr

"""Signals end waits, and leave everything as it was."""

import contextlib
import signal
import threading

import pytest

import runnel
from conftest import Gate, need

np = pytest.importorskip("numpy")


@contextlib.contextmanager
def interrupts():
    """Sends signals to the main thread, one behind the other; the handler of the
    third raises. At least that one arrives during the wait."""
    handled, done = threading.Semaphore(0), threading.Event()
    calls = []

    def handle(number, frame):
        calls.append(number)
        handled.release()
        if len(calls) == 3:
            raise KeyboardInterrupt

    def send():
        while len(calls) < 3 and not done.is_set():
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            handled.acquire(timeout=60)

    old = signal.signal(signal.SIGUSR1, handle)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        done.set()
        handled.release()
        sender.join(60)
        signal.signal(signal.SIGUSR1, old)
    assert len(calls) == 3


WAITS = {
    "synchronize": lambda s, e, b: s.synchronize(),
    "synchronize with a limit": lambda s, e, b: s.synchronize(600),
    "event": lambda s, e, b: e.synchronize(),
    "context": lambda s, e, b: s.context.synchronize(timeout=600),
    "reset": lambda s, e, b: s.reset_and_wait(),
    "copy to": lambda s, e, b: s.copy_and_wait(b, bytes(32)),
    "copy from": lambda s, e, b: s.copy_and_wait(bytearray(32), b),
    "fill": lambda s, e, b: s.fill_and_wait(b, 3.0),
    "numpy": lambda s, e, b: b.numpy(),
    "copy of a tensor": lambda s, e, b: b.__dlpack__(stream=None, copy=True),
    "time": lambda s, e, b: s.time_and_wait(lambda i: None),
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_signal_ends_a_wait(context, stream, wait):
    buffer = context.array(np.ones(8, np.float32))
    if "time" in wait:
        need(context, runnel.Feature.EVENT_TIMING)
    gate = Gate(stream)
    event = context.event()
    stream.enqueue_event_record(event)
    with interrupts():
        WAITS[wait](stream, event, buffer)
    gate.open()
    WAITS[wait](stream, event, buffer)
    stream.synchronize()
    stream.fill_and_wait(buffer, 2.0)
    assert buffer.numpy().tolist() == [2] * 8


def test_a_signal_ends_the_wait_of_a_kernel_with_arrays(context, stream):
    twice = runnel.kernel(
        "__global__ void f(int *a) { if (threadIdx.x < 8) a[threadIdx.x] *= 2; }",
        "f", context=context)
    a = np.arange(8, dtype=np.int32)
    twice(8, a, stream=stream)
    gate = Gate(stream)
    with interrupts():
        twice(8, a, stream=stream)
    gate.open()
    stream.synchronize()
    assert a.tolist() == [4 * i for i in range(8)]


def test_a_signal_ends_the_wait_for_an_endless_kernel(context, stream, on_cpu):
    spin = context.compile(
        'extern "C" __global__ void spin(volatile int *a) { while (!*a); }',
        "spin")
    flag = context.buffer(1, "int32", zeroed=True)
    stream.enqueue_function(spin, 1, 1, flag)
    with interrupts():
        stream.synchronize()
    memoryview(flag)[0] = 1
    stream.synchronize()


def test_a_limit_passes_as_before(context, stream):
    gate = Gate(stream)
    with pytest.raises(TimeoutError):
        stream.synchronize(0.12)
    gate.open()
    stream.synchronize(60)

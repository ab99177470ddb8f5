"""Whatever is done with the package, nothing crashes."""

import gc
import random
import threading

import pytest

import runnel
from conftest import DEVICE, run_python
from runnel import _core

EXPECTED = (TypeError, ValueError, OverflowError, LookupError, BufferError,
            AttributeError, NotImplementedError, MemoryError, runnel.Error)

# Neither waits for ever nor lets other threads' work go.
LEFT_OUT = {"__class__", "__init_subclass__", "__subclasshook__", "__reduce__",
            "__reduce_ex__", "__getstate__", "__new__", "__init__",
            "__delattr__", "__setattr__", "__dir__", "__sizeof__",
            "capture_exchange_mode", "_set_error_factory"}


class Odd:
    """Each protocol, badly."""
    __array_interface__ = 5
    __cuda_array_interface__ = {"shape": (-1,), "typestr": 5, "data": ("x", 1)}
    __dlpack__ = 7

    def __index__(self):
        raise LookupError("no index")

    def __float__(self):
        return "no float"

    def __len__(self):
        return -5

    def __cuda_stream__(self):
        return ()


def things(context):
    """Something of every type, alive and released."""
    made = []
    for _ in range(2):
        module = context.compile(
            'extern "C" __global__ void f(int *a, int b) {}')
        graph = runnel.Graph(context)
        made += [context.stream(), context.event(), context.buffer(16),
                 module, module.function("f"), graph, graph.add_empty(),
                 graph.instantiate(), runnel.Promise(context)]
    for thing in made[:9]:
        if hasattr(thing, "release"):
            thing.release()
    plain = [None, True, 0, 1, -1, 2**31, 2**63, 2**64, 2**200, 1.5,
             float("nan"), float("inf"), "", "text", "cpu", "\0", "\ud800", b"",
             b"bytes", bytearray(16), memoryview(b"0123456789abcdef"), (), (1,),
             (1, 2, 3, 4), [], [1], [None], {}, {"a": 1}, set(), object(), int,
             print, len, Odd(), Odd, NotImplemented, ..., range(3), 1j]
    return made, plain


@pytest.mark.parametrize("seed", range(6))
def test_any_call_with_any_values(seed):
    random_ = random.Random(seed)
    context = runnel.Context(DEVICE)
    made, plain = things(context)
    targets = made + [context, context.device, _core] + [
        getattr(_core, name) for name in ("Buffer", "Context", "Event", "Graph",
                                          "Module", "Stream")]
    names = ["size", "label", "after", "stream", "timeout", "dtype", "shape",
             "kind", "priority", "offset", "always", "args", "options", "copy"]
    done = 0
    for _ in range(4000):
        target = random_.choice(targets)
        methods = [name for name in dir(target) if name not in LEFT_OUT]
        values = [random_.choice(made + plain)
                  for _ in range(random_.choice((0, 1, 1, 2, 2, 3, 4, 5)))]
        named = {random_.choice(names): random_.choice(made + plain)
                 for _ in range(random_.choice((0, 0, 0, 1, 2)))}
        try:
            name = random_.choice(methods)
            # A driver believes any number to be a stream of its own.
            if name == "borrow" and context.device.api != "cpu":
                continue
            # What waits is given a limit.
            if name in ("synchronize", "reset_and_wait", "copy_and_wait",
                        "fill_and_wait", "numpy", "array", "time_and_wait",
                        "__dlpack__", "release"):
                continue
            method = getattr(target, name)
            if callable(method):
                method(*values, **named)
            done += 1
        except EXPECTED:
            done += 1
        except SystemError as error:
            pytest.fail("%s.%s%r %r: %s" % (target, name, values, named, error))
    assert done > 2000
    del targets
    gc.collect()


@pytest.mark.parametrize("kind", [
    _core.Buffer, _core.Context, _core.Event, _core.Graph, _core.Module,
    _core.Stream])
def test_constructors_with_any_values(kind):
    context = runnel.Context(DEVICE)
    made, plain = things(context)
    for value in made + plain:
        for given in ((), (value,), (context, value), (context, 4, value),
                      (context, value, value)):
            try:
                kind(*given)
            except EXPECTED:
                pass


def test_types_cannot_be_made_from_nothing():
    for kind in (_core.Device, _core.Function, _core.GraphExec, _core.Node):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            object.__new__(kind)
    for kind in (_core.Stream, _core.Buffer, _core.Context, _core.Event):
        with pytest.raises(TypeError):
            object.__new__(kind)


def test_objects_are_released_while_others_use_them():
    context = runnel.Context(DEVICE)
    function = context.compile(
        'extern "C" __global__ void f(int *a) { }', "f")
    problems = []
    for _ in range(20):
        stream, buffer = context.stream(), context.buffer(64)
        start = threading.Barrier(3)

        def use():
            start.wait(60)
            for _ in range(50):
                try:
                    stream.enqueue_function(function, 1, 1, buffer)
                    memoryview(buffer) if buffer.host_accessible else None
                    stream.enqueue_fill(buffer, 1)
                except runnel.Error as error:
                    if error.status != runnel.Status.ERROR_INVALID_HANDLE:
                        problems.append(error)
                except BaseException as error:
                    problems.append(error)

        threads = [threading.Thread(target=use) for _ in range(2)]
        for thread in threads:
            thread.start()
        start.wait(60)
        buffer.release()
        stream.release()
        for thread in threads:
            thread.join(60)
    assert not problems


PENDING = """
import runnel, os, threading
context = runnel.Context(os.environ["RUNNEL_TEST_DEVICE"])
stream, other = context.stream(), context.stream()
buffer = context.buffer(1000, "float32")
"""


def test_the_interpreter_ends_with_work_pending():
    out = run_python(PENDING + """
promise = runnel.Promise(context)
stream.enqueue_wait_event(promise)
stream.enqueue_fill(buffer, 1.0)
stream.enqueue_host_function(print, ("never",))
stream.enqueue_copy(bytearray(4000), buffer)
print("end")
""")
    assert out == "end\n"


def test_the_interpreter_waits_for_a_function_that_runs():
    out = run_python(PENDING + """
import time
entered = threading.Event()
def slow():
    entered.set()
    time.sleep(0.2)
    print("done")
stream.enqueue_host_function(slow)
stream.enqueue_host_function(print, ("never",))
entered.wait()
""")
    assert out == "done\n"


def test_the_interpreter_ends_while_threads_wait():
    out = run_python(PENDING + """
promise = runnel.Promise(context)
stream.enqueue_wait_event(promise)
def wait():
    try:
        stream.synchronize()
    except runnel.Error:
        pass
threading.Thread(target=wait, daemon=True).start()
print("end")
""")
    assert out == "end\n"


def test_objects_live_in_globals_until_the_end():
    out = run_python(PENDING + """
import sys
sys.modules["kept"] = type(sys)("kept")
sys.modules["kept"].things = [context, stream, buffer, memoryview(bytearray(4))]
if buffer.host_accessible:
    sys.modules["kept"].view = memoryview(buffer)
runnel.current_context()
print("end")
""")
    assert out == "end\n"


def test_the_child_of_a_fork():
    out = run_python(PENDING + """
import gc, sys, warnings
warnings.simplefilter("ignore")
stream.enqueue_host_function(lambda: None)
stream.synchronize()
child = os.fork()
if child == 0:
    try:
        stream.synchronize()
    except runnel.Error as error:
        assert error.status == runnel.Status.ERROR_FORKED, error
    else:
        os._exit(3)
    del stream, buffer, other
    gc.collect()
    own = runnel.Context("cpu")
    calls = []
    with own.stream() as fresh:
        fresh.enqueue_host_function(calls.append, (1,))
        fresh.synchronize()
    sys.exit(0 if calls == [1] else 4)
pid, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
stream.synchronize()
print("end")
""")
    assert out == "end\n"


def test_a_kernel_in_the_child_of_a_fork():
    """Another thread holds the lock of current_context() at the fork."""
    out = run_python("""
import os, runnel, threading, warnings
warnings.simplefilter("ignore")
source = 'extern "C" __global__ void f(int *a) { *a = 5; }'
kernel = runnel.kernel(source, "f", block=1, context=runnel.Context("cpu"))
parent = runnel._kernel._context = runnel.Context("cpu")
words = bytearray(4)
kernel(1, memoryview(words).cast("i"))
held, done = threading.Event(), threading.Event()
def hold():
    with runnel._kernel._lock:
        held.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    try:
        kernel(1, memoryview(words).cast("i"))
    except runnel.Error as error:
        assert error.status == runnel.Status.ERROR_FORKED
        assert "parent process" in str(error)
        assert "parent process" in repr(parent)
    else:
        os._exit(3)
    try:
        runnel.kernel(source, "f", block=1)(1, memoryview(words).cast("i"))
    except runnel.Error:  # of a GPU, which a child cannot use
        assert runnel.default_device().api != "cpu"
    os._exit(0)
pid, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
done.set()
thread.join()
print("end")
""")
    assert out == "end\n"


@pytest.mark.parametrize("last, code", [
    ("pass", 0), ("sys.exit(7)", 7), ("1 / 0", 1)])
def test_a_child_ends_with_the_host_function_that_forked(last, code):
    out = run_python(PENDING + """
import sys, warnings
warnings.simplefilter("ignore")
codes = []
def fork():
    child = os.fork()
    if child == 0:
        try:
            stream.query()
        except runnel.Error as error:
            assert error.status == runnel.Status.ERROR_NOT_PERMITTED
        print("child")
        %s
    else:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stream.enqueue_host_function(fork)
stream.synchronize()
assert codes == [%d], codes
print("end", flush=True)
""" % (last, code))
    lines = out.splitlines()
    assert lines[:2] == ["child", "end"]
    assert ("ZeroDivisionError: division by zero" in lines) == (code == 1)


def test_a_function_that_the_end_drops_fails_its_stream():
    out = run_python(PENDING + """
import atexit
atexit._run_exitfuncs()
stream.enqueue_host_function(print, ("never",))
try:
    stream.synchronize()
except runnel.Error as error:
    assert "the interpreter ended" in str(error), error
    print("end")
""")
    assert out == "end\n"


@pytest.mark.parametrize("first", ["import runnel", "pass"])
def test_another_interpreter_is_refused(first):
    out = run_python(first + """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
one = interpreters.create()
program = '''
import sys
sys.path = %r
try:
    import runnel._core
except ImportError as error:
    assert "runnel" in str(error), error
else:
    raise AssertionError("imported")
''' % sys.path
failure = interpreters.run_string(one, program)  # from Python 3.13 on
assert not failure, failure
import runnel
runnel.Context("cpu").default_stream.synchronize()
print("end")
""")
    assert out == "end\n"

"""Arrays and calls that lie: each once ended the process."""

import ctypes
import functools
import gc
import operator
import sys
import time
import weakref

import pytest

import runnel
from conftest import Gate, wait_until
from test_exchange import Producer
from test_host_functions import Reports

np = pytest.importorskip("numpy", reason="NumPy is not installed")


def test_a_released_executable_graph_is_refused(context, stream, module):
    graph = runnel.Graph(context)
    function = module.function("count")
    words = context.buffer(1, "uint32")
    node = graph.add_function(function, 1, 1, words)
    executable = graph.instantiate()
    executable.release()
    with pytest.raises(runnel.Error):
        executable.set_function(node, function, 1, 1, words)


def test_a_released_stream_is_not_the_default_one(context, module):
    stream = context.stream()
    stream.release()
    with pytest.raises(runnel.Error):
        module.function("count")(1, 1, context.buffer(1, "uint32"),
                                 stream=stream)


def test_a_tensor_without_memory_is_refused(context, on_cpu):
    with pytest.raises(BufferError, match="no address"):
        runnel.from_dlpack(Producer(data=None), context)


def test_elements_without_bytes_are_refused(context, on_cpu):
    with pytest.raises(BufferError):
        runnel.from_array(np.zeros(3, np.dtype([])), context)

    class Nothing(ctypes.Structure):
        _fields_ = []

    with pytest.raises(BufferError):
        runnel.from_array((Nothing * 1000)(), context)


def test_a_tensor_beyond_the_addresses_is_refused(context, on_cpu):
    tensor = Producer()
    tensor.shape[0] = 1 << 61
    with pytest.raises(BufferError, match="addresses|legal"):
        runnel.from_dlpack(tensor, context)


def test_options_that_are_equal_are_refused(stream, module):
    class Name(str):
        __hash__ = object.__hash__

        def __eq__(self, other):
            return self is other

    options = {Name("priority"): 0 for _ in range(60)}
    with pytest.raises(TypeError, match="twice"):
        stream.enqueue_function(module.function("count"), 1, 1, **options)


def test_an_interface_may_change_while_it_is_read(context):
    facts = {}

    class Extent:
        def __index__(self):
            facts.clear()
            gc.collect()
            return 3

    class Foreign:
        @property
        def __cuda_array_interface__(self):
            facts.update(shape=(Extent(),), typestr="".join(["<", "f4"]),
                         data=(0, False), version=3)
            return facts

    for _ in range(20):
        with pytest.raises((BufferError, TypeError)):
            runnel.from_array(Foreign(), context)


# --- Destructors and errors ----------------------------------------------------

class FailsAtItsEnd:
    """Its destructor makes a call that fails."""

    def __init__(self, event, calls):
        self.event, self.calls = event, calls

    def __del__(self):
        try:
            self.event.elapsed_ns(self.event)
        except runnel.Error as error:
            self.calls.append(error.with_traceback(None))


def test_a_destructor_does_not_replace_an_error_of_a_wait(context, stream):
    calls = []
    gate = Gate(stream)
    stream.enqueue_host_function(lambda thing: None,
                                 (FailsAtItsEnd(context.event(), calls),))
    stream.enqueue_host_function(sys.exit, ("mine",))
    with Reports(), pytest.raises(runnel.Error, match="mine"):
        gate.open()
        stream.synchronize()
    wait_until(lambda: calls)
    stream.reset_and_wait()


def test_a_collection_does_not_replace_an_error(context):
    """Errors are kept, with their dicts, so that each error needs a new dict."""
    event, calls, errors = context.event(), [], []

    class Cycle(FailsAtItsEnd):
        def __init__(self):
            super().__init__(event, calls)
            self.self = self

        def __del__(self):
            super().__del__()
            if len(calls) < 20000:
                Cycle()

    old = gc.get_threshold()
    try:
        Cycle()
        for i in range(1000):
            gc.set_threshold(1 + i % 7)
            try:
                runnel.devices("vulcan")
            except runnel.Error as error:
                errors.append(error)
    finally:
        gc.set_threshold(*old)
    assert calls
    assert {error.function for error in errors} == {"rnl_device_count"}


def test_memory_is_let_go_though_there_was_no_room_for_a_call(context, on_cpu):
    """The interpreter takes 32 pending calls. No byte code runs between these
    calls, and so none of the pending ones."""
    arrays = [np.zeros(4), np.zeros(4)]
    first, second = (runnel.from_array(array, context) for array in arrays)
    gone = [weakref.ref(array) for array in arrays]
    arrays.clear()
    nothing = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda data: 0)
    fill = functools.partial(ctypes.pythonapi.Py_AddPendingCall, nothing, None)
    results = list(map(operator.call, [fill] * 40 + [first.release]))
    assert -1 in results
    assert gone[0]() is not None
    second.release()
    end = time.monotonic() + 30
    while any(ref() is not None for ref in gone):
        assert time.monotonic() < end


def test_a_node_owns_its_function_though_there_was_no_memory_for_a_wrapper(
        context, stream):
    testcapi = pytest.importorskip("_testcapi", reason="Python lacks _testcapi")
    failed = 0
    for start in range(6):
        calls = []
        graph = runnel.Graph(context)
        add, function, arguments = (graph.add_host_function, calls.append,
                                    ("done",))
        testcapi.set_nomemory(start, start + 1)
        try:
            add(function, arguments)
        except MemoryError:
            failed += 1
        finally:
            testcapi.remove_mem_hooks()
        assert graph.node_count == 1
        stream.enqueue_graph(graph.instantiate())
        stream.synchronize()
        assert calls == ["done"]
    assert failed

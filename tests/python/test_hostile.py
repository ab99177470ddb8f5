"""Arrays and calls that lie: each once ended the process."""

import ctypes
import gc

import pytest

import runnel
from test_exchange import Producer

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

"""Buffers: shapes, types, copies, fills, and the buffer protocol."""

import array
import gc
import os

import pytest

import runnel
from conftest import Gate, need, run_python, wait_until

np = pytest.importorskip("numpy")

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
         "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", TYPES)
def test_types_go_round(context, name):
    a = np.arange(24).reshape(2, 3, 4).astype(name)
    buffer = context.array(a)
    assert buffer.dtype == name and buffer.shape == (2, 3, 4)
    assert buffer.nbytes == a.nbytes and buffer.itemsize == a.itemsize
    assert buffer.ndim == 3 and len(buffer) == 2
    back = buffer.numpy()
    assert back.dtype == a.dtype and (back == a).all()
    for spelling in (a.dtype, a.dtype.type, a.dtype.str):
        assert runnel.Buffer(context, 3, spelling).dtype == name


@pytest.mark.parametrize("dtype", [int, float, bool, "f4", "<i2", "torch.int8"])
def test_other_spellings_of_types(context, dtype):
    assert context.buffer(3, dtype).shape == (3,)


@pytest.mark.parametrize("dtype", ["text", "float31", object, 5, "",
                                   np.dtype("i4,f8"), "datetime64"])
def test_types_that_cannot_be(context, dtype):
    with pytest.raises(TypeError, match="not a type of elements"):
        context.buffer(3, dtype)


@pytest.mark.parametrize("shape, count", [
    (5, 5), ((), 1), ((2, 3), 6), ([4, 0], 0), (0, 0), ((1,) * 8, 1)])
def test_shapes(context, shape, count):
    buffer = context.buffer(shape, "int32", zeroed=True)
    assert buffer.nbytes == 4 * count
    assert buffer.numpy().sum() == 0
    assert buffer.numpy().shape == buffer.shape


@pytest.mark.parametrize("shape, kind", [
    (-1, ValueError), ((2, -3), ValueError), ((1,) * 9, ValueError),
    ((2**40, 2**40), OverflowError), (2**70, OverflowError),
    ("ab", TypeError), (1.5, TypeError), (None, TypeError)])
def test_shapes_that_cannot_be(context, shape, kind):
    with pytest.raises(kind):
        context.buffer(shape, "int32")


def test_memory_that_does_not_exist(context):
    with pytest.raises(MemoryError) as caught:
        context.buffer(2**56)
    assert isinstance(caught.value, runnel.OutOfMemory)


def test_views_and_slices_are_the_same_memory(context, stream):
    buffer = context.array(np.arange(12, dtype=np.float32))
    table = buffer.view((3, 4))
    assert table.shape == (3, 4)
    rows = table.slice(1, 3)
    assert rows.numpy().tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert buffer.view(dtype="uint8").shape == (48,)
    assert table.slice(2).shape == table.slice(2, None).shape == (1, 4)
    stream.fill_and_wait(rows, 1.5)
    assert buffer.numpy().tolist() == [0, 1, 2, 3] + 8 * [1.5]
    for bad in (lambda: buffer.view((5, 5)), lambda: buffer.view(13)):
        with pytest.raises(ValueError):
            bad()
    for bounds in (-1,), (2, 1), (0, 13):
        with pytest.raises(IndexError):
            buffer.slice(*bounds)
    with pytest.raises(ValueError):
        context.buffer((), "int32").slice(0)


@pytest.mark.parametrize("dtype, value, bad", [
    ("uint8", 200, 300), ("int16", -5, 70000), ("float32", 2.5, "x"),
    ("float64", -1e300, None), ("float16", 0.5, 1e30), ("bool", True, None),
    ("int64", -2**60, 2**64)])
def test_fills(context, stream, dtype, value, bad):
    buffer = context.buffer(9, dtype)
    stream.fill_and_wait(buffer, value)
    assert (buffer.numpy() == np.array(value, dtype)).all()
    if bad is not None:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            stream.enqueue_fill(buffer, bad)


def test_fills_of_parts_and_of_bfloat16(context, stream):
    buffer = context.buffer(4, "int32", zeroed=True)
    stream.fill_and_wait(buffer, 7, 8, offset=4)
    assert buffer.numpy().tolist() == [0, 7, 7, 0]
    with pytest.raises(IndexError):
        stream.enqueue_fill(buffer, 1, 100)
    brain = context.buffer(3, "bfloat16")
    assert brain.dtype == "bfloat16"
    for number, bits in (1.0, 0x3f80), (-2.5, 0xc020), (1.00390625, 0x3f80):
        stream.fill_and_wait(brain, number)
        assert brain.view(dtype="uint16").numpy().tolist() == 3 * [bits]
    with pytest.raises(TypeError):
        stream.enqueue_fill(context.buffer(2, "complex64"), 1)


def test_copies_in_all_directions(context, stream):
    a, b = context.buffer(10, "int32"), context.buffer(10, "int32")
    source, target = np.arange(10, dtype=np.int32), np.zeros(10, np.int32)
    stream.enqueue_copy(a, source)
    stream.enqueue_copy(b, a)
    stream.enqueue_copy(target, b)
    stream.synchronize()
    assert (target == source).all()
    stream.copy_and_wait(a, source, 8, to_offset=4, source_offset=12)
    assert a.numpy().tolist() == [0, 3, 4] + list(range(3, 10))
    stream.copy_and_wait(target, array.array("i", range(10, 20)))
    assert target.tolist() == list(range(10, 20))
    for bad in ((a, source[:5]), (target, source[:5]), (a, b"abc")):
        with pytest.raises(ValueError):
            stream.enqueue_copy(*bad)
    for bad in ((a, source, 44), (target, a, 44), (a, b, 44)):
        with pytest.raises((IndexError, ValueError)):
            stream.enqueue_copy(*bad)
    with pytest.raises(IndexError):
        stream.enqueue_copy(a, source, 0, source_offset=41)
    with pytest.raises((BufferError, TypeError, ValueError)):
        stream.enqueue_copy(b"0123456789" * 4, a)
    with pytest.raises(TypeError):
        stream.enqueue_copy(a, [1, 2, 3])
    with pytest.raises((BufferError, ValueError)):
        stream.enqueue_copy(a, np.zeros((10, 2), np.int32)[:, 0])
    with pytest.raises(ValueError):
        stream.enqueue_copy(a, source, -1)


def test_memory_of_a_copy_stays_until_it_was_copied(context, stream):
    gate = Gate(stream)
    source = np.arange(1000, dtype=np.int64)
    a = context.buffer(1000, "int64")
    stream.enqueue_copy(a, source.copy())
    target = np.zeros(1000, np.int64)
    stream.enqueue_copy(target, a)
    noise = [np.full(1000, 7) for _ in range(50)]
    gc.collect()
    gate.open()
    stream.synchronize()
    assert (target == source).all() and len(noise) == 50


# --- The buffer protocol -------------------------------------------------------

def test_numpy_sees_the_memory_itself(context, on_cpu):
    buffer = context.buffer((2, 3), "float32", zeroed=True)
    a = np.asarray(buffer)
    assert a.shape == (2, 3) and a.dtype == np.float32
    a[1, 2] = 5
    assert np.asarray(buffer)[1, 2] == 5
    view = memoryview(buffer)
    assert view.format == "f" and view.shape == (2, 3) and not view.readonly
    assert view.strides == (12, 4) and view.nbytes == 24
    assert buffer.__array_interface__["shape"] == (2, 3)
    assert buffer.host_accessible and not buffer.readonly
    assert not hasattr(buffer, "__cuda_array_interface__")


def test_a_view_keeps_the_memory(context, on_cpu):
    buffer = context.array(np.arange(1000))
    a = np.asarray(buffer)
    buffer.release()
    del buffer
    gc.collect()
    other = [context.array(np.full(1000, -1)) for _ in range(20)]
    assert a.tolist() == list(range(1000)) and other
    with pytest.raises(runnel.Error):
        memoryview(runnel_released(context))


def runnel_released(context):
    buffer = context.buffer(10)
    buffer.release()
    return buffer


def test_an_address_that_was_given_out_keeps_the_memory(context, on_cpu):
    class Holder:
        def __init__(self, buffer):
            self.buffer = buffer
            self.__array_interface__ = buffer.__array_interface__
    buffer = context.array(np.arange(1000))
    a = np.asarray(Holder(buffer))
    buffer.release()
    other = [context.array(np.full(1000, -1)) for _ in range(20)]
    assert a.tolist() == list(range(1000)) and other


def test_memory_of_numpy_is_used_and_kept(context, stream, module, on_cpu):
    import weakref
    a = np.ones(100, np.float32)
    buffer = runnel.from_array(a, context)
    assert buffer.shape == (100,) and buffer.dtype == "float32"
    gone = weakref.ref(a)
    gate = Gate(stream)
    stream.enqueue_function(module.function("scale"), 1, 128, buffer, 2.0, 100)
    view = np.asarray(buffer)
    stream.enqueue_function(module.function("scale"), 1, 128, buffer, 2.0, 100)
    address = a.ctypes.data
    del a
    buffer.release()
    gc.collect()
    assert gone() is not None, "the kernel still needs it"
    gate.open()
    stream.synchronize()
    assert (view == 4).all() and view.ctypes.data == address
    del view, buffer
    wait_until(lambda: gone() is None)


def test_read_only_memory_stays_as_it_is(context, stream, on_cpu):
    buffer = runnel.from_array(b"abcdefgh", context)
    assert buffer.readonly and "read-only" in repr(buffer)
    assert memoryview(buffer).readonly
    assert np.asarray(buffer).flags.writeable is False
    assert buffer.slice(1, 3).readonly and buffer.view(8).readonly
    for bad in (lambda: stream.enqueue_fill(buffer, 1),
                lambda: stream.enqueue_copy(buffer, b"01234567"),
                lambda: stream.enqueue_write_value32(buffer, 0, 1),
                lambda: runnel.Graph(context).add_fill(buffer, 0)):
        with pytest.raises(BufferError):
            bad()
    assert buffer.numpy().tobytes() == b"abcdefgh"


@pytest.mark.parametrize("thing, kind", [
    (5, TypeError), ("text", TypeError), (None, TypeError), ([1], TypeError),
    (np.ones((4, 4)).T[:2], BufferError), (np.ones(8)[::2], BufferError),
    (np.ones((1,) * 9), BufferError)])
def test_what_is_no_array_is_refused(context, on_cpu, thing, kind):
    with pytest.raises(kind):
        runnel.from_array(thing, context)


def test_structs_and_empty_arrays_are_memory_too(context, on_cpu):
    pairs = np.zeros(3, np.dtype("i4,f4"))
    buffer = runnel.from_array(pairs, context)
    assert buffer.dtype == "struct" and buffer.shape == (3,)
    assert runnel.from_array(np.zeros((0, 3)), context).shape == (0, 3)
    assert runnel.from_array(np.array(5.0), context).shape == ()
    assert runnel.from_array(array.array("l", [1, 2]), context).dtype == "int64"


def test_structs_are_bytes_without_a_meaning(context, stream, on_cpu):
    pairs = np.array([(1, 2.5), (3, 4.5)], "i4,f4")
    buffer = runnel.from_array(pairs, context)
    for array in (buffer.numpy(), np.asarray(buffer)):
        assert array.dtype.itemsize == 8 and array.shape == (2,)
    assert buffer.view(dtype="int32").numpy().tolist()[::2] == [1, 3]
    with pytest.raises(TypeError, match="struct cannot be filled"):
        stream.enqueue_fill(buffer, 1)


def test_bfloat16_has_no_type_in_numpy(context):
    with pytest.raises(TypeError, match="NumPy has no bfloat16"):
        context.buffer(4, "bfloat16").numpy()


@pytest.mark.parametrize("kind", [">f4", ">i8", ">c8", ">i4,<f4"])
def test_big_endian_numbers_are_refused(context, module, kind):
    array = np.zeros(4, kind)
    calls = [lambda: context.buffer(4, kind), lambda: context.array(array)]
    if context.device.api == "cpu":
        calls += [lambda: runnel.from_array(array, context),
                  lambda: module.function("scale")(1, 4, array, 1.0, 4)]
    for call in calls:
        with pytest.raises((TypeError, BufferError), match="big-endian"):
            call()


def test_names_of_members_have_no_order_of_bytes(context, on_cpu):
    array = np.zeros(4, [("a>b", "f4"), ("!", "i4")])
    assert runnel.from_array(array, context).nbytes == 32


# Each was cut to 32 or 64 bits, or stood for something else.
NUMBERS = {
    "flags": (2**32 + 1, lambda c, b, v: c.stream(flags=v)),
    "priority of a stream": (2**32, lambda c, b, v: c.stream(priority=v)),
    "priority of a launch": (2**32, lambda c, b, v: c.compile(
        'extern "C" __global__ void f() {}', "f")(1, 1, priority=v)),
    "threads": (2**32 + 1, lambda c, b, v: runnel.Context("cpu", threads=v)),
    "threshold": (-1, lambda c, b, v: runnel.Context("cpu", pool_threshold=v)),
    "cache": (-1, lambda c, b, v: runnel.Context("cpu", buffer_cache_size=v)),
    "limit": (0, lambda c, b, v: runnel.Context("cpu", kernel_limit=v)),
    "limit of a compilation": (0, lambda c, b, v: c.compile("", timeout=v)),
    "trim": (-1, lambda c, b, v: c.trim(v)),
    "size of a fill": (2**64 - 1,
                       lambda c, b, v: c.default_stream.enqueue_fill(b, 1, v)),
    "offset of a fill": (-1, lambda c, b, v: c.default_stream.enqueue_fill(
        b, 1, offset=v)),
    "size of a copy": (2**64 - 1, lambda c, b, v: c.default_stream.enqueue_copy(
        b, bytes(8), v)),
    "offset of a value": (-1, lambda c, b, v:
                          c.default_stream.enqueue_write_value32(b, v, 1)),
    "shared memory": (-1, lambda c, b, v: c.compile(
        'extern "C" __global__ void f() {}', "f").suggest_block(v)),
    "threads of a block": (2**32 + 32, lambda c, b, v: c.compile(
        'extern "C" __global__ void f() {}', "f").occupancy(v)),
    "most threads": (2**32 + 32, lambda c, b, v: c.compile(
        'extern "C" __global__ void f() {}', "f").suggest_block(0, v)),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_do_not_fit_are_refused(context, number):
    value, call = NUMBERS[number]
    with pytest.raises((OverflowError, ValueError)) as caught:
        call(context, context.buffer(8), value)
    assert not isinstance(caught.value, runnel.Error)


def test_a_limit_below_a_nanosecond_is_one():
    limited = runnel.Context("cpu", kernel_limit=1e-12)
    spin = limited.compile('extern "C" __global__ void f(volatile int *a)'
                           '{ while (!*a); }', "f")
    with limited.stream() as stream:
        stream.enqueue_function(spin, 1, 1, limited.buffer(1, "int32",
                                                           zeroed=True))
        with pytest.raises(runnel.Error, match="limit"):
            stream.synchronize(60)


@pytest.mark.parametrize("kind", runnel.MemoryKind)
def test_a_copy_has_memory_of_the_same_kind(context, stream, kind):
    if kind == runnel.MemoryKind.MANAGED:
        need(context, runnel.Feature.MANAGED_MEMORY)
    buffer = context.buffer(4, "int32", kind=kind)
    stream.fill_and_wait(buffer, 7)
    device = buffer.__dlpack_device__()
    gpu = device[0] in (2, 10, 13)
    capsule = buffer.__dlpack__(stream=1 if gpu else None, copy=True)
    copy = runnel.from_dlpack(capsule, context)
    assert copy.__dlpack_device__() == device
    assert copy.kind == kind or not gpu
    assert copy.address != buffer.address
    assert copy.numpy().tolist() == [7] * 4


def test_advice_is_for_managed_memory(context):
    need(context, runnel.Feature.MANAGED_MEMORY)
    managed = context.buffer(8, kind=runnel.MemoryKind.MANAGED)
    for advice in runnel.MemoryAdvice:
        managed.advise(advice)
    managed.advise(runnel.MemoryAdvice.READ_MOSTLY, 4, size=4)
    with pytest.raises(IndexError):
        managed.advise(runnel.MemoryAdvice.READ_MOSTLY, 4, 8)
    with pytest.raises(ValueError):
        managed.advise(99)
    with pytest.raises(ValueError):
        context.buffer(8).advise(runnel.MemoryAdvice.READ_MOSTLY)


def test_copies_where_streams_call_no_functions(context):
    """A driver before CUDA 11.7: the call waits, and lets go of the memory."""
    if "RUNNEL_FAKE_CACHE_DIR" not in os.environ:
        pytest.skip("asks for the fake driver")
    out = run_python("""
import os, runnel
context = runnel.Context(os.environ["RUNNEL_TEST_DEVICE"])
assert not context.supports(runnel.Feature.HOST_FUNCTIONS)
stream, buffer = context.stream(), context.buffer(8)
source, target = bytearray(b"12345678"), bytearray(8)
stream.enqueue_copy(buffer, source)
stream.enqueue_copy(target, buffer)
stream.enqueue_copy(source, target)
for memory in source, target:
    memory.append(48)  # only where nobody has a view of it
print(source, target)
""", RUNNEL_FAKE_VERSION="11040")
    assert out == "bytearray(b'123456780') bytearray(b'123456780')\n"

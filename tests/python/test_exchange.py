"""Arrays of other libraries: DLPack, and CUDA's array interface."""

import ctypes
import gc
import weakref

import pytest

import runnel
from conftest import SOURCE, Gate, wait_until

np = pytest.importorskip("numpy")


# --- A producer of our own, with every field at will ---------------------------

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("owner", ctypes.c_void_p),
                ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("owner", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
is_valid = ctypes.pythonapi.PyCapsule_IsValid
is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """Six numbers of float32, 0 to 5, as a tensor that others take."""

    def __init__(self, versioned=True, knows_versions=True, flags=0, major=1,
                 **tensor):
        self.numbers = (ctypes.c_float * 6)(*range(6))
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.deleted = 0
        self.asked = None
        self._versioned, self._knows = versioned, knows_versions
        self._deleter = DELETER(self._delete)
        strides = tensor.pop("strides", None)
        self._strides = (ctypes.c_int64 * 2)(*strides) if strides else None
        facts = dict(data=ctypes.addressof(self.numbers), device_type=1,
                     device_id=0, ndim=2, code=2, bits=32, lanes=1,
                     shape=self.shape, byte_offset=0)
        if self._strides:
            facts["strides"] = self._strides
        facts.update(tensor)
        inner = Tensor(**facts)
        if versioned:
            self.managed = Versioned(major, 1, None, self._deleter, flags, inner)
        else:
            self.managed = Managed(inner, None, self._deleter)

    def _delete(self, managed):
        assert managed == ctypes.addressof(self.managed)
        self.deleted += 1

    def __dlpack__(self, **options):
        if "max_version" in options and not self._knows:
            raise TypeError("an old producer")
        self.asked = options
        self.name = b"dltensor_versioned" if self._versioned else b"dltensor"
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("strides", [None, (3, 1)])
def test_a_tensor_is_used_without_a_copy(context, stream, module, on_cpu,
                                         versioned, strides):
    producer = Producer(versioned, versioned, strides=strides)
    buffer = runnel.from_dlpack(producer, context)
    assert buffer.shape == (2, 3) and buffer.dtype == "float32"
    stream.enqueue_function(module.function("scale"), 1, 32, buffer, 10.0, 6)
    stream.synchronize()
    assert list(producer.numbers) == [0, 10, 20, 30, 40, 50]
    assert producer.asked["stream"] is None
    assert ("max_version" in producer.asked) == versioned
    assert producer.deleted == 0
    del buffer
    wait_until(lambda: producer.deleted)
    assert producer.deleted == 1


def test_a_tensor_is_kept_while_a_kernel_reads_it(context, stream, module,
                                                  on_cpu):
    producer = Producer()
    gate = Gate(stream)
    out = context.buffer(6, "float32")
    buffer = runnel.from_dlpack(producer, context)
    stream.enqueue_function(module.function("add"), 1, 32, buffer, buffer, out,
                            6)
    buffer.release()
    gc.collect()
    runnel.collect()
    assert producer.deleted == 0
    gate.open()
    stream.synchronize()
    assert out.numpy().tolist() == [0, 2, 4, 6, 8, 10]
    wait_until(lambda: producer.deleted)


def test_the_flags_and_the_offset_of_a_tensor_count(context, on_cpu):
    assert runnel.from_dlpack(Producer(flags=1), context).readonly
    assert not runnel.from_dlpack(Producer(flags=2), context).readonly
    producer = Producer(ndim=0, byte_offset=8)
    assert runnel.from_dlpack(producer, context).numpy() == 2
    empty = Producer(data=None)
    empty.shape[1] = 0
    assert runnel.from_dlpack(empty, context).shape == (2, 0)


@pytest.mark.parametrize("facts, words", [
    (dict(strides=(1, 2)), "C order"), (dict(device_type=2), "cannot reach"),
    (dict(lanes=4), "lanes"), (dict(code=3), "no counterpart"),
    (dict(code=10, bits=8), "no counterpart"), (dict(bits=24), "counterpart"),
    (dict(ndim=-1), "dimensions"), (dict(ndim=99), "dimensions"),
    (dict(major=2), "DLPack 2.1"), (dict(major=0), "DLPack 0.1")])
def test_tensors_that_cannot_be_used_are_given_back(context, on_cpu, facts,
                                                    words):
    producer = Producer(**facts)
    with pytest.raises(BufferError, match=words):
        runnel.from_dlpack(producer, context)
    assert producer.deleted == 1


def test_shapes_that_are_not_legal_are_refused(context, on_cpu):
    for extents in (-1, 3), (2**40, 2**40):
        producer = Producer()
        producer.shape[0], producer.shape[1] = extents
        with pytest.raises(BufferError, match="not legal"):
            runnel.from_dlpack(producer, context)
        assert producer.deleted == 1


def test_a_capsule_is_taken_once(context, on_cpu):
    producer = Producer()
    capsule = producer.__dlpack__()
    buffer = runnel.from_dlpack(capsule, context)
    assert is_valid(capsule, b"used_dltensor_versioned")
    with pytest.raises(ValueError):
        runnel.from_dlpack(capsule, context)
    del buffer
    wait_until(lambda: producer.deleted)
    assert producer.deleted == 1


def test_what_has_no_dlpack_is_refused(context):
    class Liar:
        def __dlpack__(self, **options):
            return 5
    for thing in 5, "text", Liar():
        with pytest.raises((AttributeError, ValueError, TypeError)):
            runnel.from_dlpack(thing, context)

    class Raises:
        def __dlpack__(self, **options):
            raise KeyError("mine")
    with pytest.raises(KeyError):
        runnel.from_dlpack(Raises(), context)


# --- Export --------------------------------------------------------------------

def test_capsules_are_of_the_version_that_was_asked_for(context, on_cpu):
    buffer = context.array(np.arange(6, dtype=np.int16).reshape(2, 3))
    old = buffer.__dlpack__()
    assert is_valid(old, b"dltensor")
    assert is_valid(buffer.__dlpack__(max_version=(0, 8)), b"dltensor")
    new = buffer.__dlpack__(max_version=(1, 0))
    managed = Versioned.from_address(get_pointer(new, b"dltensor_versioned"))
    assert (managed.major, managed.flags) == (1, 0)
    tensor = managed.tensor
    assert (tensor.device_type, tensor.device_id) == (1, 0)
    assert (tensor.code, tensor.bits, tensor.lanes) == (0, 16, 1)
    assert tensor.shape[:2] == [2, 3] and tensor.strides[:2] == [3, 1]
    copied = buffer.__dlpack__(max_version=(1, 1), copy=True)
    managed = Versioned.from_address(get_pointer(copied, b"dltensor_versioned"))
    assert managed.flags == 2 and managed.tensor.data != tensor.data
    locked = runnel.from_array(b"abc", context)
    managed = Versioned.from_address(get_pointer(
        locked.__dlpack__(max_version=(1, 3)), b"dltensor_versioned"))
    assert managed.flags == 1
    with pytest.raises(BufferError, match="read-only"):
        locked.__dlpack__()
    assert buffer.__dlpack_device__() == (1, 0)


def test_an_exported_tensor_keeps_the_memory(context, on_cpu):
    buffer = context.array(np.arange(1000))
    capsule = buffer.__dlpack__()
    managed = Managed.from_address(get_pointer(capsule, b"dltensor"))
    buffer.release()
    del buffer
    other = [context.array(np.full(1000, -1)) for _ in range(20)]
    numbers = (ctypes.c_int64 * 1000).from_address(managed.tensor.data)
    assert list(numbers) == list(range(1000)) and other


@pytest.mark.parametrize("options, kind", [
    (dict(stream=1), ValueError), (dict(stream=2**80), ValueError), (dict(stream="x"), ValueError),
    (dict(max_version=1), TypeError), (dict(max_version=(1,)), TypeError),
    (dict(max_version=("1", 2)), TypeError),
    (dict(dl_device=(2, 0)), BufferError), (dict(dl_device=5), TypeError),
    (dict(unknown=1), TypeError)])
def test_requests_that_cannot_be_met(context, on_cpu, options, kind):
    with pytest.raises(kind):
        context.buffer(4).__dlpack__(**options)


def test_structs_have_no_type_of_dlpack(context, on_cpu):
    with pytest.raises(BufferError):
        runnel.from_array(np.zeros(3, np.dtype("i4,f4")), context).__dlpack__()


def test_an_export_waits_for_the_work(context, stream, module, on_cpu):
    import threading
    buffer = context.array(np.ones(8, np.float32))
    gate = Gate(stream)
    stream.enqueue_function(module.function("scale"), 1, 8, buffer, 3.0, 8)
    threading.Timer(0.05, gate.open).start()
    assert np.from_dlpack(buffer).tolist() == 8 * [3]


def test_numpy_by_dlpack(context, on_cpu):
    a = np.arange(6.0).reshape(2, 3)
    buffer = runnel.from_dlpack(a, context)
    assert buffer.shape == (2, 3) and buffer.dtype == "float64"
    b = np.from_dlpack(buffer)
    a[0, 0] = 9
    assert b[0, 0] == 9
    gone = weakref.ref(a)
    del a, buffer, b
    wait_until(lambda: gone() is None)


def test_torch_in_both_directions(context, stream, module):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    where = "cuda" if context.device.api == "cuda" else "cpu"
    if where == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    tensor = torch.arange(6, dtype=torch.float32, device=where)
    buffer = runnel.from_dlpack(tensor, context)
    stream.enqueue_wait_stream(context.default_stream)
    stream.enqueue_function(module.function("scale"), 1, 32, buffer, 2.0, 6)
    stream.synchronize()
    assert tensor.tolist() == [0, 2, 4, 6, 8, 10]
    stream.enqueue_function(module.function("scale"), 1, 32, tensor, 0.5, 6)
    back = torch.from_dlpack(buffer)
    assert back.data_ptr() == tensor.data_ptr()
    assert back.tolist() == [0, 1, 2, 3, 4, 5]
    scale = runnel.kernel(SOURCE, "scale", context=context)
    scale(6, tensor, 1.0, 6)
    own = torch.from_dlpack(context.array(np.arange(4, dtype=np.int64)))
    gc.collect()
    assert own.tolist() == [0, 1, 2, 3]
    # A tensor that goes while a kernel reads it. CUDA loads the kernel that fills
    # tensors when it is first used, and waits for all streams meanwhile.
    torch.full((6,), 7.0, device=where)
    gate = Gate(stream)
    out = context.buffer(6, "float32")
    stream.enqueue_function(module.function("add"), 1, 32, back, back, out, 6)
    del tensor, buffer, back
    gc.collect()
    noise = [torch.full((6,), 7.0, device=where) for _ in range(50)]
    gate.open()
    stream.synchronize()
    assert out.numpy().tolist() == [0, 2, 4, 6, 8, 10] and len(noise) == 50


def test_cupy_in_both_directions(context, stream, module):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if context.device.api != "cuda":
        pytest.skip("CuPy has no memory of %s" % context.device.api)
    a = cupy.arange(6, dtype="float32")
    for buffer in (runnel.from_dlpack(a, context), runnel.from_array(a, context)):
        stream.enqueue_wait_stream(context.default_stream)
        stream.enqueue_function(module.function("scale"), 1, 32, buffer, 2.0, 6)
    stream.synchronize()
    assert a.get().tolist() == [0, 4, 8, 12, 16, 20]
    assert cupy.from_dlpack(buffer).data.ptr == a.data.ptr
    assert cupy.asarray(buffer).data.ptr == a.data.ptr


def test_jax_in_both_directions(context, on_cpu):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.default_device(jax.devices("cpu")[0]):
        a = jax.numpy.arange(6, dtype="float32")
        buffer = runnel.from_dlpack(a, context)
        assert buffer.numpy().tolist() == [0, 1, 2, 3, 4, 5]
        assert jax.numpy.from_dlpack(context.array(np.arange(4))).tolist() == \
            [0, 1, 2, 3]


def test_the_interface_of_cuda(context, module, stream):
    if context.device.api != "cuda":
        pytest.skip("asks for a cuda device")
    buffer = context.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    facts = buffer.__cuda_array_interface__
    assert facts["shape"] == (2, 3) and facts["typestr"] == "<f4"
    assert facts["version"] == 3 and facts["data"] == (buffer.address, False)
    assert facts["stream"] == context.default_stream.native
    assert not hasattr(buffer, "__array_interface__")
    with pytest.raises(TypeError, match="numpy"):
        np.asarray(buffer)

    class Foreign:
        __cuda_array_interface__ = facts
    same = runnel.from_array(Foreign(), context)
    assert same.shape == (2, 3) and same.address == buffer.address
    with pytest.raises(BufferError, match="host"):
        stream.enqueue_function(module.function("scale"), 1, 1,
                                np.ones(4, np.float32), 1.0, 4)


# --- Devices and streams --------------------------------------------------------

class Placed(Producer):
    """A producer that says where its tensor is."""

    def __init__(self, device, **facts):
        super().__init__(**facts)
        self.device = device

    def __dlpack_device__(self):
        return self.device


# DLPack's numbers of a device's memory, memory of the host, and the default
# stream.
PLACES = {"cpu": (1, 1, None), "cuda": (2, 3, 1), "hip": (10, 11, 0)}


def test_a_tensor_that_is_elsewhere_is_not_asked_for(context):
    elsewhere = Placed((14, 0))
    with pytest.raises(BufferError, match=r"\(14, 0\), which .* cannot reach"):
        runnel.from_dlpack(elsewhere, context)
    assert elsewhere.asked is None


@pytest.mark.parametrize("device", [None, 5, (1,), ("cpu", 0), [1, 0]])
def test_devices_that_are_none_are_refused(context, device):
    with pytest.raises(BufferError, match="__dlpack_device__"):
        runnel.from_dlpack(Placed(device), context)


def test_an_exception_of_the_device_is_passed_on(context):
    class Raises(Producer):
        def __dlpack_device__(self):
            raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        runnel.from_dlpack(Raises(), context)


def test_memory_of_the_host_is_asked_for_without_a_stream(context, stream):
    api = context.device.api
    source = context.buffer(6, "float32", kind=runnel.MemoryKind.HOST)
    assert source.__dlpack_device__() == (PLACES[api][1], 0)
    same = runnel.from_dlpack(source, context, stream=stream)
    assert same.address == source.address
    producer = Placed((PLACES[api][1], 0), data=source.address,
                      device_type=PLACES[api][1])
    runnel.from_dlpack(producer, context, stream=stream)
    assert producer.asked["stream"] is None


def test_streams_have_the_numbers_of_the_api(context, stream):
    """The array API: 1 is CUDA's default stream, and 0 ROCm's."""
    api = context.device.api
    if api == "cpu":
        pytest.skip("a cpu has no streams that others know")
    memory = context.buffer(6, "float32")
    device, _, default = PLACES[api]
    assert memory.__dlpack_device__() == (device, 0)
    producer = Placed((device, 0), data=memory.address, device_type=device)
    runnel.from_dlpack(producer, context, stream=stream)
    assert producer.asked["stream"] == stream.native
    legacy = runnel.Stream.borrow(context, 0)
    producer = Placed((device, 0), data=memory.address, device_type=device)
    runnel.from_dlpack(producer, context, stream=legacy)
    assert producer.asked["stream"] == default
    for good in None, default, -1, stream.native, *([2] * (api == "cuda")):
        memory.__dlpack__(stream=good)
    for bad in -2, *((0,) if api == "cuda" else (1, 2)):
        with pytest.raises(ValueError, match="is not a stream"):
            memory.__dlpack__(stream=bad)

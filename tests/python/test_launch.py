"""Launches: arguments, shapes, options, and what is refused."""

import collections
import inspect
import struct
import types

import pytest

import runnel
from conftest import need

np = pytest.importorskip("numpy")


def test_ten_lines_of_numpy():
    add = runnel.kernel("""
        extern "C" __global__ void add(const float *a, const float *b, float *c,
                                       int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) c[i] = a[i] + b[i];
        }""", "add")
    a = np.arange(1000, dtype=np.float32)
    b, c = np.ones_like(a), np.zeros_like(a)
    add(a.size, a, b, c, a.size)
    assert (c == a + 1).all()


def test_buffers_by_stream(context, stream, module):
    a = context.array(np.arange(100, dtype=np.float32))
    c = context.buffer(100, "float32", zeroed=True)
    stream.enqueue_function(module.function("add"), 1, 128, a, a, c, 100)
    stream.synchronize()
    assert (c.numpy() == 2 * np.arange(100)).all()


def test_a_function_is_called_with_grid_and_block(context, stream, module):
    a = context.array(np.ones(10, np.float32))
    module.function("scale")((1,), (32, 1, 1), a, 3.0, 10, stream=stream,
                             label="tripled")
    stream.synchronize()
    assert (a.numpy() == 3).all()


VALUES = [-100, 200, -30000, -2000000000, 4000000000, -2**63, 2**64 - 1, 0.5,
          0.1, True, struct.pack("=ixxxxd", 7, 2.5)]


@pytest.mark.parametrize("make", [
    lambda values: values,
    lambda values: [np.int8(-100), np.uint8(200), np.int16(-30000),
                    np.int32(-2000000000), np.uint32(4000000000),
                    np.int64(-2**63), np.uint64(2**64 - 1), np.float32(0.5),
                    np.float64(0.1), np.bool_(True), values[10]],
    lambda values: values[:7] + [np.float16(0.5), 0.1, 1,
                                 bytearray(values[10])],
    lambda values: values[:10] + [np.array([(7, 2.5)], np.dtype(
        "i4,f8", align=True))[0]],
])
def test_values_arrive_as_the_kernel_declares_them(context, module, make):
    out = context.buffer(12, "float64")
    module.function("take")(1, 1, *make(list(VALUES)), out)
    expected = VALUES[:10] + [7, 2.5]
    assert out.numpy().tolist() == [float(value) for value in expected]


def test_an_integer_is_taken_for_a_float(context, module, on_cpu):
    a = context.array(np.ones(4, np.float32))
    module.function("scale")(1, 4, a, 3, 4)
    assert a.numpy().tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("position, value, kind", [
    (0, 256, OverflowError), (0, -129, OverflowError),
    (1, 300, OverflowError), (2, 70000, OverflowError),
    (3, 2**32, OverflowError), (4, -2**31 - 1, OverflowError),
    (5, 2**64, OverflowError), (6, -2**63 - 1, OverflowError),
    (7, 1e300, OverflowError), (7, 10**400, OverflowError),
    (8, "1", TypeError), (10, b"short", TypeError),
    (10, None, TypeError), (11, "text", TypeError), (11, object(), TypeError),
])
def test_values_that_do_not_fit_are_refused(context, module, position, value,
                                            kind):
    out = context.buffer(12, "float64")
    given = list(VALUES) + [out]
    given[position] = value
    with pytest.raises(kind, match="argument %d" % (position + 1)):
        module.function("take")(1, 1, *given)


def test_kinds_are_checked_where_they_are_known(context, module, on_cpu):
    a = context.buffer(4, "float32")
    scale = module.function("scale")
    with pytest.raises(TypeError, match="argument 3 .*integer"):
        scale(1, 4, a, 1.0, 4.0)
    with pytest.raises(TypeError, match="argument 1 .*pointer"):
        scale(1, 4, 1.5, 1.0, 4)
    with pytest.raises(TypeError, match="argument 2"):
        scale(1, 4, a, None, 4)
    with pytest.raises(runnel.ArgumentMismatch, match="double|float64") as caught:
        scale(1, 4, context.buffer(4, "float64"), 1.0, 4)
    assert isinstance(caught.value, TypeError)
    assert caught.value.status == runnel.Status.ERROR_ARGUMENT_MISMATCH


def test_the_number_of_arguments_is_checked(context, module):
    with pytest.raises(TypeError, match="takes 3 arguments, not 2$"):
        module.function("scale")(1, 4, context.buffer(4), 1.0)
    with pytest.raises(TypeError, match="takes 1 argument, not 0$"):
        module.function("count")(1, 4)


@pytest.mark.parametrize("grid, block, kind", [
    (0, 1, ValueError), (1, 0, ValueError), (-1, 1, ValueError),
    ((1, 2, 3, 4), 1, ValueError), ((), 1, ValueError), ("1", 1, TypeError),
    (1, 2**33, ValueError), (1, 10**7, ValueError), (1.0, 1, TypeError),
    (None, 1, TypeError), ([1], [[1]], TypeError)])
def test_shapes_that_cannot_be_are_refused(context, module, grid, block, kind):
    with pytest.raises(kind):
        module.function("scale")(grid, block, context.buffer(4), 1.0, 4)


def test_options_of_a_launch(context, stream, module):
    a = context.buffer(4, "uint32", zeroed=True)
    count = module.function("count")
    stream.enqueue_function(count, 2, 3, a, shared_size=64, label="counted",
                            priority=-1)
    if context.supports(runnel.Feature.COOPERATIVE_LAUNCH):
        stream.enqueue_function(count, 1, 4, a, cooperative=True)
    stream.enqueue_function(count, 1, 1, a, cluster=None, label=None)
    stream.synchronize()
    assert a.numpy()[0] in (7, 11)
    with pytest.raises(TypeError, match="no option 'shared'"):
        stream.enqueue_function(count, 1, 1, a, shared=64)
    with pytest.raises(TypeError, match="no option 'x'"):
        count(1, 1, a, x=1)
    with pytest.raises(TypeError):
        stream.enqueue_function(count, 1, 1, a, label=5)
    with pytest.raises(TypeError):
        stream.enqueue_function(count)
    with pytest.raises(TypeError):
        stream.enqueue_function()
    with pytest.raises(TypeError):
        stream.enqueue_function(stream, 1, 1, a)


def test_a_failure_names_the_place_in_python(context, stream, module, on_cpu):
    line = inspect.currentframe().f_lineno + 1
    stream.enqueue_function(module.function("crash"), 1, 1, None, label="fault")
    with pytest.raises(runnel.Error) as caught:
        stream.synchronize()
    error = caught.value
    assert error.site == (__file__, line)
    assert error.operation_name == "crash"
    assert error.operation_label == "fault"
    assert error.status == runnel.Status.ERROR_LAUNCH_FAILED
    assert "%s:%d" % (__file__, line) in str(error)
    stream.reset_and_wait()
    stream.synchronize()


def test_a_kernel_names_the_place_of_its_caller(context, on_cpu):
    crash = runnel.kernel("__global__ void f(int *a, int *b) { *a = 1; }", "f",
                          context=context)
    stream = context.stream()
    line = inspect.currentframe().f_lineno + 1
    crash(1, None, context.buffer(4), stream=stream)
    with pytest.raises(runnel.Error) as caught:
        stream.synchronize()
    assert caught.value.site == (__file__, line)
    stream.reset_and_wait()
    crash.function()(1, 1, None, None, stream=stream, site=("a.py", 5))
    with pytest.raises(runnel.Error) as caught:
        stream.synchronize()
    assert caught.value.site == ("a.py", 5)
    stream.reset_and_wait()
    for wrong in (None, 5, (1, 2), ("a",), ["a", 5]):
        with pytest.raises(TypeError):
            crash.function()(1, 1, None, None, site=wrong)


def test_options_of_other_calls_are_refused(context, module):
    a = context.buffer(1, "uint32")
    graph = runnel.Graph(context)
    for call in (lambda: module.function("count")(1, 1, a, after=()),
                 lambda: graph.add_function(module.function("count"), 1, 1, a,
                                            stream=context.default_stream)):
        with pytest.raises(TypeError, match="no option"):
            call()


def test_a_kernel_waits_for_all_kinds_of_host_memory(context):
    import array
    twice = runnel.kernel(
        "__global__ void f(int *a, const int *b, int n)"
        "{ int i = threadIdx.x; if (i < n) a[i] = 2 * b[i]; }", "f",
        context=context)
    source = array.array("i", range(8))
    for target in (array.array("i", [0] * 8), np.zeros(8, np.int32),
                   memoryview(bytearray(32)).cast("i")):
        twice(8, target, source, np.int32(8))
        assert list(target) == [2 * i for i in range(8)]


def test_more_arguments_than_have_a_place_on_the_stack(context, stream):
    names = ["x%d" % i for i in range(40)]
    source = 'extern "C" __global__ void sum(int *out, %s) { *out = %s; }' % (
        ", ".join("int " + name for name in names), " + ".join(names))
    out = context.buffer(1, "int32")
    function = context.compile(source, "sum")
    stream.enqueue_function(function, 1, 1, out, *range(40))
    stream.synchronize()
    assert out.numpy()[0] == sum(range(40))
    with pytest.raises(TypeError, match="enqueue_function"):
        function(1, 1, out, *range(40))


def test_null_and_addresses_are_pointers(context, stream):
    function = context.compile(
        'extern "C" __global__ void f(int *a, int *b) { if (!a) *b = 7; }', "f")
    out = context.buffer(1, "int32", zeroed=True)
    stream.enqueue_function(function, 1, 1, None, out.address)
    stream.synchronize()
    assert out.numpy()[0] == 7


def test_arrays_are_arguments_of_launches(context, stream, module, on_cpu):
    a = np.ones(4, np.float32)
    stream.enqueue_function(module.function("scale"), 1, 4, a, 2.0, 4)
    stream.synchronize()
    assert a.tolist() == [2, 2, 2, 2]
    frozen = np.ones(4, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        stream.enqueue_function(module.function("scale"), 1, 4, frozen, 2.0, 4)
    stream.enqueue_function(module.function("add"), 1, 4, frozen, frozen, a, 4)
    stream.synchronize()
    assert a.tolist() == [2, 2, 2, 2]
    with pytest.raises(BufferError, match="ascontiguousarray"):
        stream.enqueue_function(module.function("scale"), 1, 4,
                                np.ones((4, 4), np.float32)[:, 1], 2.0, 4)
    with pytest.raises(runnel.ArgumentMismatch):
        stream.enqueue_function(module.function("scale"), 1, 4, np.ones(4), 2.0,
                                4)


def test_a_kernel_takes_threads_of_three_dimensions():
    fill = runnel.kernel("""
        extern "C" __global__ void fill(int *a, int w, int h) {
            int x = blockIdx.x * blockDim.x + threadIdx.x;
            int y = blockIdx.y * blockDim.y + threadIdx.y;
            if (x < w && y < h) a[y * w + x] = x * y;
        }""", "fill")
    a = np.zeros((30, 50), np.int32)
    fill((50, 30), a, 50, 30)
    y, x = np.mgrid[:30, :50]
    assert (a == x * y).all()
    fill((0, 30), a, 50, 30)
    assert "fill" in repr(fill)


def test_templates_by_name_expression():
    twice = runnel.kernel("""
        template <class T> __global__ void twice(T *a, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) a[i] += a[i];
        }""", "twice<double>", block=64)
    a = np.arange(100.0)
    twice(100, a, 100)
    assert (a == 2 * np.arange(100.0)).all()


def test_a_source_that_does_not_compile_shows_its_lines(context):
    with pytest.raises(runnel.CompileError) as caught:
        context.compile("__global__ void f(int *a)\n{\n    *a = unknown;\n}\n",
                        "f", name="mine.cu")
    error = caught.value
    assert "mine.cu" in error.log and "unknown" in error.log
    assert "*a = unknown;" in str(error)
    assert "<pre>" in error._repr_html_()


def test_modules(context, module, stream):
    names = {function.name for function in module.functions()}
    assert {"add", "scale", "count"} <= names
    again = runnel.Module.load(context, module.binary)
    a = context.buffer(1, "uint32", zeroed=True)
    again.function("count")(1, 5, a)
    assert a.numpy()[0] == 5
    with pytest.raises(LookupError, match="scale"):
        module.function("nothing")
    info = module.function("scale").info()
    assert info["name"] == "scale" and len(info["parameters"]) == 3
    function = module.function("scale")
    assert 1 <= function.suggest_block() <= info["max_block_threads"]
    assert function.occupancy(32) >= 1
    function.set_attribute(runnel.FunctionAttribute.CARVEOUT, 50)
    assert function.get_attribute(runnel.FunctionAttribute.CARVEOUT) == 50


def test_headers_options_and_variables(context, stream):
    module = runnel.Module(
        context, '#include "mine.h"\n__device__ int table[4];\n'
        'extern "C" __global__ void f(int *a) { *a = MINE + X + table[2]; }',
        options=["-DX=3"], headers={"mine.h": "#define MINE 40"})
    table = module.variable("table", "int32")
    assert table.shape == (4,)
    stream.copy_and_wait(table, np.array([0, 0, 100, 0], np.int32))
    out = context.buffer(1, "int32")
    stream.enqueue_function(module.function("f"), 1, 1, out)
    stream.synchronize()
    assert out.numpy()[0] == 143
    assert isinstance(module.log, str)

    class Listed:
        def __init__(self, *items):
            self._items = items

        def items(self):
            return self._items

    for good in None, types.MappingProxyType({"mine.h": ""}), \
            collections.ChainMap({"mine.h": ""}), Listed(("mine.h", "")):
        runnel.Module(context, '#include "mine.h"\n' if good else "",
                      headers=good)
    for bad in (dict(options="-DX"), dict(options=[1]), dict(headers=["a"]),
                dict(headers={1: 2}), dict(headers=5),
                dict(headers=Listed(["mine.h", ""])),
                dict(headers=Listed(("mine.h",)))):
        with pytest.raises(TypeError):
            runnel.Module(context, "", **bad)


STEP = """
extern "C" __global__ void step(int *a, int *b, const int *c, int n) {
    int i = threadIdx.x;
    if (i < n) a[i] += 1;
    __syncthreads();
    if (i < n) b[i] += 10;
    __syncthreads();
    if (i == 0 && c) a[0] = c[1];
}"""


@pytest.mark.parametrize("first, second, third", [
    (slice(0, 4), slice(2, 6), slice(4, 8)), (slice(2, 6), slice(0, 4), None),
    (slice(0, 4), slice(0, 4), slice(0, 4)), (slice(0, 4), slice(4, 8), None),
    (slice(3, 7), slice(1, 5), slice(0, 2))])
def test_arrays_that_overlap_are_one_memory(context, first, second, third):
    """As on a cpu, which uses the memory itself."""
    step = runnel.kernel(STEP, "step", context=context, block=8)
    numbers = np.arange(8, dtype=np.int32)
    expected = numbers.copy()
    expected[first] += 1
    expected[second] += 10
    if third:
        expected[first][0] = expected[third][1]
    c = numbers[third] if third else None
    if c is not None:
        c.flags.writeable = False
    step(8, numbers[first], numbers[second], c, 4)
    assert numbers.tolist() == expected.tolist()


def test_arrays_that_overlap_may_have_types_of_their_own(context):
    add = runnel.kernel("""
        extern "C" __global__ void f(short *a, int *b) {
            if (threadIdx.x == 0) { a[2] = 5; __threadfence(); b[1] += 1; }
        }""", "f", context=context, block=1)
    memory = np.zeros(16, np.uint8)
    add(1, memory[2:10].view(np.int16), memory[4:12].view(np.int32))
    assert memory.view(np.int16).tolist() == [0, 0, 0, 5, 1, 0, 0, 0]


@pytest.mark.parametrize("parameter, good", [
    ("const int *a", True), ("int const *a", True), ("int *a", False),
    ("int *const a", False), ("const int *const a", True),
    ("const volatile int *__restrict__ a", True),
    ("volatile const int *a", True), ("const int **a", False),
    ("int *const *a", True), ("const int *const *a", True)])
def test_read_only_memory_needs_a_const_parameter(context, stream, on_cpu,
                                                  parameter, good):
    kernel = context.compile(
        'extern "C" __global__ void f(%s) { }' % parameter, "f")
    buffer = runnel.from_array(bytes(16), context)
    if good:
        stream.enqueue_function(kernel, 1, 1, buffer)
        stream.synchronize()
    else:
        with pytest.raises(BufferError, match="read-only"):
            stream.enqueue_function(kernel, 1, 1, buffer)

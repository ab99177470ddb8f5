"""Devices, contexts, streams, events, promises, values, and errors."""

import pickle
import threading

import pytest

import runnel
from conftest import DEVICE, Gate, need, wait_until
from runnel import _core, _enums
from test_host_functions import Reports


def test_enums_are_those_of_the_headers():
    groups = {}
    for group, name, value in _core._numbers:
        groups.setdefault(group, {})[name] = value
    for group, members in groups.items():
        enum = getattr(_enums, group)
        assert {member.name: member.value for member in enum} == members


def test_devices():
    devices = runnel.devices()
    assert runnel.default_device().api == devices[0].api
    cpu = runnel.devices("cpu")[0]
    assert cpu.api == "cpu" and cpu.index == 0 and cpu.name
    assert cpu.multiprocessors >= 1 and cpu.memory_size > 0
    assert len(cpu.max_grid) == 3 and len(cpu.uuid) == 16
    assert len(cpu.compute_capability) == 2
    assert cpu.attribute(10) == cpu.warp_size
    assert "cpu:0" in repr(cpu)
    assert "cpu" in runnel.api_names()
    assert runnel.api_reason("cpu") == ""
    assert isinstance(runnel.has_accelerator(), bool)
    assert runnel.__version__ == "%d.%d.%d" % runnel.version()
    with pytest.raises(runnel.NotFound):
        runnel.devices("vulcan")
    with pytest.raises(TypeError):
        runnel.Device()


@pytest.mark.parametrize("name", ["", "cpu:", "cpu:x", "cpu:1:2", ":", "x" * 40])
def test_names_of_devices_that_cannot_be(name):
    with pytest.raises((ValueError, runnel.Error)):
        runnel.Context(name)


def test_contexts():
    with pytest.raises(runnel.Error) as caught:
        runnel.Context("cpu:77")
    assert caught.value.status == runnel.Status.ERROR_NO_DEVICE
    with pytest.raises(TypeError):
        runnel.Context(5)
    with pytest.raises(ValueError):
        runnel.Context("cpu", threads=-1)
    with runnel.Context(runnel.devices("cpu")[0], label="mine") as context:
        free, total = context.memory
        assert 0 < free <= total
        assert context.device.api == "cpu"
        assert context.supports(runnel.Feature.COMPILE) in (True, False)
        assert "vendor" in context.reason_against(runnel.Feature.NATIVE_HANDLES)
        assert context.can_access_peer(context)
        least, greatest = context.priority_range
        assert greatest <= least
        context.synchronize(timeout=10)
        context.buffer(100).release()
        context.trim()
        assert context.pool_stats()["misses"] >= 1
        assert context.id != runnel.Context("cpu").id
        with pytest.raises(runnel.Unsupported):
            context.native
    with pytest.raises(runnel.Error) as caught:
        context.synchronize()
    assert caught.value.status == runnel.Status.ERROR_INVALID_HANDLE
    assert "released" in repr(context)
    context.release()


def test_objects_keep_their_context():
    stream = runnel.Context(DEVICE).stream()
    event = stream.context.event()
    stream.enqueue_event_record(event)
    event.synchronize()
    assert event.query() and stream.query()


def test_streams(context):
    with context.stream(priority=-1, label="mine",
                        flags=runnel.StreamFlags.BATCHED) as stream:
        assert stream.label == "mine" and "mine" in repr(stream)
        assert stream.flags == runnel.StreamFlags.BATCHED
        assert isinstance(stream.priority, int)
        assert stream.id != context.default_stream.id
        assert context.default_stream.label == "default"
        stream.flush()
        stream.enqueue_wait_stream(context.default_stream)
        stream.enqueue_wait_context(context)
        stream.synchronize()
    with pytest.raises(runnel.Error):
        stream.query()


def test_the_default_stream_is_not_released(context):
    context.default_stream.release()
    context.default_stream.synchronize()


def test_a_wait_has_a_limit(context, stream):
    need(context, runnel.Feature.PROMISES)
    promise = runnel.Promise(context, label="never yet")
    assert isinstance(promise, runnel.Event)
    stream.enqueue_wait_event(promise)
    assert not stream.query() and not promise.query()
    for timeout in 0, 0.001:
        with pytest.raises(TimeoutError) as caught:
            stream.synchronize(timeout)
        assert isinstance(caught.value, runnel.TimedOut)
        assert caught.value.status == runnel.Status.ERROR_TIMED_OUT
        assert "TIMED_OUT" in str(caught.value)
    for wrong in -1, float("nan"):
        with pytest.raises(ValueError):
            stream.synchronize(timeout=wrong)
    with pytest.raises(TypeError):
        stream.synchronize("soon")
    context.default_stream.enqueue_event_record(promise)
    stream.synchronize(1e300)
    assert promise.query()


def test_a_broken_promise_fails_those_who_wait(context, stream):
    need(context, runnel.Feature.PROMISES)
    promise = runnel.Promise(context)
    stream.enqueue_wait_event(promise)
    del promise
    with pytest.raises(runnel.Error) as caught:
        stream.synchronize()
    assert caught.value.status == runnel.Status.ERROR_DEPENDENCY_FAILED
    stream.reset_and_wait()


def test_events_measure_time(context, stream):
    need(context, runnel.Feature.EVENT_TIMING)
    start, end = context.event(timing=True), context.event(timing=True)
    stream.enqueue_event_record(start)
    stream.enqueue_event_record(end)
    end.synchronize()
    assert start.elapsed_ns(end) >= 0
    with pytest.raises(ValueError):
        start.elapsed_ns(context.event())
    buffer = context.buffer(1000)
    calls = []

    def step(i):
        calls.append(i)
        stream.enqueue_fill(buffer, i)
    assert stream.time_and_wait(step, 3) > 0
    assert calls == [0, 1, 2]


def test_values(context, stream):
    need(context, runnel.Feature.MEMORY_OPERATIONS)
    word = context.buffer(2, "uint64", zeroed=True)
    other = context.stream()
    stream.enqueue_wait_value32(word, 0, 5)
    stream.enqueue_wait_value64(word, 8, 2**40, runnel.WaitCondition.EQ)
    assert not stream.query()
    other.enqueue_write_value32(word, 0, 7)
    other.enqueue_write_value64(word, 8, 2**40)
    stream.synchronize()
    assert memoryview(word.numpy()).tolist() == [7, 2**40]
    for call in stream.enqueue_write_value32, stream.enqueue_wait_value32:
        with pytest.raises(OverflowError):
            call(word, 0, 2**32)
    with pytest.raises(OverflowError):
        stream.enqueue_write_value64(word, 0, -1)
    with pytest.raises(IndexError):
        stream.enqueue_write_value32(word, 16, 1)
    with pytest.raises(ValueError):
        stream.enqueue_write_value32(word, 1, 1)


def test_a_stream_is_cancelled(context, stream):
    need(context, runnel.Feature.CANCEL)
    word = context.buffer(1, "uint32", zeroed=True)
    stream.enqueue_wait_value32(word, 0, 1)
    stream.cancel()
    with pytest.raises(runnel.Error) as caught:
        stream.synchronize()
    assert caught.value.status == runnel.Status.ERROR_CANCELLED
    stream.reset_and_wait()


def test_errors_have_all_fields(context):
    with pytest.raises(runnel.Error) as caught:
        context.event().elapsed_ns(context.event())
    error = caught.value
    assert error.function == "rnl_event_elapsed"
    assert error.parameter == "start"
    assert error.message and error.site is None
    for name in ("native_code", "native_text", "object", "stream", "operation",
                 "operation_name", "operation_label", "log"):
        assert hasattr(error, name)
    assert "ERROR_INVALID_ARGUMENT" in str(error)
    with pytest.raises(runnel.NotFound) as caught:
        runnel.devices("vulcan")
    need(context, runnel.Feature.PROMISES)
    promise = runnel.Promise(context)
    with pytest.raises(TimeoutError) as late:
        promise.synchronize(0)
    for one in error, caught.value, late.value:
        again = pickle.loads(pickle.dumps(one))
        assert str(again) == str(one) and again.status == one.status
        assert type(again) is type(one)


RELEASED = {
    "stream of an import": lambda c, r: runnel.from_array(
        bytes(4), c, r["stream"]),
    "stream of a tensor": lambda c, r: runnel.from_dlpack(
        r["buffer"], c, stream=r["stream"]),
    "stream of a buffer": lambda c, r: c.buffer(4, stream=r["stream"]),
    "stream of a launch": lambda c, r: r["kernel"](1, 1, stream=r["stream"]),
    "graph of a capture": lambda c, r: c.stream().begin_capture(
        graph=r["graph"]),
    "graph of a node": lambda c, r: runnel.Graph(c).add_child(r["graph"]),
    "event of a node": lambda c, r: runnel.Graph(c).add_event_wait(r["event"]),
    "buffer of a node": lambda c, r: runnel.Graph(c).add_copy(
        r["buffer"], bytes(8)),
    "function of a node": lambda c, r: runnel.Graph(c).add_function(
        r["function"], 1, 1),
    "buffer of a launch": lambda c, r: r["pointer"](1, 1, r["buffer"]),
    "buffer of a copy": lambda c, r: c.default_stream.enqueue_copy(
        bytearray(8), r["buffer"]),
    "buffer of a fill": lambda c, r: c.default_stream.enqueue_fill(
        r["buffer"], 1),
    "stream of a wait": lambda c, r: c.default_stream.enqueue_wait_stream(
        r["stream"]),
    "event of a wait": lambda c, r: c.default_stream.enqueue_wait_event(
        r["event"]),
    "graph exec of a launch": lambda c, r: c.default_stream.enqueue_graph(
        r["exec"]),
    "context of a stream": lambda c, r: runnel.Stream(r["context"]),
    "context itself": lambda c, r: r["context"].synchronize(),
    "stream itself": lambda c, r: r["stream"].synchronize(),
    "event itself": lambda c, r: r["event"].query(),
    "buffer itself": lambda c, r: memoryview(r["buffer"]),
    "module itself": lambda c, r: r["module"].function("f"),
    "function itself": lambda c, r: r["function"](1, 1),
    "graph itself": lambda c, r: r["graph"].nodes(),
    "graph exec itself": lambda c, r: r["exec"].update(runnel.Graph(c)),
}


@pytest.mark.parametrize("use", RELEASED)
def test_an_error_says_which_object_is_released(context, use):
    module = context.compile('extern "C" __global__ void f() {} '
                             'extern "C" __global__ void g(int *a) {}')
    own = runnel.Context(DEVICE)
    released = dict(context=own, stream=context.stream(),
                    event=context.event(), buffer=context.buffer(8),
                    module=context.compile(""), function=module.function("f"),
                    graph=runnel.Graph(context),
                    exec=runnel.Graph(context).instantiate())
    for thing in released.values():
        thing.release()
    released.update(kernel=module.function("f"), pointer=module.function("g"))
    kind = use.replace(" itself", "").split(" of ")[0]
    with pytest.raises(runnel.Error, match="the %s is released" % kind) as caught:
        RELEASED[use](context, released)
    assert caught.value.status == runnel.Status.ERROR_INVALID_HANDLE


def test_errors_of_statuses_to_come():
    error = runnel._errors.make(9999, dict.fromkeys(
        ("native_code native_text message function parameter object stream "
         "operation operation_name operation_label site log").split()))
    assert error.status == 9999 and "9999" in str(error)


@pytest.mark.parametrize("thing", [
    "context", "stream", "event", "buffer", "module", "function", "graph",
    "exec"])
def test_every_object_is_released_once_and_then_refused(thing):
    context = runnel.Context(DEVICE)
    module = context.compile('extern "C" __global__ void f() {}')
    graph = runnel.Graph(context)
    made = dict(context=context, stream=context.stream(),
                event=context.event(), buffer=context.buffer(8), module=module,
                function=module.function("f"), graph=graph,
                exec=graph.instantiate())[thing]
    uses = dict(context=lambda: made.synchronize(), stream=lambda: made.query(),
                event=lambda: made.query(), buffer=lambda: memoryview(made),
                module=lambda: made.function("f"),
                function=lambda: made(1, 1), graph=lambda: made.nodes(),
                exec=lambda: context.default_stream.enqueue_graph(made))
    with made as same:
        assert same is made
    made.release()
    with pytest.raises(runnel.Error) as caught:
        uses[thing]()
    assert caught.value.status == runnel.Status.ERROR_INVALID_HANDLE


def test_a_cuda_stream_is_shown_where_there_is_one(context, stream):
    if context.device.api == "cuda":
        version, handle = stream.__cuda_stream__()
        assert version == 0 and handle == stream.native
        borrowed = runnel.Stream.borrow(context, stream)
        assert borrowed.native == handle
        borrowed.synchronize()
    else:
        assert not hasattr(stream, "__cuda_stream__")
        with pytest.raises(runnel.Unsupported):
            runnel.Stream.borrow(context, 1)
    with pytest.raises(TypeError):
        runnel.Stream.borrow(context, "1")


def test_waits_let_other_threads_run(context, stream):
    gate = Gate(stream)
    assert gate.entered.wait(60)
    done = []

    def wait():
        stream.synchronize()
        done.append(True)
    thread = threading.Thread(target=wait)
    thread.start()
    assert not done
    gate.open()
    thread.join(60)
    assert done


def test_wrappers_of_one_object_are_equal(context, stream):
    device = context.device
    assert device == context.device and device != stream
    assert device in {runnel.devices(device.api)[device.index]}
    default = context.default_stream
    assert default == context.default_stream and default != stream
    assert {default: 1}[context.default_stream] == 1
    other = context.stream()
    number = hash(other)
    other.release()
    assert hash(other) == number and other == other
    assert other != default and other is not None
    with pytest.raises(TypeError):
        default < stream
    need(context, runnel.Feature.GRAPHS)
    graph = runnel.Graph(context)
    loop = graph.add_condition(runnel.NodeKind.WHILE, context.buffer(4))
    assert loop.bodies == loop.bodies and loop.bodies[0] != graph


def test_a_function_of_python_gets_the_messages(context, stream):
    got = []

    def fail():
        raise KeyError("mine")

    def log(level, text):
        got.append((level, text))
        if "vulcan" in text:
            raise ValueError("also mine")

    runnel.set_log(log, runnel.LogLevel.DEBUG)
    try:
        with Reports() as reported:
            with pytest.raises(runnel.NotFound):
                runnel.devices("vulcan")
            stream.enqueue_host_function(fail)  # on another thread
            with pytest.raises(runnel.Error):
                stream.synchronize()
            wait_until(lambda: any(level == runnel.LogLevel.ERROR
                                   for level, _ in got))
        assert "vulcan" in got[0][1] and got[0][0] == runnel.LogLevel.DEBUG
        assert {type(error) for error in reported} == {KeyError, ValueError}
        for wrong in 5, "text":
            with pytest.raises(TypeError):
                runnel.set_log(wrong)
        with pytest.raises(ValueError):
            runnel.set_log(log, 99)
    finally:
        runnel.set_log(None)
    got.clear()
    with pytest.raises(runnel.NotFound):
        runnel.devices("vulcan")
    runnel.collect()
    assert not got
    stream.reset_and_wait()

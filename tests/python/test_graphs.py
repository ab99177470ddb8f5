"""Capture, graphs built by hand, and pictures."""

import shutil
import weakref

import pytest

import runnel
from conftest import need, wait_until

np = pytest.importorskip("numpy")


def test_what_is_captured_runs_at_each_launch(context, stream, module):
    need(context, runnel.Feature.CAPTURE)
    a = context.array(np.ones(8, np.float32))
    with stream.capture(label="twice") as capture:
        assert stream.capture_status == runnel.CaptureStatus.ACTIVE
        module.function("scale")(1, 8, a, 2.0, 8, stream=stream)
        module.function("scale")(1, 8, a, 3.0, 8, stream=stream)
    graph = capture.graph
    assert graph.node_count == 2 and graph.edge_count == 1
    assert graph.label == "twice" and "2 nodes" in repr(graph)
    assert stream.capture_status == runnel.CaptureStatus.NONE
    assert a.numpy()[0] == 1
    exec_ = graph.instantiate()
    stream.enqueue_graph_upload(exec_)
    for _ in range(2):
        stream.enqueue_graph(exec_)
    stream.synchronize()
    assert (a.numpy() == 36).all()


def test_an_exception_ends_the_capture(context, stream):
    need(context, runnel.Feature.CAPTURE)
    with pytest.raises(ZeroDivisionError):
        with stream.capture() as capture:
            1 / 0
    assert capture.graph is None
    assert stream.capture_status == runnel.CaptureStatus.NONE
    with pytest.raises(runnel.Error) as caught:
        with stream.capture():
            stream.synchronize()
    assert caught.value.status == runnel.Status.ERROR_CAPTURE_UNSUPPORTED
    with pytest.raises(runnel.Error):
        stream.end_capture()
    stream.synchronize()


def test_streams_join_a_capture(context, stream, module):
    need(context, runnel.Feature.CAPTURE)
    other = context.stream()
    a = context.buffer(1, "uint32", zeroed=True)
    with stream.capture() as capture:
        other.enqueue_wait_stream(stream)
        module.function("count")(1, 1, a, stream=other)
        stream.enqueue_wait_stream(other)
        module.function("count")(1, 2, a, stream=stream)
    stream.enqueue_graph(capture.graph.instantiate())
    stream.synchronize()
    assert a.numpy()[0] == 3


def test_graphs_by_hand(context, stream, module):
    need(context, runnel.Feature.GRAPHS)
    calls = []
    a, b = context.buffer(4, "float32"), context.buffer(4, "float32")
    target = np.zeros(4, np.float32)
    graph = runnel.Graph(context, label="hand")
    fill = graph.add_fill(a, 2.0, label="twos")
    scale = graph.add_function(module.function("scale"), 1, 4, a, 5.0, 4,
                               after=fill, label="tens")
    copy = graph.add_copy(b, a, after=[scale])
    out = graph.add_copy(target, b, after=copy)
    call = graph.add_host_function(calls.append, ("done",), after=out)
    end = graph.add_empty(after=(call, copy))
    assert [node.kind for node in graph.nodes()] == [
        runnel.NodeKind.FILL, runnel.NodeKind.FUNCTION, runnel.NodeKind.COPY,
        runnel.NodeKind.COPY, runnel.NodeKind.HOST_FUNCTION,
        runnel.NodeKind.EMPTY]
    assert (fill, scale) in graph.edges() and len(graph.edges()) == 6
    assert scale.what == "scale" and scale.label == "tens"
    assert scale == graph.nodes()[1] and scale != fill and scale.graph is graph
    assert len({scale, graph.nodes()[1], fill}) == 2 and "tens" in repr(scale)
    exec_ = graph.instantiate()
    stream.enqueue_graph(exec_)
    stream.synchronize()
    assert target.tolist() == [10] * 4 and calls == ["done"]
    exec_.set_function(scale, module.function("scale"), 1, 4, a, 7.0, 4)
    exec_.set_enabled(call, False)
    assert not exec_.is_enabled(call) and exec_.is_enabled(scale)
    stream.enqueue_graph(exec_)
    stream.synchronize()
    assert target.tolist() == [14] * 4 and calls == ["done"]
    exec_.update(graph)
    clone = graph.clone()
    assert clone.find_node(scale).label == "tens"
    graph.remove_edge(call, end)
    graph.add_edge(call, end)
    graph.remove_node(end)
    assert graph.node_count == 5 and "removed" in repr(end)
    with pytest.raises(runnel.Error) as caught:
        exec_.update(graph)
    assert caught.value.status == runnel.Status.ERROR_GRAPH_UPDATE


def test_memory_that_a_graph_uses_is_kept(context, stream):
    need(context, runnel.Feature.GRAPHS)
    import gc
    graph = runnel.Graph(context)
    b = context.buffer(4, "int32")
    graph.add_copy(b, np.arange(4, dtype=np.int32))
    exec_ = graph.instantiate()
    graph.release()
    gc.collect()
    noise = [np.full(4, 9, np.int32) for _ in range(50)]
    stream.enqueue_graph(exec_)
    stream.synchronize()
    assert b.numpy().tolist() == [0, 1, 2, 3] and noise


def test_conditions(context, stream, module):
    need(context, runnel.Feature.GRAPHS)
    flag = context.array(np.array([3], np.uint32))
    count = context.buffer(1, "uint32", zeroed=True)
    down = context.compile(
        'extern "C" __global__ void down(unsigned *a) { --*a; }', "down")
    graph = runnel.Graph(context)
    loop = graph.add_condition(runnel.NodeKind.WHILE, flag)
    body, = loop.bodies
    first = body.add_function(module.function("count"), 1, 1, count)
    body.add_function(down, 1, 1, flag, after=first)
    stream.enqueue_graph(graph.instantiate())
    stream.synchronize()
    assert count.numpy()[0] == 3 and flag.numpy()[0] == 0
    with pytest.raises(ValueError):
        graph.add_condition(runnel.NodeKind.COPY, flag)
    with pytest.raises(ValueError):
        graph.add_condition(runnel.NodeKind.SWITCH, flag, body_count=0)


def test_children_and_events(context, stream):
    need(context, runnel.Feature.GRAPHS)
    a = context.buffer(4, "int32", zeroed=True)
    event = context.event()
    inner = runnel.Graph(context)
    inner.add_fill(a, 5)
    outer = runnel.Graph(context)
    child = outer.add_child(inner, label="inner")
    record = outer.add_event_record(event, after=child)
    outer.add_event_wait(event, after=record)
    stream.enqueue_graph(outer.instantiate())
    stream.synchronize()
    assert event.query() and a.numpy().tolist() == [5] * 4


@pytest.mark.parametrize("call", [
    lambda g, b: g.add_function(), lambda g, b: g.add_function(5, 1, 1),
    lambda g, b: g.add_copy(b), lambda g, b: g.add_copy(b, 5),
    lambda g, b: g.add_copy(bytearray(8), bytearray(8)),
    lambda g, b: g.add_copy(b, b"short"), lambda g, b: g.add_fill(b, "x"),
    lambda g, b: g.add_host_function(5), lambda g, b: g.add_child(5),
    lambda g, b: g.add_empty(after=5), lambda g, b: g.add_empty(after=[5]),
    lambda g, b: g.add_event_record(b), lambda g, b: g.add_edge(1, 2),
    lambda g, b: g.remove_node(None), lambda g, b: g.add_condition(12, 5),
    lambda g, b: g.instantiate().set_function(),
    lambda g, b: g.instantiate().update(5)])
def test_nodes_that_cannot_be(context, call):
    need(context, runnel.Feature.GRAPHS)
    graph = runnel.Graph(context)
    with pytest.raises((TypeError, ValueError)):
        call(graph, context.buffer(8))
    assert graph.node_count == 0


def test_nodes_of_another_graph_are_refused(context):
    need(context, runnel.Feature.GRAPHS)
    other = runnel.Graph(context).add_empty()
    with pytest.raises(runnel.Error):
        runnel.Graph(context).add_empty(after=other)


def test_pictures(context, monkeypatch):
    need(context, runnel.Feature.GRAPHS)
    graph = runnel.Graph(context, label="drawn")
    graph.add_empty(after=graph.add_empty(label="first"), label="second")
    text = graph.dot()
    assert text.startswith("digraph") and "first" in text and "->" in text
    bundle = graph._repr_mimebundle_()
    assert bundle["text/vnd.graphviz"] == text
    if shutil.which("dot"):
        assert "<svg" in bundle["image/svg+xml"]
        assert "drawn" in bundle["image/svg+xml"]
    monkeypatch.setenv("PATH", "")
    bundle = graph._repr_mimebundle_()
    assert "image/svg+xml" not in bundle and text in bundle["text/plain"]


def test_a_function_that_refers_to_its_graph_goes_with_the_release(context):
    """As docs/python.md says."""
    need(context, runnel.Feature.GRAPHS)

    class Owner:
        def __init__(self):
            self.graph = runnel.Graph(context)
            self.graph.add_host_function(self.work)
            self.exec = self.graph.instantiate()

        def work(self):
            pass

    owner = Owner()
    gone = weakref.ref(owner)
    owner.graph.release()
    owner.exec.release()
    del owner
    wait_until(lambda: gone() is None)


@pytest.mark.parametrize("bits", [32, 64])
def test_values_are_nodes(context, stream, bits):
    need(context, runnel.Feature.MEMORY_OPERATIONS)
    words = context.buffer(2, "uint%d" % bits, zeroed=True)
    size, most = bits // 8, 2**bits - 1
    graph = runnel.Graph(context)
    write, wait = (getattr(graph, "add_%s_value%d" % (name, bits))
                   for name in ("write", "wait"))
    first = write(words, 0, most, label="all")
    second = wait(words, size, 5, runnel.WaitCondition.EQ, after=first)
    last = write(words, size, 6, after=second)
    assert {node.kind for node in (first, second, last)} == \
        {runnel.NodeKind.VALUES}
    assert first.label == "all" and graph.edge_count == 2
    stream.enqueue_graph(graph.instantiate())
    assert not stream.query()
    getattr(context.default_stream, "enqueue_write_value%d" % bits)(
        words, size, 5)
    stream.synchronize()
    assert words.numpy().tolist() == [most, 6]
    with pytest.raises(OverflowError):
        write(words, 0, most + 1)
    with pytest.raises(IndexError):
        wait(words, 2 * size, 1)
    with pytest.raises(ValueError):
        wait(words, 1, 1)
    with pytest.raises(ValueError):
        wait(words, 0, 1, 1)  # that of a write
    assert graph.node_count == 3

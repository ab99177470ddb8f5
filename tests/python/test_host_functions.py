"""Functions of Python that streams call."""

import sys
import threading
import weakref

import pytest

import runnel
from conftest import Gate, need, wait_until


class Reports(list):
    """The exceptions that nobody could catch. No fixture: pytest has a hook of
    its own around a test."""

    def __enter__(self):
        self.old = sys.unraisablehook
        sys.unraisablehook = lambda hook: self.append(hook.exc_value)
        return self

    def __exit__(self, *ignored):
        sys.unraisablehook = self.old


def test_functions_run_in_stream_order(stream):
    calls = []
    for i in range(100):
        stream.enqueue_host_function(calls.append, (i,))
    stream.synchronize()
    assert calls == list(range(100))


def test_functions_run_on_another_thread(stream):
    names = []
    stream.enqueue_host_function(
        lambda: names.append(threading.get_ident()))
    while not stream.query():
        pass
    assert names[0] != threading.get_ident()


def test_an_exception_is_reported_and_fails_the_stream(stream):
    behind, told = [], []

    def fail():
        raise KeyError("no such thing")
    gate = Gate(stream)
    stream.enqueue_host_function(fail, label="the lookup")
    stream.enqueue_host_function(behind.append, (1,))
    stream.enqueue_host_function(lambda *given: told.append(given), ("x",),
                                 always=True)
    with Reports() as reported, pytest.raises(runnel.Error) as caught:
        gate.open()
        stream.synchronize()
    assert "KeyError('no such thing')" in caught.value.message
    assert caught.value.operation_label == "the lookup"
    assert [type(error) for error in reported] == [KeyError]
    assert not behind
    assert told == [(runnel.Status.ERROR_LAUNCH_FAILED, "x")]
    stream.reset_and_wait()
    stream.enqueue_host_function(behind.append, (2,))
    stream.synchronize()
    assert behind == [2]


def test_system_exit_in_a_function_ends_nothing(stream):
    gate = Gate(stream)
    stream.enqueue_host_function(sys.exit, (3,))
    with Reports() as reported, pytest.raises(runnel.Error):
        gate.open()
        stream.synchronize()
    assert isinstance(reported[0], SystemExit)
    stream.reset_and_wait()


def test_an_exception_in_a_graph_fails_the_stream(context, stream):
    need(context, runnel.Feature.GRAPHS)
    graph = runnel.Graph(context)
    graph.add_host_function(lambda: 1 / 0)
    exec_ = graph.instantiate()
    with Reports() as reported, \
            pytest.raises(runnel.Error, match="ZeroDivisionError"):
        stream.enqueue_graph(exec_)
        stream.synchronize()
    assert isinstance(reported[0], ZeroDivisionError)
    stream.reset_and_wait()


def test_a_function_may_not_call_runnel(context, stream):
    calls = []

    def nosy():
        for call in (stream.synchronize, context.buffer, context.stream):
            try:
                call(8) if call == context.buffer else call()
            except runnel.Error as error:
                calls.append(error.status)
    stream.enqueue_host_function(nosy)
    stream.synchronize()
    assert calls == 3 * [runnel.Status.ERROR_NOT_PERMITTED]


def test_objects_may_end_in_a_function(context, stream):
    before = context.pool_stats()["live"]
    things = [context.buffer(4096), context.stream(), context.event()]
    explicit = context.buffer(4096)

    def end():
        things.clear()
        explicit.release()
    stream.enqueue_host_function(end)
    stream.synchronize()
    wait_until(lambda: context.pool_stats()["live"] <= before)


def test_functions_and_their_arguments_are_let_go(stream):
    class Thing:
        def __call__(self, *ignored):
            pass
    function, argument = Thing(), Thing()
    gone = [weakref.ref(function), weakref.ref(argument)]
    gate = Gate(stream)
    stream.enqueue_host_function(function, (argument,))
    del function, argument
    assert gone[0]() is not None and gone[1]() is not None
    gate.open()
    stream.synchronize()
    wait_until(lambda: gone[0]() is None and gone[1]() is None)


def test_many_threads_at_once(context):
    calls, errors = [], []

    def work(number):
        try:
            with context.stream() as stream:
                for i in range(50):
                    stream.enqueue_host_function(calls.append, ((number, i),))
                    if i % 10 == 0:
                        stream.synchronize()
                stream.synchronize()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not errors and len(calls) == 400
    for k in range(8):
        assert [i for number, i in calls if number == k] == list(range(50))


@pytest.mark.parametrize("arguments", [(), (5,), (None,), (print, 5),
                                       ("text", ())])
def test_what_is_no_function_is_refused(stream, arguments):
    with pytest.raises(TypeError):
        stream.enqueue_host_function(*arguments)

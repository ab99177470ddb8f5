"""Methods of the extension's types that are written in Python."""

import contextlib
import shutil
import subprocess
from types import TracebackType
from typing import Any

from . import _core
from ._enums import CaptureMode
from ._errors import Error


# --- Capture -----------------------------------------------------------------

class Capture:
    """What `with stream.capture() as capture` gives. `graph` is the result,
    once the block has ended."""

    __slots__ = ("stream", "graph", "_options")

    def __init__(self, stream: _core.Stream, options: dict[str, Any]) -> None:
        self.stream = stream
        self.graph: _core.Graph | None = None
        self._options = options

    def __enter__(self) -> "Capture":
        self.stream.begin_capture(**self._options)
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if kind is None:
            self.graph = self.stream.end_capture()
            return
        # The block's own failure is the one to be told.
        with contextlib.suppress(Error):
            self.stream.end_capture()


def _capture(self: _core.Stream, mode: CaptureMode = CaptureMode.THREAD_LOCAL,
             graph: _core.Graph | None = None, *, after: Any = (),
             label: str | None = None) -> Capture:
    """with stream.capture() as capture: work that is enqueued becomes a graph,
    capture.graph, instead of running."""
    return Capture(self, dict(mode=mode, graph=graph, after=after,
                              label=label))


# --- Timing ------------------------------------------------------------------

def _time_and_wait(self: _core.Stream, function: Any, iterations: int = 1) \
        -> int:
    """Nanoseconds, as an int, that a device takes for what `iterations` calls
    of function(i) enqueue on this stream."""
    start = _core.Event(self.context, timing=True)
    end = _core.Event(self.context, timing=True)
    self.enqueue_event_record(start)
    for i in range(iterations):
        function(i)
    self.enqueue_event_record(end)
    end.synchronize()
    return start.elapsed_ns(end)


# --- Makers ------------------------------------------------------------------

def _stream(self: _core.Context, **options: Any) -> _core.Stream:
    """A new Stream."""
    return _core.Stream(self, **options)


def _event(self: _core.Context, **options: Any) -> _core.Event:
    """A new Event."""
    return _core.Event(self, **options)


def _buffer(self: _core.Context, shape: Any, dtype: Any = "uint8",
            **options: Any) -> _core.Buffer:
    """A new Buffer."""
    return _core.Buffer(self, shape, dtype, **options)


def _array(self: _core.Context, source: Any, dtype: Any = None) \
        -> _core.Buffer:
    """A new Buffer with a copy of an array's bytes."""
    view: Any = memoryview(source)
    kind = dtype or getattr(source, "dtype", None) or view.format
    result = _core.Buffer(self, view.shape, kind)
    if not view.c_contiguous:
        view = view.tobytes()
    self.default_stream.copy_and_wait(result, view)
    return result


def _compile(self: _core.Context, source: str, function: str | None = None,
             **options: Any) -> Any:
    """A Module, or with the name of a kernel a Function."""
    if function is None:
        return _core.Module(self, source, **options)
    return _core.compile_function(self, source, function, **options)


# --- Buffers -----------------------------------------------------------------

def _numpy(self: _core.Buffer) -> Any:
    """The buffer as a NumPy array, once all work of its context is done: its
    own memory where the host can reach that, otherwise a copy. Structs are
    bytes without a meaning (void)."""
    import numpy
    if self.dtype == "bfloat16":
        raise TypeError("NumPy has no bfloat16; view(dtype='uint16') first")
    self.context.synchronize()
    if self.host_accessible:
        return numpy.asarray(self)
    kind = "V%d" % self.itemsize if self.dtype == "struct" else self.dtype
    result: Any = numpy.empty(self.shape, kind)
    self.context.default_stream.copy_and_wait(result, self)
    return result


def _refuse_array(self: _core.Buffer, *ignored: Any, **also: Any) -> Any:
    raise TypeError("the host cannot reach this memory: copy it with numpy()")


# --- Pictures ----------------------------------------------------------------

def _svg(graph: _core.Graph) -> str | None:
    program = shutil.which("dot")
    if not program:
        return None
    drawn = subprocess.run([program, "-Tsvg"], input=graph.dot().encode(),
                           stdout=subprocess.PIPE, check=False)
    return drawn.stdout.decode() if drawn.returncode == 0 else None


def _mimebundle(self: _core.Graph, include: Any = None, exclude: Any = None) \
        -> dict[str, str]:
    """For notebooks: a picture where Graphviz is installed, and the text."""
    bundle = {"text/plain": repr(self), "text/vnd.graphviz": self.dot()}
    svg = _svg(self)
    if svg:
        bundle["image/svg+xml"] = svg
    else:
        bundle["text/plain"] += "\n" + self.dot()
    return bundle


for _type, _added in (
        (_core.Stream, dict(capture=_capture, time_and_wait=_time_and_wait)),
        (_core.Context, dict(stream=_stream, event=_event, buffer=_buffer,
                             array=_array, compile=_compile)),
        (_core.Buffer, dict(numpy=_numpy, __array__=_refuse_array)),
        (_core.Graph, dict(_repr_mimebundle_=_mimebundle))):
    for _name, _function in _added.items():
        setattr(_type, _name, _function)

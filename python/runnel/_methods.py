"""Methods of the extension's types that are written in Python."""

import contextlib
import shutil
import subprocess

from . import _core
from ._enums import CaptureMode


# --- Capture -----------------------------------------------------------------

class Capture:
    """What `with stream.capture() as capture` gives. `graph` is the result,
    once the block has ended."""

    __slots__ = ("stream", "graph", "_options")

    def __init__(self, stream, options):
        self.stream = stream
        self.graph = None
        self._options = options

    def __enter__(self):
        self.stream.begin_capture(**self._options)
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None:
            self.graph = self.stream.end_capture()
            return
        # The block's own failure is the one to be told.
        with contextlib.suppress(_core_error()):
            self.stream.end_capture()


def _core_error():
    from ._errors import Error
    return Error


def _capture(self, mode=CaptureMode.THREAD_LOCAL, graph=None, *, after=(),
             label=None):
    """with stream.capture() as capture: work that is enqueued becomes a graph,
    capture.graph, instead of running."""
    return Capture(self, dict(mode=mode, graph=graph, after=after,
                              label=label))


# --- Timing ------------------------------------------------------------------

def _time_and_wait(self, function, iterations=1):
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

def _stream(self, **options):
    """A new Stream."""
    return _core.Stream(self, **options)


def _event(self, **options):
    """A new Event."""
    return _core.Event(self, **options)


def _buffer(self, shape, dtype="uint8", **options):
    """A new Buffer."""
    return _core.Buffer(self, shape, dtype, **options)


def _array(self, source, dtype=None):
    """A new Buffer with a copy of an array's bytes."""
    view = memoryview(source)
    kind = dtype or getattr(source, "dtype", None) or view.format
    result = _core.Buffer(self, view.shape, kind)
    if not view.c_contiguous:
        view = view.tobytes()
    self.default_stream.copy_and_wait(result, view)
    return result


def _compile(self, source, function=None, **options):
    """A Module, or with the name of a kernel a Function."""
    if function is None:
        return _core.Module(self, source, **options)
    return _core.compile_function(self, source, function, **options)


# --- Buffers -----------------------------------------------------------------

def _numpy(self):
    """The buffer as a NumPy array, once all work of its context is done: its
    own memory where the host can reach that, otherwise a copy."""
    import numpy
    self.context.synchronize()
    if self.host_accessible:
        return numpy.asarray(self)
    if self.dtype == "bfloat16":
        raise TypeError("NumPy has no bfloat16; view(dtype='uint16') first")
    result = numpy.empty(self.shape, self.dtype)
    self.context.default_stream.copy_and_wait(result, self)
    return result


def _refuse_array(self, *ignored, **also):
    raise TypeError("the host cannot reach this memory: copy it with numpy()")


# --- Pictures ----------------------------------------------------------------

def _svg(graph):
    program = shutil.which("dot")
    if not program:
        return None
    drawn = subprocess.run([program, "-Tsvg"], input=graph.dot().encode(),
                           stdout=subprocess.PIPE, check=False)
    return drawn.stdout.decode() if drawn.returncode == 0 else None


def _mimebundle(self, include=None, exclude=None):
    """For notebooks: a picture where Graphviz is installed, and the text."""
    bundle = {"text/plain": repr(self), "text/vnd.graphviz": self.dot()}
    svg = _svg(self)
    if svg:
        bundle["image/svg+xml"] = svg
    else:
        bundle["text/plain"] += "\n" + self.dot()
    return bundle


_core.Stream.capture = _capture
_core.Stream.time_and_wait = _time_and_wait
_core.Context.stream = _stream
_core.Context.event = _event
_core.Context.buffer = _buffer
_core.Context.array = _array
_core.Context.compile = _compile
_core.Buffer.numpy = _numpy
_core.Buffer.__array__ = _refuse_array
_core.Graph._repr_mimebundle_ = _mimebundle

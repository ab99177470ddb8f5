"""Runnel: device contexts, streams, events, buffers, kernels compiled at run
time, capture and graphs.

    import numpy as np, runnel
    add = runnel.kernel(source, "add")
    add(a.size, a, b, c, a.size)        # a, b, c: NumPy arrays

Names are those of the C interface, whose headers are the manual.
"""

from ._core import (
    Buffer, Context, Device, Event, Function, Graph, GraphExec, Module, Node,
    Stream, api_names, api_reason, capture_exchange_mode, collect,
    compile_function, default_device, devices, from_array, from_dlpack,
    has_accelerator, set_log, version)
from ._enums import (
    CaptureMode, CaptureStatus, Element, Feature, FunctionAttribute, LogLevel,
    MemoryAdvice, MemoryKind, NodeKind, Status, StreamFlags, ValueKind,
    WaitCondition)
from ._errors import (
    ArgumentMismatch, CompileError, Error, InvalidArgument, NotFound,
    OutOfMemory, OutOfRange, TimedOut, Unsupported)
from ._events import Promise
from ._kernel import Kernel, current_context, kernel
from . import _methods  # noqa: F401  (adds methods to the types above)

__version__ = "%d.%d.%d" % version()

__all__ = [
    "ArgumentMismatch", "Buffer", "CaptureMode", "CaptureStatus",
    "CompileError", "Context", "Device", "Element", "Error", "Event",
    "Feature", "Function", "FunctionAttribute", "Graph", "GraphExec",
    "InvalidArgument", "Kernel", "LogLevel", "MemoryAdvice", "MemoryKind", "Module", "Node", "NodeKind",
    "NotFound", "OutOfMemory", "OutOfRange", "Promise", "Status", "Stream",
    "StreamFlags", "TimedOut", "Unsupported", "ValueKind", "WaitCondition",
    "api_names", "api_reason", "capture_exchange_mode", "collect",
    "compile_function", "current_context", "default_device", "devices",
    "from_array", "from_dlpack", "has_accelerator", "kernel", "set_log",
    "version"]

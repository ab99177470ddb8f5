"""Kernels that take arrays: runnel.kernel."""

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core

_lock = threading.Lock()
_context: _core.Context | None = None


def current_context() -> _core.Context:
    """The context of calls that name none: of the best device, opened once."""
    global _context
    with _lock:
        if _context is None:
            _context = _core.Context()
        return _context


def _forget_context() -> None:
    """In the child of a fork the lock may be held by a thread that is not there,
    and the context is the parent's."""
    global _lock, _context
    _lock = threading.Lock()
    _context = None


os.register_at_fork(after_in_child=_forget_context)


def _host_view(value: Any) -> memoryview | None:
    """The bytes of an array of the host; None for what is none, such as numbers,
    bytes, which may be a struct, and arrays of a device."""
    if isinstance(value, (int, float, bytes, _core.Buffer)):
        return None
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        # PyTorch's tensors of the host have DLPack alone.
        device = getattr(value, "__dlpack_device__", None)
        if device is None or device()[0] != 1:
            return None
        import numpy
        same: Any = numpy.asarray(value)
        view = memoryview(same)
    return view if view.ndim > 0 else None


_Group = list[tuple[int, int, int]]  # address, end and position of an argument


def _overlapping(hosted: dict[int, memoryview]) -> list[_Group]:
    """The arrays in groups whose memory overlaps, each by its address."""
    groups: list[_Group] = []
    end = 0
    for address, size, i in sorted(
            (*_core._host_range(view), i) for i, view in hosted.items()):
        if not groups or address >= end:
            groups.append([])
        groups[-1].append((address, address + size, i))
        end = max(end, address + size)
    return groups


def _copies(context: _core.Context, group: _Group,
            kinds: dict[int, tuple[Any, Any]]) -> dict[int, _core.Buffer]:
    """Memory of the device for a group: overlaps as the arrays do, so that a
    kernel finds in one what it wrote to another."""
    if len(group) == 1:
        i = group[0][2]
        return {i: context.buffer(*kinds[i])}
    # Addresses of the device are as aligned as those of the host.
    start = group[0][0] - group[0][0] % 256
    whole = context.buffer(max(end for _, end, _ in group) - start)
    return {i: whole.slice(address - start, end - start).view(*kinds[i])
            for address, end, i in group}


class Kernel:
    """A kernel for each context it is launched in, and a number of threads
    instead of a grid of blocks. See kernel()."""

    def __init__(self, source: str, name: str, *,
                 context: _core.Context | None = None,
                 options: Sequence[str] = (),
                 headers: Mapping[str, str] | None = None,
                 file: str | None = None,
                 block: int | tuple[int, ...] | None = None) -> None:
        self.source = source
        self.name = name
        self.block = block
        self._settings: dict[str, Any] = dict(options=options, headers=headers or {},
                              name=file)
        self._context = context
        self._function: _core.Function | None = None
        if context is not None:
            self.function()

    def function(self) -> _core.Function:
        """The Function behind it; compiles where that was not done yet."""
        if self._function is None:
            context = self._context or current_context()
            self._function = _core.compile_function(
                context, self.source, self.name, **self._settings)
        return self._function

    def _shape(self, function: _core.Function, threads: Any) \
            -> tuple[tuple[int, ...], tuple[int, ...]]:
        extents = tuple(threads) if isinstance(threads, (tuple, list)) \
            else (threads,)
        block: Any = self.block
        if block is None:
            most = min(256, function.suggest_block(0, 256))
            block = (most,) if len(extents) == 1 else \
                (16, max(1, most // 16), 1)[:len(extents)]
        elif not isinstance(block, (tuple, list)):
            block = (block,)
        block = tuple(block) + (1,) * (len(extents) - len(block))
        grid = tuple(-(-extent // size)
                     for extent, size in zip(extents, block))
        return grid, block

    def __call__(self, threads: int | Sequence[int], *arguments: Any,
                 stream: _core.Stream | None = None, **options: Any) -> None:
        """Launches at least `threads` threads, an int or up to three of them,
        in whole blocks: the kernel has to check its index.

        With arrays of the host (NumPy's) among the arguments, the call waits
        until the kernel is done. Otherwise it does not wait.
        """
        function = self.function()
        context = function.context
        stream = stream or context.default_stream
        grid, block = self._shape(function, threads)
        if 0 in grid:
            return
        caller = sys._getframe(1)
        options.setdefault("site", (caller.f_code.co_filename,
                                    caller.f_lineno))
        views = map(_host_view, arguments)
        hosted = {i: view for i, view in enumerate(views) if view is not None}
        if hosted and context.device.api != "cpu":
            self._with_copies(stream, grid, block, list(arguments), hosted,
                              options)
            return
        stream.enqueue_function(function, grid, block, *arguments, **options)
        if hosted:
            stream.synchronize()

    def _with_copies(self, stream: _core.Stream, grid: tuple[int, ...],
                     block: tuple[int, ...], arguments: list[Any],
                     hosted: dict[int, memoryview], options: dict[str, Any]) \
            -> None:
        """On a device that cannot reach the host's memory: to it, and back
        where the array may be written."""
        function = self.function()
        kinds = {i: (view.shape, getattr(arguments[i], "dtype", view.format))
                 for i, view in hosted.items()}
        # By place, so that each place is copied once.
        there: dict[tuple[int, int], tuple[_core.Buffer, memoryview]] = {}
        back: dict[tuple[int, int], tuple[memoryview, _core.Buffer]] = {}
        for group in _overlapping(hosted):
            copies = _copies(function.context, group, kinds)
            for address, end, i in group:
                copy, view = copies[i], hosted[i]
                there[address, end] = copy, view
                if not view.readonly:
                    back[address, end] = view, copy
                arguments[i] = copy
        for to, source in there.values():
            stream.enqueue_copy(to, source)
        stream.enqueue_function(function, grid, block, *arguments, **options)
        for target, copy in back.values():
            stream.enqueue_copy(target, copy)
        stream.synchronize()

    def __repr__(self) -> str:
        return "<runnel.Kernel %s>" % self.name


def kernel(source: str, name: str, *, context: _core.Context | None = None,
           options: Sequence[str] = (),
           headers: Mapping[str, str] | None = None, file: str | None = None,
           block: int | tuple[int, ...] | None = None) -> Kernel:
    """A kernel of CUDA source that takes arrays:

        add = runnel.kernel(source, "add")
        add(n, a, b, c, n)

    `name` may be a template's name expression such as "scale<float>". `block`
    is the number of threads in a block, an int or up to three; without it, a
    size that suits the kernel. Without a context, current_context() is used.
    """
    return Kernel(source, name, context=context, options=options,
                  headers=headers, file=file, block=block)

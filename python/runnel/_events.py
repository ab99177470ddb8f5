"""Promises: events that waits really wait for before they are recorded."""

from typing import Any

from . import _core


class Promise(_core.Event):
    """Promise(context, *, label=None): an event with promise=True. A stream
    that waits for it waits until it is recorded and complete; one that goes
    away without having been recorded fails the streams that wait."""

    __slots__ = ()

    def __new__(cls, context: _core.Context, **options: Any) -> "Promise":
        return super().__new__(cls, context, promise=True, **options)

"""Failures of the library as exceptions."""

import builtins
import html
from typing import Any

from . import _core
from ._enums import Status


class Error(Exception):
    """A call of the library failed, or work on a device did.

    The attributes are the fields of rnl_error; those that do not apply are None
    or 0. `site` is (file, line) of the launch that failed.
    """

    def __init__(self, status: int, fields: dict[str, Any]) -> None:
        self.status = status
        self.native_code: int = fields["native_code"]
        self.native_text: str | None = fields["native_text"]
        self.message: str | None = fields["message"]
        self.function: str | None = fields["function"]
        self.parameter: str | None = fields["parameter"]
        self.object: str | None = fields["object"]
        self.stream: str | None = fields["stream"]
        self.operation: int = fields["operation"]
        self.operation_name: str | None = fields["operation_name"]
        self.operation_label: str | None = fields["operation_label"]
        self.site: tuple[str, int] | None = fields["site"]
        self.log: str | None = fields["log"]
        self._fields = fields
        super().__init__(status, fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self._fields)

    def __str__(self) -> str:
        name = getattr(self.status, "name", str(self.status))
        lines = ["%s: %s" % (name, self.message)]
        if self.site:
            lines.append("enqueued at %s:%d" % self.site)
        if self.log:
            lines.append(self.log.rstrip("\n"))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return "<pre>%s</pre>" % html.escape(str(self))


class InvalidArgument(Error, ValueError):
    pass


class OutOfRange(Error, IndexError):
    pass


class OutOfMemory(Error, MemoryError):
    pass


class NotFound(Error, LookupError):
    pass


class Unsupported(Error, NotImplementedError):
    pass


class TimedOut(Error, builtins.TimeoutError):
    # OSError makes its objects of its own kind of arguments.
    def __new__(cls, *arguments: Any) -> "TimedOut":
        return OSError.__new__(cls)

    def __str__(self) -> str:
        return Error.__str__(self)


class ArgumentMismatch(Error, TypeError):
    pass


class CompileError(Error):
    """The source does not compile: `log` has the lines and the reasons."""


_classes: dict[Status, type[Error]] = {
    Status.ERROR_INVALID_ARGUMENT: InvalidArgument,
    Status.ERROR_OUT_OF_RANGE: OutOfRange,
    Status.ERROR_OUT_OF_MEMORY: OutOfMemory,
    Status.ERROR_NOT_FOUND: NotFound,
    Status.ERROR_UNSUPPORTED: Unsupported,
    Status.ERROR_TIMED_OUT: TimedOut,
    Status.ERROR_ARGUMENT_MISMATCH: ArgumentMismatch,
    Status.ERROR_COMPILE_FAILED: CompileError,
}


def make(number: int, fields: dict[str, Any]) -> Error:
    # A newer library may have a status that this list lacks.
    try:
        status = Status(number)
    except ValueError:
        return Error(number, fields)
    return _classes.get(status, Error)(status, fields)


_core._set_error_factory(make)

"""Failures of the library as exceptions."""

import builtins
import html

from . import _core
from ._enums import Status


class Error(Exception):
    """A call of the library failed, or work on a device did.

    The attributes are the fields of rnl_error; those that do not apply are None
    or 0. `site` is (file, line) of the launch that failed.
    """

    def __init__(self, status, fields):
        self.status = status
        self.native_code = fields["native_code"]
        self.native_text = fields["native_text"]
        self.message = fields["message"]
        self.function = fields["function"]
        self.parameter = fields["parameter"]
        self.object = fields["object"]
        self.stream = fields["stream"]
        self.operation = fields["operation"]
        self.operation_name = fields["operation_name"]
        self.operation_label = fields["operation_label"]
        self.site = fields["site"]
        self.log = fields["log"]
        super().__init__(status, fields)

    def __str__(self):
        name = getattr(self.status, "name", str(self.status))
        lines = ["%s: %s" % (name, self.message)]
        if self.site:
            lines.append("enqueued at %s:%d" % self.site)
        if self.log:
            lines.append(self.log.rstrip("\n"))
        return "\n".join(lines)

    def _repr_html_(self):
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
    def __new__(cls, *arguments):
        return OSError.__new__(cls)

    __str__ = Error.__str__


class ArgumentMismatch(Error, TypeError):
    pass


class CompileError(Error):
    """The source does not compile: `log` has the lines and the reasons."""


_classes = {
    Status.ERROR_INVALID_ARGUMENT: InvalidArgument,
    Status.ERROR_OUT_OF_RANGE: OutOfRange,
    Status.ERROR_OUT_OF_MEMORY: OutOfMemory,
    Status.ERROR_NOT_FOUND: NotFound,
    Status.ERROR_UNSUPPORTED: Unsupported,
    Status.ERROR_TIMED_OUT: TimedOut,
    Status.ERROR_ARGUMENT_MISMATCH: ArgumentMismatch,
    Status.ERROR_COMPILE_FAILED: CompileError,
}


def make(number, fields):
    # A newer library may have a status that this list lacks.
    try:
        status = Status(number)
    except ValueError:
        status = number
    return _classes.get(status, Error)(status, fields)


_core._set_error_factory(make)

"""The numbers of the C headers. tests/python compares them with the library's."""

from enum import IntEnum, IntFlag


class Status(IntEnum):
    OK = 0
    NOT_READY = 1
    ERROR_INVALID_ARGUMENT = 2
    ERROR_INVALID_HANDLE = 3
    ERROR_OUT_OF_RANGE = 4
    ERROR_OUT_OF_MEMORY = 5
    ERROR_NOT_FOUND = 6
    ERROR_UNSUPPORTED = 7
    ERROR_NO_DEVICE = 8
    ERROR_TIMED_OUT = 9
    ERROR_NOT_PERMITTED = 10
    ERROR_FORKED = 11
    ERROR_ARGUMENT_MISMATCH = 12
    ERROR_COMPILE_FAILED = 13
    ERROR_COMPILER_UNAVAILABLE = 14
    ERROR_COMPILER_CRASHED = 15
    ERROR_INVALID_BINARY = 16
    ERROR_LAUNCH_FAILED = 17
    ERROR_DEPENDENCY_FAILED = 18
    ERROR_DEVICE_LOST = 19
    ERROR_DRIVER = 20
    ERROR_IO = 21
    ERROR_INVALID_STATE = 22
    ERROR_INTERNAL = 23
    ERROR_CAPTURE_UNSUPPORTED = 24
    ERROR_CAPTURE_INVALIDATED = 25
    ERROR_CAPTURE_MERGE = 26
    ERROR_CAPTURE_UNMATCHED = 27
    ERROR_CAPTURE_UNJOINED = 28
    ERROR_CAPTURE_ISOLATION = 29
    ERROR_CAPTURED_EVENT = 30
    ERROR_CAPTURE_THREAD = 31
    ERROR_GRAPH_UPDATE = 32
    ERROR_CANCELLED = 33
    ERROR_KERNEL_LIMIT = 34


class MemoryKind(IntEnum):
    DEVICE = 0
    HOST = 1
    MANAGED = 2


class Element(IntEnum):
    UNKNOWN = 0
    INT8 = 1
    UINT8 = 2
    INT16 = 3
    UINT16 = 4
    INT32 = 5
    UINT32 = 6
    INT64 = 7
    UINT64 = 8
    FLOAT16 = 9
    BFLOAT16 = 10
    FLOAT32 = 11
    FLOAT64 = 12


class ValueKind(IntEnum):
    UNKNOWN = 0
    POINTER = 1
    INTEGER = 2
    FLOAT = 3
    STRUCT = 4


class StreamFlags(IntFlag):
    NON_BLOCKING = 1
    BATCHED = 2


class WaitCondition(IntEnum):
    GEQ = 2
    EQ = 3
    AND = 4
    NOR = 5


class CaptureMode(IntEnum):
    THREAD_LOCAL = 0
    GLOBAL = 1
    RELAXED = 2


class CaptureStatus(IntEnum):
    NONE = 0
    ACTIVE = 1
    INVALIDATED = 2


class NodeKind(IntEnum):
    EMPTY = 1
    FUNCTION = 2
    COPY = 3
    FILL = 4
    HOST_FUNCTION = 5
    VALUES = 6
    EVENT_RECORD = 7
    EVENT_WAIT = 8
    CHILD = 9
    BUFFER_CREATE = 10
    BUFFER_RELEASE = 11
    IF = 12
    WHILE = 13
    SWITCH = 14


class MemoryAdvice(IntEnum):
    NONE = 0
    READ_MOSTLY = 1
    PREFER_DEVICE = 2
    PREFER_HOST = 3
    USED_BY_DEVICE = 4
    USED_BY_HOST = 5


class LogLevel(IntEnum):
    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class FunctionAttribute(IntEnum):
    DYNAMIC_SHARED = 1
    CARVEOUT = 2


class Feature(IntEnum):
    COMPILE = 1
    NATIVE_FUNCTIONS = 2
    MANAGED_MEMORY = 3
    ZERO_COPY_MAP = 4
    CLUSTERS = 5
    COOPERATIVE_LAUNCH = 6
    PRIORITIES = 7
    EVENT_TIMING = 8
    PROMISES = 9
    INTERPROCESS = 10
    CAPTURE = 11
    GRAPHS = 12
    GRAPH_SWITCH = 13
    GRAPH_BODIES = 14
    MEMORY_OPERATIONS = 15
    BATCHED_STREAMS = 16
    PEER_ACCESS = 17
    MEMORY_HINTS = 18
    NATIVE_HANDLES = 19
    HOST_FUNCTIONS = 20
    CANCEL = 21
    KERNEL_LIMIT = 22
    INTERPROCESS_MEMORY = 23

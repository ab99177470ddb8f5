// Status codes, and the details of the last failure on this thread.
#ifndef RUNNEL_STATUS_H
#define RUNNEL_STATUS_H

#include <runnel/base.h>
#include <stdio.h>

// Every status: X(name, number, sentence). Numbers never change.
#define RNL_STATUS_MAP(X)                                                     \
    X(OK, 0, "success")                                                       \
    X(NOT_READY, 1, "the work is not done yet; this is not an error")         \
    X(ERROR_INVALID_ARGUMENT, 2, "an argument has a value that is not legal") \
    X(ERROR_INVALID_HANDLE, 3, "the handle is NULL, dead, foreign or of "     \
                               "another type")                                \
    X(ERROR_OUT_OF_RANGE, 4, "an offset, size or index leaves its object")    \
    X(ERROR_OUT_OF_MEMORY, 5, "memory could not be allocated")                \
    X(ERROR_NOT_FOUND, 6, "no object of that name or index exists")           \
    X(ERROR_UNSUPPORTED, 7, "this device cannot do that")                     \
    X(ERROR_NO_DEVICE, 8, "no such device is present")                        \
    X(ERROR_TIMED_OUT, 9, "the time limit passed before the work was done")   \
    X(ERROR_NOT_PERMITTED, 10, "Runnel may not be called from here")          \
    X(ERROR_FORKED, 11, "the object belongs to the parent process")           \
    X(ERROR_ARGUMENT_MISMATCH, 12, "the launch arguments do not match the "   \
                                   "function's parameters")                   \
    X(ERROR_COMPILE_FAILED, 13, "the kernel source does not compile")         \
    X(ERROR_COMPILER_UNAVAILABLE, 14, "no kernel compiler was found")         \
    X(ERROR_COMPILER_CRASHED, 15, "the kernel compiler crashed, hung or was " \
                                  "killed")                                   \
    X(ERROR_INVALID_BINARY, 16, "the binary is damaged or not for this "      \
                                "device")                                     \
    X(ERROR_LAUNCH_FAILED, 17, "a kernel failed while it ran")                \
    X(ERROR_DEPENDENCY_FAILED, 18, "work that this work waits for failed")    \
    X(ERROR_DEVICE_LOST, 19, "the device failed and its context is unusable") \
    X(ERROR_DRIVER, 20, "the vendor's driver reported an error")              \
    X(ERROR_IO, 21, "a file could not be read or written")                    \
    X(ERROR_INVALID_STATE, 22, "the object is not in a state that allows "    \
                               "this")                                        \
    X(ERROR_INTERNAL, 23, "Runnel broke a rule of its own; please report it") \
    X(ERROR_CAPTURE_UNSUPPORTED, 24, "the call is not legal while work is "   \
                                     "being captured")                        \
    X(ERROR_CAPTURE_INVALIDATED, 25, "an earlier call made the capture "      \
                                     "invalid; end it")                       \
    X(ERROR_CAPTURE_MERGE, 26, "the call would merge two separate captures")  \
    X(ERROR_CAPTURE_UNMATCHED, 27, "the capture was not begun on this "       \
                                   "stream")                                  \
    X(ERROR_CAPTURE_UNJOINED, 28, "a stream that joined the capture was not " \
                                  "joined back")                              \
    X(ERROR_CAPTURE_ISOLATION, 29, "the call would make captured work depend "\
                                   "on work outside of the capture")          \
    X(ERROR_CAPTURED_EVENT, 30, "the event was recorded in a capture and "    \
                                "stands for no work that runs")               \
    X(ERROR_CAPTURE_THREAD, 31, "the capture was begun by another thread")    \
    X(ERROR_GRAPH_UPDATE, 32, "the graph differs too much for an update")     \
    X(ERROR_CANCELLED, 33, "the stream was cancelled before the work was "    \
                           "done")                                            \
    X(ERROR_KERNEL_LIMIT, 34, "a launch ran longer than the time limit of "   \
                              "its context")

// The result of a call. RNL_OK and RNL_NOT_READY are not errors.
typedef enum rnl_status {
#define RNL_STATUS_ENUM(name, number, sentence) RNL_##name = number,
    RNL_STATUS_MAP(RNL_STATUS_ENUM)
#undef RNL_STATUS_ENUM
} rnl_status;

// The details of a failure. A field that does not apply is NULL or 0.
typedef struct rnl_error {
    size_t struct_size;         // bytes of this struct that the library filled
    rnl_status status;          // what the call returned
    int64_t native_code;        // the vendor's or system's number
    const char *native_text;    // the vendor's or system's words
    const char *message;        // one full sentence for people
    const char *function;       // the public function that failed
    const char *parameter;      // the parameter at fault, by its header name
    const char *object;         // the object at fault: kind, id and label
    const char *stream;         // label or id of the stream concerned
    uint64_t operation;         // asynchronous failure: number on its stream
    const char *operation_name; // its kernel, or "copy", "fill", …
    const char *operation_label;// the label given at the launch
    const char *site_file;      // where it was enqueued
    int site_line;
    const char *log;            // full compiler output, never cut
} rnl_error;

RNL_BEGIN_DECLS

// The last failure on the calling thread. Never NULL: with no failure yet the
// status is RNL_OK and the message empty. Successful calls leave it alone. The
// pointer and all strings in it are valid until the next failing call of this
// thread. Threads: each has its own. May be called inside callbacks, where it
// is the last failure of the callback's own calls.
RNL_API const rnl_error *rnl_last_error(void);

// Forgets the last failure of the calling thread and frees its texts.
RNL_API void rnl_last_error_clear(void);

// Makes `*error` the last failure of the calling thread, as if a call of Runnel
// had failed: for libraries on top of Runnel, whose own calls report like
// those. Texts are copied, but for `function` and `site_file`, which must be
// static; `log` is not taken. `message` NULL: the sentence of the status. The
// texts may be those of the last failure. Returns the status, or
// RNL_ERROR_INVALID_ARGUMENT when `error` is NULL, its struct_size unknown or
// its status no error. May be called inside callbacks.
RNL_API rnl_status rnl_last_error_set(const rnl_error *error);

// Prints the last failure of the calling thread to `file`, or, if that is NULL,
// to stderr: the message, then a line for each of status, function, object,
// stream, operation with label and launch site, and the vendor's own words that
// there is something to say about; the compiler's log; and what to do next. One
// line, if there is no failure. Colours nothing; what cannot be written is
// lost. May be called inside callbacks.
RNL_API void rnl_error_print(FILE *file);

// The name of a status without prefix, "ERROR_NOT_FOUND"; "UNKNOWN" for a
// number that is no status. Static string; may be called inside callbacks.
RNL_API const char *rnl_status_name(rnl_status status);

// The sentence of a status, as in RNL_STATUS_MAP. Static string.
RNL_API const char *rnl_status_text(rnl_status status);

RNL_END_DECLS

#endif

// Prints a failure for people.
#include <runnel/status.h>

#include <inttypes.h>

// The next step after a failure; NULL if the message alone is enough.
static const char *advice_of(rnl_status status)
{
    switch (status) {
    case RNL_ERROR_INVALID_HANDLE:
        return "check that the call which made the object succeeded, and that "
               "nothing has released it";
    case RNL_ERROR_OUT_OF_RANGE:
        return "compare offset and size, in bytes, with the object's size";
    case RNL_ERROR_OUT_OF_MEMORY:
        return "release buffers, or give kept memory back with "
               "rnl_context_trim";
    case RNL_ERROR_UNSUPPORTED:
        return "ask rnl_context_supports first, or open another device";
    case RNL_ERROR_NO_DEVICE:
        return "run 'runnel info', which tells why a device is absent";
    case RNL_ERROR_TIMED_OUT:
        return "wait again, or end the work with rnl_stream_cancel";
    case RNL_ERROR_NOT_PERMITTED:
        return "call it outside of callbacks; rnl_host_function_fail inside a "
               "host function";
    case RNL_ERROR_FORKED:
        return "open a context of its own in the child process";
    case RNL_ERROR_ARGUMENT_MISMATCH:
        return "make each argument of the parameter's type: nothing is "
               "converted";
    case RNL_ERROR_COMPILE_FAILED:
        return "correct the lines that the log names";
    case RNL_ERROR_COMPILER_UNAVAILABLE:
        return "run 'runnel info', or name the compiler in RUNNEL_CC";
    case RNL_ERROR_INVALID_BINARY:
        return "compile the source again, for this device";
    case RNL_ERROR_LAUNCH_FAILED:
    case RNL_ERROR_DEPENDENCY_FAILED:
    case RNL_ERROR_CANCELLED:
    case RNL_ERROR_KERNEL_LIMIT:
        return "use the stream again after rnl_stream_reset_and_wait";
    case RNL_ERROR_DEVICE_LOST:
        return "release the context's objects, and open the device again";
    case RNL_ERROR_CAPTURE_INVALIDATED:
        return "end the capture, and capture again without the call that is "
               "named";
    case RNL_ERROR_INTERNAL:
        return "report it, with the output of 'runnel info'";
    default:
        return NULL;
    }
}

static void print_line(FILE *file, const char *name, const char *text)
{
    if (text && text[0])
        fprintf(file, "  %-9s %s\n", name, text);
}

static void print_operation(FILE *file, const rnl_error *error)
{
    const char *label = error->operation_label;
    if (error->operation || error->operation_name) {
        fprintf(file, "  %-9s %" PRIu64 " of its stream", "operation",
                error->operation);
        if (error->operation_name)
            fprintf(file, ", %s", error->operation_name);
        if (label && label[0])
            fprintf(file, ", '%s'", label);
        fputc('\n', file);
    }
    if (error->site_file)
        fprintf(file, "  %-9s %s:%d\n", "enqueued", error->site_file,
                error->site_line);
}

// Each line behind a margin, so that the log stands out.
static void print_log(FILE *file, const char *log)
{
    if (!log || !log[0])
        return;
    fputs("  log\n    | ", file);
    for (const char *at = log; *at; at++) {
        fputc(*at, file);
        if (*at == '\n' && at[1])
            fputs("    | ", file);
        else if (!at[1] && *at != '\n')
            fputc('\n', file);
    }
}

static void print_failure(FILE *file, const rnl_error *error)
{
    fprintf(file, "error: %s\n  %-9s RNL_%s (%d): %s\n", error->message,
            "status", rnl_status_name(error->status), (int)error->status,
            rnl_status_text(error->status));
    if (error->function)
        fprintf(file, "  %-9s %s%s%s\n", "function", error->function,
                error->parameter ? ", parameter " : "",
                error->parameter ? error->parameter : "");
    print_line(file, "object", error->object);
    print_line(file, "stream", error->stream);
    print_operation(file, error);
    if (error->native_text)
        fprintf(file, "  %-9s %s (%" PRId64 ")\n", "native", error->native_text,
                error->native_code);
    print_log(file, error->log);
    print_line(file, "next", advice_of(error->status));
}

void rnl_error_print(FILE *file)
{
    const rnl_error *error = rnl_last_error();
    if (!file)
        file = stderr;
    if (error->status == RNL_OK)
        fputs("no call of this thread has failed\n", file);
    else
        print_failure(file, error);
}

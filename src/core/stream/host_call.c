// Calls host functions, and lets a host function fail its stream, and a native
// function say more of its failure.
#include "base/alloc.h"
#include "base/text.h"
#include "core/object/check.h"
#include "core/object/object.h"
#include "core/stream/op.h"

#include <stdio.h>

struct host_run {
    bool failed;
    char message[512];
};

// The host function that the thread runs, on the stack of its caller.
static _Thread_local struct host_run *current;

rnl_status host_function_call(const struct op_host *host, rnl_status status)
{
    struct host_run run = {.failed = false}, *outer = current;
    current = &run;
    const char *around = releasing_callback_begin();
    host->function(status, host->user_data);
    releasing_callback_end(around);
    current = outer;
    return run.failed ? fail(RNL_ERROR_LAUNCH_FAILED, "%s", run.message)
                      : RNL_OK;
}

// Legal inside the callback alone, so the check of other calls comes last.
rnl_status rnl_host_function_fail(const char *message)
{
    struct host_run *run = current;
    if (!run) {
        CALL status = ENTER();
        return status != RNL_OK
                   ? status
                   : fail(RNL_ERROR_NOT_PERMITTED,
                          "a stream is failed by a host function that it "
                          "calls; this thread runs none");
    }
    if (!message)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "message",
                       "'message' is NULL");
    if (!run->failed &&
        snprintf(run->message, sizeof run->message, "%s", message) >=
            (int)sizeof run->message)
        text_end_cut(run->message, sizeof run->message);
    run->failed = true;
    return RNL_OK;
}

// --- Native functions --------------------------------------------------------

struct native_failure {
    rnl_status status;
    char message[512];
};

// Allocated by rnl_native_fail, freed when the function has returned.
static _Thread_local struct native_failure *native_failure;

// With this status buffers are kept, also without memory for a message.
static _Thread_local rnl_status kept_with;

rnl_status rnl_native_fail(rnl_status status, const char *message,
                           bool keep_buffers)
{
    if (current || (thread_state.callback_depth & ~THREAD_NEW) == 0) {
        CALL entered = ENTER();
        return entered ? entered
                       : fail(RNL_ERROR_NOT_PERMITTED,
                              "a native function says more of its own "
                              "failure; this thread runs none");
    }
    if (!message)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "message",
                       "'message' is NULL");
    kept_with = keep_buffers ? status : RNL_OK;
    if (!native_failure)
        native_failure = mem_allocate(sizeof *native_failure);
    if (!native_failure)
        return status;
    native_failure->status = status;
    snprintf(native_failure->message, sizeof native_failure->message, "%s",
             message);
    return status;
}

bool native_failure_take(const struct op *op, rnl_status status,
                         char *message, size_t size)
{
    struct native_failure *failure = native_failure;
    bool taken = failure && failure->status == status;
    bool keeps = kept_with == status;
    native_failure = NULL;
    kept_with = RNL_OK;
    if (taken)
        snprintf(message, size, "%s", failure->message);
    for (size_t i = 0; keeps && i < op->kept_count; i++)
        object_ref(op->kept[i]);
    mem_release(failure, sizeof *failure);
    return taken;
}

// Calls host functions, and lets a host function fail its stream.
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

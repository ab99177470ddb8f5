// Waits that a signal can end.
#include "binding.h"

#include <time.h>

// A signal is handled at the end of a slice at the latest.
#define SLICE_NS UINT64_C(50000000)

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Python handles signals on its main thread alone, so other threads wait at one
// go. A wait with a limit only runs kernels itself whose time is bounded.
bool wait_for(wait_fn wait, void *handle, uint64_t timeout_ns,
              rnl_status *out_status)
{
    uint64_t left = timeout_ns, start = 0;
    bool slices = on_main_thread();
    for (;;) {
        uint64_t slice = slices && left > SLICE_NS ? SLICE_NS : left;
        if (slice < left && start == 0)
            start = now();
        CALL_UNLOCKED(*out_status, wait(handle, slice));
        if (*out_status != RNL_ERROR_TIMED_OUT || slice == left)
            return true;
        if (PyErr_CheckSignals() != 0)
            return false;
        if (timeout_ns != RNL_FOREVER) {
            uint64_t past = now() - start;
            left = past < timeout_ns ? timeout_ns - past : 0;
        }
    }
}

// The failure is read before destructors of kept objects run, whose calls may
// fail as well.
static PyObject *wait_or_error(wait_fn wait, void *handle, uint64_t timeout_ns)
{
    rnl_status status;
    PyObject *result = wait_for(wait, handle, timeout_ns, &status)
                           ? none_or_error(status)
                           : NULL;
    keepers_collect();
    return result;
}

rnl_status context_wait(void *context, uint64_t timeout_ns)
{
    return rnl_context_synchronize(context, timeout_ns);
}

rnl_status stream_wait(void *stream, uint64_t timeout_ns)
{
    return rnl_stream_synchronize(stream, timeout_ns);
}

rnl_status event_wait(void *event, uint64_t timeout_ns)
{
    return rnl_event_synchronize(event, timeout_ns);
}

PyObject *synchronize(wait_fn wait, PyObject *self, PyObject *args,
                      PyObject *kwargs)
{
    static char *names[] = {"timeout", NULL};
    uint64_t timeout = RNL_FOREVER;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O&:synchronize", names,
                                     to_timeout, &timeout))
        return NULL;
    return wait_or_error(wait, handle_of(self), timeout);
}

// Calls that wait by themselves cannot be ended, so the stream gets rid of its
// work before them. If the stream has failed, the call tells it.
bool stream_idle(rnl_stream stream)
{
    rnl_status status;
    CALL_UNLOCKED(status, rnl_stream_query(stream));
    return status != RNL_NOT_READY ||
           wait_for(stream_wait, stream, RNL_FOREVER, &status);
}

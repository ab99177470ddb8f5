// Checks of the parameters of public calls.
#pragma once

#include "core/object/handle.h"

#include <runnel/runnel.h>

// --- Checks: one per kind; each records the failure and names the parameter --
//
// A check of a protected kind (object/handle.h) returns an object that lives
// until the call ends, however the call ends. The call declares this in its
// first statement, which tools/check_calls.py verifies:
//
//     CALL status = ENTER();
//
// A device lives for ever. An event lives until its memory is reused; the lock
// of the event tells a call that the event is dead.

// Objects that the call protects may end from now on. A call inside a callback
// is refused and leaves the hazard pointers of the outer call alone.
static inline void call_end(const rnl_status *status)
{
    (void)status;
    if (__builtin_expect(thread_state.callback_depth != 0, 0))
        return;
    object_clear_hazard(
        HAZARD_CONTEXT);  // no loop, because every call ends here
    object_clear_hazard(HAZARD_STREAM);
    object_clear_hazard(HAZARD_CODE);
    object_clear_hazard(HAZARD_OTHER);
    object_call_ends();
}

#define CALL __attribute__((cleanup(call_end))) rnl_status

#define OBJECT_CHECK_FOUND(name, type, KIND, found)                           \
    static inline rnl_status check_##name(rnl_##type handle,                \
                                          const char *parameter,            \
                                          struct type **out)                \
    {                                                                       \
        struct object *object = found;                                      \
        *out = (struct type *)object;                                       \
        return __builtin_expect(object != NULL, 1)                          \
                   ? RNL_OK                                                 \
                   : object_refuse(handle, KIND, parameter);                \
    }
#define OBJECT_CHECK_HAZARD(name, type, KIND, GUARD) \
    OBJECT_CHECK_FOUND(name, type, KIND, object_protect(handle, KIND, GUARD))
#define OBJECT_CHECK(type, KIND) \
    OBJECT_CHECK_FOUND(type, type, KIND, object_find(handle, KIND))

// Copies an options struct of any version into `options`, which has the
// defaults (zeros). A shorter struct leaves later fields at the default; a
// longer struct is refused if an unknown field is set. `given` may be NULL.
rnl_status options_read(void *options, size_t size, const void *given,
                        const char *parameter);

// Checks an out-struct's struct_size, and copies as much as the caller has room
// for.
rnl_status info_check(const void *out, size_t size, const char *parameter);
rnl_status info_write(void *out, const void *info, size_t size,
                      const char *parameter);

// Records RNL_ERROR_INVALID_ARGUMENT for a NULL `parameter`.
__attribute__((cold)) rnl_status refuse_null(const char *parameter);
static inline rnl_status check_pointer(const void *pointer,
                                       const char *parameter)
{
    return __builtin_expect(pointer != NULL, 1) ? RNL_OK
                                                : refuse_null(parameter);
}

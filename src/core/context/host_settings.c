#include "base/log.h"
#include "core/object/check.h"
#include "core/object/object.h"
#include "core/stream/op.h"

rnl_status rnl_log_set(rnl_log_fn log, rnl_log_level level, void *user_data)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    if (log && (level < RNL_LOG_ERROR || level > RNL_LOG_DEBUG))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "level",
                       "'level' is %d, which is no rnl_log_level", (int)level);
    log_set(log, level, user_data);
    return RNL_OK;
}

// Legal inside callbacks, so there is no ENTER.
rnl_status rnl_last_error_set(const rnl_error *given)
{
    rnl_error error = {0};
    rnl_status status = check_pointer(given, "error");
    if (status == RNL_OK)
        status = options_read(&error, sizeof error, given, "error");
    if (status == RNL_OK && !status_is_error(error.status))
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "error",
                         "the status of 'error' is %d, which is no error",
                         (int)error.status);
    if (status == RNL_OK)
        status = fail_with(&error);
    fail_set_function(status == error.status ? error.function : __func__);
    return status;
}

rnl_status rnl_allocator_set(const rnl_allocator *allocator)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    rnl_allocator copy;
    status = options_read(&copy, sizeof copy, allocator, "allocator");
    if (status != RNL_OK)
        return status;
    if (allocator && (!copy.allocate || !copy.release))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "allocator",
                       "'allocator' needs both of its functions");
    if (!mem_set_allocator(allocator ? &copy : NULL))
        return fail(RNL_ERROR_INVALID_STATE,
                    "the library holds %zu bytes of the present allocator; "
                    "release every object and call rnl_trim first",
                    mem_held());
    return RNL_OK;
}

rnl_status rnl_trim(size_t *out_held)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    op_trim();
    object_trim();
    if (out_held)
        *out_held = mem_held();
    return RNL_OK;
}

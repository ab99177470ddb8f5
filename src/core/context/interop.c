// Native handles.

#include "core/backend.h"
#include "core/module/function.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/capture.h"
#include "core/stream/failure.h"
#include "core/stream/stream.h"

static rnl_status check_native(struct context *context)
{
    const char *reason = context_lacks(context, RNL_FEATURE_NATIVE_HANDLES);
    return reason ? fail(RNL_ERROR_UNSUPPORTED,
                         "there are no native handles: %s", reason)
                  : RNL_OK;
}

static rnl_status native_of(struct context *context, struct object *object,
                            void **out_native)
{
    rnl_status status = check_pointer(out_native, "out_native");
    if (status == RNL_OK)
        status = check_native(context);
    return status ? status
                  : context->backend->native(object, out_native, NULL);
}

rnl_status rnl_context_native(rnl_context handle, void **out_native)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    return native_of(context, &context->object, out_native);
}

rnl_status rnl_stream_native(rnl_stream handle, void **out_native)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = capture_check_stream(stream)) ||
        (status = stream_flush(stream)))
        return status;
    return native_of(stream_context(stream), &stream->object, out_native);
}

rnl_status rnl_stream_fail(rnl_stream handle, rnl_status failure,
                           const char *message)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = check_native(stream_context(stream))) ||
        (status = check_pointer(message, "message")))
        return status;
    if (!status_is_error(failure))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "failure",
                       "'failure' is %d, which is no error", (int)failure);
    const struct blame blame = {.name = "native work"};
    stream_set_failure(stream, failure_blame(stream, &blame, failure, message),
                       false);
    return RNL_OK;
}

rnl_status rnl_event_native(rnl_event handle, void **out_native)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *event = object_find_ref(handle, OBJECT_EVENT);
    if (!event)
        return object_refuse(handle, OBJECT_EVENT, "event");
    status = native_of(event->context, event, out_native);
    object_unref(event);
    return status;
}

rnl_status rnl_module_native(rnl_module handle, void **out_native)
{
    struct module *module;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_module(handle, "module", &module)))
        return status;
    if (!module->loaded)
        return fail_at(RNL_ERROR_INVALID_STATE, "module",
                       "the module was compiled with .binary_only: it is not "
                       "loaded");
    return native_of(module->object.context, &module->object, out_native);
}

rnl_status rnl_function_native(rnl_function handle, void **out_native)
{
    struct function *function;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_function(handle, "function", &function)))
        return status;
    return native_of(function->object.context, &function->object, out_native);
}

rnl_status rnl_stream_borrow(rnl_context handle, void *native,
                             const rnl_stream_options *given,
                             rnl_stream *out_stream)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(out_stream, "out_stream")) ||
        (status = check_native(context)))
        return status;
    return stream_create(context, native ? native : RNL_NATIVE_LEGACY, given,
                         out_stream);
}

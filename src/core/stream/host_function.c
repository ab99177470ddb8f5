// Host functions that streams call.
#include "core/object/check.h"
#include "core/object/object.h"
#include "core/object/user_data.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <string.h>

rnl_status make_host_op(struct stream *stream, rnl_host_fn function,
                        void *user_data, struct op **out_op)
{
    if (!function)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "function",
                       "'function' is NULL");
    *out_op = op_create(stream, OP_HOST, 0);
    if (!*out_op)
        return RNL_ERROR_OUT_OF_MEMORY;
    (*out_op)->host = (struct op_host){function, user_data};
    return RNL_OK;
}

rnl_status rnl_enqueue_host_function(rnl_stream handle, rnl_host_fn function,
                                     void *user_data)
{
    struct stream *stream;
    struct op *op = NULL;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (function && (status = stream_check_failure(stream))) ||
        (status = make_host_op(stream, function, user_data, &op)))
        return status;
    return op_submit(op);
}

// A host op with its label in the payload.
static rnl_status make_call_op(struct stream *stream,
                               const rnl_host_call *call, struct op **out_op)
{
    size_t size = call->label ? strlen(call->label) + 1 : 0;
    if (!call->function)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "call",
                       "'function' of 'call' is NULL");
    struct op *op = op_create(stream, OP_HOST, size);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    if (size > 0)
        op->label = memcpy(op->payload, call->label, size);
    op->host = (struct op_host){call->function, call->user_data};
    *out_op = op;
    return RNL_OK;
}

// The data is kept beside the op, which may be done before the call is.
static rnl_status enqueue_call(struct stream *stream,
                               const rnl_host_call *call)
{
    struct op *op = NULL;
    struct object *user;
    rnl_status status = user_data_create(stream_context(stream),
                                         call->user_data, call->destroy,
                                         &user);
    if (status != RNL_OK)
        return status;
    status = make_call_op(stream, call, &op);
    if (status == RNL_OK && user) {
        object_ref(user);
        op->kept[op->kept_count++] = user;
    }
    if (status == RNL_OK)
        status = op_submit(op);
    if (status != RNL_OK)
        user_data_give_back(user);
    if (user)
        object_unref(user);
    return status;
}

rnl_status rnl_enqueue_host_call(rnl_stream handle, const rnl_host_call *given)
{
    struct stream *stream;
    rnl_host_call call;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = check_pointer(given, "call")) ||
        (status = options_read(&call, sizeof call, given, "call")) ||
        (call.function && (status = stream_check_failure(stream))))
        return status;
    return enqueue_call(stream, &call);
}

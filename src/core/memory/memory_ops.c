// Stream memory operations: checks, and the op that they become.
#include "core/memory/memory_ops.h"

#include "core/memory/host_memory.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

// Names of the fields of an operation, for messages.
struct names {
    const char *buffer, *offset, *action, *value;
};

static const struct names single = {"buffer", "offset", "condition", "value"};
static const struct names batch = {"ops", "ops", "ops", "ops"};
static const struct names direct = {"address", "address", "condition", "value"};

// --- Checks ----------------------------------------------------------------

static rnl_status check_action(const rnl_value_op *given,
                               const struct names *names)
{
    bool writes = given->action == RNL_WRITE_VALUE;
    rnl_value_flags legal = writes ? RNL_VALUE_NO_BARRIER : RNL_VALUE_FLUSH;
    if (given->action < RNL_WRITE_VALUE || given->action > RNL_WAIT_NOR)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, names->action,
                       "%d is neither RNL_WRITE_VALUE nor one of RNL_WAIT_…",
                       (int)given->action);
    if (given->width != 32 && given->width != 64)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, names->value,
                       "a word has 32 or 64 bits, not %u", given->width);
    if (given->width == 32 && given->value > UINT32_MAX)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, names->value,
                       "the value 0x%llx does not fit into 32 bits",
                       (unsigned long long)given->value);
    if (given->flags & ~legal)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, names->action,
                       "the flags 0x%x contain bits that mean nothing for a "
                       "%s",
                       given->flags, writes ? "write" : "wait");
    return RNL_OK;
}

static rnl_status check_buffer_word(struct stream *stream,
                                    const struct buffer *buffer,
                                    const rnl_value_op *given,
                                    const struct names *names)
{
    size_t size = given->width / 8;
    if (!context_may_use(stream_context(stream), buffer->object.context))
        return fail_at(RNL_ERROR_INVALID_HANDLE, names->buffer,
                       "the buffer belongs to another context, to which the "
                       "stream's has no peer access: see "
                       "rnl_context_enable_peer");
    if (given->offset > buffer->size || size > buffer->size - given->offset)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, names->offset,
                       "%zu bytes from %zu leave a buffer of %zu bytes", size,
                       given->offset, buffer->size);
    return RNL_OK;
}

// On success, and only then, the op keeps the buffer.
static rnl_status resolve_buffer(struct op *op, const rnl_value_op *given,
                                 const struct names *names, char **out_address)
{
    struct object *object = object_find_ref(given->buffer, OBJECT_BUFFER);
    if (!object)
        return object_refuse(given->buffer, OBJECT_BUFFER, names->buffer);
    const struct buffer *buffer = (struct buffer *)object;
    rnl_status status = check_buffer_word(op->stream, buffer, given, names);
    if (status != RNL_OK) {
        char text[160];
        fail_set_object("%s", object_describe(object, text, sizeof text));
        object_unref(object);
        return status;
    }
    op->kept[op->kept_count++] = object;
    *out_address = (char *)buffer->memory.device + given->offset;
    return RNL_OK;
}

// Where the memory is a buffer's, the op keeps that one.
static rnl_status resolve_pointer(struct op *op, const rnl_value_op *given,
                                  const struct names *names,
                                  char **out_address)
{
    uintptr_t start;
    size_t size = given->width / 8;
    struct object *buffer = NULL;
    if (!given->pointer)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, names->buffer,
                       names == &direct
                           ? "'address' is NULL"
                           : "an operation has neither a buffer nor a pointer");
    if (__builtin_add_overflow((uintptr_t)given->pointer, given->offset,
                               &start) ||
        !address_is_known(stream_context(op->stream), (const void *)start,
                          size, &buffer))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, names->offset,
                       "%zu bytes from %zu behind %p are outside of any memory "
                       "that the context knows: live buffers, and memory of "
                       "rnl_host_allocate and rnl_host_register",
                       size, given->offset, given->pointer);
    if (buffer)
        op->kept[op->kept_count++] = buffer;
    *out_address = (char *)start;
    return RNL_OK;
}

static rnl_status resolve(struct op *op, const rnl_value_op *given,
                          const struct names *names, struct memory_op *out)
{
    char *address = NULL;
    rnl_status status = check_action(given, names);
    if (status != RNL_OK)
        return status;
    if (given->buffer && given->pointer)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, names->buffer,
                       "an operation has both a buffer and a pointer");
    // Without a pointer a missing buffer is a handle like any other.
    status = given->pointer || (names != &single && !given->buffer)
                 ? resolve_pointer(op, given, names, &address)
                 : resolve_buffer(op, given, names, &address);
    if (status != RNL_OK)
        return status;
    if ((uintptr_t)address % (given->width / 8))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, names->offset,
                       "the word at %p is not aligned to its %u bytes",
                       (void *)address, given->width / 8);
    *out = (struct memory_op){given->action, (uint16_t)given->width,
                          (uint16_t)given->flags, address, given->value};
    return RNL_OK;
}

// --- The op ----------------------------------------------------------------

// The payload: the values, then the kept buffers where there are many.
static struct op *make_op(struct stream *stream, size_t count)
{
    size_t size;
    if (!mem_array_size(
            count, sizeof(struct memory_op) + sizeof(struct object *), &size)) {
        fail_at(RNL_ERROR_OUT_OF_RANGE, "count",
                "%zu operations are more than memory can hold", count);
        return NULL;
    }
    struct op *op = op_create(stream, OP_MEMORY_OPS, size);
    if (!op)
        return NULL;
    struct memory_op *items = op->payload;
    if (count > OP_INLINE_KEPT)
        op->kept = (struct object **)(items + count);
    op->memory_ops = (struct op_memory_ops){.items = items, .count = count};
    return op;
}

// The array's stride is the caller's struct_size, so it can be of any version.
static rnl_status make(struct stream *stream, const rnl_value_op *ops,
                       size_t count, const struct names *names,
                       struct op **out_op)
{
    struct op *op = make_op(stream, count);
    if (!op)
        return fail_status();
    struct memory_op *items = op->payload;
    const char *at = (const char *)ops;
    for (size_t i = 0; i < count; i++, at += ops->struct_size) {
        rnl_value_op given;
        rnl_status status = options_read(&given, sizeof given, at, "ops");
        if (status != RNL_OK ||
            (status = resolve(op, &given, names, &items[i]))) {
            op_finish(op);
            return status;
        }
    }
    *out_op = op;
    return RNL_OK;
}

static rnl_status check_supported(const struct stream *stream,
                                  const char *parameter)
{
    return context_need(stream_context(stream), RNL_FEATURE_MEMORY_OPERATIONS,
                        parameter, "stream memory operations are");
}

rnl_status memory_ops_create(struct stream *stream, const rnl_value_op *ops,
                     size_t count, struct op **out_op)
{
    rnl_status status = check_supported(stream, "values");
    return status ? status : make(stream, ops, count, &batch, out_op);
}

static rnl_status stream_for_values(rnl_stream handle, struct stream **out)
{
    rnl_status status = check_stream(handle, "stream", out);
    if (status != RNL_OK || (status = check_supported(*out, "stream")))
        return status;
    return stream_check_failure(*out);
}

static rnl_status enqueue(rnl_stream handle, const rnl_value_op *ops,
                          size_t count, const struct names *names)
{
    struct stream *stream;
    struct op *op = NULL;
    CALL status = stream_for_values(handle, &stream);
    if (status != RNL_OK || count == 0 ||
        (status = check_pointer(ops, "ops")) ||
        (status = make(stream, ops, count, names, &op)))
        return status;
    return op_submit(op);
}

// --- Public ----------------------------------------------------------------

static rnl_value_op word(rnl_buffer buffer, size_t offset, uint32_t width,
                         uint64_t value)
{
    return (rnl_value_op){
        .struct_size = sizeof(rnl_value_op), .action = RNL_WRITE_VALUE,
        .width = width, .buffer = buffer, .offset = offset, .value = value,
    };
}

rnl_status rnl_enqueue_write_value32(rnl_stream stream, rnl_buffer buffer,
                                     size_t offset, uint32_t value)
{
    rnl_value_op op = word(buffer, offset, 32, value);
    rnl_status status = ENTER();
    return status ? status : enqueue(stream, &op, 1, &single);
}

rnl_status rnl_enqueue_write_value64(rnl_stream stream, rnl_buffer buffer,
                                     size_t offset, uint64_t value)
{
    rnl_value_op op = word(buffer, offset, 64, value);
    rnl_status status = ENTER();
    return status ? status : enqueue(stream, &op, 1, &single);
}

static rnl_status enqueue_wait(rnl_stream stream, rnl_value_op op,
                               rnl_value_action condition,
                               const struct names *names)
{
    if (condition == RNL_WRITE_VALUE)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "condition",
                       "RNL_WRITE_VALUE is no condition to wait for");
    op.action = condition;
    return enqueue(stream, &op, 1, names);
}

rnl_status rnl_enqueue_wait_value32(rnl_stream stream, rnl_buffer buffer,
                                    size_t offset, uint32_t value,
                                    rnl_value_action condition)
{
    rnl_status status = ENTER();
    return status ? status
                  : enqueue_wait(stream, word(buffer, offset, 32, value),
                                 condition, &single);
}

rnl_status rnl_enqueue_wait_value64(rnl_stream stream, rnl_buffer buffer,
                                    size_t offset, uint64_t value,
                                    rnl_value_action condition)
{
    rnl_status status = ENTER();
    return status ? status
                  : enqueue_wait(stream, word(buffer, offset, 64, value),
                                 condition, &single);
}

static rnl_value_op word_at(const void *address, uint32_t width, uint64_t value,
                            rnl_value_flags flags)
{
    return (rnl_value_op){
        .struct_size = sizeof(rnl_value_op), .action = RNL_WRITE_VALUE,
        .width = width, .flags = flags, .value = value,
        .pointer = (void *)(uintptr_t)address,
    };
}

rnl_status rnl_enqueue_write_address32(rnl_stream stream, void *address,
                                       uint32_t value, rnl_value_flags flags)
{
    rnl_value_op op = word_at(address, 32, value, flags);
    rnl_status status = ENTER();
    return status ? status : enqueue(stream, &op, 1, &direct);
}

rnl_status rnl_enqueue_write_address64(rnl_stream stream, void *address,
                                       uint64_t value, rnl_value_flags flags)
{
    rnl_value_op op = word_at(address, 64, value, flags);
    rnl_status status = ENTER();
    return status ? status : enqueue(stream, &op, 1, &direct);
}

rnl_status rnl_enqueue_wait_address32(rnl_stream stream, const void *address,
                                      uint32_t value,
                                      rnl_value_action condition,
                                      rnl_value_flags flags)
{
    rnl_status status = ENTER();
    return status ? status
                  : enqueue_wait(stream, word_at(address, 32, value, flags),
                                 condition, &direct);
}

rnl_status rnl_enqueue_wait_address64(rnl_stream stream, const void *address,
                                      uint64_t value,
                                      rnl_value_action condition,
                                      rnl_value_flags flags)
{
    rnl_status status = ENTER();
    return status ? status
                  : enqueue_wait(stream, word_at(address, 64, value, flags),
                                 condition, &direct);
}

rnl_status rnl_enqueue_values(rnl_stream stream, const rnl_value_op *ops,
                              size_t count)
{
    rnl_status status = ENTER();
    return status ? status : enqueue(stream, ops, count, &batch);
}

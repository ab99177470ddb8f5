#include "backends/null/null.h"

#include <stdio.h>
#include <stdlib.h>

static _Atomic unsigned live;
static _Atomic int fail_after = -1;

unsigned null_live(void)
{
    return atomic_load(&live);
}

int null_fail_after(int skip)
{
    return atomic_exchange(&fail_after, skip);
}

static rnl_status may_fail(void)
{
    int left = atomic_load(&fail_after);
    if (left < 0)
        return RNL_OK;
    atomic_store(&fail_after, left - 1);
    return left == 0 ? fail(RNL_ERROR_OUT_OF_MEMORY, "a fault was injected")
                     : RNL_OK;
}

static rnl_status begin(void)
{
    rnl_status status = may_fail();
    live += status == RNL_OK;
    return status;
}

// --- Devices ---------------------------------------------------------------

static size_t device_count(const char **out_reason)
{
    if (out_reason)
        *out_reason = "";
    return 1;
}

static rnl_status device_info(uint32_t index, rnl_device_info *info)
{
    (void)index;
    snprintf(info->name, sizeof info->name, "nothing");
    info->multiprocessors = 1;
    info->warp_size = 1;
    info->max_block_threads = 64;
    info->max_block = (rnl_dim3){64, 64, 64};
    info->max_grid = (rnl_dim3){1024, 1024, 1024};
    info->shared_per_block = info->shared_per_block_max = 1024;
    info->memory_size = 1 << 20;
    return RNL_OK;
}

// --- Contexts --------------------------------------------------------------

static rnl_status context_init(struct context *context)
{
    (void)context;
    return begin();
}

static void context_finish(struct context *context)
{
    (void)context;
    live--;
}

static rnl_status context_memory(struct context *context, size_t *out_free,
                                 size_t *out_total)
{
    (void)context;
    *out_free = *out_total = 1 << 20;
    return RNL_OK;
}

#define FEATURES                                     \
    (BACKEND_FEATURE(RNL_FEATURE_NATIVE_FUNCTIONS) | \
     BACKEND_FEATURE(RNL_FEATURE_BATCHED_STREAMS) |  \
     BACKEND_FEATURE(RNL_FEATURE_HOST_FUNCTIONS))

static const char *feature_reason(struct context *context, rnl_feature feature)
{
    (void)context;
    return feature <= FEATURE_LAST && FEATURES & BACKEND_FEATURE(feature)
               ? ""
               : "the null device can do nothing";
}

// --- Streams: work is done as soon as it is submitted, by doing nothing ------

static rnl_status stream_init(struct stream *stream)
{
    (void)stream;
    return begin();
}

static void stream_finish(struct stream *stream)
{
    (void)stream;
    live--;
}

static rnl_status stream_submit(struct stream *stream, struct op *first)
{
    rnl_status status = may_fail();
    if (status != RNL_OK)
        return status;
    for (struct op *op = first, *next; op; op = next) {
        next = op->next;
        op->sequence = atomic_fetch_add(&stream->enqueued, 1) + 1;
        if (op->kind == OP_HOST) {
            host_function_call(&op->host, RNL_OK);
        }
        op_finish(op);
    }
    return RNL_OK;
}

static rnl_status stream_query(struct stream *stream)
{
    (void)stream;
    return RNL_OK;
}

static rnl_status stream_wait(struct stream *stream, uint64_t deadline)
{
    (void)stream;
    (void)deadline;
    return RNL_OK;
}

static rnl_status stream_join(struct stream *stream, struct stream *other)
{
    (void)stream;
    (void)other;
    return RNL_OK;
}

// --- Events ----------------------------------------------------------------

static rnl_status event_init(struct event *event)
{
    (void)event;
    return begin();
}

static void event_finish(struct event *event)
{
    (void)event;
    live--;
}

static rnl_status event_record(struct event *event, struct stream *stream)
{
    (void)event;
    (void)stream;
    return RNL_OK;
}

static rnl_status event_join(struct stream *stream, struct event *event)
{
    (void)stream;
    (void)event;
    return RNL_OK;
}

static rnl_status event_query(struct event *event)
{
    (void)event;
    return RNL_OK;
}

static rnl_status event_wait(struct event *event, uint64_t deadline)
{
    (void)event;
    (void)deadline;
    return RNL_OK;
}

// --- Memory: real, but out of the host's sight unless it is host memory ------

static rnl_status memory_allocate(struct context *context,
                                  rnl_memory_kind kind, size_t size,
                                  struct memory *out_memory)
{
    (void)context;
    rnl_status status = may_fail();
    if (status != RNL_OK)
        return status;
    void *memory = size <= 1 << 20 ? malloc(size) : NULL;
    if (!memory)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "%zu bytes are too much", size);
    live++;
    *out_memory = (struct memory){
        memory, kind == RNL_MEMORY_HOST ? memory : NULL, 0};
    return RNL_OK;
}

static void memory_free(struct context *context, rnl_memory_kind kind,
                        struct memory memory, size_t size)
{
    (void)context;
    (void)kind;
    (void)size;
    free(memory.device);
    live--;
}

static rnl_status host_register(struct context *context, void *pointer,
                                size_t size, bool locked)
{
    (void)context;
    (void)pointer;
    (void)size;
    if (locked)
        return begin();
    live--;
    return RNL_OK;
}

// --- The table -------------------------------------------------------------

const struct backend null_backend = {
    .abi = BACKEND_ABI,
    .api = "null",
    .features = FEATURES,

    .device_count = device_count,
    .device_info = device_info,

    .context_init = context_init,
    .context_finish = context_finish,
    .context_memory = context_memory,
    .feature_reason = feature_reason,

    .stream_init = stream_init,
    .stream_finish = stream_finish,
    .stream_submit = stream_submit,
    .stream_query = stream_query,
    .stream_wait = stream_wait,
    .stream_join = stream_join,

    .event_init = event_init,
    .event_finish = event_finish,
    .event_record = event_record,
    .event_join = event_join,
    .event_query = event_query,
    .event_wait = event_wait,

    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .host_register = host_register,
};

// Memory of every kind, while faults are injected.
#include "sweep.h"

#include <sched.h>
#include <stdatomic.h>

static _Atomic int deletions;

static void count_deletion(void *pointer, size_t size, void *user_data)
{
    (void)pointer;
    (void)size;
    (void)user_data;
    atomic_fetch_add(&deletions, 1);
}

static rnl_status buffer_life(void)
{
    static char memory[256];
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffers[6] = {0};
    void *pointer = NULL;
    deletions = 0;
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &stream));
    // Later ones are made of this one's memory.
    TRY(rnl_buffer_create(context, 256, RNL_BUFFER_OPTIONS(.label = "kept"),
                          &buffers[0]));
    TRY(rnl_buffer_release(buffers[0]));
    buffers[0] = NULL;
    TRY(rnl_buffer_create(context, 256,
                          RNL_BUFFER_OPTIONS(.zeroed = true, .label = "b"),
                          &buffers[0]));
    TRY(rnl_buffer_create(context, 256,
                          RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                          &buffers[1]));
    TRY(rnl_enqueue_buffer_create(
        stream, 256, RNL_BUFFER_OPTIONS(.zeroed = true), &buffers[2]));
    TRY(rnl_buffer_slice(buffers[0], 64, 64, &buffers[3]));
    TRY(rnl_buffer_wrap(context, memory, sizeof memory,
                        RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST,
                                         .deleter = count_deletion,
                                         .label = "wrapped"),
                        &buffers[4]));
    TRY(rnl_buffer_create(context, 0, NULL, &buffers[5]));
    bool wrapped = buffers[4] != NULL;
    TRY(rnl_buffer_set_release_stream(buffers[0], stream));
    TRY(rnl_buffer_map_and_wait(stream, buffers[0], RNL_MAP_READ_WRITE,
                                &pointer));
    EXPECT(pointer && ((char *)pointer)[255] == 0);
    TRY(rnl_buffer_unmap_and_wait(stream, buffers[0]));
    if (status == RNL_OK) {
        TRY(rnl_enqueue_buffer_release(stream, buffers[2]));
        if (status == RNL_OK)
            buffers[2] = NULL;
    }
    for (int i = 0; i < 6; i++)
        RELEASE(rnl_buffer_release(buffers[i]));
    RELEASE(rnl_stream_release(stream));
    RELEASE(rnl_context_release(context));
    sweep_expect_empty();
    if (deletions != (wrapped ? 1 : 0))
        sweep_wrong("the deleter runs once", __FILE__, __LINE__);
    return status;
}

static rnl_status raw_memory_life(void)
{
    static char memory[4096];
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    void *pointers[3] = {0};
    TRY(sweep_open(&context));
    for (int i = 0; i < 3; i++)
        TRY(rnl_host_allocate(context, 100, &pointers[i]));
    TRY(rnl_host_register(context, memory, sizeof memory));
    TRY(rnl_host_unregister(context, memory));
    for (int i = 0; i < 3; i++)
        if (pointers[i])
            RELEASE(rnl_host_free(context, pointers[i]));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status slices(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_buffer slice = t->buffer, last = NULL;
    RELEASE(rnl_buffer_retain(slice));
    for (size_t i = 0; i < 12; i++) {
        last = slice;
        slice = NULL;
        TRY(rnl_buffer_slice(last, 16, 256 - 16 * (i + 1), &slice));
        RELEASE(rnl_buffer_release(last));
    }
    TRY(rnl_enqueue_fill(t->stream, slice, 0, 64, 9, 4));
    TRY(rnl_enqueue_buffer_release(t->stream, slice));
    if (status != RNL_OK)
        RELEASE(rnl_buffer_release(slice));
    int value = 0;
    TRY(rnl_copy_from_buffer_and_wait(t->stream, &value, t->buffer, 192, 4));
    EXPECT(value == 9);
    return status;
}

static rnl_status maps(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    int value = 0;
    for (int mode = RNL_MAP_READ_WRITE; mode <= RNL_MAP_WRITE; mode++) {
        int *ints = NULL;
        TRY(rnl_buffer_map_and_wait(t->stream, t->buffer, (rnl_map_mode)mode,
                                    (void **)&ints));
        if (status == RNL_OK && mode != RNL_MAP_READ)
            ints[3] = mode + 1;
        TRY(rnl_buffer_unmap_and_wait(t->stream, t->buffer));
    }
    TRY(rnl_copy_from_buffer_and_wait(t->stream, &value, t->buffer, 12, 4));
    EXPECT(value == RNL_MAP_WRITE + 1);
    return status;
}

static rnl_status managed_memory(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_buffer buffer = NULL;
    TRY(rnl_buffer_create(
        t->context, 4096,
        RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_MANAGED, .zeroed = true),
        &buffer));
    TRY(rnl_enqueue_prefetch(t->stream, buffer, 0, 4096, RNL_MEMORY_TO_HOST));
    TRY(rnl_buffer_advise(buffer, 0, 4096, RNL_ADVICE_PREFER_DEVICE));
    TRY(rnl_enqueue_attach(t->stream, buffer, RNL_ATTACH_SINGLE));
    TRY(rnl_enqueue_fill(t->stream, buffer, 0, 4096, 3, 4));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_buffer_release(buffer));
    return status;
}

// Memory that goes through the pool, in the order of two streams.
static rnl_status pools(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_pool_stats stats = {.struct_size = sizeof stats};
    size_t free_size = 0, total = 0;
    for (size_t i = 1; i <= 24; i++) {
        rnl_stream stream = i % 3 ? t->stream : t->other;
        rnl_buffer made = NULL;
        TRY(rnl_enqueue_buffer_create(stream, 64 * i, NULL, &made));
        TRY(rnl_enqueue_fill(stream, made, 0, 64 * i, i, 4));
        if (i % 2 && status == RNL_OK) {
            TRY(rnl_enqueue_buffer_release(stream, made));
            if (status == RNL_OK)
                made = NULL;
        }
        RELEASE(rnl_buffer_release(made));
    }
    TRY(rnl_context_pool_stats(t->context, &stats));
    TRY(rnl_context_trim(t->context, 1024));
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    TRY(rnl_context_trim(t->context, 0));
    TRY(rnl_context_memory(t->context, &free_size, &total));
    return status;
}

// Created on one stream, released on another that was made to wait.
static rnl_status handed_over(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    for (int i = 0; i < 6; i++) {
        rnl_buffer made = NULL;
        TRY(rnl_enqueue_buffer_create(
            t->stream, 512, RNL_BUFFER_OPTIONS(.zeroed = true, .label = "made"),
            &made));
        TRY(rnl_enqueue_wait_stream(t->other, t->stream));
        TRY(rnl_buffer_set_release_stream(made, t->other));
        TRY(rnl_enqueue_fill(t->other, made, 0, 512, 1, 8));
        RELEASE(rnl_buffer_release(made));
    }
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    return status;
}

// The fourth is zeroed anew in the memory of the third, by a stream.
static rnl_status large_buffers(struct sweep_set *t)
{
    const size_t sizes[] = {3 << 20, 3 << 20, 17 << 20, 17 << 20};
    rnl_status status = RNL_OK;
    rnl_buffer buffers[4] = {0};
    for (int i = 0; i < 4; i++) {
        TRY(rnl_buffer_create(t->context, sizes[i],
                              RNL_BUFFER_OPTIONS(.zeroed = i % 2),
                              &buffers[i]));
        if (i != 2)
            continue;
        TRY(rnl_fill_and_wait(t->other, buffers[2], 0, sizes[2], 1, 1));
        RELEASE(rnl_buffer_release(buffers[2]));
    }
    TRY(rnl_enqueue_copy_buffer(t->stream, buffers[0], 0, buffers[1], 0,
                                sizes[0]));
    TRY(rnl_enqueue_fill(t->other, buffers[3], 0, sizes[3], 1, 1));
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    for (int i = 0; i < 4; i++)
        if (i != 2)
            RELEASE(rnl_buffer_release(buffers[i]));
    return status;
}

static rnl_status many_host_blocks(struct sweep_set *t)
{
    enum { COUNT = 24 };
    static char page[COUNT][4096];
    rnl_status status = RNL_OK;
    void *blocks[COUNT] = {0};
    int registered = 0;
    for (int i = 0; i < COUNT; i++) {
        TRY(rnl_host_allocate(t->context, 64 + (size_t)i, &blocks[i]));
        TRY(rnl_host_register(t->context, page[i], sizeof page[i]));
        registered += status == RNL_OK;
    }
    TRY(rnl_enqueue_copy(t->stream, page[3], page[5], 4096));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    if (status != RNL_OK)
        rnl_stream_synchronize(t->stream, RNL_FOREVER);
    for (int i = 0; i < COUNT; i++) {
        if (blocks[i])
            RELEASE(rnl_host_free(t->context, blocks[i]));
        if (i < registered)
            RELEASE(rnl_host_unregister(t->context, page[i]));
    }
    return status;
}

static rnl_status wrapped(struct sweep_set *t)
{
    static char memory[4096];
    rnl_status status = RNL_OK;
    rnl_buffer wrap = NULL, slice = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    deletions = 0;
    TRY(rnl_host_register(t->context, memory, sizeof memory));
    bool registered = status == RNL_OK;
    TRY(rnl_buffer_wrap(
        t->context, memory, sizeof memory,
        RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST, .deleter = count_deletion),
        &wrap));
    bool made = wrap != NULL;
    TRY(rnl_buffer_get_info(wrap, &info));
    TRY(rnl_buffer_slice(wrap, 1024, 1024, &slice));
    TRY(rnl_enqueue_fill(t->stream, slice, 0, 1024, 6, 1));
    RELEASE(rnl_buffer_release(wrap));
    RELEASE(rnl_buffer_release(slice));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    EXPECT(!made || memory[1024] == 6);
    if (status != RNL_OK)
        rnl_stream_synchronize(t->stream, RNL_FOREVER);
    if (registered)
        RELEASE(rnl_host_unregister(t->context, memory));
    return status;
}

// A tensor of a buffer, and a buffer of that tensor.
static rnl_status tensors(struct sweep_set *t)
{
    static const int64_t shape[] = {2, 32};
    rnl_status status = RNL_OK;
    struct DLManagedTensorVersioned *tensor = NULL;
    rnl_buffer typed = NULL, back = NULL;
    TRY(rnl_buffer_create_typed(t->context, RNL_ELEMENT_INT32, 64,
                                RNL_BUFFER_OPTIONS(.label = "typed"), &typed));
    TRY(rnl_buffer_to_dlpack(typed,
                             RNL_DLPACK_EXPORT(.shape = shape,
                                               .axis_count = 2), &tensor));
    TRY(rnl_buffer_from_dlpack(t->context, tensor,
                               RNL_DLPACK_IMPORT(.label = "back"), &back));
    TRY(rnl_fill_and_wait(t->stream, back, 0, 256, 6, 4));
    // A tensor that nothing took is its caller's to end.
    void (*deleter)(struct DLManagedTensorVersioned *) = NULL;
    if (tensor && !back) {
        memcpy(&deleter, (char *)tensor + 16, sizeof deleter);
        deleter(tensor);
    }
    RELEASE(rnl_buffer_release(typed));
    RELEASE(rnl_buffer_release(back));
    return status;
}

static rnl_status shared(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_buffer buffer = NULL;
    rnl_ipc_handle handle = {{0}};
    TRY(rnl_buffer_create(
        t->context, 5000,
        RNL_BUFFER_OPTIONS(.interprocess = true, .zeroed = true, .label = "s"),
        &buffer));
    TRY(rnl_buffer_export(buffer, &handle));
    TRY(rnl_fill_and_wait(t->stream, buffer, 0, 5000, 6, 1));
    EXPECT(status != RNL_OK || handle.bytes[0] == 'R');
    RELEASE(rnl_buffer_release(buffer));
    return status;
}

static void hold(rnl_status status, void *open)
{
    (void)status;
    while (!atomic_load((_Atomic bool *)open))
        sched_yield();
}

// The other stream waits while the record is not complete.
static rnl_status shared_events(struct sweep_set *t)
{
    static _Atomic bool open;
    rnl_status status = RNL_OK;
    rnl_event event = NULL;
    rnl_ipc_handle handle = {{0}};
    TRY(rnl_event_create(t->context,
                         RNL_EVENT_OPTIONS(.interprocess = true, .label = "s"),
                         &event));
    TRY(rnl_event_export(event, &handle));
    atomic_store(&open, false);
    TRY(rnl_enqueue_host_function(t->stream, hold, &open));
    TRY(rnl_enqueue_event_record(t->stream, event));
    TRY(rnl_enqueue_wait_event(t->other, event));
    atomic_store(&open, true);
    TRY(rnl_event_synchronize(event, RNL_FOREVER));
    TRY(rnl_event_query(event));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    EXPECT(status != RNL_OK || handle.bytes[0] == 'R');
    RELEASE(rnl_event_release(event));
    return status;
}

const struct scenario memory_scenarios[] = {
    {"buffers", buffer_life, NULL, {0}},
    {"raw host memory", raw_memory_life, NULL, {0}},
    {"slices of slices", NULL, slices, {0}},
    {"maps", NULL, maps, {0}},
    {"managed memory", NULL, managed_memory, {RNL_FEATURE_MANAGED_MEMORY}},
    {"pools", NULL, pools, {0}},
    {"memory handed over", NULL, handed_over, {0}},
    {"large buffers", NULL, large_buffers, {0}},
    {"many blocks of the host", NULL, many_host_blocks, {0}},
    {"wrapped memory", NULL, wrapped, {0}},
    {"tensors", NULL, tensors, {0}},
    {"shared memory", NULL, shared, {RNL_FEATURE_INTERPROCESS_MEMORY}},
    {"shared events", NULL, shared_events, {RNL_FEATURE_INTERPROCESS}},
    {0},
};

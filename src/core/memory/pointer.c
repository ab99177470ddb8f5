// Whose memory an address is.

#include "core/memory/host_memory.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"

// The best answer so far.
struct finding {
    rnl_pointer_info info;
    bool owned;  // memory that Runnel allocated
};

static bool has_byte(const void *start, size_t size, const void *pointer,
                     size_t *out_offset)
{
    *out_offset = (size_t)((uintptr_t)pointer - (uintptr_t)start);
    return start && (uintptr_t)pointer >= (uintptr_t)start &&
           *out_offset < size;
}

static void describe(struct context *context, rnl_pointer_info *info)
{
    info->context = object_handle(&context->object);
    info->device = object_handle(&context->device->object);
}

static void look_at_buffer(struct buffer *buffer, const void *pointer,
                           struct finding *finding)
{
    size_t offset;
    struct buffer *whole = buffer_whole(buffer);
    void *base = whole->memory.device;
    if (!has_byte(base, whole->size, pointer, &offset)) {
        base = whole->memory.host;
        if (!has_byte(base, whole->size, pointer, &offset))
            return;
    }
    finding->owned = !whole->borrowed && !whole->deleter;
    finding->info = (rnl_pointer_info){.kind = RNL_POINTER_BUFFER,
                                       .memory_kind = whole->kind,
                                       .buffer = object_handle(&whole->object),
                                       .base = base,
                                       .size = whole->size,
                                       .offset = offset};
    describe(whole->object.context, &finding->info);
}

static void look_at_ranges(struct context *context, const void *pointer,
                           rnl_pointer_info *info)
{
    uintptr_t start;
    size_t size;
    bool allocated;
    if (!host_range_find(context, (uintptr_t)pointer, &start, &size,
                         &allocated))
        return;
    *info = (rnl_pointer_info){
        .kind = allocated ? RNL_POINTER_HOST_ALLOCATED
                          : RNL_POINTER_HOST_REGISTERED,
        .memory_kind = RNL_MEMORY_HOST,
        .base = (void *)start,
        .size = size,
        .offset = (uintptr_t)pointer - start};
    describe(context, info);
}

rnl_status rnl_pointer_get_info(const void *pointer,
                                rnl_pointer_info *out_info)
{
    struct finding finding = {.owned = false};
    struct object *object;
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    for (uint32_t i = 0; !finding.owned &&
                         (object = object_next_ref(OBJECT_BUFFER, &i));) {
        look_at_buffer((struct buffer *)object, pointer, &finding);
        object_unref(object);
    }
    for (uint32_t i = 0; finding.info.kind == RNL_POINTER_UNKNOWN &&
                         (object = object_next_ref(OBJECT_CONTEXT, &i));) {
        look_at_ranges((struct context *)object, pointer, &finding.info);
        object_unref(object);
    }
    return info_write(out_info, &finding.info, sizeof finding.info,
                      "out_info");
}

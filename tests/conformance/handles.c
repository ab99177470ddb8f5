// The handle misuse matrix: every handle parameter of every public function
// (rows) against NULL, bits that were never a handle, dead handles, dead ones
// whose slot was used again, and handles of another type (columns). Each cell
// must give RNL_ERROR_INVALID_HANDLE, name the parameter, and change nothing.
#include "handles.h"

#include <stdio.h>

static rnl_context_options no_context_options = {sizeof no_context_options, 0,
                                                 0, NULL, 0};

#include "handle_rows.h"

// --- Devices and contexts --------------------------------------------------

static rnl_status device_info_of(void *handle)
{
    rnl_device_info info = {.struct_size = sizeof info};
    return rnl_device_get_info(handle, &info);
}

ROW_CALL(device_attribute, device,
         rnl_device_attribute(h, RNL_ATTRIBUTE_WARP_SIZE, &with.out.value))
ROW_CALL(context_create, device,
         rnl_context_create(h, &no_context_options, &with.out.context))
ROW_CALL(context_retain, context, rnl_context_retain(h))
ROW_CALL(context_release, context, rnl_context_release(h))
ROW_CALL(context_device, context, rnl_context_device(h, &with.out.device))
ROW_CALL(context_id, context, rnl_context_id(h, with.out.bits))
ROW_CALL(context_memory, context, rnl_context_memory(h, NULL, NULL))
ROW_CALL(context_compatible, context,
         rnl_context_is_compatible(h, &with.out.text))
ROW_CALL(context_supports, context,
         rnl_context_supports(h, RNL_FEATURE_COMPILE, &with.out.text))
ROW_CALL(context_default_stream, context,
         rnl_context_default_stream(h, &with.out.stream))
ROW_CALL(context_synchronize, context, rnl_context_synchronize(h, 0))

// --- Streams and events ----------------------------------------------------

static rnl_status stream_info_of(void *handle)
{
    rnl_stream_info info = {.struct_size = sizeof info};
    return rnl_stream_get_info(handle, &info);
}

static rnl_status compiler_info_of(void *handle)
{
    static rnl_compiler_info info;
    info = (rnl_compiler_info){.struct_size = sizeof info};
    return rnl_compiler_get_info(handle, &info);
}

ROW_CALL(stream_create, context, rnl_stream_create(h, NULL, &with.out.stream))
ROW_CALL(stream_retain, stream, rnl_stream_retain(h))
ROW_CALL(stream_release, stream, rnl_stream_release(h))
ROW_CALL(stream_query, stream, rnl_stream_query(h))
ROW_CALL(stream_synchronize, stream, rnl_stream_synchronize(h, 0))
ROW_CALL(stream_reset, stream, rnl_stream_reset_and_wait(h))
ROW_CALL(wait_event_stream, stream, rnl_enqueue_wait_event(h, with.event))
ROW_CALL(wait_event_event, event, rnl_enqueue_wait_event(with.stream, h))
ROW_CALL(wait_stream_stream, stream, rnl_enqueue_wait_stream(h, with.stream))
ROW_CALL(wait_stream_other, stream, rnl_enqueue_wait_stream(with.stream, h))
ROW_CALL(wait_context_stream, stream,
         rnl_enqueue_wait_context(h, with.context))
ROW_CALL(wait_context_other, context,
         rnl_enqueue_wait_context(with.stream, h))
ROW_CALL(host_function, stream,
         rnl_enqueue_host_function(h, count_host_call, with.host))
ROW_CALL(event_create, context, rnl_event_create(h, NULL, &with.out.event))
ROW_CALL(event_retain, event, rnl_event_retain(h))
ROW_CALL(event_release, event, rnl_event_release(h))
ROW_CALL(record_stream, stream, rnl_enqueue_event_record(h, with.event))
ROW_CALL(record_event, event, rnl_enqueue_event_record(with.stream, h))
ROW_CALL(enqueue_event, stream, rnl_enqueue_event(h, NULL, &with.out.event))
ROW_CALL(event_query, event, rnl_event_query(h))
ROW_CALL(event_synchronize, event, rnl_event_synchronize(h, 0))
ROW_CALL(elapsed_start, event,
         rnl_event_elapsed(h, with.event, with.out.bits))
ROW_CALL(elapsed_end, event, rnl_event_elapsed(with.event, h, with.out.bits))

// --- Buffers ---------------------------------------------------------------

static rnl_status buffer_info_of(void *handle)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    return rnl_buffer_get_info(handle, &info);
}

ROW_CALL(buffer_create, context,
         rnl_buffer_create(h, 64, NULL, &with.out.buffer))
ROW_CALL(buffer_enqueue, stream,
         rnl_enqueue_buffer_create(h, 64, NULL, &with.out.buffer))
ROW_CALL(buffer_wrap, context,
         rnl_buffer_wrap(h, with.host, 64, NULL, &with.out.buffer))
ROW_CALL(buffer_typed, context,
         rnl_buffer_create_typed(h, RNL_ELEMENT_INT32, 16, NULL,
                                 &with.out.buffer))
ROW_CALL(buffer_from_dlpack, context,
         rnl_buffer_from_dlpack(h, (void *)with.host, NULL, &with.out.buffer))

// Ends the tensor at once. It begins like this.
static rnl_status buffer_to_dlpack(void *handle)
{
    struct {
        uint32_t version[2];
        void *owner;
        void (*deleter)(struct DLManagedTensorVersioned *self);
    } start;
    struct DLManagedTensorVersioned *tensor = NULL;
    rnl_status status = rnl_buffer_to_dlpack(handle, NULL, &tensor);
    if (status == RNL_OK) {
        memcpy(&start, tensor, sizeof start);
        start.deleter(tensor);
    }
    return status;
}

ROW_CALL(buffer_slice, buffer, rnl_buffer_slice(h, 0, 4, &with.out.buffer))
ROW_CALL(pool_stats, context,
         rnl_context_pool_stats(h, &(rnl_pool_stats){.struct_size = 72}))
ROW_CALL(trim, context, rnl_context_trim(h, 0))
ROW_CALL(prefetch_stream, stream, rnl_enqueue_prefetch(h, with.buffer, 0, 4, 0))
ROW_CALL(prefetch, buffer, rnl_enqueue_prefetch(with.stream, h, 0, 4, 0))
ROW_CALL(attach_stream, stream, rnl_enqueue_attach(h, with.buffer, 0))
ROW_CALL(attach, buffer, rnl_enqueue_attach(with.stream, h, 0))
ROW_CALL(advise, buffer, rnl_buffer_advise(h, 0, 4, RNL_ADVICE_NONE))
ROW_CALL(buffer_retain, buffer, rnl_buffer_retain(h))
ROW_CALL(buffer_release, buffer, rnl_buffer_release(h))
ROW_CALL(release_stream, stream,
         rnl_enqueue_buffer_release(h, with.buffer))
ROW_CALL(release_buffer, buffer,
         rnl_enqueue_buffer_release(with.stream, h))
ROW_CALL(set_release_buffer, buffer,
         rnl_buffer_set_release_stream(h, with.stream))
ROW_CALL(set_release_stream, stream,
         rnl_buffer_set_release_stream(with.buffer, h))
ROW_CALL(host_pointer, buffer, rnl_buffer_host_pointer(h, &with.out.pointer))
ROW_CALL(map_stream, stream,
         rnl_buffer_map_and_wait(h, with.buffer, RNL_MAP_READ,
                                 &with.out.pointer))
ROW_CALL(map_buffer, buffer,
         rnl_buffer_map_and_wait(with.stream, h, RNL_MAP_READ,
                                 &with.out.pointer))
ROW_CALL(unmap_stream, stream, rnl_buffer_unmap_and_wait(h, with.buffer))
ROW_CALL(unmap_buffer, buffer, rnl_buffer_unmap_and_wait(with.stream, h))
ROW_CALL(host_allocate, context,
         rnl_host_allocate(h, 64, &with.out.pointer))
ROW_CALL(host_free, context, rnl_host_free(h, NULL))
ROW_CALL(host_register, context, rnl_host_register(h, with.host, 64))
ROW_CALL(host_unregister, context, rnl_host_unregister(h, with.host))

// --- Copies and fills ------------------------------------------------------

ROW_CALL(copy_stream, stream,
         rnl_enqueue_copy(h, with.host, with.host + 8, 16))
ROW_CALL(copy_to_stream, stream,
         rnl_enqueue_copy_to_buffer(h, with.buffer, 0, with.host, 16))
ROW_CALL(copy_to_buffer, buffer,
         rnl_enqueue_copy_to_buffer(with.stream, h, 0, with.host, 16))
ROW_CALL(copy_from_stream, stream,
         rnl_enqueue_copy_from_buffer(h, with.host, with.buffer, 0, 16))
ROW_CALL(copy_from_buffer, buffer,
         rnl_enqueue_copy_from_buffer(with.stream, with.host, h, 0, 16))
ROW_CALL(copy_buffer_stream, stream,
         rnl_enqueue_copy_buffer(h, with.buffer, 0, with.buffer, 32, 16))
ROW_CALL(copy_buffer_to, buffer,
         rnl_enqueue_copy_buffer(with.stream, h, 0, with.buffer, 32, 16))
ROW_CALL(copy_buffer_from, buffer,
         rnl_enqueue_copy_buffer(with.stream, with.buffer, 0, h, 32, 16))
ROW_CALL(region_stream, stream,
         rnl_enqueue_copy_region(h, RNL_COPY(.to = {.pointer = with.host},
                                             .from = {.buffer = with.buffer},
                                             .width = 16)))
ROW_CALL(region_to, buffer,
         rnl_enqueue_copy_region(with.stream,
                                 RNL_COPY(.to = {.buffer = h},
                                          .from = {.pointer = with.host},
                                          .width = 16)))
ROW_CALL(region_from, buffer,
         rnl_enqueue_copy_region(with.stream,
                                 RNL_COPY(.to = {.pointer = with.host},
                                          .from = {.buffer = h},
                                          .width = 16)))
ROW_CALL(batch_stream, stream, rnl_enqueue_copy_batch(h, NULL, 0))
ROW_CALL(batch_to, buffer,
         rnl_enqueue_copy_batch(with.stream,
                                RNL_COPY(.to = {.buffer = h},
                                         .from = {.pointer = with.host},
                                         .width = 16), 1))
ROW_CALL(wait_copy, stream,
         rnl_copy_and_wait(h, with.host, with.host + 8, 16))
ROW_CALL(wait_copy_to, stream,
         rnl_copy_to_buffer_and_wait(h, with.buffer, 0, with.host, 16))
ROW_CALL(wait_copy_to_buffer, buffer,
         rnl_copy_to_buffer_and_wait(with.stream, h, 0, with.host, 16))
ROW_CALL(wait_copy_from, stream,
         rnl_copy_from_buffer_and_wait(h, with.host, with.buffer, 0, 16))
ROW_CALL(wait_copy_from_buffer, buffer,
         rnl_copy_from_buffer_and_wait(with.stream, with.host, h, 0, 16))
ROW_CALL(wait_copy_buffer, stream,
         rnl_copy_buffer_and_wait(h, with.buffer, 0, with.buffer, 32, 16))
ROW_CALL(wait_copy_buffer_to, buffer,
         rnl_copy_buffer_and_wait(with.stream, h, 0, with.buffer, 32, 16))
ROW_CALL(wait_copy_buffer_from, buffer,
         rnl_copy_buffer_and_wait(with.stream, with.buffer, 0, h, 32, 16))
ROW_CALL(wait_region_stream, stream,
         rnl_copy_region_and_wait(h, RNL_COPY(.to = {.pointer = with.host},
                                              .from = {.buffer = with.buffer},
                                              .width = 16)))
ROW_CALL(wait_region_to, buffer,
         rnl_copy_region_and_wait(with.stream,
                                  RNL_COPY(.to = {.buffer = h},
                                           .from = {.pointer = with.host},
                                           .width = 16)))
ROW_CALL(fill_stream, stream, rnl_enqueue_fill(h, with.buffer, 0, 16, 7, 4))
ROW_CALL(fill_buffer, buffer, rnl_enqueue_fill(with.stream, h, 0, 16, 7, 4))
ROW_CALL(fill_region_stream, stream,
         rnl_enqueue_fill_region(h, RNL_FILL(.to = {.buffer = with.buffer},
                                             .width = 16,
                                             .pattern_size = 4)))
ROW_CALL(fill_region_buffer, buffer,
         rnl_enqueue_fill_region(with.stream, RNL_FILL(.to = {.buffer = h},
                                                       .width = 16,
                                                       .pattern_size = 4)))
ROW_CALL(wait_fill_stream, stream,
         rnl_fill_and_wait(h, with.buffer, 0, 16, 7, 4))
ROW_CALL(wait_fill_buffer, buffer,
         rnl_fill_and_wait(with.stream, h, 0, 16, 7, 4))
ROW_CALL(wait_fill_region, stream,
         rnl_fill_region_and_wait(h, RNL_FILL(.to = {.buffer = with.buffer},
                                              .width = 16,
                                              .pattern_size = 4)))
ROW_CALL(wait_fill_region_buffer, buffer,
         rnl_fill_region_and_wait(with.stream, RNL_FILL(.to = {.buffer = h},
                                                        .width = 16,
                                                        .pattern_size = 4)))

#include "handles_values.h"

// --- Modules, functions, launches ------------------------------------------

static rnl_status function_info_of(void *handle)
{
    rnl_function_info info = {.struct_size = sizeof info};
    return rnl_function_get_info(handle, &info);
}

static rnl_status module_binary(void *handle)
{
    size_t size;
    return rnl_module_binary(handle, &with.out.constant, &size);
}

ROW_CALL(module_compile, context,
         rnl_module_compile(h, handle_source, NULL, &with.out.module))
ROW_CALL(module_load, context,
         rnl_module_load(h, with.host, 64, NULL, &with.out.module))
ROW_CALL(module_load_file, context,
         rnl_module_load_file(h, "/dev/null", &with.out.module))
ROW_CALL(module_compile_file, context,
         rnl_module_compile_file(h, "/dev/null", NULL, &with.out.module))
ROW_CALL(module_load_embedded, context,
         rnl_module_load_embedded(h, RNL_EMBEDDED(.source = handle_source),
                                  &with.out.module))
ROW_CALL(module_retain, module, rnl_module_retain(h))
ROW_CALL(module_release, module, rnl_module_release(h))
ROW_CALL(module_log, module, rnl_module_log(h, &with.out.text))
ROW_CALL(module_function, module,
         rnl_module_function(h, "nothing", &with.out.function))
static rnl_status module_native_code(void *handle)
{
    size_t size;
    return rnl_module_native_code(handle, RNL_CODE_OBJECT, &with.out.constant,
                                  &size);
}

static rnl_status module_get_functions(void *handle)
{
    size_t count;
    return rnl_module_get_functions(handle, NULL, 0, &count);
}

ROW_CALL(module_global, module,
         rnl_module_global(h, "there", &with.out.buffer))
ROW_CALL(function_compile, context,
         rnl_function_compile(h, handle_source, "nothing", NULL,
                              &with.out.function))
ROW_CALL(function_native, context,
         rnl_function_create_native(h, "f", native_nothing, NULL,
                                    &with.out.function))
ROW_CALL(function_retain, function, rnl_function_retain(h))
ROW_CALL(function_release, function, rnl_function_release(h))
ROW_CALL(launch_stream, stream,
         rnl_enqueue_function(h, with.function,
                              RNL_LAUNCH(.grid = {1}, .block = {1}), NULL))
ROW_CALL(launch_function, function,
         rnl_enqueue_function(with.stream, h,
                              RNL_LAUNCH(.grid = {1}, .block = {1}), NULL))

// --- The table -------------------------------------------------------------

static const struct row rows[] = {
    {"rnl_device_get_info", "device", DEVICE, device_info_of, 0, 0},
    {"rnl_device_attribute", "device", DEVICE, device_attribute, 0, 0},
    {"rnl_context_create", "device", DEVICE, context_create, 0, 0},
    {"rnl_context_retain", "context", CONTEXT, context_retain, 0, 0},
    {"rnl_context_release", "context", CONTEXT, context_release, 1, 0},
    {"rnl_context_device", "context", CONTEXT, context_device, 0, 0},
    {"rnl_context_id", "context", CONTEXT, context_id, 0, 0},
    {"rnl_context_memory", "context", CONTEXT, context_memory, 0, 0},
    {"rnl_context_is_compatible", "context", CONTEXT, context_compatible, 0, 0},
    {"rnl_compiler_get_info", "context", CONTEXT, compiler_info_of, 0, 0},
    {"rnl_context_supports", "context", CONTEXT, context_supports, 0, 0},
    {"rnl_launch_attribute_has_effect", "context", CONTEXT, launch_effect,
     0, 0},
    {"rnl_context_default_stream", "context", CONTEXT, context_default_stream,
     0, 0},
    {"rnl_context_synchronize", "context", CONTEXT, context_synchronize, 0, 0},
    {"rnl_context_can_access_peer", "context", CONTEXT, context_can_access,
     0, 0},
    {"rnl_context_can_access_peer", "peer", CONTEXT, context_can_be_accessed,
     0, 0},
    {"rnl_context_enable_peer", "context", CONTEXT, context_enable, 0, 0},
    {"rnl_context_enable_peer", "peer", CONTEXT, context_enabled, 0, 0},
    {"rnl_context_disable_peer", "context", CONTEXT, context_disable, 0, 0},
    {"rnl_context_disable_peer", "peer", CONTEXT, context_disabled, 0, 0},
    {"rnl_stream_create", "context", CONTEXT, stream_create, 0, 0},
    {"rnl_stream_retain", "stream", STREAM, stream_retain, 0, 0},
    {"rnl_stream_release", "stream", STREAM, stream_release, 1, 0},
    {"rnl_stream_get_info", "stream", STREAM, stream_info_of, 0, 0},
    {"rnl_context_priority_range", "context", CONTEXT, context_priorities, 0, 0},
    {"rnl_stream_set_attribute", "stream", STREAM, set_attribute, 0, 0},
    {"rnl_stream_get_attribute", "stream", STREAM, get_attribute, 0, 0},
    {"rnl_stream_copy_attributes", "to", STREAM, copy_attributes_to, 0, 0},
    {"rnl_stream_copy_attributes", "from", STREAM, copy_attributes_from, 0, 0},
    {"rnl_time_and_wait", "stream", STREAM, time_and_wait, 0, 0},
    {"rnl_stream_flush", "stream", STREAM, stream_flush, 0, 0},
    {"rnl_stream_cancel", "stream", STREAM, stream_cancel, 0, 0},
    {"rnl_stream_query", "stream", STREAM, stream_query, 0, 0},
    {"rnl_stream_synchronize", "stream", STREAM, stream_synchronize, 0, 0},
    {"rnl_stream_reset_and_wait", "stream", STREAM, stream_reset, 0, 0},
    {"rnl_enqueue_wait_event", "stream", STREAM, wait_event_stream, 0, 0},
    {"rnl_enqueue_wait_event", "event", EVENT, wait_event_event, 0, 0},
    {"rnl_enqueue_wait_stream", "stream", STREAM, wait_stream_stream, 0, 0},
    {"rnl_enqueue_wait_stream", "other", STREAM, wait_stream_other, 0, 0},
    {"rnl_enqueue_wait_context", "stream", STREAM, wait_context_stream, 0, 0},
    {"rnl_enqueue_wait_context", "other", CONTEXT, wait_context_other, 0, 0},
    {"rnl_enqueue_host_function", "stream", STREAM, host_function, 0, 0},
    {"rnl_enqueue_host_call", "stream", STREAM, host_call, 0, 0},
    {"rnl_event_create", "context", CONTEXT, event_create, 0, 0},
    {"rnl_event_retain", "event", EVENT, event_retain, 0, 0},
    {"rnl_event_release", "event", EVENT, event_release, 1, 0},
    {"rnl_enqueue_event_record", "stream", STREAM, record_stream, 0, 0},
    {"rnl_enqueue_event_record", "event", EVENT, record_event, 0, 0},
    {"rnl_enqueue_event", "stream", STREAM, enqueue_event, 0, 0},
    {"rnl_event_query", "event", EVENT, event_query, 0, 0},
    {"rnl_event_synchronize", "event", EVENT, event_synchronize, 0, 0},
    {"rnl_event_elapsed", "start", EVENT, elapsed_start, 0, 0},
    {"rnl_event_elapsed", "end", EVENT, elapsed_end, 0, 0},
    {"rnl_event_export", "event", EVENT, export_event, 0, 0},
    {"rnl_event_import", "context", CONTEXT, event_import, 0, 0},
    {"rnl_buffer_create", "context", CONTEXT, buffer_create, 0, 0},
    {"rnl_enqueue_buffer_create", "stream", STREAM, buffer_enqueue, 0, 0},
    {"rnl_buffer_wrap", "context", CONTEXT, buffer_wrap, 0, 0},
    {"rnl_buffer_create_typed", "context", CONTEXT, buffer_typed, 0, 0},
    {"rnl_buffer_from_dlpack", "context", CONTEXT, buffer_from_dlpack, 0, 0},
    {"rnl_buffer_to_dlpack", "buffer", BUFFER, buffer_to_dlpack, 0, 0},
    {"rnl_buffer_slice", "buffer", BUFFER, buffer_slice, 0, 0},
    {"rnl_buffer_export", "buffer", BUFFER, export_to_nobody, 0, 0},
    {"rnl_buffer_import", "context", CONTEXT, buffer_import, 0, 0},
    {"rnl_context_pool_stats", "context", CONTEXT, pool_stats, 0, 0},
    {"rnl_context_trim", "context", CONTEXT, trim, 0, 0},
    {"rnl_enqueue_prefetch", "stream", STREAM, prefetch_stream, 0, 0},
    {"rnl_enqueue_prefetch", "buffer", BUFFER, prefetch, 0, 0},
    {"rnl_enqueue_attach", "stream", STREAM, attach_stream, 0, 0},
    {"rnl_enqueue_attach", "buffer", BUFFER, attach, 0, 0},
    {"rnl_buffer_advise", "buffer", BUFFER, advise, 0, 0},
    {"rnl_buffer_retain", "buffer", BUFFER, buffer_retain, 0, 0},
    {"rnl_buffer_release", "buffer", BUFFER, buffer_release, 1, 0},
    {"rnl_enqueue_buffer_release", "stream", STREAM, release_stream, 0, 0},
    {"rnl_enqueue_buffer_release", "buffer", BUFFER, release_buffer, 1, 0},
    {"rnl_buffer_set_release_stream", "buffer", BUFFER, set_release_buffer,
     0, 0},
    {"rnl_buffer_set_release_stream", "stream", STREAM, set_release_stream,
     0, 0},
    {"rnl_buffer_get_info", "buffer", BUFFER, buffer_info_of, 0, 0},
    {"rnl_buffer_host_pointer", "buffer", BUFFER, host_pointer, 0, 0},
    {"rnl_buffer_map_and_wait", "stream", STREAM, map_stream, 0, 0},
    {"rnl_buffer_map_and_wait", "buffer", BUFFER, map_buffer, 0, 0},
    {"rnl_buffer_unmap_and_wait", "stream", STREAM, unmap_stream, 0, 0},
    {"rnl_buffer_unmap_and_wait", "buffer", BUFFER, unmap_buffer, 0, 0},
    {"rnl_host_allocate", "context", CONTEXT, host_allocate, 0, 0},
    {"rnl_host_free", "context", CONTEXT, host_free, 0, 0},
    {"rnl_host_register", "context", CONTEXT, host_register, 0, 0},
    {"rnl_host_unregister", "context", CONTEXT, host_unregister, 0, 0},
    {"rnl_enqueue_copy", "stream", STREAM, copy_stream, 0, 0},
    {"rnl_enqueue_copy_to_buffer", "stream", STREAM, copy_to_stream, 0, 0},
    {"rnl_enqueue_copy_to_buffer", "to", BUFFER, copy_to_buffer, 0, 0},
    {"rnl_enqueue_copy_from_buffer", "stream", STREAM, copy_from_stream, 0, 0},
    {"rnl_enqueue_copy_from_buffer", "from", BUFFER, copy_from_buffer, 0, 0},
    {"rnl_enqueue_copy_buffer", "stream", STREAM, copy_buffer_stream, 0, 0},
    {"rnl_enqueue_copy_buffer", "to", BUFFER, copy_buffer_to, 0, 0},
    {"rnl_enqueue_copy_buffer", "from", BUFFER, copy_buffer_from, 0, 0},
    {"rnl_enqueue_copy_region", "stream", STREAM, region_stream, 0, 0},
    {"rnl_enqueue_copy_region", NULL, BUFFER, region_to, 1, 0},
    {"rnl_enqueue_copy_region", NULL, BUFFER, region_from, 1, 0},
    {"rnl_enqueue_copy_batch", "stream", STREAM, batch_stream, 0, 0},
    {"rnl_enqueue_copy_batch", NULL, BUFFER, batch_to, 1, 0},
    {"rnl_copy_and_wait", "stream", STREAM, wait_copy, 0, 0},
    {"rnl_copy_to_buffer_and_wait", "stream", STREAM, wait_copy_to, 0, 0},
    {"rnl_copy_to_buffer_and_wait", "to", BUFFER, wait_copy_to_buffer, 0, 0},
    {"rnl_copy_from_buffer_and_wait", "stream", STREAM, wait_copy_from, 0, 0},
    {"rnl_copy_from_buffer_and_wait", "from", BUFFER, wait_copy_from_buffer,
     0, 0},
    {"rnl_copy_buffer_and_wait", "stream", STREAM, wait_copy_buffer, 0, 0},
    {"rnl_copy_buffer_and_wait", "to", BUFFER, wait_copy_buffer_to, 0, 0},
    {"rnl_copy_buffer_and_wait", "from", BUFFER, wait_copy_buffer_from, 0, 0},
    {"rnl_copy_region_and_wait", "stream", STREAM, wait_region_stream, 0, 0},
    {"rnl_copy_region_and_wait", NULL, BUFFER, wait_region_to, 1, 0},
    {"rnl_enqueue_fill", "stream", STREAM, fill_stream, 0, 0},
    {"rnl_enqueue_fill", "to", BUFFER, fill_buffer, 0, 0},
    {"rnl_enqueue_fill_region", "stream", STREAM, fill_region_stream, 0, 0},
    {"rnl_enqueue_fill_region", NULL, BUFFER, fill_region_buffer, 1, 0},
    {"rnl_fill_and_wait", "stream", STREAM, wait_fill_stream, 0, 0},
    {"rnl_fill_and_wait", "to", BUFFER, wait_fill_buffer, 0, 0},
    {"rnl_fill_region_and_wait", "stream", STREAM, wait_fill_region, 0, 0},
    {"rnl_fill_region_and_wait", NULL, BUFFER, wait_fill_region_buffer, 1, 0},
    {"rnl_enqueue_write_value32", "stream", STREAM, write32_stream, 0, 0},
    {"rnl_enqueue_write_value32", "buffer", BUFFER, write32_buffer, 0, 0},
    {"rnl_enqueue_write_value64", "stream", STREAM, write64_stream, 0, 0},
    {"rnl_enqueue_write_value64", "buffer", BUFFER, write64_buffer, 0, 0},
    {"rnl_enqueue_wait_value32", "stream", STREAM, wait32_stream, 0, 0},
    {"rnl_enqueue_wait_value32", "buffer", BUFFER, wait32_buffer, 0, 0},
    {"rnl_enqueue_wait_value64", "stream", STREAM, wait64_stream, 0, 0},
    {"rnl_enqueue_wait_value64", "buffer", BUFFER, wait64_buffer, 0, 0},
    {"rnl_enqueue_write_address32", "stream", STREAM, write32_at, 0, 0},
    {"rnl_enqueue_write_address64", "stream", STREAM, write64_at, 0, 0},
    {"rnl_enqueue_wait_address32", "stream", STREAM, wait32_at, 0, 0},
    {"rnl_enqueue_wait_address64", "stream", STREAM, wait64_at, 0, 0},
    {"rnl_enqueue_values", "stream", STREAM, values_stream, 0, 0},
    {"rnl_enqueue_values", NULL, BUFFER, values_buffer, 1, 0},
    {"rnl_module_compile", "context", CONTEXT, module_compile, 0, 0},
    {"rnl_module_load", "context", CONTEXT, module_load, 0, 0},
    {"rnl_module_load_file", "context", CONTEXT, module_load_file, 0, 0},
    {"rnl_module_compile_file", "context", CONTEXT, module_compile_file, 0, 0},
    {"rnl_module_load_embedded", "context", CONTEXT, module_load_embedded, 0,
     0},
    {"rnl_module_retain", "module", MODULE, module_retain, 0, 0},
    {"rnl_module_release", "module", MODULE, module_release, 1, 0},
    {"rnl_module_binary", "module", MODULE, module_binary, 0, 0},
    {"rnl_module_log", "module", MODULE, module_log, 0, 0},
    {"rnl_module_function", "module", MODULE, module_function, 0, 0},
    {"rnl_module_get_functions", "module", MODULE, module_get_functions, 0, 0},
    {"rnl_module_native_code", "module", MODULE, module_native_code, 0, 0},
    {"rnl_module_global", "module", MODULE, module_global, 0, 0},
    {"rnl_function_compile", "context", CONTEXT, function_compile, 0, 0},
    {"rnl_function_create_native", "context", CONTEXT, function_native, 0, 0},
    {"rnl_function_retain", "function", FUNCTION, function_retain, 0, 0},
    {"rnl_function_release", "function", FUNCTION, function_release, 1, 0},
    {"rnl_function_get_info", "function", FUNCTION, function_info_of, 0, 0},
    {"rnl_enqueue_function", "stream", STREAM, launch_stream, 0, 0},
    {"rnl_enqueue_function", "function", FUNCTION, launch_function, 0, 0},
};
enum { OWN_ROWS = sizeof rows / sizeof rows[0] };

int row_count(void)
{
    return OWN_ROWS + graph_row_count;
}

const struct row *row_at(int i)
{
    return i < OWN_ROWS ? &rows[i] : &graph_rows[i - OWN_ROWS];
}

// --- Cells -----------------------------------------------------------------

static size_t cells;

static void try_cell(const struct row *row, void *handle, const char *column)
{
    rnl_last_error_clear();
    rnl_status status = row->call(handle);
    const rnl_error *error = rnl_last_error();
    const char *wrong = NULL;
    if (status == RNL_ERROR_UNSUPPORTED && suite_driver_is_old())
        return;
    if (status != RNL_ERROR_INVALID_HANDLE || error->status != status)
        wrong = "another status";
    else if (!error->function || strcmp(error->function, row->function))
        wrong = "another function in rnl_last_error()";
    else if (!error->parameter ||
             (row->parameter && strcmp(error->parameter, row->parameter)))
        wrong = "another parameter in rnl_last_error()";
    else if (strlen(error->message) < 12)
        wrong = "no sentence";
    for (size_t i = 0; i < 64 && !wrong; i++)
        if (with.out.bits[i] != 0x5a5a5a5a5a5a5a5a)
            wrong = "a result was written";
    if (wrong)
        fail_msg("%s(%s: %s): %s: %s, %s: %s", row->function,
                 row->parameter ? row->parameter : "place", column, wrong,
                 rnl_status_name(status),
                 error->parameter ? error->parameter : "-", error->message);
    cells++;
}

RNL_TEST(no_handle_may_be_null)
{
    prepare_handles();
    for (int i = 0; i < row_count(); i++)
        if (!row_at(i)->null_is_legal)
            try_cell(row_at(i), NULL, "NULL");
    finish_handles();
}

RNL_TEST(releasing_null_does_nothing)
{
    expect_ok(rnl_context_release(NULL));
    expect_ok(rnl_stream_release(NULL));
    expect_ok(rnl_event_release(NULL));
    expect_ok(rnl_buffer_release(NULL));
    expect_ok(rnl_module_release(NULL));
    expect_ok(rnl_function_release(NULL));
    expect_ok(rnl_graph_release(NULL));
    expect_ok(rnl_graph_exec_release(NULL));
}

RNL_TEST(bits_that_were_never_a_handle_are_refused)
{
    prepare_handles();
    // Small numbers, addresses, all bits, plausible mixes of type and index.
    const uintptr_t bits[] = {
        1, 2, 0x1234, 0xffffffff, (uintptr_t)0xffffffff << 32, UINTPTR_MAX,
        (uintptr_t)&with, (uintptr_t)try_cell, (uintptr_t)0xdeadbeef << 28,
        (uintptr_t)1 << 63, (uintptr_t)1 << 60, (uintptr_t)3 << 60,
        (uintptr_t)5 << 60 | 0xfffffff, (uintptr_t)7 << 60 | 1,
        (uintptr_t)0xf << 60 | 1, (uintptr_t)0x7fffffff,
        (uintptr_t)with.buffer ^ 1, (uintptr_t)with.buffer + 1,
        (uintptr_t)with.stream ^ (uintptr_t)1 << 32,
        (uintptr_t)with.event ^ (uintptr_t)1 << 40,
        (uintptr_t)with.context | 0xfffff000,
        (uintptr_t)with.function ^ (uintptr_t)1 << 59};
    char column[32];
    for (size_t b = 0; b < sizeof bits / sizeof bits[0]; b++) {
        snprintf(column, sizeof column, "%#zx", (size_t)bits[b]);
        for (int i = 0; i < row_count(); i++)
            try_cell(row_at(i), (void *)bits[b], column);
    }
    finish_handles();
}

RNL_TEST(random_bits_are_refused)
{
    prepare_handles();
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 200; round++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for (int i = 0; i < row_count(); i++)
            try_cell(row_at(i), (void *)(uintptr_t)state, "random");
    }
    finish_handles();
}

// Each column below needs a handle of the row's kind; rows whose kind the
// device cannot make are left out with a line.
static void try_dead(const char *column, void *const dead[KINDS])
{
    for (int i = 0; i < row_count(); i++) {
        if (row_at(i)->kind == DEVICE)
            continue;  // devices never die
        if (row_at(i)->may_be_dead)
            continue;
        if (dead[row_at(i)->kind])
            try_cell(row_at(i), dead[row_at(i)->kind], column);
        else
            printf("left out: %s needs a compiler\n", row_at(i)->function);
    }
}

RNL_TEST(dead_handles_are_refused)
{
    prepare_handles();
    void *dead[KINDS] = {0};
    for (enum kind kind = CONTEXT; kind < KINDS; kind++) {
        dead[kind] = make_handle(kind);
        expect_ok(release_handle(kind, dead[kind]));
    }
    try_dead("dead", dead);
    finish_handles();
}

RNL_TEST(dead_handles_whose_slot_is_used_again_are_refused)
{
    prepare_handles();
    enum { SUCCESSORS = 20 };
    void *dead[KINDS] = {0}, *alive[KINDS][SUCCESSORS];
    for (enum kind kind = CONTEXT; kind < KINDS; kind++) {
        dead[kind] = make_handle(kind);
        expect_ok(release_handle(kind, dead[kind]));
        for (int i = 0; i < SUCCESSORS; i++) {
            alive[kind][i] = make_handle(kind);
            if (dead[kind])
                assert_ptr_not_equal(alive[kind][i], dead[kind]);
        }
    }
    try_dead("reused", dead);
    for (enum kind kind = CONTEXT; kind < KINDS; kind++)
        for (int i = 0; i < SUCCESSORS; i++)
            expect_ok(release_handle(kind, alive[kind][i]));
    finish_handles();
}

RNL_TEST(handles_of_another_type_are_refused)
{
    static const char *const names[KINDS] = {
        "a device", "a context", "a stream", "an event",
        "a buffer", "a module", "a function",
        "a graph", "an executable graph", "a node"};
    prepare_handles();
    void *const handles[KINDS] = {with.device, with.context, with.stream,
                                  with.event, with.buffer, with.module,
                                  with.function, with.graph, with.exec,
                                  with.node};
    for (int i = 0; i < row_count(); i++)
        for (enum kind kind = DEVICE; kind < KINDS; kind++)
            if (kind != row_at(i)->kind && handles[kind])
                try_cell(row_at(i), handles[kind], names[kind]);
    finish_handles();
}

RNL_TEST(the_message_tells_dead_from_wrong_type_and_null)
{
    prepare_handles();
    char texts[3][256];
    rnl_stream dead = make_handle(STREAM);
    expect_ok(rnl_stream_release(dead));
    expect_error(rnl_stream_query(NULL), RNL_ERROR_INVALID_HANDLE, "stream");
    snprintf(texts[0], sizeof texts[0], "%s", rnl_last_error()->message);
    expect_error(rnl_stream_query(dead), RNL_ERROR_INVALID_HANDLE, "stream");
    snprintf(texts[1], sizeof texts[1], "%s", rnl_last_error()->message);
    expect_error(rnl_stream_query((rnl_stream)(void *)with.buffer),
                 RNL_ERROR_INVALID_HANDLE, "stream");
    snprintf(texts[2], sizeof texts[2], "%s", rnl_last_error()->message);
    assert_string_not_equal(texts[0], texts[1]);
    assert_string_not_equal(texts[1], texts[2]);
    assert_string_not_equal(texts[0], texts[2]);
    assert_non_null(strstr(texts[0], "NULL"));
    assert_non_null(strstr(texts[2], "buffer"));
    finish_handles();
}

RNL_TEST(a_double_release_is_refused)
{
    prepare_handles();
    for (enum kind kind = CONTEXT; kind < KINDS; kind++) {
        void *handle = make_handle(kind);
        if (!handle)
            continue;
        expect_ok(release_handle(kind, handle));
        assert_status(release_handle(kind, handle), RNL_ERROR_INVALID_HANDLE);
        assert_status(release_handle(kind, handle), RNL_ERROR_INVALID_HANDLE);
    }
    finish_handles();
}

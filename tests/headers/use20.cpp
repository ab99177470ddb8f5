// Uses the option macros as a C++20 program does. Only compiled.
#include <runnel/runnel.h>

int use20(rnl_context context, rnl_function function, rnl_buffer buffer);

int use20(rnl_context context, rnl_function function, rnl_buffer buffer)
{
    rnl_stream stream = nullptr;
    int status = rnl_stream_create(
        context, RNL_STREAM_OPTIONS(.priority = -1, .label = "fast"), &stream);
    status |= rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY,
                                     .value = {.sync_policy =
                                                   RNL_SYNC_YIELD}));
    rnl_module module = nullptr;
    status |= rnl_module_compile(
        context, "", RNL_MODULE_OPTIONS(.dump = RNL_DUMP(.path = "k.s")),
        &module);
    status |= rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {4, 1, 1}, .block = {256, 1, 1}),
        RNL_ARGS(buffer, 20.0f));
    const rnl_launch_attribute priority = {.id = RNL_LAUNCH_PRIORITY,
                                           .value = {.priority = -1}};
    status |= rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {4, 1, 1}, .block = {256, 1, 1},
                   .attributes = &priority, .attribute_count = 1),
        RNL_NO_ARGS);
    status |= rnl_enqueue_function(stream, function, RNL_LAUNCH_FOR(status),
                                   RNL_NO_ARGS);
    status |= rnl_enqueue_fill(stream, buffer, 0, RNL_WHOLE, 0, 1);
    status |= rnl_enqueue_copy_region(
        stream, RNL_COPY(.to = {.buffer = buffer},
                         .from = {.buffer = buffer, .offset = 64}, .width = 8));
    status |= rnl_enqueue_values(
        stream, RNL_VALUE_OP(.action = RNL_WAIT_GEQ, .width = 64,
                             .buffer = buffer, .value = 1), 1);
    return status;
}

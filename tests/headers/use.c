// Uses every macro of the public headers as a C11 program does. Only compiled.
#include <runnel/comm.h>
#include <runnel/host.h>
#include <runnel/runnel.h>

struct pair {
    float low, high;
};

int use(rnl_context context, rnl_device device, rnl_function function);

int use(rnl_context context, rnl_device device, rnl_function function)
{
    rnl_stream stream = NULL;
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    rnl_module module = NULL;
    float host[16] = {0};
    struct pair pair = {0, 1};
    unsigned status = 0;
    int index = -16;

    status |= rnl_context_create(
        device, RNL_CONTEXT_OPTIONS(.threads = 1, .label = "a"), &context);
    status |= rnl_stream_create(context, RNL_STREAM_OPTIONS(.priority = 1),
                                &stream);
    status |= rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY,
                                     .value = {.sync_policy =
                                                   RNL_SYNC_YIELD}));
    rnl_comm comm = NULL;
    status |= rnl_comm_create(context, RNL_COMM_OPTIONS(.label = "c"), &comm);
    status |= rnl_enqueue_all_gather(
        stream, comm, RNL_COMM_DATA(.receive = buffer, .count = 1,
                                    .element = RNL_ELEMENT_FLOAT32));
    status |= rnl_event_create(context, RNL_EVENT_OPTIONS(.timing = true),
                               &event);
    status |= rnl_buffer_create(context, sizeof host,
                                RNL_BUFFER_OPTIONS(.label = "b"), &buffer);
    status |= rnl_module_compile(context, "", RNL_MODULE_OPTIONS(.label = "m"),
                                 &module);
    status |= rnl_module_compile(
        context, "", RNL_MODULE_OPTIONS(.dump = RNL_DUMP(.path = "k.s")),
        &module);
    status |= rnl_enqueue_copy_region(
        stream, RNL_COPY(.to = {.buffer = buffer}, .from = {.pointer = host},
                         .width = sizeof host));
    status |= rnl_enqueue_values(
        stream, RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                             .buffer = buffer), 1);
    status |= rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {1}, .block = {256}),
        RNL_ARGS(buffer, 1, 2u, 3L, 4UL, 5LL, 6ULL, 7.0f, 8.0, 'c', true, host,
                 (const void *)host, (short)9, (unsigned char)10,
                 RNL_ARG_STRUCT(pair), -11, -12L, -13LL, (short)-14,
                 (signed char)-15, index));
    const rnl_launch_attribute attributes[] = {
        {.id = RNL_LAUNCH_COOPERATIVE, .value = {.cooperative = true}},
        {.id = RNL_LAUNCH_COMPLETION_EVENT, .value = {.event = {event, false}}},
    };
    status |= rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {1}, .attributes = attributes,
                                     .attribute_count = 2), RNL_NO_ARGS);
    status |= rnl_enqueue_fill(stream, buffer, 0, RNL_WHOLE, 0, 1);
    status |= rnl_enqueue_function(stream, function, RNL_LAUNCH(.grid = {1}),
                                   RNL_NO_ARGS);
    status |= rnl_enqueue_function(stream, function, RNL_LAUNCH_FOR(index),
                                   RNL_NO_ARGS);
    status |= rnl_allocator_set(RNL_ALLOCATOR(.user_data = NULL));
    return (int)status + RNL_VERSION;
}

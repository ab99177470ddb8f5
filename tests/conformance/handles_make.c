// The handles that the matrices of handles.c and races.c use.
#include "handles.h"

struct handles with;

const char handle_source[] =
    "__device__ int there;\n"
    "extern \"C\" __global__ void nothing(int *p) {}\n";

rnl_status native_nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

// --- Making handles --------------------------------------------------------

// NULL where the device cannot make one.
void *make_handle(enum kind kind)
{
    rnl_context context = with.context;
    rnl_stream stream = NULL;
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    switch (kind) {
    case CONTEXT:
        return suite_open(NULL);
    case STREAM:
        expect_ok(rnl_stream_create(context, NULL, &stream));
        return stream;
    case EVENT:
        expect_ok(rnl_event_create(context, NULL, &event));
        return event;
    case BUFFER:
        expect_ok(rnl_buffer_create(context, 64, NULL, &buffer));
        return buffer;
    case MODULE:
        if (rnl_context_supports(context, RNL_FEATURE_COMPILE, NULL) == RNL_OK)
            expect_ok(rnl_module_compile(context, handle_source, NULL,
                                         &module));
        return module;
    case FUNCTION:
        if (rnl_context_supports(context, RNL_FEATURE_NATIVE_FUNCTIONS,
                                 NULL) == RNL_OK)
            expect_ok(rnl_function_create_native(context, "f", native_nothing,
                                                 NULL, &function));
        else if ((module = make_handle(MODULE)) != NULL) {
            expect_ok(rnl_module_function(module, "nothing", &function));
            expect_ok(rnl_module_release(module));
        }
        return function;
    default:
        return make_of_graph(kind);
    }
}

rnl_status release_handle(enum kind kind, void *handle)
{
    switch (kind) {
    case CONTEXT: return rnl_context_release(handle);
    case STREAM: return rnl_stream_release(handle);
    case EVENT: return rnl_event_release(handle);
    case BUFFER: return rnl_buffer_release(handle);
    case MODULE: return rnl_module_release(handle);
    case FUNCTION: return rnl_function_release(handle);
    default: return release_of_graph(kind, handle);
    }
}

void prepare_handles(void)
{
    memset(&with, 0, sizeof with);
    with.context = suite_context();
    with.device = suite_device();
    with.stream = make_handle(STREAM);
    with.event = make_handle(EVENT);
    with.buffer = make_handle(BUFFER);
    with.module = make_handle(MODULE);
    with.function = make_handle(FUNCTION);
    with.graph = make_handle(GRAPH);
    with.node = make_handle(NODE);
    with.second = make_handle(NODE);
    with.exec = make_handle(EXEC);
    if (with.graph)
        expect_ok(rnl_graph_clone(with.graph, &with.clone));
    expect_ok(rnl_fill_and_wait(with.stream, with.buffer, 0, 64, 1, 4));
    memset(with.out.bits, 0x5a, sizeof with.out.bits);
}

// What was used as a valid handle still is, once.
void finish_handles(void)
{
    suite_expect_ints(with.buffer, 16, 1);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(with.host[i], 0);
    expect_ok(rnl_stream_query(with.stream));
    expect_ok(rnl_event_query(with.event));
    expect_ok(rnl_stream_release(with.stream));
    expect_ok(rnl_event_release(with.event));
    expect_ok(rnl_buffer_release(with.buffer));
    expect_ok(rnl_module_release(with.module));
    expect_ok(rnl_function_release(with.function));
    expect_ok(rnl_graph_exec_release(with.exec));
    expect_ok(rnl_graph_release(with.clone));
    expect_ok(rnl_graph_release(with.graph));
}

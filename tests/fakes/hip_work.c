// Work on the fake libamdhip64, with kernels in C.
#include "loaded.h"

#include "backends/cudalike/driver/driver_abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 64, SIZE = COUNT * sizeof(int), MANY = 9, FEW = 40 };

static struct {
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_module module;
    rnl_function add;
} all;

static void open_all(void)
{
    fake_open(&all.context, &all.stream, 0, &all.buffer, SIZE);
    assert_ok(fake_module(all.context, &all.module));
    assert_ok(rnl_module_function(all.module, "add", &all.add));
    assert_ok(rnl_enqueue_fill(all.stream, all.buffer, 0, SIZE, 1, 4));
}

static void close_all(void)
{
    assert_ok(rnl_function_release(all.add));
    assert_ok(rnl_module_release(all.module));
    fake_close(all.context, all.stream, all.buffer);
}

static rnl_status add(int value, bool cooperative)
{
    rnl_launch_attribute attribute = {
        .id = RNL_LAUNCH_COOPERATIVE,
        .value = {.cooperative = cooperative},
    };
    return rnl_enqueue_function(all.stream, all.add,
                                RNL_LAUNCH(.grid = {1}, .block = {COUNT},
                                           .attributes = &attribute,
                                           .attribute_count = cooperative),
                                RNL_ARGS(all.buffer, value, (int)COUNT));
}

static void expect_all(int value)
{
    int ints[COUNT];
    assert_ok(rnl_copy_from_buffer_and_wait(all.stream, ints, all.buffer, 0,
                                            SIZE));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(ints[i], value);
}

RNL_TEST(a_code_object_is_launched)
{
    open_all();
    size_t before = fake_calls("hipModuleLaunchKernel");
    assert_ok(add(41, false));
    expect_all(42);
    assert_int_equal(fake_calls("hipModuleLaunchKernel"), before + 1);
    close_all();
}

RNL_TEST(cooperative_launches_have_a_call_of_their_own)
{
    open_all();
    assert_ok(add(1, true));
    expect_all(2);
    assert_int_equal(fake_calls("hipModuleLaunchCooperativeKernel"), 1);
    close_all();
}

// ints[0] += the sum of the other arguments.
static rnl_status add_sum(const rnl_native_call *call)
{
    int sum = 0;
    for (int i = 1; i < MANY; i++)
        sum += *(const int *)call->arguments[i];
    **(int *const *)call->arguments[0] += sum;
    return RNL_OK;
}

// HIP tells no offsets of parameters, so no launch packs its values, which the
// cooperative call would not take.
RNL_TEST(cooperative_launches_take_many_arguments)
{
    rnl_parameter parameters[MANY] = {{RNL_VALUE_POINTER, 8, 8, ""}};
    struct fake_kernel kernel = {"add_sum", add_sum, MANY, parameters};
    rnl_launch_attribute attribute = {
        .id = RNL_LAUNCH_COOPERATIVE,
        .value = {.cooperative = true},
    };
    rnl_module module;
    rnl_function function;
    int first = 0;
    size_t size;
    for (int i = 1; i < MANY; i++)
        parameters[i] = (rnl_parameter){RNL_VALUE_INTEGER, 4, 4, ""};
    open_all();
    void *image = fake_image(&kernel, 1, &size);
    assert_non_null(image);
    assert_ok(rnl_module_load(all.context, image, size, "many", &module));
    free(image);
    assert_ok(rnl_module_function(module, "add_sum", &function));
    for (size_t count = 0; count < 2; count++)
        assert_ok(rnl_enqueue_function(
            all.stream, function,
            RNL_LAUNCH(.grid = {1}, .block = {1}, .attributes = &attribute,
                       .attribute_count = count),
            RNL_ARGS(all.buffer, 1, 2, 3, 4, 5, 6, 7, 8)));
    assert_ok(rnl_copy_from_buffer_and_wait(all.stream, &first, all.buffer, 0,
                                            sizeof first));
    assert_int_equal(first, 1 + 2 * 36);
    assert_int_equal(fake_calls("hipModuleLaunchCooperativeKernel"), 1);
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_module_release(module));
    close_all();
}

RNL_TEST(a_captured_launch_is_replayed)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    open_all();
    assert_ok(rnl_stream_begin_capture(all.stream, NULL));
    assert_ok(rnl_enqueue_fill(all.stream, all.buffer, 0, SIZE, 5, 4));
    assert_ok(add(2, false));
    assert_ok(rnl_stream_end_capture(all.stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    for (int i = 0; i < 3; i++)
        assert_ok(rnl_enqueue_graph(all.stream, exec));
    expect_all(7);
    assert_true(fake_calls("hipGraphAddKernelNode") > 0);
    assert_int_equal(fake_calls("hipGraphLaunch"), 3);
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    close_all();
}

// A HIP without launch attributes is given none.
RNL_TEST(a_window_arrives_in_the_form_of_hip)
{
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_VERSION=70253211", NULL};
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    struct driver_launch_attribute got[2];
    rnl_buffer_info info = {.struct_size = sizeof info};
    open_all();
    rnl_launch_attribute window = {
        RNL_LAUNCH_ACCESS_POLICY,
        {.access_policy = {.buffer = all.buffer, .offset = 16, .size = 32,
                           .hit_ratio = 0.25f, .hit = RNL_ACCESS_PERSISTING,
                           .miss = RNL_ACCESS_STREAMING}}};
    assert_ok(rnl_buffer_get_info(all.buffer, &info));
    assert_ok(rnl_enqueue_function(all.stream, all.add,
                                   RNL_LAUNCH(.grid = {1}, .block = {COUNT},
                                              .attributes = &window,
                                              .attribute_count = 1),
                                   RNL_ARGS(all.buffer, 1, (int)COUNT)));
    assert_int_equal(fake_attributes(got, 2), 1);
    assert_ptr_equal(got[0].window.base, (char *)info.device_address + 16);
    assert_int_equal(got[0].window.size, 32);
    assert_true(got[0].window.hit_ratio == 0.25f);
    assert_int_equal(got[0].window.hit, 2);
    assert_int_equal(got[0].window.miss, 1);
    close_all();
}

// --- Values -----------------------------------------------------------------

static void write_and_wait(void)
{
    const rnl_value_op ops[] = {
        *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                      .buffer = all.buffer, .value = 7),
        *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 64,
                      .buffer = all.buffer, .offset = 8, .value = 9),
        *RNL_VALUE_OP(.action = RNL_WAIT_EQ, .width = 64,
                      .buffer = all.buffer, .offset = 8, .value = 9),
    };
    uint64_t words[2] = {0};
    assert_ok(rnl_enqueue_values(all.stream, ops, 3));
    assert_ok(rnl_copy_from_buffer_and_wait(all.stream, words, all.buffer, 0,
                                            sizeof words));
    assert_int_equal((uint32_t)words[0], 7);
    assert_int_equal(words[1], 9);
}

// HIP runs the operations of a batch in any order.
RNL_TEST(values_go_one_by_one)
{
    open_all();
    write_and_wait();
    assert_int_equal(fake_calls("hipStreamWriteValue32"), 1);
    assert_int_equal(fake_calls("hipStreamWriteValue64"), 1);
    assert_int_equal(fake_calls("hipStreamWaitValue64"), 1);
    close_all();
}

RNL_TEST(values_of_a_node_keep_their_order)
{
    rnl_value_op ops[FEW];
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_node node;
    uint32_t word = 0;
    open_all();
    for (size_t i = 0; i < FEW; i++)
        ops[i] = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                               .buffer = all.buffer, .value = 100 + i);
    assert_ok(rnl_graph_create(all.context, NULL, &graph));
    assert_ok(rnl_graph_add_node(graph, NULL, 0,
                                 RNL_NODE(.kind = RNL_NODE_VALUES,
                                          .values = ops, .value_count = FEW),
                                 &node));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_enqueue_graph(all.stream, exec));
    assert_ok(rnl_copy_from_buffer_and_wait(all.stream, &word, all.buffer, 0,
                                            sizeof word));
    assert_int_equal(word, 100 + FEW - 1);
    assert_int_equal(fake_calls("hipGraphAddBatchMemOpNode"), FEW);
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    close_all();
}

// A batch is refused whole, also where its first operations could be given.
RNL_TEST(a_batch_with_a_value_that_is_refused_changes_nothing)
{
    rnl_value_op ops[FEW];
    uint32_t words[2] = {0};
    open_all();
    for (size_t i = 0; i < FEW; i++)
        ops[i] = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                               .buffer = all.buffer, .value = 7);
    ops[FEW - 1] =
        *RNL_VALUE_OP(.action = RNL_WAIT_GEQ, .width = 32, .buffer = all.buffer,
                      .offset = 4, .value = UINT32_MAX);
    assert_status(rnl_enqueue_values(all.stream, ops, FEW),
                  RNL_ERROR_UNSUPPORTED);
    assert_ok(rnl_copy_from_buffer_and_wait(all.stream, words, all.buffer, 0,
                                            sizeof words));
    assert_int_equal(words[0], 1);
    close_all();
}

// Copies of ordinary memory wait for the host by such operations elsewhere.
RNL_TEST(a_device_without_values_is_given_none)
{
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_NO_WAITS=1", NULL};
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    open_all();
    assert_ok(add(1, false));
    expect_all(2);
    assert_status(rnl_enqueue_write_value32(all.stream, all.buffer, 0, 1),
                  RNL_ERROR_UNSUPPORTED);
    assert_int_equal(fake_calls("hipStreamWriteValue32"), 0);
    assert_int_equal(fake_calls("hipStreamWaitValue32"), 0);
    close_all();
}

// --- Memory -----------------------------------------------------------------

// The stream waits for what the releasing thread does next. A call that frees
// waits for the device.
RNL_TEST(memory_is_released_while_a_stream_waits)
{
    rnl_buffer other;
    rnl_stream stream;
    open_all();
    // Else the fill could overwrite what the other stream writes.
    assert_ok(rnl_stream_synchronize(all.stream, RNL_FOREVER));
    assert_ok(rnl_stream_create(all.context, NULL, &stream));
    assert_ok(rnl_buffer_create(all.context, SIZE, NULL, &other));
    assert_ok(rnl_enqueue_wait_value32(all.stream, all.buffer, 0, 2,
                                       RNL_WAIT_EQ));
    assert_ok(rnl_buffer_release(other));
    assert_ok(rnl_context_trim(all.context, 0));
    assert_ok(rnl_enqueue_write_value32(stream, all.buffer, 0, 2));
    assert_ok(rnl_stream_synchronize(all.stream, RNL_FOREVER));
    assert_ok(rnl_stream_release(stream));
    close_all();
}

// --- The current device -----------------------------------------------------

RNL_TEST(the_callers_device_is_left_as_found)
{
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_DEVICES=2", NULL};
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    int (*set)(int), (*get)(int *), device = -1;
    void *library = dlopen(getenv("RUNNEL_HIP"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&set = dlsym(library, "hipSetDevice");
    *(void **)&get = dlsym(library, "hipGetDevice");
    assert_int_equal(set(1), 0);
    open_all();
    assert_ok(add(1, false));
    expect_all(2);
    write_and_wait();
    close_all();
    assert_int_equal(get(&device), 0);
    assert_int_equal(device, 1);
}

// A call whose device cannot be made current fails, and is not about another.
RNL_TEST(a_device_that_cannot_be_made_current_is_told)
{
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_DEVICES=2", NULL};
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    static const char *const calls[] = {"hipSetDevice", "hipGetDevice"};
    int (*set)(int), (*get)(int *), device = -1;
    void *library = dlopen(getenv("RUNNEL_HIP"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&set = dlsym(library, "hipSetDevice");
    *(void **)&get = dlsym(library, "hipGetDevice");
    rnl_stream stream;
    open_all();
    assert_int_equal(set(1), 0);
    for (int i = 0; i < 2; i++) {
        fake_fail(calls[i], 1, 101, 0);
        assert_status(rnl_stream_create(all.context, NULL, &stream),
                      RNL_ERROR_DRIVER);
        fake_fail(calls[i], 0, 0, 0);
        assert_int_equal(get(&device), 0);
        assert_int_equal(device, 1);
        assert_ok(rnl_stream_create(all.context, NULL, &stream));
        assert_ok(rnl_stream_release(stream));
        assert_int_equal(get(&device), 0);
        assert_int_equal(device, 1);
    }
    close_all();
}

// A default stream is the current device's, which may be the program's choice.
static rnl_status work_on_default_stream(int work, rnl_stream stream,
                                         rnl_graph_exec exec, rnl_event event)
{
    switch (work) {
    case 0:
        return rnl_enqueue_function(stream, all.add,
                                    RNL_LAUNCH(.grid = {1}, .block = {COUNT}),
                                    RNL_ARGS(all.buffer, 1, (int)COUNT));
    case 1:
        return rnl_enqueue_fill(stream, all.buffer, 0, SIZE, 9, 1);
    case 2:
        return rnl_enqueue_fill(stream, all.buffer, 0, SIZE, 9, 4);
    case 3:
        return rnl_enqueue_copy_buffer(stream, all.buffer, 0, all.buffer,
                                       SIZE / 2, SIZE / 2);
    case 4:
        return rnl_enqueue_write_value32(stream, all.buffer, 0, 9);
    case 5:
        return rnl_enqueue_wait_value32(stream, all.buffer, 0, 1, RNL_WAIT_EQ);
    case 6:
        return rnl_enqueue_event_record(stream, event);
    default:
        return rnl_enqueue_graph(stream, exec);
    }
}

RNL_TEST(work_on_a_default_stream_goes_to_no_other_device)
{
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_DEVICES=2", NULL};
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    int (*set)(int);
    rnl_stream stream;
    rnl_event event;
    rnl_graph graph;
    rnl_graph_exec exec;
    void *library = dlopen(getenv("RUNNEL_HIP"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&set = dlsym(library, "hipSetDevice");
    open_all();
    assert_ok(rnl_stream_synchronize(all.stream, RNL_FOREVER));
    assert_ok(rnl_stream_borrow(all.context, NULL, NULL, &stream));
    assert_ok(rnl_event_create(all.context, NULL, &event));
    assert_ok(rnl_stream_begin_capture(all.stream, NULL));
    assert_ok(rnl_enqueue_fill(all.stream, all.buffer, 0, SIZE, 5, 4));
    assert_ok(rnl_stream_end_capture(all.stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_int_equal(set(1), 0);
    for (int work = 0; work < 8; work++) {
        assert_ok(work_on_default_stream(5, stream, exec, event));
        fake_fail("hipSetDevice", 1, 101, 1);
        assert_status(work_on_default_stream(work, stream, exec, event),
                      RNL_ERROR_DRIVER);
        assert_int_equal(rnl_last_error()->native_code, 101);
        assert_status(rnl_stream_query(stream), RNL_ERROR_DRIVER);
        fake_fail("hipSetDevice", 0, 0, 0);
        assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        expect_all(1);
    }
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_event_release(event));
    assert_ok(rnl_stream_release(stream));
    close_all();
}

RNL_TEST(a_context_is_adopted_by_the_number_of_its_device)
{
    rnl_context context, other;
    void *native = NULL;
    fake_load();
    assert_ok(rnl_context_open("hip", 0, NULL, &context));
    assert_ok(rnl_context_native(context, &native));
    assert_ptr_equal(native, (void *)1);
    assert_ok(rnl_context_adopt("hip", native, NULL, &other));
    assert_ok(rnl_context_release(other));
    assert_ok(rnl_context_release(context));
    assert_status(rnl_context_adopt("hip", (void *)9, NULL, &other),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_status(rnl_context_adopt("hip", &context, NULL, &other),
                  RNL_ERROR_INVALID_ARGUMENT);
    fake_expect_empty();
}

// What nodes were given: reading it back, and user data that ends with them.
#include "graphs.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

// --- User data -------------------------------------------------------------

// The program's, with what became of it.
struct data {
    sem_t ended;
    _Atomic int calls, ends, calls_at_end;
};

static void use(rnl_status status, void *user_data)
{
    (void)status;
    atomic_fetch_add(&((struct data *)user_data)->calls, 1);
}

static void end(void *user_data)
{
    struct data *data = user_data;
    atomic_store(&data->calls_at_end, atomic_load(&data->calls));
    atomic_fetch_add(&data->ends, 1);
    sem_post(&data->ended);
}

static void data_init(struct data *data)
{
    *data = (struct data){0};
    assert_int_equal(sem_init(&data->ended, 0, 0), 0);
}

static void await_end(struct data *data)
{
    while (sem_wait(&data->ended) != 0)
        ;
    assert_int_equal(data->ends, 1);
    sem_destroy(&data->ended);
}

static rnl_node data_node(rnl_graph graph, rnl_node_kind kind,
                          struct data *data)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = kind, .host = use,
                                          .user_data = data, .destroy = end),
                                 &node));
    return node;
}

RNL_TEST(user_data_ends_behind_its_host_function)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    struct data data;
    data_init(&data);
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_host_call(
        stream, RNL_HOST_CALL(.function = use, .user_data = &data,
                              .destroy = end, .label = "with data")));
    assert_int_equal(data.ends, 0);
    gate_open(gate);
    await_end(&data);
    assert_int_equal(data.calls_at_end, 1);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    // Neither is needed.
    expect_ok(rnl_enqueue_host_call(
        stream, RNL_HOST_CALL(.function = use, .user_data = &data)));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(data.calls, 2);
    assert_int_equal(data.ends, 1);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(user_data_stays_the_programs_where_a_call_fails)
{
    struct data data;
    data_init(&data);
    rnl_graph graph = new_graph(), other = new_graph();
    rnl_node foreign = empty_node(other, RNL_AT_START), node = NULL;
    rnl_node mine = empty_node(graph, RNL_AT_START);
    const rnl_node_params *params = RNL_NODE(
        .kind = RNL_NODE_HOST_FUNCTION, .host = use, .user_data = &data,
        .destroy = end);
    expect_error(rnl_enqueue_host_call(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "call");
    expect_error(rnl_enqueue_host_call(
                     suite_stream(),
                     RNL_HOST_CALL(.user_data = &data, .destroy = end)),
                 RNL_ERROR_INVALID_ARGUMENT, "call");
    expect_error(rnl_graph_add_node(graph, RNL_AFTER(foreign), params, &node),
                 RNL_ERROR_INVALID_HANDLE, "after");
    expect_error(rnl_graph_add_node(
                     graph, RNL_AT_START,
                     RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                              .user_data = &data, .destroy = end), &node),
                 RNL_ERROR_INVALID_ARGUMENT, "function");
    expect_error(rnl_graph_add_node(
                     graph, RNL_AT_START,
                     RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .user_data = &data,
                              .destroy = end), &node),
                 RNL_ERROR_INVALID_HANDLE, "event");
    expect_error(rnl_graph_set_node(graph, mine, params),
                 RNL_ERROR_INVALID_ARGUMENT, "params");
    rnl_graph_exec exec = instantiate(graph);
    expect_error(rnl_graph_exec_set_node(exec, mine, params),
                 RNL_ERROR_INVALID_ARGUMENT, "params");
    drop_both(graph, exec);
    expect_ok(rnl_graph_release(other));
    assert_int_equal(data.ends, 0);
}

RNL_TEST(user_data_ends_with_the_last_that_has_its_node)
{
    const rnl_node_kind kinds[] = {RNL_NODE_HOST_FUNCTION, RNL_NODE_EMPTY,
                                   RNL_NODE_VALUES};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct data data;
        data_init(&data);
        rnl_graph graph = new_graph(), clone = NULL;
        if (kinds[i] == RNL_NODE_VALUES)
            suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
        data_node(graph, kinds[i], &data);
        expect_ok(rnl_graph_clone(graph, &clone));
        expect_ok(rnl_graph_release(graph));
        rnl_graph_exec exec = instantiate(clone);
        expect_ok(rnl_graph_release(clone));
        launch_and_wait(exec);
        launch_and_wait(exec);
        assert_int_equal(data.ends, 0);
        expect_ok(rnl_graph_exec_release(exec));
        await_end(&data);
        assert_int_equal(data.calls, kinds[i] == RNL_NODE_HOST_FUNCTION ? 2
                                                                         : 0);
    }
}

RNL_TEST(user_data_outlives_launches_under_way)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    struct data data;
    data_init(&data);
    rnl_graph graph = new_graph();
    rnl_stream stream = suite_new_stream();
    data_node(graph, RNL_NODE_HOST_FUNCTION, &data);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_graph(stream, exec));
    drop_both(graph, exec);
    assert_int_equal(data.ends, 0);
    gate_open(gate);
    await_end(&data);
    assert_int_equal(data.calls_at_end, 1);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(user_data_of_a_captured_call_ends_with_the_graph)
{
    struct data data;
    data_init(&data);
    rnl_stream stream = new_captured_stream();
    expect_ok(rnl_enqueue_host_call(
        stream, RNL_HOST_CALL(.function = use, .user_data = &data,
                              .destroy = end)));
    rnl_graph graph = end_capture(stream);
    launch_once(graph);
    launch_once(graph);
    assert_int_equal(data.ends, 0);
    expect_ok(rnl_graph_release(graph));
    await_end(&data);
    assert_int_equal(data.calls_at_end, 2);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(user_data_ends_when_its_node_is_changed)
{
    struct data data[3];
    for (int i = 0; i < 3; i++)
        data_init(&data[i]);
    rnl_graph graph = new_graph(), second = new_graph();
    rnl_node node = data_node(graph, RNL_NODE_HOST_FUNCTION, &data[0]);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_set_node(
        graph, node, RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = note)));
    assert_int_equal(data[0].ends, 0);
    expect_ok(rnl_graph_exec_set_node(
        exec, node,
        RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = use,
                 .user_data = &data[1], .destroy = end)));
    await_end(&data[0]);
    launch_and_wait(exec);
    assert_int_equal(data[1].calls, 1);
    data_node(second, RNL_NODE_HOST_FUNCTION, &data[2]);
    expect_ok(rnl_graph_exec_update(exec, second, NULL));
    await_end(&data[1]);
    expect_ok(rnl_graph_release(second));
    launch_and_wait(exec);
    assert_int_equal(data[2].ends, 0);
    drop_both(graph, exec);
    await_end(&data[2]);
    assert_int_equal(data[2].calls_at_end, 1);
}

// --- Reading back ----------------------------------------------------------

static rnl_node_params params_of(rnl_graph graph, rnl_node node)
{
    rnl_node_params params = {.struct_size = sizeof params};
    expect_ok(rnl_graph_get_node_params(graph, node, &params));
    return params;
}

static rnl_node add(rnl_graph graph, const rnl_node_params *params)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START, params, &node));
    return node;
}

static void expect_same_place(const rnl_place *a, const rnl_place *b)
{
    assert_ptr_equal(a->buffer, b->buffer);
    assert_ptr_equal(a->pointer, b->pointer);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->row_pitch, b->row_pitch);
    assert_int_equal(a->slice_pitch, b->slice_pitch);
}

static void expect_same_launch(const rnl_node_params *a,
                               const rnl_node_params *b)
{
    assert_ptr_equal(a->function, b->function);
    assert_memory_equal(&a->launch->grid, &b->launch->grid, sizeof(rnl_dim3));
    assert_memory_equal(&a->launch->block, &b->launch->block,
                        sizeof(rnl_dim3));
    assert_int_equal(a->launch->shared_size, b->launch->shared_size);
    assert_int_equal(a->launch->attribute_count, b->launch->attribute_count);
    assert_int_equal(a->args->count, b->args->count);
    for (size_t i = 0; i < a->args->count; i++) {
        assert_int_equal(a->args->items[i].kind, b->args->items[i].kind);
        assert_int_equal(a->args->items[i].size, b->args->items[i].size);
        if (a->args->items[i].kind == RNL_VALUE_STRUCT)
            assert_memory_equal(a->args->items[i].value.pointer,
                                b->args->items[i].value.pointer,
                                a->args->items[i].size);
        else
            assert_int_equal(a->args->items[i].value.integer,
                             b->args->items[i].value.integer);
    }
}

static void expect_same_value(const rnl_value_op *a, const rnl_value_op *b)
{
    assert_int_equal(a->action, b->action);
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->flags, b->flags);
    assert_ptr_equal(a->buffer, b->buffer);
    assert_ptr_equal(a->pointer, b->pointer);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->value, b->value);
}

static void expect_same(const rnl_node_params *a, const rnl_node_params *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->priority, b->priority);
    assert_int_equal(!a->label, !b->label);
    if (a->label)
        assert_string_equal(a->label, b->label);
    if (a->kind == RNL_NODE_FUNCTION)
        expect_same_launch(a, b);
    if (a->kind == RNL_NODE_COPY) {
        expect_same_place(&a->copy->to, &b->copy->to);
        expect_same_place(&a->copy->from, &b->copy->from);
        assert_int_equal(a->copy->width, b->copy->width);
        assert_int_equal(a->copy->height, b->copy->height);
    }
    if (a->kind == RNL_NODE_FILL) {
        expect_same_place(&a->fill->to, &b->fill->to);
        assert_int_equal(a->fill->width, b->fill->width);
        assert_int_equal(a->fill->pattern, b->fill->pattern);
        assert_int_equal(a->fill->pattern_size, b->fill->pattern_size);
    }
    assert_ptr_equal(a->host, b->host);
    assert_ptr_equal(a->user_data, b->user_data);
    assert_int_equal(a->value_count, b->value_count);
    for (size_t i = 0; i < a->value_count; i++)
        expect_same_value(&a->values[i], &b->values[i]);
    assert_ptr_equal(a->event, b->event);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->body_count, b->body_count);
}

// Adds what was read to another graph, and expects the same to be read there.
static rnl_node expect_round_trip(rnl_graph graph, rnl_node node,
                                  rnl_graph other)
{
    rnl_node_params params = params_of(graph, node);
    rnl_node_params given = params;
    rnl_buffer made = NULL;
    given.out_buffer = &made;
    rnl_node copy = add(other, &given);
    rnl_node_params again = params_of(other, copy);
    expect_same(&params, &again);
    if (made) {
        assert_ptr_equal(again.buffer, made);
        expect_ok(rnl_graph_remove_node(other, copy));
        expect_ok(rnl_buffer_release(made));
        return NULL;
    }
    assert_ptr_equal(params.buffer, again.buffer);
    return copy;
}

RNL_TEST(nodes_are_made_again_of_what_is_read)
{
    rnl_function adder = new_adder();
    rnl_buffer a = suite_ints(16, 0), b = suite_ints(16, 3), made = NULL;
    rnl_buffer slice = NULL;
    rnl_event event = suite_new_event();
    rnl_graph graph = new_graph(), other = new_graph(), child = new_graph();
    rnl_graph body = NULL;
    expect_ok(rnl_buffer_slice(b, 8, 32, &slice));
    add(graph, RNL_NODE(.kind = RNL_NODE_EMPTY, .label = "empty",
                        .priority = -1));
    add(graph, RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = adder,
                        .launch = RNL_LAUNCH(.grid = {1}, .block = {1},
                                             .label = "adds"),
                        .args = RNL_ARGS(a, 5)));
    add(graph, RNL_NODE(.kind = RNL_NODE_COPY,
                        .copy = RNL_COPY(.to = {.buffer = a, .offset = 4},
                                         .from = {.buffer = slice,
                                                  .row_pitch = 8},
                                         .width = 4, .height = 3)));
    add(graph, RNL_NODE(.kind = RNL_NODE_COPY, .copy = RNL_COPY()));
    add(graph, RNL_NODE(.kind = RNL_NODE_FILL,
                        .fill = RNL_FILL(.to = {.buffer = a, .offset = 16},
                                         .width = 8, .pattern = 7,
                                         .pattern_size = 4)));
    add(graph, RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = note,
                        .user_data = (void *)9));
    add(graph, RNL_NODE(.kind = RNL_NODE_EVENT_RECORD, .event = event));
    add(graph, RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .event = event));
    fill_node(child, RNL_AT_START, b, 1);
    add(graph, RNL_NODE(.kind = RNL_NODE_CHILD, .child = child));
    rnl_node create =
        add(graph, RNL_NODE(.kind = RNL_NODE_BUFFER_CREATE, .size = 64,
                            .options = RNL_BUFFER_OPTIONS(
                                .label = "made",
                                .element = RNL_ELEMENT_INT32),
                            .out_buffer = &made));
    add(graph, RNL_NODE(.kind = RNL_NODE_IF, .buffer = a, .offset = 60,
                        .out_body = &body));
    fill_node(body, RNL_AT_START, a, 1);
    body_node(graph, RNL_NODE_WHILE, RNL_AT_START, a, &body);
    rnl_node nodes[16];
    size_t count;
    expect_ok(rnl_graph_get_nodes(graph, nodes, 16, &count));
    assert_int_equal(count, 12);
    for (size_t i = 0; i < count; i++)
        expect_round_trip(graph, nodes[i], other);
    assert_string_equal(params_of(graph, create).options->label, "made");
    assert_int_equal(params_of(graph, create).options->element,
                     RNL_ELEMENT_INT32);
    // What is inside came along.
    expect_ok(rnl_graph_get_nodes(other, nodes, 16, &count));
    assert_int_equal(count, 11);
    expect_shape(params_of(other, nodes[8]).child, 1, 0);
    expect_shape(params_of(other, nodes[9]).bodies[0], 1, 0);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(other));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(made));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(values_are_read_back)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_buffer words = suite_ints(4, 0);
    rnl_graph graph = new_graph(), other = new_graph();
    const rnl_value_op ops[] = {
        {.struct_size = sizeof ops[0], .action = RNL_WRITE_VALUE, .width = 32,
         .buffer = words, .offset = 4, .value = 6},
        {.struct_size = sizeof ops[0], .action = RNL_WAIT_EQ, .width = 64,
         .buffer = words, .offset = 8, .value = 0},
    };
    rnl_node node = add(graph, RNL_NODE(.kind = RNL_NODE_VALUES,
                                        .values = ops, .value_count = 2));
    rnl_node_params params = params_of(graph, node);
    assert_int_equal(params.value_count, 2);
    for (int i = 0; i < 2; i++)
        expect_same_value(&params.values[i], &ops[i]);
    expect_round_trip(graph, node, other);
    launch_once(other);
    int seen[4];
    expect_ok(rnl_copy_from_buffer_and_wait(suite_stream(), seen, words, 0,
                                            16));
    assert_int_equal(seen[1], 6);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(other));
    expect_ok(rnl_buffer_release(words));
}

RNL_TEST(a_switch_is_read_back)
{
    rnl_graph graph = new_graph(), other = new_graph(), bodies[3];
    suite_need(RNL_FEATURE_GRAPH_SWITCH);
    rnl_buffer word = suite_ints(2, 1), a = suite_ints(1, 0);
    rnl_node node = add(graph, RNL_NODE(.kind = RNL_NODE_SWITCH,
                                        .buffer = word, .offset = 4,
                                        .out_body = bodies, .body_count = 3));
    fill_node(bodies[1], RNL_AT_START, a, 8);
    rnl_node_params params = params_of(graph, node);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(params.bodies[i], bodies[i]);
    expect_round_trip(graph, node, other);
    launch_once(other);
    suite_expect_ints(a, 1, 8);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(other));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(a));
}

// A captured node does as before with what is read and set.
RNL_TEST(what_was_captured_is_read_back)
{
    rnl_function adder = new_adder();
    rnl_buffer sum = suite_ints(1, 0), to = suite_ints(1, 0);
    rnl_stream stream = new_captured_stream();
    expect_ok(rnl_enqueue_function(stream, adder, one_thread(),
                                   RNL_ARGS(sum, 4)));
    expect_ok(rnl_enqueue_copy_buffer(stream, to, 0, sum, 0, 4));
    rnl_graph graph = end_capture(stream);
    rnl_node nodes[2];
    size_t count;
    expect_ok(rnl_graph_get_nodes(graph, nodes, 2, &count));
    for (int i = 0; i < 2; i++) {
        rnl_node_params params = params_of(graph, nodes[i]);
        expect_ok(rnl_graph_set_node(graph, nodes[i], &params));
    }
    launch_once(graph);
    suite_expect_ints(to, 1, 4);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_buffer_release(to));
}

RNL_TEST(a_buffer_without_a_handle_is_read_by_its_address)
{
    rnl_buffer a = suite_ints(4, 0), kept = a;
    rnl_graph graph = new_graph();
    rnl_node node = fill_node(graph, RNL_AT_START, a, 5);
    rnl_node_params params = params_of(graph, node);
    assert_ptr_equal(params.fill->to.buffer, kept);
    expect_ok(rnl_buffer_release(a));
    params = params_of(graph, node);
    assert_null(params.fill->to.buffer);
    assert_non_null(params.fill->to.pointer);
    expect_ok(rnl_graph_release(graph));
}

RNL_TEST(a_batch_of_copies_is_not_read_back)
{
    rnl_buffer a = suite_ints(4, 0), b = suite_ints(4, 1);
    rnl_stream stream = new_captured_stream();
    rnl_copy copies[2];
    for (size_t i = 0; i < 2; i++)
        copies[i] = (rnl_copy){.struct_size = sizeof copies[0],
                               .to = {.buffer = a, .offset = 8 * i},
                               .from = {.buffer = b}, .width = 4};
    expect_ok(rnl_enqueue_copy_batch(stream, copies, 2));
    rnl_graph graph = end_capture(stream);
    rnl_node nodes[2];
    size_t count;
    rnl_node_params params = {.struct_size = sizeof params};
    expect_ok(rnl_graph_get_nodes(graph, nodes, 2, &count));
    if (count == 1)
        expect_error(rnl_graph_get_node_params(graph, nodes[0], &params),
                     RNL_ERROR_UNSUPPORTED, "node");
    expect_error(rnl_graph_get_node_params(graph, nodes[0], NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_params");
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

// Makes the calls of a program, and keeps what they answer.
#include "machine.h"
#include "misuse.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct graph_objects {
    rnl_graph graph;
    rnl_node nodes[NODES];
};

struct exec_objects {
    rnl_graph_exec exec;
};

struct host_target {
    struct program *program;
    struct work work;
    void *cell;
};

enum { LABEL = 16 };

struct run {
    struct program *program;
    struct machine on;
    rnl_stream streams[STREAMS_ALL];
    rnl_event events[EVENTS + 1], promises[PROMISES];
    struct graph_objects graphs[GRAPHS];
    struct exec_objects execs[EXECS];
    struct host_target targets[STEPS + 1];  // by the id of the work
};

bool problem(struct program *program, const char *format, ...)
{
    va_list arguments;
    if (program->problem[0])
        return false;
    va_start(arguments, format);
    vsnprintf(program->problem, sizeof program->problem, format, arguments);
    va_end(arguments);
    return false;
}

// --- Work ------------------------------------------------------------------

static void run_host(rnl_status status, void *user_data)
{
    const struct host_target *target = user_data;
    struct program *program = target->program;
    int at = atomic_fetch_add(&program->host_call_count, 1);
    if (at < HOST_CALLS)
        program->host_calls[at] =
            (struct host_call){target->work.id, status};
    uint64_t *cell = target->cell;
    if (status == RNL_OK)
        *cell = work_cell(&target->work, *cell, 0);
}

static rnl_place place_of(struct run *run, int memory, int offset)
{
    if (memory < BUFFERS)
        return (rnl_place){.buffer = run->on.buffers[memory],
                           .offset = (size_t)offset};
    return (rnl_place){.pointer = run->on.addresses[memory],
                       .offset = (size_t)offset};
}

static rnl_arg argument_of(struct run *run, int memory, int offset)
{
    return rnl_arg_of_pointer(run->on.addresses[memory] + offset);
}

// The parameters of a node, with room for what they point at.
struct params {
    rnl_node_params node;
    rnl_launch launch;
    rnl_args args;
    rnl_arg items[3];
    rnl_copy copy;
    rnl_fill fill;
    rnl_value_op value;
};

static void set_kernel(struct run *run, struct params *params,
                       const struct work *work)
{
    params->items[0] = argument_of(run, work->to, work->to_offset);
    params->items[1] = argument_of(run, work->from, work->from_offset);
    // Whole buffers can be arguments as they are.
    if (work->to < BUFFERS && work->to_offset == 0)
        params->items[0] = rnl_arg_of_buffer(run->on.buffers[work->to]);
    params->items[2] = rnl_arg_of_integer(work->value, 8);
    params->args = (rnl_args){sizeof params->args, 3, params->items};
    params->launch = (rnl_launch){.struct_size = sizeof params->launch,
                                  .grid = {work->size / 8u, 1, 1},
                                  .block = {1, 1, 1},
                                  .file = __FILE__, .line = work->id};
    if (work->kind == WORK_FAIL)
        params->launch.grid.x = 1;
    params->node.function = run->on.kernels[work->kind - WORK_ADD];
    params->node.launch = &params->launch;
    params->node.args = &params->args;
}

static void set_fill(struct run *run, struct params *params,
                     const struct work *work)
{
    params->fill = (rnl_fill){
        .struct_size = sizeof params->fill,
        .to = place_of(run, work->to, work->to_offset),
        .width = work->size, .pattern = work->value,
        .pattern_size = work->pattern_size};
    params->node.fill = &params->fill;
}

static void set_copy(struct run *run, struct params *params,
                     const struct work *work)
{
    params->copy = (rnl_copy){
        .struct_size = sizeof params->copy,
        .to = place_of(run, work->to, work->to_offset),
        .from = place_of(run, work->from, work->from_offset),
        .width = work->size};
    params->node.copy = &params->copy;
}

static void set_host(struct run *run, struct params *params,
                     const struct work *work)
{
    struct host_target *target = &run->targets[work->id];
    *target = (struct host_target){
        run->program, *work,
        run->on.addresses[work->to] + work->to_offset};
    params->node.host = run_host;
    params->node.user_data = target;
}

static void set_values(struct run *run, struct params *params,
                       const struct work *work)
{
    params->value = (rnl_value_op){
        .struct_size = sizeof params->value, .action = RNL_WRITE_VALUE,
        .width = work->size * 8u, .buffer = run->on.buffers[work->to],
        .offset = work->to_offset, .value = work->value};
    if (work->size == 4)
        params->value.value = (uint32_t)work->value;
    params->node.values = &params->value;
    params->node.value_count = 1;
}

static void set_params(struct run *run, struct params *params,
                       rnl_node_kind kind, const struct work *work)
{
    memset(params, 0, sizeof *params);
    params->node.struct_size = sizeof params->node;
    params->node.kind = kind;
    if (kind == RNL_NODE_FUNCTION)
        set_kernel(run, params, work);
    else if (kind == RNL_NODE_FILL)
        set_fill(run, params, work);
    else if (kind == RNL_NODE_COPY)
        set_copy(run, params, work);
    else if (kind == RNL_NODE_HOST_FUNCTION)
        set_host(run, params, work);
    else if (kind == RNL_NODE_VALUES)
        set_values(run, params, work);
}

static rnl_node_kind kind_of(const struct work *work)
{
    return work->kind == WORK_FILL   ? RNL_NODE_FILL
           : work->kind == WORK_COPY ? RNL_NODE_COPY
           : work->kind == WORK_HOST ? RNL_NODE_HOST_FUNCTION
           : work->kind == WORK_WRITE ? RNL_NODE_VALUES
                                     : RNL_NODE_FUNCTION;
}

static rnl_status enqueue_write(struct run *run, rnl_stream stream,
                                const struct work *work,
                                const rnl_value_op *op)
{
    if (work->id % 3 == 0)
        return rnl_enqueue_values(stream, op, 1);
    return work->size == 4
               ? rnl_enqueue_write_value32(stream, run->on.buffers[work->to],
                                           work->to_offset,
                                           (uint32_t)work->value)
               : rnl_enqueue_write_value64(stream, run->on.buffers[work->to],
                                           work->to_offset, work->value);
}

// The plain forms of a copy, where there is one.
static rnl_status enqueue_copy(struct run *run, rnl_stream stream,
                               const struct work *work, const rnl_copy *copy)
{
    bool from = work->from < BUFFERS, to = work->to < BUFFERS;
    char *to_pointer = to ? NULL : (char *)copy->to.pointer + work->to_offset;
    char *from_pointer =
        from ? NULL : (char *)copy->from.pointer + work->from_offset;
    if (work->id % 4 == 0)
        return rnl_enqueue_copy_region(stream, copy);
    if (from && to)
        return rnl_enqueue_copy_buffer(
            stream, run->on.buffers[work->to], work->to_offset,
            run->on.buffers[work->from], work->from_offset, work->size);
    if (to)
        return rnl_enqueue_copy_to_buffer(stream, run->on.buffers[work->to],
                                          work->to_offset, from_pointer,
                                          work->size);
    if (from)
        return rnl_enqueue_copy_from_buffer(
            stream, to_pointer, run->on.buffers[work->from], work->from_offset,
            work->size);
    return rnl_enqueue_copy(stream, to_pointer, from_pointer, work->size);
}

static rnl_status enqueue_work(struct run *run, rnl_stream stream,
                               const struct work *work)
{
    struct params params;
    set_params(run, &params, kind_of(work), work);
    switch (params.node.kind) {
    case RNL_NODE_FILL:
        if (work->to < BUFFERS && work->id % 4)
            return rnl_enqueue_fill(stream, run->on.buffers[work->to],
                                    work->to_offset, work->size, work->value,
                                    work->pattern_size);
        return rnl_enqueue_fill_region(stream, &params.fill);
    case RNL_NODE_COPY:
        return enqueue_copy(run, stream, work, &params.copy);
    case RNL_NODE_HOST_FUNCTION:
        return rnl_enqueue_host_function(stream, run_host,
                                         params.node.user_data);
    case RNL_NODE_VALUES:
        return enqueue_write(run, stream, work, &params.value);
    default:
        return rnl_enqueue_function(stream, params.node.function,
                                    &params.launch, &params.args);
    }
}

// --- Graphs ----------------------------------------------------------------

// One after the other.
static rnl_status fill_body(struct run *run, rnl_graph body,
                            const struct node *node)
{
    rnl_node last = NULL;
    for (int i = 0; i < node->body_count; i++) {
        struct params params;
        set_params(run, &params, kind_of(&node->body[i]), &node->body[i]);
        rnl_status status = rnl_graph_add_node(
            body, last ? &last : NULL, last != NULL, &params.node, &last);
        if (status != RNL_OK)
            return status;
    }
    return RNL_OK;
}

static rnl_status add_node(struct run *run, const struct call *call)
{
    struct graph_objects *graph = &run->graphs[call->graph];
    const struct node *node = &call->added;
    struct params params;
    rnl_node after[NODES], made;
    rnl_graph body = NULL;
    size_t count = 0;
    for (int i = 0; i < NODES; i++)
        if (node->after >> i & 1)
            after[count++] = graph->nodes[i];
    set_params(run, &params, node->kind, &node->work);
    params.node.child = run->graphs[call->other].graph;
    params.node.out_body = &body;
    if (node->kind == RNL_NODE_IF || node->kind == RNL_NODE_WHILE) {
        params.node.buffer = run->on.buffers[node->work.to];
        params.node.offset = node->work.to_offset;
    }
    rnl_status status = rnl_graph_add_node(graph->graph, after, count,
                                           &params.node, &made);
    if (status == RNL_OK && body)
        status = fill_body(run, body, node);
    size_t total = 0;
    if (status == RNL_OK)
        status = rnl_graph_get_nodes(graph->graph, graph->nodes, NODES,
                                     &total);
    return status;
}

static rnl_status set_node(struct run *run, const struct call *call, bool exec)
{
    struct params params;
    const struct graph_objects *graph = &run->graphs[call->graph];
    set_params(run, &params, call->added.kind, &call->added.work);
    rnl_node node = graph->nodes[call->node];
    return exec ? rnl_graph_exec_set_node(run->execs[call->exec].exec, node,
                                          &params.node)
                : rnl_graph_set_node(graph->graph, node, &params.node);
}

// Puts a graph in the place of another.
static rnl_status take_graph(struct run *run, int slot, rnl_graph graph)
{
    size_t total = 0;
    rnl_graph_release(run->graphs[slot].graph);
    run->graphs[slot].graph = graph;
    return rnl_graph_get_nodes(graph, run->graphs[slot].nodes, NODES, &total);
}

static rnl_status new_graph(struct run *run, const struct call *call)
{
    rnl_graph graph = NULL;
    rnl_graph from = run->graphs[call->graph].graph;
    rnl_status status =
        call->kind == CALL_END
            ? rnl_stream_end_capture(run->streams[call->stream], &graph)
        : call->kind == CALL_CLONE ? rnl_graph_clone(from, &graph)
                                   : rnl_graph_create(run->on.context, NULL,
                                                      &graph);
    int slot = call->kind == CALL_CLONE ? call->other : call->graph;
    return status ? status : take_graph(run, slot, graph);
}

static rnl_status instantiate(struct run *run, const struct call *call)
{
    rnl_graph_exec exec;
    rnl_status status =
        rnl_graph_instantiate(run->graphs[call->graph].graph, &exec);
    if (status != RNL_OK)
        return status;
    rnl_graph_exec_release(run->execs[call->exec].exec);
    run->execs[call->exec].exec = exec;
    return RNL_OK;
}

static rnl_status update(struct run *run, const struct call *call)
{
    rnl_update_result result = {.struct_size = sizeof result};
    return rnl_graph_exec_update(run->execs[call->exec].exec,
                                 run->graphs[call->graph].graph, &result);
}

// --- Calls -----------------------------------------------------------------

static rnl_status new_promise(struct run *run, int promise)
{
    return rnl_event_create(run->on.context, RNL_EVENT_OPTIONS(.promise = true),
                            &run->promises[promise]);
}

static rnl_status break_promise(struct run *run, int promise)
{
    rnl_event event = run->promises[promise];
    run->promises[promise] = NULL;
    return rnl_event_release(event);
}

// Words are 0 until they are kept, and 5 then.
static rnl_status wait_for_word(struct run *run, const struct call *call,
                                rnl_stream stream)
{
    static const struct {
        rnl_value_action action;
        uint32_t value;
    } waits[] = {{RNL_WAIT_GEQ, 3}, {RNL_WAIT_EQ, 5}, {RNL_WAIT_AND, 4}};
    size_t offset = 8 * (size_t)call->promise, kind = call->value % 3;
    rnl_value_action action = waits[kind].action;
    return call->value / 3 % 2
               ? rnl_enqueue_wait_value32(stream, run->on.words, offset,
                                          waits[kind].value, action)
               : rnl_enqueue_wait_value64(stream, run->on.words, offset,
                                          waits[kind].value, action);
}

static rnl_status store_word(struct run *run, int word)
{
    void *words = NULL;
    rnl_status status = rnl_buffer_host_pointer(run->on.words, &words);
    if (status == RNL_OK)
        atomic_store(&((_Atomic uint64_t *)words)[word], 5);
    return status;
}

static rnl_status make_word_call(struct run *run, const struct call *call,
                                 rnl_stream stream)
{
    switch (call->kind) {
    case CALL_WORD_WAIT:
        return wait_for_word(run, call, stream);
    case CALL_WORD_WRITE:
        return rnl_enqueue_write_value64(stream, run->on.words,
                                         8 * (size_t)call->promise, 5);
    case CALL_WORD_STORE:
        return store_word(run, call->promise);
    default:
        return rnl_stream_flush(stream);
    }
}

static rnl_status make_graph_call(struct run *run, const struct call *call)
{
    rnl_graph_exec exec = run->execs[call->exec].exec;
    switch (call->kind) {
    case CALL_END:
    case CALL_GRAPH_NEW:
    case CALL_CLONE:
        return new_graph(run, call);
    case CALL_ADD_NODE:
        return add_node(run, call);
    case CALL_SET_NODE:
        return set_node(run, call, false);
    case CALL_SET_EXEC_NODE:
        return set_node(run, call, true);
    case CALL_INSTANTIATE:
        return instantiate(run, call);
    case CALL_UPDATE:
        return update(run, call);
    case CALL_LAUNCH:
        return rnl_enqueue_graph(run->streams[call->stream], exec);
    case CALL_ENABLE:
        return rnl_graph_exec_set_enabled(
            exec, run->graphs[call->graph].nodes[call->node],
            call->value != 0);
    default:
        return RNL_ERROR_INTERNAL;
    }
}

static rnl_status make_event_call(struct run *run, const struct call *call,
                                  rnl_stream stream)
{
    rnl_event event = run->events[call->event];
    switch (call->kind) {
    case CALL_RECORD:
        return rnl_enqueue_event_record(stream, event);
    case CALL_WAIT:
        return rnl_enqueue_wait_event(stream, event);
    case CALL_QUERY_EVENT:
        return rnl_event_query(event);
    case CALL_SYNCHRONIZE_EVENT:
        return rnl_event_synchronize(event, RNL_FOREVER);
    case CALL_PROMISE_NEW:
        return new_promise(run, call->promise);
    case CALL_PROMISE_WAIT:
        return rnl_enqueue_wait_event(stream, run->promises[call->promise]);
    case CALL_PROMISE_RECORD:
        return rnl_enqueue_event_record(stream, run->promises[call->promise]);
    case CALL_PROMISE_BREAK:
        return break_promise(run, call->promise);
    default:
        return make_graph_call(run, call);
    }
}

static rnl_status begin_capture(rnl_stream stream, bool relaxed)
{
    rnl_capture_mode mode =
        relaxed ? RNL_CAPTURE_RELAXED : RNL_CAPTURE_THREAD_LOCAL;
    return rnl_stream_begin_capture(stream, RNL_CAPTURE_OPTIONS(.mode = mode));
}

static rnl_status make_wrong_call(struct run *run, const struct call *call)
{
    const struct misused on = {
        .context = run->on.context,
        .stream = run->streams[call->stream],
        .event = run->events[call->event],
        .buffer = run->on.buffers[call->other],
        .size = BYTES,
        .function = run->on.kernels[0],
        .graph = run->graphs[call->graph].graph,
        .exec = run->execs[call->exec].exec,
    };
    return misuse(&on, call->value);
}

static rnl_status make_call(struct run *run, const struct call *call)
{
    rnl_stream stream =
        call->stream == NONE ? NULL : run->streams[call->stream];
    switch (call->kind) {
    case CALL_WORK:
        return enqueue_work(run, stream, &call->added.work);
    case CALL_WAIT_STREAM:
        return rnl_enqueue_wait_stream(stream, run->streams[call->other]);
    case CALL_WAIT_CONTEXT:
        return rnl_enqueue_wait_context(stream, run->on.context);
    case CALL_QUERY:
        return rnl_stream_query(stream);
    case CALL_SYNCHRONIZE:
        return rnl_stream_synchronize(stream, RNL_FOREVER);
    case CALL_TIME_OUT:
        return rnl_stream_synchronize(stream, 1000);
    case CALL_RESET:
        return rnl_stream_reset_and_wait(stream);
    case CALL_WORD_WAIT:
    case CALL_WORD_WRITE:
    case CALL_WORD_STORE:
    case CALL_FLUSH:
        return make_word_call(run, call, stream);
    case CALL_BEGIN:
        return begin_capture(stream, call->value != 0);
    case CALL_MISUSE:
        return make_wrong_call(run, call);
    default:
        return make_event_call(run, call, stream);
    }
}

// --- Begin and end ---------------------------------------------------------

static rnl_stream_flags flags_of(const struct run *run, int stream)
{
    return run->program->batched >> stream & 1 ? RNL_STREAM_BATCHED : 0;
}

static bool make_streams(struct run *run)
{
    bool made = true;
    for (int i = 0; made && i < STREAMS_ALL; i++) {
        char label[LABEL];
        snprintf(label, sizeof label, "stream %d", i);
        made = rnl_stream_create(
                   run->on.context,
                   RNL_STREAM_OPTIONS(.label = label, .priority = i % 3 - 1,
                                      .flags = flags_of(run, i)),
                   &run->streams[i]) == RNL_OK;
    }
    for (int i = 0; made && i <= EVENTS; i++)
        made = rnl_event_create(run->on.context,
                                RNL_EVENT_OPTIONS(.timing = i % 2,
                                                  .blocking_sync = i % 3 == 0),
                                &run->events[i]) == RNL_OK;
    return made;
}

static bool begin(struct run *run)
{
    return (machine_open(&run->on, run->program->threads) &&
            make_streams(run)) ||
           problem(run->program, "nothing can be made: %s",
                   rnl_last_error()->message);
}

static void end(struct run *run)
{
    for (int i = 0; i < EXECS; i++)
        rnl_graph_exec_release(run->execs[i].exec);
    for (int i = 0; i < GRAPHS; i++)
        rnl_graph_release(run->graphs[i].graph);
    for (int i = 0; i < STREAMS_ALL; i++)
        rnl_stream_release(run->streams[i]);
    for (int i = 0; i <= EVENTS; i++)
        rnl_event_release(run->events[i]);
    for (int i = 0; i < PROMISES; i++)
        rnl_event_release(run->promises[i]);
    machine_close(&run->on);
}

// An answer that makes the rest mean something else is the end.
static bool run_calls(struct run *run)
{
    struct program *program = run->program;
    for (int i = 0; i < program->call_count; i++) {
        const struct call *call = &program->calls[i];
        *program->at = i;
        rnl_status status = make_call(run, call);
        program->answers[i] = status;
        if (status != RNL_OK && call->answer == ANSWER_OK)
            return problem(program, "call %d gave %s: %s", i,
                           rnl_status_name(status),
                           rnl_last_error()->message);
    }
    return true;
}

bool program_run(struct program *program)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return problem(program, "no memory");
    run->program = program;
    program->problem[0] = 0;
    program->host_call_count = 0;
    bool done = begin(run) && run_calls(run);
    if (!done)
        return false;
    done = machine_read(&run->on, program->memory);
    end(run);
    free(run);
    return done || problem(program, "the memory cannot be read");
}

// A program as a listing of its calls.
#include "program.h"

#include <stdio.h>

static void print_memory(int memory, int offset)
{
    printf(memory < BUFFERS ? "b%d+%d" : "h%d+%d",
           memory < BUFFERS ? memory : memory - BUFFERS, offset);
}

static void print_work(const struct work *work)
{
    static const char *const names[] = {
        "nothing", "fill", "copy", "add", "multiply", "mix", "count_down",
        "fail",    "write",   "host",
    };
    printf("%s(", names[work->kind]);
    if (work->kind == WORK_NOTHING || work->kind == WORK_FAIL) {
        printf(")");
        return;
    }
    print_memory(work->to, work->to_offset);
    printf(", %d bytes", work->size);
    if (work->kind == WORK_COPY || work->kind == WORK_MIX) {
        printf(", from ");
        print_memory(work->from, work->from_offset);
    }
    if (work->kind == WORK_FILL)
        printf(", by %d", work->pattern_size);
    if (work->kind != WORK_COPY && work->kind != WORK_COUNT_DOWN)
        printf(", 0x%llx", (unsigned long long)work->value);
    if (work->kind == WORK_HOST)
        printf(", function %d", work->id);
    printf(")");
}

static void print_node(const struct call *call)
{
    const struct node *node = &call->added;
    if (node->kind == RNL_NODE_CHILD) {
        printf("child g%d", call->other);
    } else if (node->kind == RNL_NODE_IF || node->kind == RNL_NODE_WHILE) {
        printf(node->kind == RNL_NODE_IF ? "if " : "while ");
        print_memory(node->work.to, node->work.to_offset);
        printf(" {");
        for (int i = 0; i < node->body_count; i++) {
            printf(" ");
            print_work(&node->body[i]);
            printf(";");
        }
        printf(" }");
    } else {
        print_work(&node->work);
    }
}

static void print_graph_call(const struct call *call)
{
    int graph = call->graph, exec = call->exec, node = call->node;
    switch (call->kind) {
    case CALL_BEGIN:
        printf("begin_capture(s%d, %s)", call->stream,
               call->value ? "RELAXED" : "THREAD_LOCAL");
        break;
    case CALL_END:
        printf("g%d = end_capture(s%d)", graph, call->stream);
        break;
    case CALL_GRAPH_NEW:
        printf("g%d = graph_create()", graph);
        break;
    case CALL_ADD_NODE:
        printf("add_node(g%d, ", graph);
        print_node(call);
        printf(") after");
        for (int i = 0; i < NODES; i++)
            if (call->added.after >> i & 1)
                printf(" %d", i);
        break;
    case CALL_SET_NODE:
        printf("set_node(g%d, %d, ", graph, node);
        print_node(call);
        printf(")");
        break;
    case CALL_CLONE:
        printf("g%d = clone(g%d)", call->other, graph);
        break;
    case CALL_INSTANTIATE:
        printf("x%d = instantiate(g%d)", exec, graph);
        break;
    case CALL_LAUNCH:
        printf("enqueue_graph(s%d, x%d)", call->stream, exec);
        break;
    case CALL_UPDATE:
        printf("exec_update(x%d, g%d)", exec, graph);
        break;
    case CALL_SET_EXEC_NODE:
        printf("exec_set_node(x%d, g%d node %d, ", exec, graph, node);
        print_node(call);
        printf(")");
        break;
    case CALL_ENABLE:
        printf("exec_set_enabled(x%d, g%d node %d, %s)", exec, graph, node,
               call->value ? "true" : "false");
        break;
    case CALL_MISUSE:
        printf("misuse 0x%llx of s%d, e%d, b%d, g%d, x%d",
               (unsigned long long)call->value, call->stream, call->event,
               call->other, graph, exec);
        break;
    default:
        break;
    }
}

static void print_call(const struct call *call)
{
    static const char *const names[] = {
        [CALL_RECORD] = "event_record(s%d, e%d)",
        [CALL_WAIT] = "wait_event(s%d, e%d)",
        [CALL_WAIT_STREAM] = "wait_stream(s%d, s%d)",
        [CALL_WAIT_CONTEXT] = "wait_context(s%d)",
        [CALL_QUERY] = "stream_query(s%d)",
        [CALL_SYNCHRONIZE] = "stream_synchronize(s%d)",
        [CALL_TIME_OUT] = "stream_synchronize(s%d, 1000 ns)",
        [CALL_RESET] = "stream_reset_and_wait(s%d)",
        [CALL_PROMISE_WAIT] = "wait_event(s%d, p%d)",
        [CALL_PROMISE_RECORD] = "event_record(s%d, p%d)",
        [CALL_QUERY_EVENT] = "event_query(e%2$d)",
        [CALL_SYNCHRONIZE_EVENT] = "event_synchronize(e%2$d)",
        [CALL_PROMISE_NEW] = "p%2$d = event_create(.promise = true)",
        [CALL_PROMISE_BREAK] = "event_release(p%2$d)",
        [CALL_WORD_WAIT] = "wait_value(s%d, w%d)",
        [CALL_WORD_WRITE] = "write_value64(s%d, w%d, 5)",
        [CALL_WORD_STORE] = "w%2$d = 5",
        [CALL_FLUSH] = "stream_flush(s%d)",
    };
    int other = call->kind == CALL_WAIT_STREAM ? call->other
                : call->kind >= CALL_PROMISE_NEW &&
                          call->kind <= CALL_WORD_STORE
                    ? call->promise : call->event;
    bool known = call->kind < sizeof names / sizeof *names &&
                 names[call->kind];
    if (call->kind == CALL_WORK) {
        printf("s%d: ", call->stream);
        print_work(&call->added.work);
    } else if (known) {
        printf(names[call->kind], call->stream, other);
    } else {
        print_graph_call(call);
    }
}

void program_print(const struct program *program)
{
    printf("// seed %llu, %u threads, batched streams 0x%x\n",
           (unsigned long long)program->seed, program->threads,
           program->batched);
    for (int i = 0; i < program->call_count; i++) {
        const struct call *call = &program->calls[i];
        printf("/* %3d */ ", i);
        print_call(call);
        printf(call->known ? ";  // its stream's state is known\n" : ";\n");
    }
}

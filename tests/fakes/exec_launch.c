// Launches of the fake's executable graphs.
#include "graph.h"

#include <stdlib.h>
#include <string.h>

// What the nodes read of ordinary memory, for one launch.
struct taken {
    struct taken *next;
    unsigned char bytes[];
};

static void drop_taken(rnl_status status, void *user_data)
{
    for (struct taken *taken = user_data, *next; taken; taken = next) {
        next = taken->next;
        if (status == RNL_OK)
            free(taken);
        else
            fake_strand(taken);
    }
}

static rnl_status take(struct fake_exec *exec, const struct fake_pair *pair,
                       struct taken **list)
{
    rnl_copy copy = pair->copy;
    size_t size = (copy.depth - 1) * copy.from.slice_pitch +
                  (copy.height - 1) * copy.from.row_pitch + copy.width;
    struct taken *taken = malloc(sizeof *taken + size);
    if (!taken)
        return RNL_ERROR_OUT_OF_MEMORY;
    memcpy(taken->bytes, copy.from.pointer, size);
    taken->next = *list;
    *list = taken;
    copy.from.pointer = taken->bytes;
    return rnl_graph_exec_set_node(
        exec->inner, pair->inner,
        RNL_NODE(.kind = RNL_NODE_COPY, .copy = &copy));
}

static rnl_status launch(struct fake_exec *exec, rnl_stream inner,
                         bool *out_holds)
{
    struct taken *taken = NULL;
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < exec->pair_count && status == RNL_OK; i++) {
        *out_holds |= exec->pairs[i].holds;
        if (exec->pairs[i].takes)
            status = take(exec, &exec->pairs[i], &taken);
    }
    if (status == RNL_OK)
        status = rnl_enqueue_graph(inner, exec->inner);
    if (taken && status != RNL_OK)
        drop_taken(RNL_OK, taken);
    else if (taken && rnl_enqueue_host_function(inner, drop_taken, taken))
        drop_taken(RNL_ERROR_OUT_OF_MEMORY, taken);
    return status;
}

// Seen (H100, 580.159): with a memset that is disabled the second launch fails,
// hangs or writes what it should not.
static void break_if_launched_again(struct fake_exec *exec)
{
    for (size_t i = 0; i < exec->pair_count && exec->launched; i++)
        if (exec->pairs[i].off &&
            exec->pairs[i].node->function == FAKE_graph_add_fill)
            atomic_store(&exec->object.context->sticky, FAKE_LAUNCH_FAILED);
    exec->launched = true;
}

int fake_exec_launch(void *handle, void *stream)
{
    bool holds = false;
    struct fake_context *context;
    struct fake_exec *exec;
    struct fake_turn turn;
    int code = fake_enter_for(FAKE_exec_launch, KIND_STREAM, stream, &context);
    if (code == 0 && (!(exec = fake_find(KIND_EXEC, handle)) ||
                      exec->object.context != context))
        code = FAKE_INVALID_VALUE;
    if (code || (code = fake_turn_take(context, stream, &turn)))
        return code;
    break_if_launched_again(exec);
    // Seen: launches of one without work do not wait for each other.
    code = fake_turn_give(&turn, exec->waits,
                          exec->works ? launch(exec, turn.inner, &holds)
                                      : RNL_OK);
    return code || !holds ? code : fake_wait_stream(context, turn.inner);
}

int fake_exec_upload(void *handle, void *stream)
{
    struct fake_context *context;
    struct fake_exec *exec;
    rnl_stream inner;
    int code = fake_enter_exec(FAKE_exec_upload, handle, &context, &exec);
    return code ? code : fake_stream_of(context, stream, &inner);
}

#include "backends/cudalike/graph/graph_batch.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/module/module.h"
#include "backends/cudalike/stream/launch.h"
#include "backends/cudalike/stream/lowering.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/idle_free.h"
#include "backends/cudalike/tuning.h"

#include "base/hash.h"

#include <string.h>

// A driver node and its present parameters.
struct batch_node {
    void *node;
    enum piece_kind kind;
    uint64_t form;      // the part that never changes
    void *values;       // arguments of a kernel, at their offsets
    size_t size;
    union {
        struct driver_kernel_node kernel;  // without pointers to arguments
        struct driver_copy copy;
        struct driver_fill_node fill;
    };
};

// A chain of driver nodes. Their kinds, their functions and the forms of their
// fills are fixed; their parameters may change.
struct batch {
    uint64_t shape;     // hash of the fixed part
    uint64_t values;    // hash of the present parameters
    uint64_t used;      // clock at the last use
    void *graph, *exec;
    struct batch_node *nodes;
    size_t count;
};

// The last hashes without a graph. A shape that comes only once is not worth a
// graph.
struct seen_shape {
    uint64_t hashes[BATCHES_SEEN];
    size_t next;
};

struct batches {
    uint64_t clock;                // counts runs of ops, with a graph or not
    struct batch *items[BATCHES];  // NULL: still empty
    struct seen_shape shapes, values;
};

// --- Shapes -----------------------------------------------------------------

// True if the op becomes one or a few driver nodes whose parameters can be
// changed. After the submission, neither the progress thread nor the op's
// payload may be needed.
static bool is_suitable(const struct op *op)
{
    switch (op->kind) {
    case OP_KERNEL:
        return gpu_is_plain_kernel(op);
    case OP_COPY:
        return op->copy.height == 1 && op->copy.depth == 1 &&
               op->copy.from_context && op->copy.to_context &&
               !(op->copy.from_host && op->copy.to_host);
    case OP_FILL:
        return op->fill.height == 1 && op->fill.depth == 1;
    default:
        return false;
    }
}

struct batch_shape {
    uint64_t hash, values;
    size_t count;
};

// A kernel's form is its function's id, because the driver reuses handles.
static uint64_t form_of(const struct piece *piece)
{
    if (piece->kind == PIECE_KERNEL)
        return piece->op->kernel.function->object.id;
    return piece->kind == PIECE_FILL ? gpu_fill_form(&piece->fill) : 0;
}

static void fold(uint64_t *hash, uint64_t key)
{
    *hash = (*hash ^ key) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 29;
}

// Nearly all values are 4 or 8 bytes long. This runs for each operation.
static inline uint64_t word_of(const void *value, size_t size)
{
    uint64_t word = 0;
    if (size == sizeof(uint64_t))
        memcpy(&word, value, sizeof(uint64_t));
    else if (size == sizeof(uint32_t))
        memcpy(&word, value, sizeof(uint32_t));
    else
        word = hash_64(value, size);
    return word;
}

static inline bool is_equal(const void *one, const void *other, size_t size)
{
    bool has_word = size == sizeof(uint64_t) || size == sizeof(uint32_t);
    return has_word ? word_of(one, size) == word_of(other, size)
                    : memcmp(one, other, size) == 0;
}

static void fold_kernel(uint64_t *hash, const struct driver_kernel_node *node,
                        const struct op_kernel *kernel)
{
    const struct function *function = kernel->function;
    fold(hash, node->grid_x | (uint64_t)node->grid_y << 32);
    fold(hash, node->grid_z | (uint64_t)node->block_x << 32);
    fold(hash, node->block_y | (uint64_t)node->block_z << 32);
    fold(hash, node->shared_size);
    for (size_t i = 0; i < function->parameter_count; i++)
        fold(hash, word_of(kernel->arguments[i], function->parameters[i].size));
}

static int add_to_shape(struct piece *piece, void *argument)
{
    struct batch_shape *shape = argument;
    fold(&shape->hash, form_of(piece) << 2 | (uint64_t)piece->kind);
    if (piece->kind == PIECE_KERNEL)
        fold_kernel(&shape->values, &piece->kernel, &piece->op->kernel);
    else if (piece->kind == PIECE_COPY)
        fold(&shape->values, hash_64(&piece->copy, sizeof piece->copy));
    else
        fold(&shape->values, hash_64(&piece->fill, sizeof piece->fill));
    shape->count++;
    return 0;
}

static size_t count_suitable(const struct op *first)
{
    size_t count = 0;
    for (const struct op *op = first; op && is_suitable(op); op = op->next)
        count++;
    return count;
}

// --- Making batches ---------------------------------------------------------

static void batch_free(struct gpu_context *gpu, void *subject)
{
    struct batch *batch = subject;
    const struct driver_functions *call = call_of(gpu);
    if (batch->exec)
        call->exec_destroy(batch->exec);
    if (batch->graph)
        call->graph_destroy(batch->graph);
    for (size_t i = 0; i < batch->count; i++)
        mem_release(batch->nodes[i].values, batch->nodes[i].size);
    mem_release(batch->nodes, batch->count * sizeof *batch->nodes);
    mem_release(batch, sizeof *batch);
}

// The batch is freed on an idle device, because launches of the batch may be
// under way.
static void give_away(struct context *context, struct batch **place)
{
    if (*place)
        free_when_idle(context, batch_free, *place);
    *place = NULL;
}

// Copies the arguments. True if an argument has changed.
static bool store_arguments(struct batch_node *node,
                            const struct op_kernel *kernel)
{
    const struct function *function = kernel->function;
    bool changed = false;
    for (size_t i = 0; i < function->parameter_count; i++) {
        char *at = (char *)node->values + function->packed_parameters[i].offset;
        size_t size = function->parameters[i].size;
        if (!is_equal(at, kernel->arguments[i], size)) {
            memcpy(at, kernel->arguments[i], size);
            changed = true;
        }
    }
    return changed;
}

// Stores the parameters of any kind of node. True if a parameter has changed.
static bool store(struct batch_node *node, const struct piece *piece)
{
    struct driver_kernel_node kernel;
    bool changed = false;
    switch (piece->kind) {
    case PIECE_KERNEL:
        kernel = piece->kernel;
        kernel.arguments = NULL;
        changed = memcmp(&node->kernel, &kernel, sizeof kernel) != 0;
        node->kernel = kernel;
        return store_arguments(node, &piece->op->kernel) || changed;
    case PIECE_COPY:
        changed = memcmp(&node->copy, &piece->copy, sizeof node->copy) != 0;
        node->copy = piece->copy;
        return changed;
    default:
        changed = memcmp(&node->fill, &piece->fill, sizeof node->fill) != 0;
        node->fill = piece->fill;
        return changed;
    }
}

struct work {
    struct context *context;
    struct batch *batch;
    size_t next;
    void *last;
};

static int add_piece(struct piece *piece, void *argument)
{
    struct work *work = argument;
    struct gpu_context *gpu = gpu_of(work->context);
    const struct driver_functions *call = call_of(gpu);
    struct batch_node *node = &work->batch->nodes[work->next];
    struct node_place place = {.graph = work->batch->graph,
                               .after = &work->last,
                               .count = work->next > 0};
    bool early;
    int code;
    if (piece->kind == PIECE_KERNEL) {
        node->size = piece->op->kernel.function->values_size;
        node->values = mem_allocate(node->size);
        if (node->size > 0 && !node->values)
            return gpu->driver->out_of_memory;
        place.behind_kernels =
            place.count > 0 && node[-1].kind == PIECE_KERNEL;
        code = gpu_add_kernel(work->context, &place, piece, &node->node,
                              &early);
    } else if (piece->kind == PIECE_COPY) {
        code = call->graph_add_copy(&node->node, place.graph, place.after,
                                    place.count, &piece->copy, gpu->handle);
    } else {
        code = call->graph_add_fill(&node->node, place.graph, place.after,
                                    place.count, &piece->fill, gpu->handle);
    }
    node->kind = piece->kind;
    node->form = form_of(piece);
    store(node, piece);
    work->last = node->node;
    work->next++;
    return code;
}

static int each_piece(struct work *work, const struct op *first, size_t count,
                      int (*visit)(struct piece *, void *))
{
    int code = 0;
    for (const struct op *op = first; count > 0 && code == 0; count--) {
        code = gpu_op_pieces(work->context, op, visit, work);
        op = op->next;
    }
    return code;
}

static struct batch *batch_new(const struct batch_shape *shape)
{
    struct batch *batch = mem_allocate(sizeof *batch);
    if (!batch)
        return NULL;
    batch->shape = shape->hash;
    batch->count = shape->count;
    batch->nodes = mem_allocate(shape->count * sizeof *batch->nodes);
    if (batch->nodes)
        return batch;
    mem_release(batch, sizeof *batch);
    return NULL;
}

static int batch_make(struct context *context, struct batch *batch,
                      const struct op *first, size_t count)
{
    const struct driver_functions *call = call_of(gpu_of(context));
    struct work work = {.context = context, .batch = batch};
    int code = call->graph_create(&batch->graph, 0);
    if (code == 0)
        code = each_piece(&work, first, count, add_piece);
    if (code == 0)
        code = call->graph_instantiate(&batch->exec, batch->graph, 0);
    return code;
}

// --- Using batches ----------------------------------------------------------

#define ANOTHER (-1)  // no driver code: the shape differs after all

static int set_piece(struct piece *piece, void *argument)
{
    struct work *work = argument;
    struct gpu_context *gpu = gpu_of(work->context);
    const struct driver_functions *call = call_of(gpu);
    void *exec = work->batch->exec;
    struct batch_node *node = &work->batch->nodes[work->next++];
    if (work->next > work->batch->count || node->kind != piece->kind ||
        node->form != form_of(piece))
        return ANOTHER;
    if (!store(node, piece))
        return 0;
    if (piece->kind == PIECE_COPY)
        return call->exec_set_copy(exec, node->node, &piece->copy,
                                   gpu->handle);
    if (piece->kind == PIECE_FILL)
        return call->exec_set_fill(exec, node->node, &piece->fill,
                                   gpu->handle);
    int code = gpu_allow_shared(piece->op->kernel.function,
                                piece->op->kernel.shared_size);
    return code ? code
                : call->exec_set_kernel(exec, node->node, &piece->kernel);
}

// True if the hash is already listed; otherwise lists the hash.
static bool was_seen(struct seen_shape *seen, uint64_t hash)
{
    for (size_t i = 0; i < BATCHES_SEEN; i++)
        if (seen->hashes[i] == hash)
            return true;
    seen->hashes[seen->next++ % BATCHES_SEEN] = hash;
    return false;
}

// Sets `*older` to the place that was used less recently.
static void keep_older(struct batch ***older, struct batch **place)
{
    if (!*older || (**older && (!*place || (*place)->used < (**older)->used)))
        *older = place;
}

// Returns the place of a batch to launch, or an empty place for a new batch.
// NULL: the ops are to be submitted one by one.
//
// A batch of the same shape is enough, but each changed parameter costs a
// driver call. Parameters that come again get a batch of their own, unless a
// batch in recent use would have to go.
static struct batch **find(struct context *context, struct batches *batches,
                           const struct batch_shape *shape)
{
    struct batch **oldest = NULL, **alike = NULL;
    for (size_t i = 0; i < BATCHES; i++) {
        struct batch **place = &batches->items[i], *batch = *place;
        keep_older(&oldest, place);
        if (!batch || batch->shape != shape->hash ||
            batch->count != shape->count)
            continue;
        if (batch->values == shape->values)
            return place;
        keep_older(&alike, place);
    }
    if (!was_seen(alike ? &batches->values : &batches->shapes,
                  alike ? shape->values : shape->hash) ||
        (*oldest && batches->clock - (*oldest)->used < BATCHES_SEEN))
        return alike;
    give_away(context, oldest);
    return oldest;
}

// Makes the batch, or sets its parameters to those of the ops. Returns 0 or a
// code.
static int prepare(struct context *context, struct batch **place,
                   const struct batch_shape *shape, const struct op *first,
                   size_t count)
{
    if (*place) {
        struct work work = {.context = context, .batch = *place};
        return each_piece(&work, first, count, set_piece);
    }
    *place = batch_new(shape);
    return *place ? batch_make(context, *place, first, count)
                  : gpu_of(context)->driver->out_of_memory;
}

// False if nothing was submitted.
static bool give(struct stream *stream, struct batches *batches,
                 const struct op *first, size_t count)
{
    struct context *context = stream_context(stream);
    struct batch_shape shape = {0};
    const struct op *op = first;
    batches->clock++;
    for (size_t i = 0; i < count; i++, op = op->next)
        gpu_op_pieces(context, op, add_to_shape, &shape);
    struct batch **place = find(context, batches, &shape);
    if (!place)
        return false;
    int code = prepare(context, place, &shape, first, count);
    if (code == 0)
        code = call_of(gpu_of(context))
                   ->exec_launch((*place)->exec,
                                 gpu_stream_of(stream)->handle);
    if (code != 0) {
        give_away(context, place);
        return false;
    }
    (*place)->values = shape.values;
    (*place)->used = batches->clock;
    return true;
}

size_t gpu_batch_give(struct stream *stream, const struct op *first,
                      size_t *out_alone)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    size_t count = count_suitable(first);
    *out_alone = count > 0 ? count : 1;
    // Graph nodes ignore the attributes of the stream.
    if (count < BATCH_LEAST || own->applied != 0)
        return 0;
    if (!own->batches)
        own->batches = mem_allocate(sizeof *own->batches);
    return own->batches && give(stream, own->batches, first, count) ? count
                                                                     : 0;
}

void gpu_batches_finish(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    for (size_t i = 0; own->batches && i < BATCHES; i++)
        give_away(stream_context(stream), &own->batches->items[i]);
    mem_release(own->batches, sizeof *own->batches);
}

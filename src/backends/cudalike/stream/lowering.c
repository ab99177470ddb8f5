// Lowers an operation to calls of the driver, as a node or on a stream.
#include "backends/cudalike/stream/lowering.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/module/module.h"
#include "backends/cudalike/stream/launch.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "base/hash.h"

// --- Copies -----------------------------------------------------------------

// pointer_attributes, unlike the call for a single attribute, reports no error
// for an unknown pointer.
int gpu_memory_type(const struct gpu_context *gpu, const void *pointer)
{
    unsigned type = 0;
    int attribute = DRIVER_POINTER_MEMORY_TYPE;
    void *value = &type;
    int code = call_of(gpu)->pointer_attributes(1, &attribute, &value,
                                                (uint64_t)(uintptr_t)pointer);
    return code == 0 ? (int)type : 0;
}

static int memory_type(const struct gpu_context *gpu, const void *pointer,
                       const struct context *owner)
{
    return owner || gpu_memory_type(gpu, pointer) ? DRIVER_MEMORY_UNIFIED
                                            : DRIVER_MEMORY_HOST;
}

static struct driver_copy describe(const struct gpu_context *gpu,
                                   const struct op_copy *copy)
{
    struct driver_copy driver = {
        .from_type = memory_type(gpu, copy->from, copy->from_context),
        .from_host = copy->from,
        .from_device = (uint64_t)(uintptr_t)copy->from,
        .to_type = memory_type(gpu, copy->to, copy->to_context),
        .to_host = copy->to,
        .to_device = (uint64_t)(uintptr_t)copy->to,
        .width = copy->width,
        .height = copy->height,
        .depth = copy->depth,
    };
    if (copy->height == 1 && copy->depth == 1)
        return driver;
    driver.from_pitch = copy->from_row;
    driver.to_pitch = copy->to_row;
    if (copy->depth == 1)
        return driver;
    driver.from_height = copy->from_slice / copy->from_row;
    driver.to_height = copy->to_slice / copy->to_row;
    return driver;
}

static int copy_pieces(struct context *context, struct piece *piece,
                       int (*visit)(struct piece *, void *), void *argument)
{
    struct op_copy copy = piece->op->copy;
    size_t times = 1;
    int code = 0;
    // If a slice is not a whole number of rows, each slice is copied by itself.
    if (copy.depth > 1 && (copy.from_slice % copy.from_row ||
                           copy.to_slice % copy.to_row)) {
        times = copy.depth;
        copy.depth = 1;
    }
    piece->kind = PIECE_COPY;
    for (size_t z = 0; z < times && code == 0; z++) {
        piece->copy = describe(gpu_of(context), &copy);
        code = visit(piece, argument);
        copy.from += copy.from_slice;
        copy.to += copy.to_slice;
    }
    return code;
}

// --- Fills ------------------------------------------------------------------

// Returns the largest element, of up to 4 bytes, that divides the pattern and
// is aligned at the first row. Rows lie whole patterns apart, so the first row
// is enough.
static size_t element_at(const struct op_fill *fill)
{
    size_t size = fill->pattern_size < 4 ? fill->pattern_size : 4;
    while ((uintptr_t)fill->to % size)
        size /= 2;
    return size;
}

// Returns part number `part` of a pattern, of `size` bytes, at most 4.
static uint32_t part_of(uint64_t pattern, size_t size, size_t part)
{
    return (uint32_t)(pattern >> 8 * size * part) &
           UINT32_MAX >> (32 - 8 * size);
}

// Returns an equal fill with fewer rows and a smaller pattern.
static struct op_fill simplify(const struct op_fill *given)
{
    struct op_fill fill = *given;
    for (size_t half = fill.pattern_size / 2;
         half >= element_at(&fill) &&
         part_of(fill.pattern, half, 0) == part_of(fill.pattern, half, 1);
         half /= 2)
        fill.pattern_size = half;
    if (fill.height > 1 && fill.row == fill.width &&
        (fill.depth == 1 || fill.slice == fill.row * fill.height)) {
        fill.width *= fill.height * fill.depth;
        fill.height = fill.depth = 1;
    }
    if (fill.pattern_size == 2 &&
        ((uintptr_t)fill.to | fill.width | fill.row | fill.slice) % 4 == 0) {
        fill.pattern = part_of(fill.pattern, 2, 0) * UINT32_C(0x10001);
        fill.pattern_size = 4;
    }
    return fill;
}

// If a pattern is larger than an element, each part of the pattern fills a
// column of elements.
static int column_pieces(struct piece *piece, const struct op_fill *fill,
                         uint64_t to, int (*visit)(struct piece *, void *),
                         void *argument)
{
    int code = 0;
    size_t size = element_at(fill), parts = fill->pattern_size / size;
    for (size_t y = 0; y < fill->height && code == 0; y++)
        for (size_t part = 0; part < parts && code == 0; part++) {
            piece->fill = (struct driver_fill_node){
                .to = to + y * fill->row + part * size,
                .pitch = fill->pattern_size,
                .value = part_of(fill->pattern, size, part),
                .element_size = (unsigned)size,
                .width = 1,
                .height = fill->width / fill->pattern_size,
            };
            code = visit(piece, argument);
        }
    return code;
}

static int fill_pieces(struct piece *piece,
                       int (*visit)(struct piece *, void *), void *argument)
{
    struct op_fill fill = simplify(&piece->op->fill);
    size_t size = element_at(&fill);
    int code = 0;
    piece->kind = PIECE_FILL;
    for (size_t z = 0; z < fill.depth && code == 0; z++) {
        uint64_t to = (uint64_t)(uintptr_t)fill.to + z * fill.slice;
        if (fill.pattern_size > size) {
            code = column_pieces(piece, &fill, to, visit, argument);
            continue;
        }
        piece->fill = (struct driver_fill_node){
            .to = to,
            .pitch = fill.height > 1 ? fill.row : 0,
            .value = part_of(fill.pattern, size, 0),
            .element_size = (unsigned)size,
            .width = fill.width / size,
            .height = fill.height,
        };
        code = visit(piece, argument);
    }
    return code;
}

// Returns the properties of a fill that a change in place must keep. The driver
// refuses to change the extent of rows. For elements of 2 bytes, the driver
// accepts a new extent. But then the driver skips some elements if the fill is
// large and not aligned to 4 (CUDA driver 580.159).
uint64_t gpu_fill_form(const struct driver_fill_node *fill)
{
    const uint64_t extent[] = {fill->element_size, fill->width, fill->height,
                               fill->pitch};
    return fill->height > 1 || fill->element_size == 2
               ? hash_64(extent, sizeof extent)
               : fill->element_size;
}

static int fold_form(struct piece *piece, void *argument)
{
    uint64_t *forms = argument;
    const uint64_t both[] = {*forms, gpu_fill_form(&piece->fill)};
    *forms = hash_64(both, sizeof both);
    return 0;
}

uint64_t gpu_fill_forms(const struct op *op)
{
    struct piece piece = {.op = op};
    uint64_t forms = 0;
    fill_pieces(&piece, fold_form, &forms);
    return forms;
}

// --- Values -----------------------------------------------------------------

// `flushes`: the device can flush remote writes. Without that ability, no
// writes arrive over the bus that would need a flush.
static struct driver_value make_value(const struct memory_op *value,
                                      bool flushes)
{
    static const unsigned conditions[] = {
        [RNL_WAIT_GEQ] = DRIVER_WAIT_GEQ,
        [RNL_WAIT_EQ] = DRIVER_WAIT_EQ,
        [RNL_WAIT_AND] = DRIVER_WAIT_AND,
        [RNL_WAIT_NOR] = DRIVER_WAIT_NOR,
    };
    bool writes = value->action == RNL_WRITE_VALUE, wide = value->width == 64;
    unsigned flags = writes ? 0 : conditions[value->action];
    if (value->flags & RNL_VALUE_FLUSH && flushes)
        flags |= DRIVER_WAIT_FLUSH;
    return (struct driver_value){
        .operation = writes ? (wide ? DRIVER_WRITE64 : DRIVER_WRITE32)
                            : (wide ? DRIVER_WAIT64 : DRIVER_WAIT32),
        .address = (uint64_t)(uintptr_t)value->address,
        .value = value->value,
        .flags = flags,
    };
}

static int value_pieces(struct context *context, struct piece *piece,
                        int (*visit)(struct piece *, void *), void *argument)
{
    const struct op_memory_ops *values = &piece->op->memory_ops;
    bool flushes = gpu_of(context)->flushes;
    int code = 0;
    piece->kind = PIECE_VALUES;
    for (size_t i = 0; i < values->count && code == 0;) {
        unsigned count = 0;
        while (i < values->count && count < PIECE_VALUES_MOST)
            piece->items[count++] = make_value(&values->items[i++], flushes);
        piece->values = (struct driver_values_node){
            .context = gpu_of(context)->handle,
            .count = count,
            .values = piece->items,
        };
        code = visit(piece, argument);
    }
    return code;
}

// --- Kernels ----------------------------------------------------------------

static int kernel_piece(struct piece *piece,
                        int (*visit)(struct piece *, void *), void *argument)
{
    const struct op_kernel *kernel = &piece->op->kernel;
    piece->kind = PIECE_KERNEL;
    piece->kernel = (struct driver_kernel_node){
        .function = gpu_function_of(kernel->function)->handle,
        LAUNCH_SHAPE(kernel),
        .arguments = (void **)kernel->arguments,
    };
    return visit(piece, argument);
}

#define EDGES_MOST 8  // of an early node; the edges are on the stack

bool gpu_is_plain_kernel(const struct op *op)
{
    const struct op_kernel *kernel = &op->kernel;
    return op->kind == OP_KERNEL && kernel->attribute_count == 0 &&
           (uint64_t)kernel->cluster.x * kernel->cluster.y *
                   kernel->cluster.z <= 1;
}

bool gpu_can_be_early(const struct op *op)
{
    return gpu_is_plain_kernel(op) &&
           gpu_function_of(op->kernel.function)->waits;
}

static int add_early(const struct driver_functions *call,
                     const struct node_place *place,
                     const struct piece *piece, void **out_node)
{
    struct driver_node node = {.type = DRIVER_NODE_KERNEL};
    struct driver_edge edges[EDGES_MOST];
    node.kernel = piece->kernel;
    for (size_t i = 0; i < place->count; i++)
        edges[i] = (struct driver_edge){
            .from_port = DRIVER_PORT_PROGRAMMATIC,
            .type = DRIVER_EDGE_PROGRAMMATIC,
        };
    return call->graph_add_node(out_node, place->graph, place->after, edges,
                                place->count, &node);
}

int gpu_add_kernel(struct context *context, const struct node_place *place,
                   const struct piece *piece, void **out_node, bool *out_early)
{
    const struct driver_functions *call = call_of(gpu_of(context));
    const struct op_kernel *kernel = &piece->op->kernel;
    int code = gpu_allow_shared(kernel->function, kernel->shared_size);
    *out_early = place->behind_kernels && place->count > 0 &&
                 place->count <= EDGES_MOST && call->graph_add_node &&
                 gpu_can_be_early(piece->op);
    if (code != 0)
        return code;
    return *out_early
               ? add_early(call, place, piece, out_node)
               : call->graph_add_kernel(out_node, place->graph, place->after,
                                        place->count, &piece->kernel);
}

static int clamp_priority(const struct driver *driver, int priority)
{
    if (priority < driver->priority_greatest)
        return driver->priority_greatest;
    return priority > driver->priority_least ? driver->priority_least
                                             : priority;
}

// Leaves out the attribute that lets a launch begin before the end of the
// previous launch. A node depends only on its predecessors, not on a previous
// launch.
unsigned gpu_node_attributes(const struct gpu_context *gpu,
                             const struct node_params *node_params,
                             struct driver_launch_attribute *out)
{
    const struct op *op = node_params->ops;
    while (op && op->next)
        op = op->next;
    if (!op || op->kind != OP_KERNEL)
        return 0;
    unsigned given = gpu_launch_attributes(&op->kernel, NULL, out), count = 0;
    for (unsigned i = 0; i < given; i++) {
        bool priority = out[i].id == DRIVER_LAUNCH_PRIORITY;
        if (out[i].id == DRIVER_LAUNCH_PROGRAMMATIC_SERIALIZATION ||
            (priority && node_params->priority != 0))
            continue;
        out[count++] = out[i];
    }
    if (node_params->priority != 0 && count < LAUNCH_ATTRIBUTES_MOST)
        out[count++] = (struct driver_launch_attribute){
            .id = DRIVER_LAUNCH_PRIORITY,
            .number = clamp_priority(gpu->driver, node_params->priority),
        };
    return count;
}

// --- All operations ---------------------------------------------------------

int gpu_op_pieces(struct context *context, const struct op *op,
                  int (*visit)(struct piece *, void *), void *argument)
{
    struct piece piece;
    piece.op = op;
    switch (op->kind) {
    case OP_KERNEL:
        return kernel_piece(&piece, visit, argument);
    case OP_COPY:
        return copy_pieces(context, &piece, visit, argument);
    case OP_FILL:
        return fill_pieces(&piece, visit, argument);
    case OP_MEMORY_OPS:
        return value_pieces(context, &piece, visit, argument);
    default:
        return 0;
    }
}

// Lowers a graph's node to pieces.
#include "backends/cudalike/graph/host_node.h"
#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/stream/copy.h"
#include "backends/cudalike/stream/lowering.h"
#include "backends/cudalike/stream/stream.h"

int gpu_rest_pieces(const struct host_work *work, const struct op *op,
                    int (*visit)(struct piece *, void *), void *argument)
{
    struct op rest = *op;
    rest.copy = host_work_rest(work, &op->copy);
    return gpu_op_pieces(work->step->plan->context, &rest, visit, argument);
}

// Returns the host's work in the op of that number, or NULL.
static const struct host_work *work_of(const struct step *step, uint32_t op)
{
    const struct host_work *work = step->by_host ? step->plan->host_works
                                                 : NULL;
    while (work && (work->step != step || work->op != op))
        work = work->next;
    return work;
}

bool gpu_step_can_have(const struct step *step,
                       const struct node_params *node_params)
{
    const struct op *op = node_params->ops, *old = step->node_params->ops;
    bool can = true;
    for (uint32_t i = 0; can && op && old; i++) {
        const struct host_work *work = work_of(step, i);
        enum host_part part = gpu_host_part(step->plan->context, op);
        bool stages = part == HOST_READS || part == HOST_WRITES;
        can = part == (work ? work->part : HOST_NOTHING) &&
              (op->kind != OP_FILL ||
               gpu_fill_forms(op) == gpu_fill_forms(old)) &&
              (!step->early || gpu_can_be_early(op)) &&
              (!stages || work->size == packed_size(&op->copy));
        op = op->next;
        old = old->next;
    }
    return can && !op && !old;
}

int gpu_step_pieces(const struct step *step,
                    const struct node_params *node_params,
                    int (*visit)(struct piece *, void *), void *argument)
{
    uint32_t index = 0;
    int code = 0;
    for (const struct op *op = node_params->ops; op && code == 0;
         op = op->next) {
        const struct host_work *work = work_of(step, index++);
        if (!work)
            code = gpu_op_pieces(step->plan->context, op, visit, argument);
        else if (work->part != HOST_COPIES)
            code = gpu_rest_pieces(work, op, visit, argument);
    }
    return code;
}

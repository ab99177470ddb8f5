// Counts the steps and slots that a plan needs for a node and its inner nodes.
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/graph/plan.h"

uint32_t gpu_steps_in(const struct graph *graph)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->count; i++)
        count += gpu_steps_of(&graph->nodes[i]);
    return count;
}

uint32_t gpu_steps_of(const struct node *node)
{
    uint32_t count = node->kind != 0;
    const struct graph *inner = node->kind ? node->inner : NULL;
    for (; inner; inner = inner->sibling)
        count += gpu_steps_in(inner);
    return count;
}

// An upper bound: one slot for an event or a function, and one for each copy.
uint32_t gpu_slots_of(const struct node *node)
{
    if (!node->kind)
        return 0;
    uint32_t count = 1;
    const struct op *op = node->node_params ? node->node_params->ops : NULL;
    for (; op; op = op->next)
        count++;
    for (const struct graph *inner = node->inner; inner;
         inner = inner->sibling)
        for (uint32_t i = 0; i < inner->count; i++)
            count += gpu_slots_of(&inner->nodes[i]);
    return count;
}

// A disabled memset makes the second launch fail, hang or write to wrong
// places, whatever follows in the graph (CUDA driver 580.159).
bool gpu_step_switches(const struct step *step)
{
    return step->kind != RNL_NODE_FILL &&
           call_of(gpu_of(step->plan->context))->exec_set_enabled;
}

// Bodies of IF, WHILE and SWITCH as parts of a plan.
#include "backends/cpu/scheduler/graph_plan.h"

const struct step *branch_decide(const struct plan *plan,
                                 const struct step *step)
{
    return step->kind == STEP_LEAVE ? &plan->steps[step->target] : step;
}

uint32_t branch_choose(const struct plan *plan, const struct step *step)
{
    const struct step *decide = branch_decide(plan, step);
    if (atomic_load_explicit(&plan->failed, memory_order_relaxed) ||
        (step->kind == STEP_LEAVE && decide->decides != RNL_NODE_WHILE))
        return decide->target;
    uint32_t word =
        __atomic_load_n(decide->node_params->word, __ATOMIC_ACQUIRE);
    uint32_t body = decide->decides == RNL_NODE_SWITCH ? word : word == 0;
    return body < decide->end - decide->first
               ? plan->followers[decide->first + body]
               : decide->target;
}

void branch_rearm(struct plan *plan, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        atomic_store_explicit(&plan->left[i], 0, memory_order_relaxed);
    for (uint32_t i = first; i <= last; i++) {
        const struct step *step = &plan->steps[i];
        for (uint32_t k = step->first; k < step->end; k++)
            atomic_fetch_add_explicit(&plan->left[plan->followers[k]], 1,
                                      memory_order_relaxed);
    }
}

uint32_t branch_size(const struct plan *plan, const struct step *decide,
                     uint32_t to)
{
    if (to == decide->target)
        return 0;
    uint32_t k = decide->first;
    while (plan->followers[k] != to)
        k++;
    uint32_t next =
        k + 1 < decide->end ? plan->followers[k + 1] : decide->target;
    return next - to;
}

uint32_t branch_ahead(const struct plan *plan, uint32_t i)
{
    const struct step *step = &plan->steps[i];
    bool left = step->kind == STEP_LEAVE && step->target < plan->next;
    return left ? plan->steps[step->target].target : i + 1;
}

void branch_count_rest(struct plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = plan->next; plan->branches && i < plan->count; i++)
        atomic_store_explicit(&plan->left[i], 0, memory_order_relaxed);
    for (uint32_t i = plan->next; i < plan->count; i = branch_ahead(plan, i)) {
        count++;
        for (uint32_t k = plan->steps[i].first; k < plan->steps[i].end; k++)
            atomic_fetch_add_explicit(&plan->left[plan->followers[k]], 1,
                                      memory_order_relaxed);
    }
    plan->unfinished = count;
}

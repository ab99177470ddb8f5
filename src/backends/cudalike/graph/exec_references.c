// Keeps node_params that launches under way may use, after their graph was
// changed or released.
#include "backends/cudalike/driver/worker_threads.h"
#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/timeline/timeline.h"
#include "core/graph/node_params.h"

struct node_params_list {
    struct retired entry;
    size_t count, most;
    struct node_params *items[];  // shared
};

struct node_params_list *recipes_new(size_t most)
{
    struct node_params_list *node_params_list = mem_allocate(
        sizeof *node_params_list + most * sizeof *node_params_list->items);
    if (node_params_list)
        node_params_list->most = most;
    return node_params_list;
}

void recipes_add(struct node_params_list *node_params_list,
                 struct node_params *shared)
{
    node_params_list->items[node_params_list->count++] = shared;
}

void recipes_drop(struct node_params_list *node_params_list)
{
    for (size_t i = 0; i < node_params_list->count; i++)
        node_params_unref(node_params_list->items[i]);
    mem_release(node_params_list,
                sizeof *node_params_list +
                    node_params_list->most * sizeof *node_params_list->items);
}

static void drop(struct task *task)
{
    recipes_drop((struct node_params_list *)task);
}

// The reaper drops the list, because that may free memory by a driver call that
// waits for the device.
static void end(struct task *task)
{
    reaper_give(task, drop);
}

void recipes_drop_behind(struct node_params_list *node_params_list,
                         struct point last)
{
    if (!point_is_reached(last))
        timeline_retire(last.timeline, last.value, &node_params_list->entry,
                        end);
    else
        recipes_drop(node_params_list);
}

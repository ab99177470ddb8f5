// Keeps node_params that launches under way may use, after their graph was
// changed or released.
#include "backends/cudalike/driver/worker_threads.h"
#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/reaper.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/timeline/timeline.h"
#include "core/graph/node_params.h"

struct exec_references {
    struct retired entry;
    size_t count, most;
    struct node_params *items[];  // shared
};

struct exec_references *exec_references_new(size_t most)
{
    struct exec_references *references = mem_allocate(
        sizeof *references + most * sizeof *references->items);
    if (references)
        references->most = most;
    return references;
}

void exec_references_add(struct exec_references *references,
                         struct node_params *shared)
{
    references->items[references->count++] = shared;
}

void exec_references_drop(struct exec_references *references)
{
    for (size_t i = 0; i < references->count; i++)
        node_params_unref(references->items[i]);
    mem_release(references,
                sizeof *references +
                    references->most * sizeof *references->items);
}

static void drop(struct task *task)
{
    exec_references_drop((struct exec_references *)task);
}

// The reaper drops the list, because that may free memory by a driver call that
// waits for the device.
static void end(struct task *task)
{
    reaper_give(task, drop);
}

void exec_references_retire(struct exec_references *references,
                            struct point last)
{
    if (!point_is_reached(last))
        timeline_retire(last.timeline, last.value, &references->entry, end);
    else
        exec_references_drop(references);
}

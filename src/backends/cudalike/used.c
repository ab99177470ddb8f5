// Recipes that launches under way may use, though their graph has others by
// now or is gone.
#include "backends/cudalike/plan.h"
#include "backends/cudalike/retire.h"
#include "core/graph/node_params.h"

struct recipes {
    struct retired entry;
    size_t count, most;
    struct recipe *items[];  // shared
};

struct recipes *recipes_new(size_t most)
{
    struct recipes *recipes =
        mem_allocate(sizeof *recipes + most * sizeof *recipes->items);
    if (recipes)
        recipes->most = most;
    return recipes;
}

void recipes_add(struct recipes *recipes, struct recipe *shared)
{
    recipes->items[recipes->count++] = shared;
}

void recipes_drop(struct recipes *recipes)
{
    for (size_t i = 0; i < recipes->count; i++)
        recipe_drop(recipes->items[i]);
    mem_release(recipes,
                sizeof *recipes + recipes->most * sizeof *recipes->items);
}

static void drop(struct task *task)
{
    recipes_drop((struct recipes *)task);
}

// It may free memory by a call that waits for the device.
static void end(struct task *task)
{
    reaper_give(task, drop);
}

void recipes_drop_behind(struct recipes *recipes, struct point last)
{
    if (!point_is_reached(last))
        timeline_retire(last.timeline, last.value, &recipes->entry, end);
    else
        recipes_drop(recipes);
}

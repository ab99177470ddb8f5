// Recipes that launches under way may use, though their graph has others by
// now or is gone.
#include "backends/cudalike/plan.h"

struct recipes {
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

static void drop_trashed(struct gpu_context *gpu, void *subject)
{
    (void)gpu;
    recipes_drop(subject);
}

bool recipes_drop_behind(struct context *context, struct recipes *recipes,
                         struct point last)
{
    return trash_add(context, drop_trashed, recipes, last);
}

// For growth.sh: each call of growth.h, a number of times and then a multiple
// of it. `runnel-growth --list` names them, with the power of the number that
// their instructions may follow.
#include "../growth.h"

#include <stdio.h>
#include <string.h>

static void run(growth *with, const growth_call *call)
{
    growth_run(with, call, call->count);
    growth_run(with, call, GROWTH_FACTOR * call->count);
}

static void list(const growth_call *call)
{
    printf("%s %.2f\n", call->name, call->most ? call->most : GROWTH_MOST);
}

// NULL: all.
static bool each(growth *with, const char *name)
{
    bool found = false;
    for (size_t i = 0; growth_lists[i]; i++)
        for (size_t k = 0; k < growth_lists[i]->count; k++) {
            const growth_call *call = &growth_lists[i]->calls[k];
            if (name && strcmp(name, call->name) != 0)
                continue;
            found = true;
            if (with)
                run(with, call);
            else
                list(call);
        }
    return found;
}

int main(int count, char **arguments)
{
    static growth with;
    if (count == 2 && strcmp(arguments[1], "--list") == 0)
        return !each(NULL, NULL);
    bool found = growth_open(&with) &&
                 each(&with, count > 1 ? arguments[1] : NULL);
    if (with.status)
        fprintf(stderr, "%s: %s\n", arguments[0], rnl_last_error()->message);
    growth_close(&with);
    return with.status || !found;
}

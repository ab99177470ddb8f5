#include "base/base.h"
#include "option_table.h"

#include <string.h>

// Takes the value of "--name=value", or the next word. False, with a problem,
// where there is none.
static bool read_value(const char *option, const char *rest, const char *next,
                       struct option_value *read, struct text *problem)
{
    bool is_next = option_takes_next(read->rule, rest, next);
    read->value = is_next ? next : rest[0] ? rest + (rest[0] == '=') : NULL;
    // "-D X" may be one word.
    if (read->value && !is_next)
        read->value += strspn(read->value, " ");
    if (read->rule->takes == TAKES_VALUE && !read->value)
        text_format(problem, "'%s' needs a value", option);
    return problem->size == 0;
}

static void read_switch(const char *option, struct option_value *read,
                        struct text *problem)
{
    const char *value = read->value ? read->value : "true";
    read->on = strcmp(value, "true") == 0;
    if (!read->on && strcmp(value, "false") != 0)
        text_format(problem, "'%s': it takes true or false", option);
}

bool option_read(const struct list *words, size_t *i,
                 struct option_value *out_read, struct text *problem)
{
    const char *rest, *option = words->items[*i];
    const char *next = *i + 1 < words->count ? words->items[*i + 1] : NULL;
    *out_read = (struct option_value){.rule = option_find(option, &rest)};
    if (!out_read->rule)
        text_format(problem, "'%s' is no option of the kernel compiler: %s",
                    option, option_advice(option));
    else if (out_read->rule->takes == TAKES_NOTHING && rest[0])
        text_format(problem, "'%s': it takes no value", option);
    else if (read_value(option, rest, next, out_read, problem) &&
             out_read->rule->takes == TAKES_SWITCH)
        read_switch(option, out_read, problem);
    if (problem->size != 0)
        return false;
    out_read->row = (size_t)(out_read->rule - option_rules);
    *i += option_takes_next(out_read->rule, rest, next);
    return true;
}

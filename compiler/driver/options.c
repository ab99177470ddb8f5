// Handlers of the options in option_table.h.
#include "driver/driver.h"
#include "option_table.h"

#include <stdlib.h>
#include <string.h>

// Arguments of a handler: the result, the option as written, and its value.
struct given {
    struct choices *choices;
    const char *option;
    const char *value;  // NULL for those that take none
    bool on;            // of a switch
    struct list *notes;
    struct text *problem;
};

// --- Handlers ----------------------------------------------------------------

static void set_define(struct given *given)
{
    list_format(&given->choices->macros, "D%s", given->value);
}

static void set_undefine(struct given *given)
{
    list_format(&given->choices->macros, "U%s", given->value);
}

static void set_folder(struct given *given)
{
    list_add(&given->choices->folders, given->value);
}

static void set_include(struct given *given)
{
    list_add(&given->choices->includes, given->value);
}

// The prelude needs C++17: older ones are widened.
static void set_standard(struct given *given)
{
    static const char *const standards[][2] = {
        {"c++03", "-std=c++17"},   {"c++11", "-std=c++17"},
        {"c++14", "-std=c++17"},   {"c++17", "-std=c++17"},
        {"c++20", "-std=c++20"},   {"c++23", "-std=c++2b"},
        {"gnu++17", "-std=gnu++17"}, {"gnu++20", "-std=gnu++20"}};
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++)
        if (strcmp(given->value, standards[i][0]) == 0) {
            given->choices->standard = standards[i][1];
            return;
        }
    text_format(given->problem,
                "'%s' is no language: --std takes c++03, c++11, c++14, c++17, "
                "c++20, c++23, gnu++17 or gnu++20", given->value);
}

// A source that brings its own std::initializer_list.
static void set_lists(struct given *given)
{
    if (!given->on)
        list_add(&given->choices->passed, "-DRNL_NO_LIST");
}

static void set_fast(struct given *given)
{
    given->choices->flush = true;
    given->choices->contract = true;
    given->choices->precise_division = false;
    given->choices->approximate = true;
}

static void set_flush(struct given *given)
{
    given->choices->flush = given->on;
}

static void set_contract(struct given *given)
{
    given->choices->contract = given->on;
}

static void set_division(struct given *given)
{
    given->choices->precise_division = given->on;
}

static void set_debug(struct given *given)
{
    given->choices->debug = true;
}

static void set_line_info(struct given *given)
{
    given->choices->line_info = true;
}

static void set_no_warnings(struct given *given)
{
    given->choices->no_warnings = true;
}

static void set_default_device(struct given *given)
{
    given->choices->default_device = true;
}

static void set_tier(struct given *given)
{
    static const char *const tiers[] = {"auto", "B", "B-or-F", "F"};
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
        if (strcmp(given->value, tiers[i]) == 0) {
            given->choices->tier = tiers[i];
            return;
        }
    text_format(given->problem, "--tier takes auto, F, B or B-or-F, not '%s'",
                given->value);
}

// "256", "16x16" or "8x8x4". False for anything else.
static bool read_size(const char *text, unsigned size[3])
{
    enum { THREADS_MOST = 1024 };
    for (unsigned i = 0; i < 3; i++)
        size[i] = 1;
    for (unsigned i = 0; i < 3; i++) {
        char *end;
        unsigned long number = strtoul(text, &end, 10);
        if (text[0] < '1' || text[0] > '9' || number > THREADS_MOST)
            return false;
        size[i] = (unsigned)number;
        if (!*end)
            return size[0] * size[1] * size[2] <= THREADS_MOST;
        if (*end != 'x')
            return false;
        text = end + 1;
    }
    return false;
}

static void set_block_size(struct given *given)
{
    if (!read_size(given->value, given->choices->block_size))
        text_format(given->problem,
                    "--block-size takes threads as 256, 16x16 or 8x8x4, 1024 "
                    "at most, not '%s'", given->value);
}

static void set_only(struct given *given)
{
    given->choices->only = given->value;
}

static void set_target(struct given *given)
{
    if (given->value[0] == 0 || given->value[0] == '-')
        text_add(given->problem, "--target needs the name of a processor");
    given->choices->target = given->value;
}

static void set_report(struct given *given)
{
    given->choices->report_tiers = true;
}

static void pass_on(struct given *given)
{
    list_add(&given->choices->passed, given->option);
}

static void ignore(struct given *given)
{
    (void)given;
}

static void note(struct given *given)
{
    list_format(given->notes, "'%s' has no meaning on a CPU and is ignored",
                given->option);
}

static void refuse_form(struct given *given)
{
    text_format(given->problem,
                "'%s' asks for another kind of output than a cpu object",
                given->option);
}

// By the numbers of the rows of option_table.h.
static void (*const acts[])(struct given *given) = {
#define OPTION_ACT(name, other, takes, owner, act) act,
    OPTION_TABLE(OPTION_ACT)
#undef OPTION_ACT
};

// --- Reading -----------------------------------------------------------------

// Takes the value of "--name=value", or the next word. False, with a problem,
// where there is none.
static bool read_value(struct given *given, const struct option_rule *rule,
                       const char *rest, const char *next)
{
    bool is_next = option_takes_next(rule, rest, next);
    given->value = is_next ? next : rest[0] ? rest + (rest[0] == '=') : NULL;
    // "-D X" may be one word.
    if (given->value && !is_next)
        given->value += strspn(given->value, " ");
    if (rule->takes == TAKES_VALUE && !given->value)
        text_format(given->problem, "'%s' needs a value", given->option);
    return given->problem->size == 0;
}

static void read_switch(struct given *given)
{
    const char *value = given->value ? given->value : "true";
    given->on = strcmp(value, "true") == 0;
    if (!given->on && strcmp(value, "false") != 0)
        text_format(given->problem, "'%s': it takes true or false",
                    given->option);
}

static bool read_one(const struct list *words, size_t *i,
                     struct given *given)
{
    const char *rest;
    const char *next = *i + 1 < words->count ? words->items[*i + 1] : NULL;
    const struct option_rule *rule = option_find(given->option, &rest);
    if (!rule)
        text_format(given->problem,
                    "'%s' is no option of the kernel compiler: %s",
                    given->option, option_advice(given->option));
    else if (rule->takes == TAKES_NOTHING && rest[0])
        text_format(given->problem, "'%s': it takes no value", given->option);
    else if (read_value(given, rule, rest, next) &&
             rule->takes == TAKES_SWITCH)
        read_switch(given);
    if (given->problem->size != 0)
        return false;
    *i += option_takes_next(rule, rest, next);
    acts[rule - option_rules](given);
    return given->problem->size == 0;
}

const char *compiler_target(void)
{
    const char *target = secure_getenv("RUNNEL_CPU_TARGET");
    return target && *target ? target : "native";
}

bool choices_read(const struct list *words, struct choices *choices,
                  struct list *notes, struct text *problem)
{
    *choices = (struct choices){
        .standard = "-std=c++17", .tier = "auto", .target = compiler_target(),
        .contract = true, .precise_division = true};
    for (size_t i = 0; i < words->count; i++) {
        struct given given = {.choices = choices, .option = words->items[i],
                              .notes = notes, .problem = problem};
        if (!read_one(words, &i, &given))
            return false;
    }
    if (choices->debug && strcmp(choices->tier, "B") == 0)
        text_add(problem, "--tier=B cannot be debugged: leave out -G");
    if (choices->only && (!choices->block_size[0] ||
                          strcmp(choices->tier, "B") != 0))
        text_add(problem, "--only-kernel needs --tier=B and --block-size");
    return problem->size == 0;
}

void choices_free(struct choices *choices)
{
    list_free(&choices->folders);
    list_free(&choices->includes);
    list_free(&choices->macros);
    list_free(&choices->passed);
}

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

static void set_report_includes(struct given *given)
{
    given->choices->report_includes = true;
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

static bool read_one(const struct list *words, size_t *i,
                     struct given *given)
{
    struct option_value read;
    given->option = words->items[*i];
    if (!option_read(words, i, &read, given->problem))
        return false;
    given->value = read.value;
    given->on = read.on;
    acts[read.row](given);
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
        struct given given = {.choices = choices, .notes = notes,
                              .problem = problem};
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

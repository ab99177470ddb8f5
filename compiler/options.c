// NVRTC's options, and Runnel's own: one table says what each takes and does.
#include "cc.h"

#include <stdlib.h>
#include <string.h>

// What a handler is given: where to write, the option as it was written, and
// its value.
struct given {
    struct choices *choices;
    const char *option;
    const char *value;  // NULL for those that take none
    bool on;            // of a switch
    struct list *notes;
    struct text *problem;
};

enum takes {
    NOTHING,
    VALUE,   // --name=VALUE, or the next word
    SWITCH,  // --name=true or false; alone it means true
    ENDING,  // the name is how the option begins
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

static void set_int128(struct given *given)
{
    given->choices->int128 = true;
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
    if (given->value[0] == 0)
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

// --- The table ---------------------------------------------------------------

static const struct rule {
    const char *name, *other;  // other spelling, or NULL
    enum takes takes;
    void (*act)(struct given *given);
} rules[] = {
    // Runnel's own.
    {"--tier", NULL, VALUE, set_tier},
    {"--target", NULL, VALUE, set_target},
    {"--report-tiers", NULL, NOTHING, set_report},
    {"--block-size", NULL, VALUE, set_block_size},
    {"--only-kernel", NULL, VALUE, set_only},
    // The preprocessor and the language.
    {"--define-macro", "-D", VALUE, set_define},
    {"--undefine-macro", "-U", VALUE, set_undefine},
    {"--include-path", "-I", VALUE, set_folder},
    {"--pre-include", "-include", VALUE, set_include},
    {"--std", "-std", VALUE, set_standard},
    {"--disable-warnings", "-w", NOTHING, set_no_warnings},
    // Arithmetic. Square roots are exact at no cost.
    {"--use_fast_math", "-use_fast_math", NOTHING, set_fast},
    {"--ftz", "-ftz", SWITCH, set_flush},
    {"--fmad", "-fmad", SWITCH, set_contract},
    {"--prec-div", "-prec-div", SWITCH, set_division},
    {"--prec-sqrt", "-prec-sqrt", SWITCH, ignore},
    // Debugging.
    {"--device-debug", "-G", NOTHING, set_debug},
    {"-g", NULL, NOTHING, set_debug},
    {"--generate-line-info", "-lineinfo", NOTHING, set_line_info},
    {"--lineinfo", NULL, NOTHING, set_line_info},
    // What holds here anyway, or changes nothing that can be seen.
    {"--gpu-architecture", "-arch", VALUE, ignore},
    {"--gpu-code", "-code", VALUE, ignore},
    {"--device-as-default-execution-space", "-default-device", NOTHING,
     set_default_device},
    {"--device-int128", "-device-int128", NOTHING, set_int128},
    {"--builtin-initializer-list", "-builtin-initializer-list", SWITCH,
     set_lists},
    {"--device-float128", "-device-float128", NOTHING, ignore},
    {"--relocatable-device-code", "-rdc", SWITCH, ignore},
    {"--device-c", "-dc", NOTHING, ignore},
    {"--device-w", "-dw", NOTHING, ignore},
    {"--extensible-whole-program", "-ewp", NOTHING, ignore},
    {"--extra-device-vectorization", "-extra-device-vectorization", NOTHING,
     ignore},
    {"--restrict", "-restrict", NOTHING, ignore},
    {"--dopt", "-dopt", VALUE, ignore},
    {"--Ofast-compile", "-Ofc", VALUE, ignore},
    {"--split-compile", "-split-compile", VALUE, ignore},
    {"--minimal", "-minimal", NOTHING, ignore},
    {"--no-cache", "-no-cache", NOTHING, ignore},
    {"--frandom-seed", "-frandom-seed", VALUE, ignore},
    {"--no-source-include", "-no-source-include", NOTHING, ignore},
    {"--modify-stack-limit", "-modify-stack-limit", SWITCH, ignore},
    {"--builtin-move-forward", "-builtin-move-forward", SWITCH, ignore},
    {"--pch", "-pch", NOTHING, ignore},
    {"--create-pch", "-create-pch", VALUE, ignore},
    {"--use-pch", "-use-pch", VALUE, ignore},
    {"--pch-dir", "-pch-dir", VALUE, ignore},
    {"--pch-verbose", "-pch-verbose", SWITCH, ignore},
    {"--pch-messages", "-pch-messages", SWITCH, ignore},
    {"--instantiate-templates-in-pch", "-instantiate-templates-in-pch", SWITCH,
     ignore},
    {"--optimization-info", "-opt-info", VALUE, ignore},
    {"--display-error-number", "-err-no", NOTHING, ignore},
    {"--no-display-error-number", "-no-err-no", NOTHING, ignore},
    {"--diag-error", "-diag-error", VALUE, ignore},
    {"--diag-suppress", "-diag-suppress", VALUE, ignore},
    {"--diag-warn", "-diag-warn", VALUE, ignore},
    {"--brief-diagnostics", "-brief-diag", SWITCH, ignore},
    {"--time", "-time", VALUE, ignore},
    {"--fdevice-time-trace", "-fdevice-time-trace", VALUE, ignore},
    {"--version-ident", "-dQ", SWITCH, ignore},
    // What asks for something that a CPU does not have.
    {"--maxrregcount", "-maxrregcount", VALUE, note},
    {"--ptxas-options", "-Xptxas", VALUE, note},
    {"--jump-table-density", "-jtd", VALUE, note},
    {"--device-stack-protector", "-device-stack-protector", SWITCH, note},
    // What a cpu object cannot be.
    {"--dlink-time-opt", "-dlto", NOTHING, refuse_form},
    {"--gen-opt-lto", "-gen-opt-lto", NOTHING, refuse_form},
    {"--optix-ir", "-optix-ir", NOTHING, refuse_form},
    {"--fdevice-syntax-only", "-fdevice-syntax-only", NOTHING, refuse_form},
    // The C++ compiler's own, last, because others begin in the same way.
    {"-W", "-f", ENDING, pass_on},
};

// --- Reading -----------------------------------------------------------------

// What follows the name in an option of that name, or NULL.
static const char *behind_name(const struct rule *rule, const char *name,
                               const char *option)
{
    size_t size = name ? strlen(name) : 0;
    if (!name || strncmp(option, name, size) != 0)
        return NULL;
    // Short ones take their value without a space: -DX, -Ifolder.
    bool joined = rule->takes == ENDING || (rule->takes == VALUE && size == 2);
    return joined || option[size] == 0 || option[size] == '=' ? option + size
                                                              : NULL;
}

static const struct rule *find_rule(const char *option, const char **rest)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((*rest = behind_name(&rules[i], rules[i].name, option)) ||
            (*rest = behind_name(&rules[i], rules[i].other, option)))
            return &rules[i];
    return NULL;
}

// "--name=value" has its value, else it is the next word. False, with a
// problem, where there is none.
static bool read_value(struct given *given, const char *rest,
                       const struct list *words, size_t *i)
{
    if (rest[0])
        given->value = rest + (rest[0] == '=');
    else if (*i + 1 < words->count)
        given->value = words->items[++*i];
    else
        text_format(given->problem, "'%s' needs a value", given->option);
    return given->value;
}

static bool is_truth(const char *word)
{
    return strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
}

static bool read_switch(struct given *given, const char *rest,
                        const struct list *words, size_t *i)
{
    given->on = true;
    if (rest[0] == '=')
        given->value = rest + 1;
    else if (*i + 1 < words->count && is_truth(words->items[*i + 1]))
        given->value = words->items[++*i];
    if (!given->value)
        return true;
    given->on = strcmp(given->value, "true") == 0;
    if (!is_truth(given->value))
        text_format(given->problem, "'%s': it takes true or false",
                    given->option);
    return given->problem->size == 0;
}

static bool read_one(const struct list *words, size_t *i,
                     struct given *given)
{
    const char *rest;
    const struct rule *rule = find_rule(given->option, &rest);
    bool read = rule != NULL;
    if (!rule)
        text_format(given->problem, "'%s' is no option of the kernel compiler",
                    given->option);
    else if (rule->takes == VALUE)
        read = read_value(given, rest, words, i);
    else if (rule->takes == SWITCH)
        read = read_switch(given, rest, words, i);
    else if (rule->takes == NOTHING && rest[0])
        text_format(given->problem, "'%s': it takes no value", given->option);
    if (read && given->problem->size == 0)
        rule->act(given);
    return given->problem->size == 0;
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

// NVRTC's options as clang's, which hiprtc takes.
#include "hip/hip.h"
#include "option_table.h"

#include <string.h>

struct standard {
    const char *given, *word;
};

// The prelude needs C++17.
static const char *standard_word(const char *given)
{
    static const struct standard standards[] = {
        {"c++03", "-std=c++17"},     {"c++11", "-std=c++17"},
        {"c++14", "-std=c++17"},     {"c++17", "-std=c++17"},
        {"c++20", "-std=c++20"},     {"c++23", "-std=c++2b"},
        {"gnu++17", "-std=gnu++17"}, {"gnu++20", "-std=gnu++20"},
    };
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++)
        if (strcmp(standards[i].given, given) == 0)
            return standards[i].word;
    return NULL;
}

// An option that becomes another word: with its value behind, or if a switch
// is on or off.
struct translation {
    const char *option, *word, *off;
};

static const struct translation translations[] = {
    {"--define-macro", "-D", NULL},
    {"--undefine-macro", "-U", NULL},
    {"--include-path", "-I", NULL},
    {"--disable-warnings", "-w", NULL},
    {"--use_fast_math", "-ffast-math", NULL},
    {"--ftz", "-fgpu-flush-denormals-to-zero",
     "-fno-gpu-flush-denormals-to-zero"},
    {"--fmad", "-ffp-contract=fast", "-ffp-contract=off"},
    {"--prec-div", "-fhip-fp32-correctly-rounded-divide-sqrt",
     "-fno-hip-fp32-correctly-rounded-divide-sqrt"},
    {"--device-debug", "-g", NULL},
    {"--generate-line-info", "-gline-tables-only", NULL},
};

static void translate(const struct option_value *read,
                      struct hip_choices *choices)
{
    for (size_t i = 0; i < sizeof translations / sizeof *translations; i++) {
        const struct translation *row = &translations[i];
        if (strcmp(row->option, read->rule->name) != 0)
            continue;
        bool value = read->rule->takes == TAKES_VALUE;
        bool off = read->rule->takes == TAKES_SWITCH && !read->on;
        list_format(&choices->words, "%s%s", off ? row->off : row->word,
                    value ? read->value : "");
    }
}

static void take(const struct option_value *read, struct hip_choices *choices,
                 struct text *problem)
{
    const char *name = read->rule->name;
    if (read->rule->owner != OF_NVRTC) {
        text_format(problem, "'%s' means nothing on an AMD GPU", name);
    } else if (strcmp(name, "--std") == 0) {
        const char *word = standard_word(read->value);
        if (word)
            list_add(&choices->words, word);
        else
            text_format(problem,
                        "'%s' is no language: --std takes c++03, c++11, "
                        "c++14, c++17, c++20, c++23, gnu++17 or gnu++20",
                        read->value);
    } else if (strcmp(name, "--pre-include") == 0) {
        list_add(&choices->includes, read->value);
    } else if (strcmp(name, "--device-as-default-execution-space") == 0) {
        choices->default_device = true;
    } else {
        choices->opens_files |= strcmp(name, "--include-path") == 0;
        translate(read, choices);
    }
}

bool hip_choices_read(const struct hip_job *job, struct hip_choices *choices,
                      struct text *problem)
{
    list_format(&choices->words, "--gpu-architecture=%s", job->arch);
    list_add(&choices->words, "-std=c++17");
    for (size_t i = 0; i < job->options.count && problem->size == 0; i++) {
        struct option_value read;
        if (option_read(&job->options, &i, &read, problem))
            take(&read, choices, problem);
    }
    return problem->size == 0;
}

void hip_choices_free(struct hip_choices *choices)
{
    list_free(&choices->words);
    list_free(&choices->includes);
}

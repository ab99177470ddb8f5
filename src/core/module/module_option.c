// The compiler options of a module, which are an allow list.
#include "compiler/option_table.h"
#include "core/backend.h"
#include "core/module/source.h"

static rnl_status refuse(const char *option, const char *why,
                         const char *advice)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.options",
                   "a compiler option is wrong: '%s' %s: %s", option, why,
                   advice);
}

static rnl_status check_rule(const char *option, const struct option_rule *rule,
                             const struct backend *backend)
{
    if (!rule)
        return refuse(option, "is no option of the kernel compiler",
                      option_advice(option));
    if (rule->owner == OF_CPU && backend->accelerator)
        return refuse(option, "is for cpu contexts only",
                      "leave it out on a GPU");
    if (rule->owner == OF_OUTPUT)
        return refuse(option, "asks for what no module can be loaded from",
                      "leave it out");
    return RNL_OK;
}

rnl_status source_check_options(const struct source *source,
                                const struct backend *backend)
{
    const rnl_module_options *options = source->options;
    rnl_status status = RNL_OK;
    for (size_t i = 0; status == RNL_OK && i < options->option_count; i++) {
        const char *option = options->options[i], *rest;
        const char *next = i + 1 < options->option_count
                               ? options->options[i + 1] : NULL;
        const struct option_rule *rule = option_find(option, &rest);
        status = check_rule(option, rule, backend);
        if (status == RNL_OK && option_takes_next(rule, rest, next))
            i++;
    }
    return status;
}

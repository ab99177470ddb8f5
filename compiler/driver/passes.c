// Passes of the SIMT compiler by their names: --list-passes, --skip-pass and
// --dump-after.
#include "driver/driver.h"

#include <stdio.h>
#include <string.h>

int passes_print(void)
{
    const struct simt_pass *pass;
    for (size_t i = 0; (pass = simt_pass_at(i)); i++)
        printf("%s%s\n    %s: %s\n", pass->name,
               pass->needed ? " (needed)" : "", pass->when, pass->purpose);
    return ferror(stdout) ? CC_FILE : CC_OK;
}

static const struct simt_pass *find(const char *name)
{
    size_t i = 0;
    while (simt_pass_at(i) && strcmp(simt_pass_at(i)->name, name) != 0)
        i++;
    return simt_pass_at(i);
}

static int check_skip(const char *name)
{
    const struct simt_pass *pass = find(name);
    if (!pass)
        return report(CC_OPTION, "--skip-pass: there is no pass '%s'; see "
                      "runnel-cc --list-passes", name);
    if (!pass->needed)
        return CC_OK;
    struct text sentence = {0};
    text_format(&sentence, "%s: %s", name, pass->needed);
    int status = report(CC_OPTION, "--skip-pass: a pass that is needed cannot "
                        "be skipped: %s", sentence.data);
    text_free(&sentence);
    return status;
}

int passes_check(const struct cc_options *options)
{
    int status = CC_OK;
    for (size_t i = 0; i < options->skipped.count && status == CC_OK; i++)
        status = check_skip(options->skipped.items[i]);
    if (status != CC_OK || !options->dump_after)
        return status;
    if (!find(options->dump_after))
        return report(CC_OPTION, "--dump-after: there is no pass '%s'; see "
                      "runnel-cc --list-passes", options->dump_after);
    if (!options->dump_ir)
        return report(CC_USAGE, "%s", "--dump-after needs --dump-ir PREFIX");
    return CC_OK;
}

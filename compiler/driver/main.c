// runnel-cc: kernel source in, a cpu object out. README.md tells how.

#include "driver/driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_identity(void)
{
    struct text line = {0};
    compiler_identity(&line);
    puts(line.data);
    text_free(&line);
    return CC_OK;
}

// Reads one option with its value. False for an unknown name.
static bool take_option(struct cc_options *options, const char *name,
                        const char *value)
{
    if (strcmp(name, "--output") == 0)
        options->output = value;
    else if (strcmp(name, "--source") == 0)
        options->source = value;
    else if (strcmp(name, "--name") == 0)
        options->name = value;
    else if (strcmp(name, "--dump-assembly") == 0)
        options->dump_assembly = value;
    else if (strcmp(name, "--dump-ir") == 0)
        options->dump_ir = value;
    else if (strcmp(name, "--dump-after") == 0)
        options->dump_after = value;
    else if (strcmp(name, "--skip-pass") == 0)
        list_add(&options->skipped, value);
    else if (strcmp(name, "--option") == 0)
        list_add(&options->options, value);
    else if (strcmp(name, "--name-expression") == 0)
        list_add(&options->expressions, value);
    else if (strcmp(name, "--parent") == 0)
        options->parent = strtol(value, NULL, 10);
    else if (strcmp(name, "--header") == 0 && strchr(value, '='))
        list_add(&options->headers, value);
    else
        return false;
    return true;
}

// Takes "--dump-after=PASS" or "--skip-pass=PASS". False for another word.
static bool take_pass(struct cc_options *options, const char *word)
{
    const char *value = strchr(word, '=');
    char name[16];
    if (!value || (strncmp(word, "--dump-after=", 13) != 0 &&
                   strncmp(word, "--skip-pass=", 12) != 0))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(value - word), word);
    return take_option(options, name, value + 1);
}

static int read_options(int count, char **words, struct cc_options *options)
{
    options->source = "-";
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--debug") == 0)
            list_add(&options->options, "-G");
        else if (strcmp(words[i], "--untrusted") == 0)
            options->untrusted = true;
        else if (take_pass(options, words[i]))
            continue;
        else if (i + 1 >= count ||
                 !take_option(options, words[i], words[i + 1]))
            return report(CC_USAGE, "%s: unknown option, or its value is "
                            "missing or malformed; see runnel-cc --help",
                            words[i]);
        else
            i++;
    }
    if (!options->output)
        return report(CC_USAGE, "%s", "--output is missing");
    if (!options->name)
        options->name = strcmp(options->source, "-") == 0 ? "kernel.cu"
                                                          : options->source;
    return passes_check(options);
}

// clang and lld must depend on their command lines alone; the names of further
// inputs, such as LLD_REPRODUCE, change with the version of LLVM.
static void forget_environment(void)
{
    size_t kept = 0;
    for (size_t i = 0; environ && environ[i]; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) == 0 ||
            strncmp(environ[i], "RUNNEL_", 7) == 0)
            environ[kept++] = environ[i];
    if (environ)
        environ[kept] = NULL;
    setenv("LC_ALL", "C", 1);  // messages of the C library
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "--help") == 0)
        return fputs(cc_help, stdout) < 0;
    if (count == 2 && strcmp(words[1], "--version") == 0)
        return puts("runnel-cc " CC_VERSION) < 0;
    if (count == 2 && strcmp(words[1], "--list-passes") == 0)
        return passes_print();
    if (!sandbox_has_stack())
        return report(CC_LIMIT, "%s", "a compiler needs a stack of 1 MiB: "
                        "raise its limit (ulimit -s)");
    forget_environment();
    process_catch_signals();
    if (count == 2 && strcmp(words[1], "--identity") == 0)
        return print_identity();
    struct cc_options options = {0};
    int status = read_options(count, words, &options);
    sandbox_limit(options.untrusted ? &untrusted_limits
                                    : &trusted_limits);
    if (options.parent && !process_end_with(options.parent))
        raise(SIGTERM);
    process_die_if_signalled();
    if (status == CC_OK)
        status = job_run(&options);
    list_free(&options.options);
    list_free(&options.headers);
    list_free(&options.expressions);
    list_free(&options.skipped);
    return status;
}

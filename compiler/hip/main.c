// runnel-hip-cc: kernel source in, a code object for an AMD GPU out.
#include "hip/hip.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool take_word(struct hip_job *job, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        {"--output", &job->output}, {"--names", &job->names},
        {"--source", &job->source}, {"--name", &job->name},
        {"--library", &job->library}, {"--comgr", &job->comgr},
        {"--arch", &job->arch},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return true;
        }
    if (strcmp(name, "--option") == 0)
        list_add(&job->options, value);
    else if (strcmp(name, "--name-expression") == 0)
        list_add(&job->expressions, value);
    else if (strcmp(name, "--header") == 0 && strchr(value, '='))
        list_add(&job->headers, value);
    else if (strcmp(name, "--parent") == 0)
        job->parent = strtol(value, NULL, 10);
    else
        return false;
    return true;
}

static int read_words(int count, char **words, struct hip_job *job)
{
    for (int i = 1; i < count; i += 2)
        if (i + 1 >= count || !take_word(job, words[i], words[i + 1]))
            return report(CC_USAGE,
                          "%s: unknown option, or its value is missing or "
                          "malformed", words[i]);
    if (!job->output || !job->names || !job->source || !job->name ||
        !job->library || !job->comgr || !job->arch)
        return report(CC_USAGE, "%s", "an option is missing: --output, "
                      "--names, --source, --name, --library, --comgr, --arch");
    return CC_OK;
}

// NAME=PATH, where the name has no "=/".
static int read_header(const char *word, struct hip_source *source)
{
    const char *equal = strstr(word, "=/");
    const char *path = equal ? equal + 1 : strchr(word, '=') + 1;
    struct text name = {0}, text = {0};
    int result = CC_OK;
    text_add_bytes(&name, word, (size_t)(path - 1 - word));
    // hiprtc refuses empty headers.
    if (text_read_file(&text, path)) {
        text_add(&text, "\n");
        list_add(&source->names, name.data);
        list_add(&source->texts, text.data);
    } else {
        result = report_file("read", path);
    }
    text_free(&name);
    text_free(&text);
    return result;
}

// Puts the prelude before the user's text, whose lines keep their numbers.
static void add_prelude(const struct hip_job *job,
                        const struct hip_choices *choices,
                        const struct text *text, struct hip_source *source)
{
    struct list own = {0};
    list_add(&own, text->data);
    for (size_t i = 0; i < source->texts.count; i++)
        list_add(&own, source->texts.items[i]);
    hip_headers_ask(&own, choices->opens_files, &source->text);
    list_free(&own);
    for (size_t i = 0; i < choices->includes.count; i++)
        text_format(&source->text, "#include \"%s\"\n",
                    choices->includes.items[i]);
    if (choices->default_device)
        text_add(&source->text, "#pragma clang force_cuda_host_device begin\n");
    text_add(&source->text, "#line 1 ");
    text_add_literal(&source->text, job->name);
    text_add(&source->text, "\n");
    text_add_bytes(&source->text, text->data, text->size);
    if (choices->default_device)
        text_add(&source->text,
                 "\n#pragma clang force_cuda_host_device end\n");
    hip_headers_add(&source->names, &source->names, &source->texts);
}

static int compile(const struct hip_job *job,
                   const struct hip_choices *choices)
{
    struct hip_source source = {0};
    struct text text = {0};
    int result = CC_OK;
    if (!text_read_file(&text, job->source))
        result = report_file("read", job->source);
    for (size_t i = 0; result == CC_OK && i < job->headers.count; i++)
        result = read_header(job->headers.items[i], &source);
    if (result == CC_OK) {
        add_prelude(job, choices, &text, &source);
        result = hip_compile(job, &source, &choices->words);
    }
    text_free(&text);
    text_free(&source.text);
    list_free(&source.names);
    list_free(&source.texts);
    return result;
}

static int run(const struct hip_job *job)
{
    struct hip_choices choices = {0};
    struct text problem = {0};
    int result = CC_OK;
    if (hip_choices_read(job, &choices, &problem))
        result = compile(job, &choices);
    else
        result = report(CC_OPTION, "%s", problem.data);
    hip_choices_free(&choices);
    text_free(&problem);
    return result;
}

int main(int count, char **words)
{
    struct hip_job job = {0};
    report_program = "runnel-hip-cc";
    if (!sandbox_has_stack())
        return report(CC_LIMIT, "%s", "a compiler needs a stack of 1 MiB: "
                      "raise its limit (ulimit -s)");
    sandbox_limit(&trusted_limits);
    // comgr would write a cache to the user's home, and the environment add
    // options that Runnel's cache does not know.
    setenv("AMD_COMGR_CACHE", "0", 1);
    unsetenv("HIPRTC_COMPILE_OPTIONS_APPEND");
    unsetenv("HIPRTC_LINK_OPTIONS_APPEND");
    process_catch_signals();
    int result = read_words(count, words, &job);
    if (job.parent && !process_end_with(job.parent))
        raise(SIGTERM);
    process_die_if_signalled();
    if (result == CC_OK)
        result = run(&job);
    list_free(&job.options);
    list_free(&job.headers);
    list_free(&job.expressions);
    return result;
}

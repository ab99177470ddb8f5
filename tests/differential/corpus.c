// Runs the kernels of a corpus file on both sides, as the comments above them
// ask:
//
//   // @run int n=1024 grid=4 block=256,1,1 shared=0 ulp=0
//   // @run int n=105 block=7,5,3 more=0,-1
//   extern "C" __global__ void scale(int *out, const int *in, int n)
//
// The type comes first; grid and block count 1, shared and ulp 0 when absent.
// `more` are arguments behind n.
// `// @options WORD...` at the start of a line anywhere in the file replaces
// the options that both sides have besides their tier.
//
// usage: corpus [--first OPTION] [--second OPTION] [--second-device cuda:0]
//               [--kernel NAME] FILE...
//
// Another device has no tiers, and no code for one block size: there the second
// side has the other common options only.
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 8, NAME_SIZE = 64 };

struct corpus {
    struct side own[SIDES];  // what each has besides
    const char *only;        // this kernel, or NULL
    struct launch runs[RUNS_MAX];
    size_t run_count;
    size_t done, wrong;
};

static void stop(const char *what, const char *where)
{
    fprintf(stderr, "corpus: %s: %.70s\n", what, where);
    exit(2);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text)
        stop("cannot be read", path);
    text[fread(text, 1, (1 << 20) - 1, file)] = 0;
    fclose(file);
    return text;
}

// --- Comments --------------------------------------------------------------

static const char *after(const char *text, const char *start)
{
    size_t size = strlen(start);
    return strncmp(text, start, size) ? NULL : text + size;
}

static const char *parse_element(const char *text, enum element *element)
{
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        const char *rest = after(text, element_names[i]);
        if (rest) {
            *element = (enum element)i;
            return rest;
        }
    }
    stop("no such type", text);
    return NULL;
}

static void parse_dimensions(const char *text, rnl_dim3 *value)
{
    *value = (rnl_dim3){1, 1, 1};
    if (sscanf(text, "%u,%u,%u", &value->x, &value->y, &value->z) < 1)
        stop("dimensions expected", text);
}

static void parse_more(const char *text, struct launch *launch)
{
    int count = sscanf(text, "%d,%d", &launch->more[0], &launch->more[1]);
    if (count < 1)
        stop("arguments expected", text);
    launch->more_count = (size_t)count;
}

static void parse_word(const char *word, struct launch *launch)
{
    const char *value;
    if ((value = after(word, "n=")))
        launch->count = strtoul(value, NULL, 0);
    else if ((value = after(word, "grid=")))
        parse_dimensions(value, &launch->grid);
    else if ((value = after(word, "block=")))
        parse_dimensions(value, &launch->block);
    else if ((value = after(word, "shared=")))
        launch->shared = strtoul(value, NULL, 0);
    else if ((value = after(word, "ulp=")))
        launch->ulp = strtoul(value, NULL, 0);
    else if ((value = after(word, "more=")))
        parse_more(value, launch);
    else
        stop("no such word", word);
}

static void parse_run(const char *text, struct launch *launch)
{
    *launch = (struct launch){.grid = {1, 1, 1}, .block = {1, 1, 1}};
    char line[256], *rest;
    snprintf(line, sizeof line, "%s", parse_element(text, &launch->element));
    line[strcspn(line, "\n")] = 0;
    for (char *word = strtok_r(line, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        parse_word(word, launch);
    if (!launch->count)
        stop("n is missing", text);
}

// What both sides have in common, added to `side`. `words` keeps the text.
static void parse_options(const char *source, struct side *side,
                          char words[256])
{
    const char *line = strstr(source, "\n// @options ");
    snprintf(words, 256, "%s", line ? line + 13 : "--fmad=false");
    words[strcspn(words, "\n")] = 0;
    char *rest;
    for (char *word = strtok_r(words, " ", &rest); word && side->count < 15;
         word = strtok_r(NULL, " ", &rest))
        if (!side->device || !after(word, "--block-size="))
            side->options[side->count++] = word;
}

// --- Runs ------------------------------------------------------------------

static void run_kernel(struct corpus *corpus, struct comparison *comparison,
                       const char *line)
{
    char name[NAME_SIZE];
    if (sscanf(line, "%63[A-Za-z0-9_]", name) != 1 || !corpus->run_count)
        stop("a kernel without @run", line);
    for (size_t i = 0; i < corpus->run_count; i++) {
        if (corpus->only && strcmp(corpus->only, name))
            continue;
        corpus->done++;
        if (comparison_run(comparison, name, &corpus->runs[i]))
            continue;
        corpus->wrong++;
        printf("%s\n", comparison->verdict.message);
    }
    corpus->run_count = 0;
}

static void run_line(struct corpus *corpus, struct comparison *comparison,
                     const char *line)
{
    const char *rest;
    if ((rest = after(line, "// @run "))) {
        if (corpus->run_count == RUNS_MAX)
            stop("too many runs", line);
        parse_run(rest, &corpus->runs[corpus->run_count++]);
    } else if ((rest = after(line, "extern \"C\" __global__ void "))) {
        run_kernel(corpus, comparison, rest);
    }
}

static void run_file(struct corpus *corpus, const char *path)
{
    char *source = read_file(path);
    char words[SIDES][256];
    struct side sides[SIDES];
    for (int i = 0; i < SIDES; i++) {
        sides[i] = corpus->own[i];
        parse_options(source, &sides[i], words[i]);
    }
    struct comparison comparison;
    if (comparison_open(&comparison, source, sides)) {
        for (const char *line = source; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            run_line(corpus, &comparison, line);
        }
    } else {
        corpus->wrong++;
        printf("%s: %s\n", path, comparison.verdict.message);
    }
    comparison_close(&comparison);
    free(source);
}

static void set_option(struct side *side, const char *option)
{
    side->options[0] = option;
    side->count = option != NULL;
}

static void parse_valued(struct corpus *corpus, const char *option,
                                const char *value)
{
    if (!value)
        stop("a value is missing", option);
    if (!strcmp(option, "--first"))
        set_option(&corpus->own[0], value);
    else if (!strcmp(option, "--second"))
        set_option(&corpus->own[1], value);
    else if (!strcmp(option, "--kernel"))
        corpus->only = value;
    else if (!strcmp(option, "--second-device"))
        corpus->own[1] = (struct side){.device = value};
    else
        stop("no such option", option);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct corpus corpus = {0};
    set_option(&corpus.own[0], "--tier=F");
    set_option(&corpus.own[1], "--tier=B-or-F");
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i += 2)
        parse_valued(&corpus, argv[i], argv[i + 1]);
    comparison_prepare(corpus.own);
    for (; i < argc; i++)
        run_file(&corpus, argv[i]);
    printf("%zu runs, %zu wrong\n", corpus.done, corpus.wrong);
    return corpus.wrong || !corpus.done;
}

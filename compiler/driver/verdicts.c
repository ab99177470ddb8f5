// Reads what a child that compiles tells about kernels.

#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_kernel(struct job *job, const char *name)
{
    struct simt_verdict *grown = realloc(
        job->verdicts, (job->kernels.count + 1) * sizeof *job->verdicts);
    if (!grown)
        exit(CC_CRASHED);
    job->verdicts = grown;
    job->verdicts[job->kernels.count] = (struct simt_verdict){0};
    list_add(&job->kernels, name);
}

void overrides_add(struct job *job, const char *own)
{
    for (size_t i = 0; i < job->overrides.count; i++)
        if (strcmp(job->overrides.items[i], own) == 0)
            return;
    list_add(&job->overrides, own);
}

// Reads one line of the child: "o name declaration" for a name of the prelude
// that the source overrides, "k name" for a kernel, "r 3 why" for a kernel that
// is left to tier F, "v 3 1" for a vectorised kernel with its flags, "!
// sentence" for a failure. True for ".", the last line if there is an object.
static bool read_line(struct job *job, const char *line)
{
    unsigned kernel;
    int start = 0;
    if (line[0] == '!')
        text_add(&job->no_vectors, line + 2);
    if (line[0] == 'k')
        add_kernel(job, line + 2);
    if (line[0] == 'o')
        overrides_add(job, line + 2);
    if (strchr("ko!", line[0]) ||
        sscanf(line + 1, "%u %n", &kernel, &start) != 1 ||
        kernel >= job->kernels.count)
        return line[0] == '.';
    struct simt_verdict *verdict = &job->verdicts[kernel];
    const char *rest = line + 1 + start;
    if (line[0] == 'r') {
        free(verdict->why);
        verdict->why = strdup(rest);
    } else if (line[0] == 'v') {
        verdict->flags = (uint32_t)strtoul(rest, NULL, 10);
    }
    return false;
}

void verdicts_forget(struct job *job)
{
    for (size_t i = 0; i < job->kernels.count; i++)
        free(job->verdicts[i].why);
    free(job->verdicts);
    job->verdicts = NULL;
    list_free(&job->kernels);
}

bool verdicts_read(struct job *job, struct text *said)
{
    bool made = false;
    char *rest = said->data;
    verdicts_forget(job);
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (line[0])
            made |= read_line(job, line);
    return made;
}

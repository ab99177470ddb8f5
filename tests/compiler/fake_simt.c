// A SIMT compiler that does what FAKE_SIMT in the environment says.
#include "simt/simt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) simt_version_fn runnel_simt_version;
__attribute__((visibility("default"))) simt_prepare_fn runnel_simt_prepare;
__attribute__((visibility("default"))) simt_compile_fn runnel_simt_compile;

const char *runnel_simt_version(void)
{
    return "simt fake";
}

void runnel_simt_prepare(const struct simt_job *job)
{
    (void)job;
}

int runnel_simt_compile(const struct simt_job *job, char *message,
                        size_t message_size)
{
    const char *how = getenv("FAKE_SIMT");
    job->refused(job->user, 0, "of a reason\nin two lines");
    job->refused(job->user, 99, "there is no such kernel");
    if (how && strcmp(how, "abort") == 0)
        abort();
    if (how && strcmp(how, "fail") == 0) {
        snprintf(message, message_size, "there is a fault");
        return -1;
    }
    // An object that does nothing good: an empty file.
    FILE *file = fopen(job->object, "w");
    return file && fclose(file) == 0 ? 0 : -1;
}

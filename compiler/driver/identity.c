// The identity: a line of text that changes whenever the same source, options
// and headers give another object.

#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash(const void *bytes, size_t size)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        value = (value ^ ((const unsigned char *)bytes)[i]) *
                UINT64_C(0x100000001b3);
    return value;
}

// A hash of the processor that "native" stands for: the lines of /proc/cpuinfo
// that name the first one and its features.
static uint64_t processor_hash(void)
{
    struct text cpu = {0}, picked = {0};
    if (!text_read_file(&cpu, "/proc/cpuinfo") || !cpu.data)
        return 0;
    char *end = strstr(cpu.data, "\n\n");
    if (end)
        *end = 0;
    static const char *const wanted[] = {"vendor_id", "cpu family", "model",
                                         "flags", "Features", "CPU "};
    for (char *line = strtok(cpu.data, "\n"); line; line = strtok(NULL, "\n"))
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                text_add(&picked, line);
    uint64_t value = hash(picked.data ? picked.data : "", picked.size);
    text_free(&cpu);
    text_free(&picked);
    return value;
}

void compiler_identity(struct text *line)
{
    const char *target = compiler_target();
    text_format(line,
                "runnel-cc %s abi 1 prelude %016llx clang %s %s target %s",
                CC_VERSION,
                (unsigned long long)hash(cc_prelude, cc_prelude_size),
                clang_version(), simt_version(), target);
    if (strcmp(target, "native") == 0)
        text_format(line, ":%016llx (%s)",
                    (unsigned long long)processor_hash(), clang_processor());
}

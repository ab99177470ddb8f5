#include "machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

extern char **environ;

// The first line of `path` that has `key`, after its colon; "" without one.
static void read_line(const char *path, const char *key, char *out,
                      size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    *out = 0;
    while (file && !*out && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        const char *colon = strchr(line, ':');
        if (!*key)
            snprintf(out, size, "%.127s", line);
        else if (!strncmp(line, key, strlen(key)) && colon)
            snprintf(out, size, "%s", colon + 2);
    }
    if (file)
        fclose(file);
}

static void list_settings(char *out, size_t size)
{
    static const char *const prefixes[] = {"RUNNEL_", "OMP_", "GOMP_", "POCL_"};
    size_t used = 0;
    *out = 0;
    for (char **entry = environ; *entry; entry++) {
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
            if (strncmp(*entry, prefixes[i], strlen(prefixes[i])) ||
                used >= size)
                continue;
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used ? " " : "", *entry);
        }
    }
}

void machine_describe(bench_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    read_line("/proc/cpuinfo", "model name", machine->cpu,
              sizeof machine->cpu);
    read_line("/sys/kernel/mm/transparent_hugepage/enabled", "",
              machine->huge_pages, sizeof machine->huge_pages);
    list_settings(machine->settings, sizeof machine->settings);
#if defined(__clang__)
    snprintf(machine->compiler, sizeof machine->compiler, "clang %s",
             __clang_version__);
#else
    snprintf(machine->compiler, sizeof machine->compiler, "gcc %s",
             __VERSION__);
#endif
    struct utsname system;
    if (!uname(&system))
        snprintf(machine->kernel, sizeof machine->kernel, "%s", system.release);
    cpu_set_t cpus;
    if (!sched_getaffinity(0, sizeof cpus, &cpus))
        machine->cores = CPU_COUNT(&cpus);
    if (getloadavg(&machine->load, 1) < 1)
        machine->load = 0;
}

int machine_is_busy(const bench_machine *machine)
{
    return machine->load > 0.25 * (double)machine->cores;
}

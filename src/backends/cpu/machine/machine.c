// Facts about the machine, from the kernel and the processor.
#include "backends/cpu/machine/machine.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Reads the start of a small text file; false if the file cannot be read.
static bool read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = '\0';
    return length > 0;
}

static bool read_u64(const char *path, uint64_t *out_value)
{
    char text[64], *end;
    if (!read_file(path, text, sizeof text) || !isdigit((unsigned char)text[0]))
        return false;
    *out_value = strtoull(text, &end, 10);
    return true;
}

// --- Cores -----------------------------------------------------------------

static unsigned cores_by_affinity(void)
{
    // Large machines need a larger set; the kernel says so with EINVAL.
    for (int count = 1024; count <= 1 << 18; count *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)count);
        if (!set)
            break;
        size_t size = CPU_ALLOC_SIZE((size_t)count);
        int cores = sched_getaffinity(0, size, set) == 0
                        ? CPU_COUNT_S(size, set)
                        : 0;
        CPU_FREE(set);
        if (cores > 0)
            return (unsigned)cores;
    }
    return 1;
}

// The next enclosing group's folder, from this process's own up to the root:
// each group limits us. Start with an empty text; false past the root.
static bool next_cgroup(char *folder, size_t size)
{
    static const char root[] = "/sys/fs/cgroup";
    size_t base = sizeof root - 1;
    if (folder[0]) {
        char *slash = strrchr(folder + 1, '/');
        bool more = slash && slash >= folder + base;
        if (more)
            *slash = '\0';
        return more;
    }
    char text[1024] = "";
    read_file("/proc/self/cgroup", text, sizeof text);
    char *path = strstr(text, "0::/");
    path = path && (path == text || path[-1] == '\n') ? path + 4 : text;
    path[path == text ? 0 : strcspn(path, "\n")] = '\0';
    return snprintf(folder, size, "%s/%s", root, path) < (int)size;
}

// The quota of a group in whole cores, rounded up; 0 for no quota.
static unsigned group_quota(const char *folder)
{
    char path[1200], text[64];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_file(path, text, sizeof text) ||
        sscanf(text, "%lld %lld", &quota, &period) != 2 || quota <= 0 ||
        period <= 0)
        return 0;
    return (unsigned)((quota + period - 1) / period);
}

// The least quota that applies; 0 for no quota.
static unsigned cores_by_quota(void)
{
    char folder[1100] = "";
    unsigned least = 0;
    uint64_t v1_quota, v1_period;
    while (next_cgroup(folder, sizeof folder)) {
        unsigned quota = group_quota(folder);
        if (quota && (!least || quota < least))
            least = quota;
    }
    if (least)
        return least;
    if (read_u64("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &v1_quota) &&
        read_u64("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &v1_period) &&
        v1_period > 0)
        return (unsigned)((v1_quota + v1_period - 1) / v1_period);
    return 0;
}

unsigned machine_cores(void)
{
    unsigned cores = cores_by_affinity(), quota = cores_by_quota();
    return quota > 0 && quota < cores ? quota : cores;
}

// --- Memory ----------------------------------------------------------------

// A line "Name:  123 kB" of /proc/meminfo, in bytes.
static uint64_t meminfo(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

static bool group_memory(const char *folder, uint64_t *out_limit,
                         uint64_t *out_used)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/memory.max", folder);
    if (!read_u64(path, out_limit))
        return false;
    snprintf(path, sizeof path, "%s/memory.current", folder);
    return read_u64(path, out_used);
}

// The least limit that applies.
static bool cgroup_memory(uint64_t *out_limit, uint64_t *out_used)
{
    char folder[1100] = "";
    uint64_t limit, used;
    bool found = false;
    while (next_cgroup(folder, sizeof folder)) {
        if (!group_memory(folder, &limit, &used) ||
            (found && limit >= *out_limit))
            continue;
        *out_limit = limit;
        *out_used = used;
        found = true;
    }
    return found ||
           (read_u64("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                     out_limit) &&
            read_u64("/sys/fs/cgroup/memory/memory.usage_in_bytes", out_used));
}

void machine_memory(size_t *out_free, size_t *out_total)
{
    char text[512] = "";
    read_file("/proc/meminfo", text, sizeof text);
    uint64_t total = meminfo(text, "MemTotal:");
    uint64_t left = meminfo(text, "MemAvailable:");
    if (total == 0)
        total = (uint64_t)sysconf(_SC_PHYS_PAGES) *
                (uint64_t)sysconf(_SC_PAGESIZE);
    left = left ? left : total;
    uint64_t limit, used;
    if (cgroup_memory(&limit, &used) && limit < total) {
        uint64_t allowed = used < limit ? limit - used : 0;
        total = limit;
        left = allowed < left ? allowed : left;
    }
    *out_free = (size_t)left;
    *out_total = (size_t)total;
}

// --- Processor -------------------------------------------------------------

// The name of the first processor in /proc/cpuinfo, "" if not stated.
static void cpuinfo(const char *field, char *value, size_t size)
{
    char line[256];  // others are longer
    FILE *file = fopen("/proc/cpuinfo", "re");
    bool found = false;
    *value = '\0';
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, field, strlen(field)) == 0;
    if (file)
        fclose(file);
    char *start = found ? strchr(line, ':') : NULL;
    if (!start)
        return;
    start += strspn(start, ": \t");
    start[strcspn(start, "\n")] = '\0';
    snprintf(value, size, "%s", start);
}

static void processor_name(char *name, size_t size)
{
    cpuinfo("model name", name, size);
    if (!*name)
        snprintf(name, size, "CPU");
}

// "2345.678" MHz, with a point in every locale.
static uint32_t clock_khz(void)
{
    uint64_t khz;
    char text[32], *end;
    if (read_u64("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
                 &khz))
        return (uint32_t)khz;
    cpuinfo("cpu MHz", text, sizeof text);
    khz = strtoul(text, &end, 10) * 1000;
    end += *end == '.';
    for (unsigned part = 100; part > 0 && isdigit((unsigned char)*end);
         part /= 10)
        khz += part * (unsigned)(*end++ - '0');
    return (uint32_t)khz;
}

static void caches(rnl_device_info *info)
{
    for (int i = 0; i < 8; i++) {
        char path[96], text[64];
        uint64_t level, kib;
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_u64(path, &level))
            return;
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_file(path, text, sizeof text) || text[0] == 'I')
            continue;
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_u64(path, &kib))
            continue;
        uint64_t *sizes[] = {&info->l1_size, &info->l2_size, &info->l3_size};
        if (level >= 1 && level <= 3)
            *sizes[level - 1] = kib * 1024;
    }
}

// Derived from the machine's id, so the same across reboots.
static void uuid(rnl_device_info *info)
{
    char text[64];
    if (!read_file("/etc/machine-id", text, sizeof text))
        return;
    for (size_t i = 0; i < sizeof info->uuid; i++) {
        char digits[3] = {text[2 * i], 0, 0};
        if (!isxdigit((unsigned char)digits[0]))
            return;
        digits[1] = text[2 * i + 1];
        info->uuid[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    info->uuid[15] ^= (uint8_t)info->index;  // virtual devices differ
}

void machine_info(rnl_device_info *info)
{
    size_t left, total;
    machine_memory(&left, &total);
    processor_name(info->name, sizeof info->name);
    info->memory_size = total;
    info->multiprocessors = machine_cores();
    info->clock_khz = clock_khz();
    caches(info);
    uuid(info);
}

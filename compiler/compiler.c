#include "cc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Versions before these lack what the prelude uses.
enum { CLANG_MINIMUM = 14, GCC_MINIMUM = 12 };

const char *compiler_target(void)
{
    const char *target = secure_getenv("RUNNEL_CPU_TARGET");
    return target && *target ? target : "native";
}

// The full path of a program, as execvp would find it.
static bool find_program(const char *name, char path[4096])
{
    if (strchr(name, '/')) {
        snprintf(path, 4096, "%s", name);
        return access(path, X_OK) == 0;
    }
    const char *folders = secure_getenv("PATH");
    folders = folders ? folders : "/usr/local/bin:/usr/bin:/bin";
    while (folders && *folders) {
        size_t size = strcspn(folders, ":");
        snprintf(path, 4096, "%.*s/%s", (int)size, folders, name);
        struct stat status;
        if (size && access(path, X_OK) == 0 && stat(path, &status) == 0 &&
            S_ISREG(status.st_mode))
            return true;
        folders += size + (folders[size] == ':');
    }
    return false;
}

// "clang++-19" names its own version; starting clang only to ask costs 20 ms.
static bool version_from_name(const char *name, struct compiler *compiler)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    const char *prefix = "clang++-";
    if (strncmp(base, prefix, strlen(prefix)) != 0)
        return false;
    compiler->clang = true;
    compiler->version = atoi(base + strlen(prefix));
    return compiler->version > 0;
}

// Reads "clang version 14.0.6" or "g++ (Debian 12.2.0-14) 12.2.0".
static bool version_from_output(const char *output, struct compiler *compiler)
{
    const char *clang = strstr(output, "clang version ");
    compiler->clang = clang != NULL;
    if (clang) {
        compiler->version = atoi(clang + strlen("clang version "));
        return compiler->version > 0;
    }
    if (!strstr(output, "Free Software Foundation"))
        return false;
    const char *number = strchr(output, ')');
    if (!number)
        return false;
    while (*number && *number != '\n' && !isdigit((unsigned char)*number))
        number++;
    compiler->version = atoi(number);
    return compiler->version > 0;
}

static bool ask_version(struct compiler *compiler)
{
    struct list arguments = {0};
    struct text output = {0};
    list_add(&arguments, compiler->path);
    list_add(&arguments, "--version");
    int status = process_run(&arguments, NULL, &output, NULL);
    int problem = status < 0 ? errno : 0;
    bool known = status == 0 && output.data &&
                 version_from_output(output.data, compiler);
    list_free(&arguments);
    text_free(&output);
    errno = problem;
    return known;
}

static bool try_compiler(const char *name, struct compiler *compiler,
                         struct text *tried)
{
    if (!find_program(name, compiler->path)) {
        text_format(tried, "  %s: not found\n", name);
        return false;
    }
    errno = 0;
    if (!version_from_name(name, compiler) && !ask_version(compiler)) {
        text_format(tried, "  %s (%s): %s\n", name, compiler->path,
                    errno ? strerror(errno) : "neither clang nor gcc");
        return false;
    }
    int minimum = compiler->clang ? CLANG_MINIMUM : GCC_MINIMUM;
    if (compiler->version < minimum) {
        text_format(tried, "  %s (%s): version %d is older than %d\n", name,
                    compiler->path, compiler->version, minimum);
        return false;
    }
    return true;
}

bool find_beside(const char *name, char path[4096])
{
    ssize_t size = readlink("/proc/self/exe", path, 4096);
    char *slash = size > 0 ? memrchr(path, '/', (size_t)size) : NULL;
    if (!slash || (size_t)(slash + 1 - path) + strlen(name) >= 4096)
        return false;
    strcpy(slash + 1, name);
    return access(path, R_OK) == 0;
}

bool compiler_find(struct compiler *compiler, struct text *tried)
{
    const char *chosen = secure_getenv("RUNNEL_CXX");
    if (chosen && *chosen)
        return try_compiler(chosen, compiler, tried);
    static const char *const names[] = {"clang++-19", "clang++", "g++", "c++"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (try_compiler(names[i], compiler, tried))
            return true;
    return false;
}

static uint64_t hash(const void *bytes, size_t size)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        value = (value ^ ((const unsigned char *)bytes)[i]) *
                UINT64_C(0x100000001b3);
    return value;
}

// What "native" means here: the lines of the first processor that name it and
// its features.
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

void compiler_identity(const struct compiler *compiler, struct text *line)
{
    char resolved[4096];
    struct stat status = {0};
    if (!realpath(compiler->path, resolved))
        snprintf(resolved, sizeof resolved, "%s", compiler->path);
    stat(resolved, &status);
    text_format(line,
                "runnel-cc %s abi 1 prelude %016llx compiler %s %d %lld %lld",
                CC_VERSION,
                (unsigned long long)hash(cc_prelude, cc_prelude_size),
                resolved, compiler->version, (long long)status.st_size,
                (long long)status.st_mtime);
    const char *simt = compiler->clang && compiler->version == SIMT_CLANG
                           ? simt_version()
                           : NULL;
    text_format(line, " %s", simt ? simt : "no simt");
    if (find_beside("runnel-clang", resolved) && stat(resolved, &status) == 0)
        text_format(line, " clang %lld %lld", (long long)status.st_size,
                    (long long)status.st_mtime);
    const char *target = compiler_target();
    text_format(line, " target %s", target);
    if (strcmp(target, "native") == 0)
        text_format(line, ":%016llx", (unsigned long long)processor_hash());
}

#include "build.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *program(void)
{
    const char *path = getenv("RUNNEL_CC");
    return path && *path ? path : "runnel-cc";
}

static void make_folder(struct built *built)
{
    if (built->folder[0])
        return;
    strcpy(built->folder, "/tmp/runnel-test-XXXXXX");
    assert_non_null(mkdtemp(built->folder));
    snprintf(built->object, sizeof built->object, "%s/object.so",
             built->folder);
}

static void read_log(struct built *built)
{
    char path[128];
    snprintf(path, sizeof path, "%s/log", built->folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(built->log, 1, sizeof built->log - 1, file);
    built->log[size] = 0;
    fclose(file);
}

static void load(struct built *built)
{
    built->library = dlopen(built->object, RTLD_NOW | RTLD_LOCAL);
    if (!built->library)
        fail_msg("%s", dlerror());
    built->table = dlsym(built->library, RNL_CPU_OBJECT_SYMBOL);
    assert_non_null(built->table);
    assert_true(built->table->magic == RNL_CPU_OBJECT_MAGIC);
    assert_int_equal(built->table->abi, RNL_CPU_ABI);
    assert_int_equal(built->table->kernel_size, sizeof(rnl_cpu_kernel));
    assert_int_equal(built->table->set_services(block_services()), 0);
}

// TEST_TIER holds for what names no tier itself.
static const char *tier_option(const char *arguments)
{
    const char *tier = getenv("TEST_TIER");
    return tier && *tier && !strstr(arguments, "--tier") ? tier : "auto";
}

bool built_may_be_tier_b(void)
{
    return strcmp(tier_option(""), "F") != 0;
}

void built_make(struct built *built, const char *arguments)
{
    char command[4096];
    const char *limit = getenv("TEST_LIMIT");
    make_folder(built);
    snprintf(command, sizeof command,
             "%s %s < /dev/null --output %s --option --tier=%s %s > /dev/null "
             "2> %s/log", limit ? limit : "", program(), built->object,
             tier_option(arguments), arguments, built->folder);
    for (char *at; (at = strchr(command, '@'));) {
        char rest[4096];
        strcpy(rest, at + 1);
        snprintf(at, sizeof command - (size_t)(at - command), "%s%s",
                 built->folder, rest);
    }
    int status = system(command);
    assert_true(WIFEXITED(status));
    built->status = WEXITSTATUS(status);
    read_log(built);
    if (built->status == 0)
        load(built);
}

void built_kernels(struct built *built, const char *file, const char *options)
{
    char arguments[2048];
    snprintf(arguments, sizeof arguments, "--source %s/%s --name %s %s",
             KERNEL_FOLDER, file, file, options);
    built_make(built, arguments);
    if (built->status != 0)
        fail_msg("%s", built->log);
    assert_string_equal(built->log, "");
}

void built_close(struct built *built)
{
    char command[128];
    if (built->library)
        dlclose(built->library);
    snprintf(command, sizeof command, "rm -rf %s", built->folder);
    assert_int_equal(system(command), 0);
    block_thread_finish();
    memset(built, 0, sizeof *built);
}

FILE *built_create(struct built *built, const char *name)
{
    char path[256];
    make_folder(built);
    snprintf(path, sizeof path, "%s/%s", built->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

void built_write(struct built *built, const char *name, const char *text)
{
    FILE *file = built_create(built, name);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

const rnl_cpu_kernel *built_kernel(const struct built *built, const char *name)
{
    for (uint32_t i = 0; i < built->table->kernel_count; i++)
        if (strcmp(built->table->kernels[i].name, name) == 0)
            return &built->table->kernels[i];
    return NULL;
}

const rnl_cpu_global *built_global(const struct built *built, const char *name)
{
    for (uint32_t i = 0; i < built->table->global_count; i++)
        if (strcmp(built->table->globals[i].name, name) == 0)
            return &built->table->globals[i];
    return NULL;
}

rnl_status built_run(struct built *built, const char *name, rnl_dim3 grid,
                     rnl_dim3 block, size_t shared,
                     const void *const *arguments)
{
    const rnl_cpu_kernel *kernel = built_kernel(built, name);
    if (!kernel)
        fail_msg("no kernel %s", name);
    grid.y += grid.y == 0, grid.z += grid.z == 0;
    block.y += block.y == 0, block.z += block.z == 0;
    struct kernel_run run = {built->table, kernel, grid, block, shared,
                             arguments, built->cooperative,
                             .cluster = built->cluster};
    return block_run(&run, 0,
                     (uint64_t)grid.x * grid.y * grid.z /
                         block_cluster_size(&run),
                     built->failure, sizeof built->failure);
}

void built_run_ints(struct built *built, const char *kernel, rnl_dim3 grid,
                    rnl_dim3 block, size_t shared, int *out, const int *in,
                    int n)
{
    const void *arguments[] = {&out, &in, &n};
    rnl_status status =
        built_run(built, kernel, grid, block, shared, arguments);
    if (status != RNL_OK)
        fail_msg("%s: %s", kernel, built->failure);
}

int sample(int i)
{
    return (int)(((uint32_t)i * 2654435761u >> 13) % 1000);
}

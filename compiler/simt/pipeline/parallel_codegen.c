// Several processes generate the code of a large module: each process deletes
// the functions of the others and writes its own object. Threads would need a
// copy of the module each, since one LLVM context serves one thread.
#include "simt/pipeline/pipeline.h"
#include "simt/pipeline/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"
#include "simt/simt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct module_part {
    LLVMValueRef function;
    unsigned size, partition;
};

struct module_parts {
    struct module_part *items;
    unsigned count, size;
};

// --- Dealing out functions ---------------------------------------------------

// Partitions consist of variants and the functions that choose a variant. All
// other functions are internal, and each process keeps the functions that its
// partition calls.
static bool is_part(LLVMValueRef function)
{
    const char *section =
        LLVMIsDeclaration(function) ? NULL : LLVMGetSection(function);
    return section && strncmp(section, ".text.rnl_blocks_", 17) == 0;
}

static struct module_parts find_parts(LLVMModuleRef module)
{
    struct module_parts parts = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        if (!is_part(f))
            continue;
        parts.items = simt_grow(parts.items, parts.count, sizeof *parts.items);
        parts.items[parts.count] = (struct module_part){f, function_size(f), 0};
        parts.size += parts.items[parts.count++].size;
    }
    return parts;
}

static int by_size(const void *left, const void *right)
{
    const struct module_part *a = left, *b = right;
    return (a->size < b->size) - (a->size > b->size);
}

// Gives the largest function first, each to the partition with the least code.
// Returns the size of the smallest partition.
static unsigned deal(struct module_parts *parts, unsigned partitions)
{
    unsigned sizes[PARTITIONS_MOST] = {0}, least = 0;
    for (unsigned i = 0; i < parts->count; i++) {
        least = 0;
        for (unsigned s = 1; s < partitions; s++)
            least = sizes[s] < sizes[least] ? s : least;
        parts->items[i].partition = least;
        sizes[least] += parts->items[i].size;
    }
    for (unsigned s = 0; s < partitions; s++)
        least = sizes[s] < sizes[least] ? s : least;
    return sizes[least];
}

// Uses fewer partitions if one would be small, as in a module with one large
// function.
static unsigned deal_well(struct module_parts *parts, unsigned most)
{
    if (parts->count > 0)
        qsort(parts->items, parts->count, sizeof *parts->items, by_size);
    unsigned partitions = parts->size / PARTITION_LEAST;
    partitions = partitions < most ? partitions : most;
    while (partitions > 1 && deal(parts, partitions) < PARTITION_LEAST / 2)
        partitions--;
    return partitions > 1 ? partitions : 1;
}

// --- Processes ---------------------------------------------------------------

static void declare(LLVMValueRef function)
{
    size_t length;
    char *name = simt_format("%s", LLVMGetValueName2(function, &length));
    LLVMValueRef declared =
        LLVMAddFunction(LLVMGetGlobalParent(function), "",
                        LLVMGlobalGetValueType(function));
    LLVMSetVisibility(declared, LLVMHiddenVisibility);
    LLVMReplaceAllUsesWith(function, declared);
    LLVMDeleteFunction(function);
    LLVMSetValueName2(declared, name, strlen(name));
}

static void keep(const struct module_parts *parts, unsigned partition)
{
    for (unsigned i = 0; i < parts->count; i++) {
        LLVMValueRef function = parts->items[i].function;
        LLVMSetLinkage(function, LLVMExternalLinkage);
        LLVMSetVisibility(function, LLVMHiddenVisibility);
        if (parts->items[i].partition != partition)
            declare(function);
    }
}

// Forks a process that works on a partition. Returns its id, 0 in the child,
// whose end of the pipe is in partitions->ends[0] then, or -1.
static pid_t start(struct partitions *partitions, unsigned partition)
{
    int ends[2];
    const pid_t parent = getpid();
    if (pipe(ends) != 0)
        return -1;
    const pid_t child = fork();
    if (child != 0) {
        close(ends[1]);
        if (child < 0)
            close(ends[0]);
        else
            partitions->ends[partition] = ends[0];
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    partitions->ends[0] = ends[1];
    partitions->mine = partition;
    return 0;
}

// Takes back the partitions that no process could be started for.
static void take_back(struct partitions *partitions, struct module_parts *parts,
                      unsigned first)
{
    partitions->count = first;
    for (unsigned i = 0; i < parts->count; i++)
        if (parts->items[i].partition >= first)
            parts->items[i].partition = 0;
}

void partitions_start(struct partitions *partitions, LLVMModuleRef module,
                      unsigned most)
{
    struct module_parts parts = find_parts(module);
    *partitions = (struct partitions){.count = 1};
    if (most > 1 && !module_has_kept_functions(module))
        partitions->count = deal_well(&parts, most);
    for (unsigned s = 1; s < partitions->count; s++) {
        const pid_t child = start(partitions, s);
        if (child == 0)
            break;
        if (child < 0)
            take_back(partitions, &parts, s);
    }
    if (partitions->count > 1)
        keep(&parts, partitions->mine);
}

// --- Ends --------------------------------------------------------------------

char *partitions_path(const struct partitions *partitions, const char *object)
{
    return simt_format(partitions->count == 1 ? "%s" : "%s.%u", object,
                       partitions->mine);
}

// The parent goes on while the system releases the child's memory.
void partitions_end(const struct partitions *partitions, bool made)
{
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    _exit(made && write(partitions->ends[0], "", 1) == 1 ? 0 : 1);
}

bool partitions_wait(const struct partitions *partitions)
{
    bool made = true;
    for (unsigned s = 1; s < partitions->count; s++) {
        char byte;
        made &= read(partitions->ends[s], &byte, 1) == 1;
        close(partitions->ends[s]);
    }
    return made;
}

void simt_reap(void)
{
    fflush(stdout);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

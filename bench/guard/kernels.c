// Runs the blocks of one kernel of bench/kernels, and nothing else, for the
// instruction count of kernels.sh; prints how many threads that were.
//
//   runnel-guard-kernels KERNEL OBJECT
#include <runnel/cpu_object.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 3, ELEMENTS = 4096 };

// Small sizes; the parameters are `factor` unless that is 0, arrays, `n`.
struct work {
    const char *name;
    int array_count;
    float factor;
    int n;
    uint32_t grid[3], block[3];
};

static const struct work works[] = {
    {"saxpy", 2, 0.5f, 4000, {2, 1, 1}, {256, 1, 1}},
    {"matmul", 3, 0, 64, {4, 4, 1}, {16, 16, 1}},
    {"nbody", 2, 0, 512, {2, 1, 1}, {256, 1, 1}},
    {"reduction", 2, 0, 4000, {16, 1, 1}, {256, 1, 1}},
    {"shuffle_reduction", 2, 0, 4000, {4, 1, 1}, {256, 1, 1}},
    {"histogram", 2, 0, 4000, {4, 1, 1}, {256, 1, 1}},
    {"mandelbrot", 1, 0, 60, {2, 8, 1}, {32, 8, 1}},
};

static const struct work *find(const char *name)
{
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (!strcmp(works[i].name, name))
            return &works[i];
    return NULL;
}

// --- Services --------------------------------------------------------------

enum { MEMORY_SIZE = 1 << 16, SCRATCH_SIZE = 1 << 18 };

static _Alignas(RNL_CPU_MEMORY_ALIGNMENT) char memory[MEMORY_SIZE];
static _Alignas(RNL_CPU_MEMORY_ALIGNMENT) char scratch_memory[SCRATCH_SIZE];

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "runnel-guard-kernels: %s\n", what);
    exit(1);
}

static void *block_memory(void)
{
    return memory;
}

static void *scratch(rnl_cpu_block *block, uint64_t size)
{
    (void)block;
    if (size > sizeof scratch_memory)
        stop("more scratch memory is wanted than there is");
    return scratch_memory;
}

static void trap(rnl_cpu_block *block, uint32_t thread, const char *message,
                 const char *file, int line)
{
    (void)block, (void)thread, (void)file, (void)line;
    stop(message);
}

static const rnl_cpu_services services = {
    .struct_size = sizeof services,
    .abi = RNL_CPU_ABI,
    .block_memory = block_memory,
    .trap = trap,
    .scratch = scratch,
};

// --- The kernel ------------------------------------------------------------

static const rnl_cpu_kernel *load(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const rnl_cpu_object *object =
        library ? dlsym(library, RNL_CPU_OBJECT_SYMBOL) : NULL;
    if (!object)
        stop(dlerror());
    if (object->abi != RNL_CPU_ABI || object->set_services(&services) ||
        object->memory_size > sizeof memory)
        stop("the object does not fit");
    const rnl_cpu_kernel *kernel = &object->kernels[0];
    if (strcmp(kernel->name, name) || !kernel->run_blocks)
        stop("the object has another kernel, or no vector code");
    return kernel;
}

// Numbers from 0 to 1, which as words have all kinds of low bytes.
static void fill(float *numbers, uint32_t random)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        random = random * 1664525u + 1013904223u;
        numbers[i] = (float)(random >> 8) / (1 << 24);
    }
}

static uint32_t count(const uint32_t axes[3])
{
    return axes[0] * axes[1] * axes[2];
}

static void run(const rnl_cpu_kernel *kernel, const struct work *work)
{
    static float arrays[ARRAYS][ELEMENTS];
    void *addresses[ARRAYS];
    const void *arguments[ARRAYS + 2];
    const void **next = arguments;
    if (work->factor != 0)
        *next++ = &work->factor;
    for (int i = 0; i < work->array_count; i++) {
        fill(arrays[i], (uint32_t)i + 1);
        addresses[i] = arrays[i];
        *next++ = &addresses[i];
    }
    *next = &work->n;
    rnl_cpu_block block = {.struct_size = sizeof block,
                           .thread_count = count(work->block),
                           .arguments = arguments};
    memcpy(block.grid, work->grid, sizeof block.grid);
    memcpy(block.block, work->block, sizeof block.block);
    kernel->run_blocks(&block, count(work->grid));
}

int main(int argument_count, char **arguments)
{
    const struct work *work =
        argument_count == 3 ? find(arguments[1]) : NULL;
    if (!work)
        stop("a kernel's name and object are wanted");
    run(load(arguments[2], work->name), work);
    printf("%u\n", count(work->grid) * count(work->block));
    return 0;
}

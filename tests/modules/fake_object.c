// A cpu object made by hand: two kernels and a variable.
#include <runnel/cpu_object.h>

static int counter;
static const char name_first[] = "first";

static const rnl_cpu_parameter parameters[] = {
    {.kind = 1, .size = 8, .alignment = 8, .type = "float *"},
    {.kind = 2, .size = 4, .alignment = 4, .type = "int"},
};

static void run_threads(rnl_cpu_block *block)
{
    block->next_thread = block->thread_count;
    counter++;
}

static const rnl_cpu_kernel kernels[] = {
    {.name = name_first, .symbol = "first", .parameters = parameters,
     .parameter_count = 2, .max_block_threads = 1024,
     .form = RNL_CPU_FORM_THREADS, .run_threads = run_threads,
     .reason = "it was made by hand"},
    {.name = "space::second<int>", .symbol = "_ZN5space6secondIiEEvv",
     .max_block_threads = 128, .form = RNL_CPU_FORM_THREADS,
     .flags = RNL_CPU_KERNEL_WAITS, .run_threads = run_threads},
};

static const rnl_cpu_global globals[] = {
    {.name = "counter", .address = &counter, .size = sizeof counter,
     .alignment = 4},
};

static int set_services(const rnl_cpu_services *services)
{
    return services ? 0 : -1;
}

extern const rnl_cpu_object rnl_cpu_object_table
    __asm__(RNL_CPU_OBJECT_SYMBOL);

__attribute__((visibility("default")))
const rnl_cpu_object rnl_cpu_object_table = {
    .magic = RNL_CPU_OBJECT_MAGIC,
    .abi = RNL_CPU_ABI,
    .struct_size = sizeof(rnl_cpu_object),
    .kernel_size = sizeof(rnl_cpu_kernel),
    .parameter_size = sizeof(rnl_cpu_parameter),
    .global_size = sizeof(rnl_cpu_global),
    .block_size = sizeof(rnl_cpu_block),
    .compiler = "none",
    .tier = 'F',
    .kernel_count = 2,
    .global_count = 1,
    .kernels = kernels,
    .globals = globals,
    .set_services = set_services,
};

#include "machine.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS_OF_PROGRAM = 64 };

static const char *device(void)
{
    const char *name = getenv("RUNNEL_TEST_DEVICE");
    return name && *name ? name : "cpu";
}

bool machine_has_bodies(void)
{
    return strncmp(device(), "hip", 3) != 0;
}

bool machine_is_cpu(void)
{
    return !strncmp(device(), "cpu", 3);
}

// --- Kernels ---------------------------------------------------------------

// One block for each cell.
static rnl_status run_kernel(const rnl_native_call *call)
{
    uint64_t *to = *(uint64_t *const *)call->arguments[0];
    const uint64_t *from = *(const uint64_t *const *)call->arguments[1];
    struct work work = {.kind = (enum work_kind)(intptr_t)call->user_data,
                        .value = *(const uint64_t *)call->arguments[2]};
    if (work.kind == WORK_FAIL)
        return RNL_ERROR_IO;
    for (uint64_t i = 0; i < call->block_count; i++) {
        uint64_t at = call->first_block + i;
        if (work.kind == WORK_ADD)
            atomic_fetch_add((_Atomic uint64_t *)&to[at], work.value);
        else
            to[at] = work_cell(&work, to[at],
                               work.kind == WORK_MIX ? from[at] : 0);
    }
    return RNL_OK;
}

static const char *const names[KERNELS] = {"add", "multiply", "mix",
                                           "count_down", "fail"};

static bool make_native(struct machine *machine)
{
    static const rnl_parameter parameters[] = {
        {RNL_VALUE_POINTER, 8, 8, "unsigned long *"},
        {RNL_VALUE_POINTER, 8, 8, "const unsigned long *"},
        {RNL_VALUE_INTEGER, 8, 8, "unsigned long"},
    };
    bool made = true;
    for (int i = 0; made && i < KERNELS; i++)
        made = rnl_function_create_native(
                   machine->context, names[i], run_kernel,
                   RNL_NATIVE_OPTIONS(
                       .parameters = parameters, .parameter_count = 3,
                       .user_data = (void *)(intptr_t)(WORK_ADD + i)),
                   &machine->kernels[i]) == RNL_OK;
    return made;
}

// The same for a device that runs no C functions. None fails: a kernel that
// does is the end of the whole context there.
static bool make_compiled(struct machine *machine)
{
    static const char source[] =
        "typedef unsigned long long cell;\n"
        "#define KERNEL(name, ...) \\\n"
        "    extern \"C\" __global__ void name(cell *to, const cell *from, \\\n"
        "                                    cell value) \\\n"
        "    { cell &own = to[blockIdx.x]; __VA_ARGS__; }\n"
        "KERNEL(add, atomicAdd_system(&own, value))\n"
        "KERNEL(multiply, own = own * (2 * value + 1) + value)\n"
        "KERNEL(mix, own = 3 * own + from[blockIdx.x] + value)\n"
        "KERNEL(count_down, own = own & 3 ? (own & 3) - 1 : 0)\n";
    rnl_module module;
    bool made = rnl_module_compile(machine->context, source, NULL,
                                   &module) == RNL_OK;
    for (int i = 0; made && WORK_ADD + i != WORK_FAIL; i++)
        made = rnl_module_function(module, names[i],
                                   &machine->kernels[i]) == RNL_OK;
    if (made)
        rnl_module_release(module);
    return made;
}

// --- Room for graphs ---------------------------------------------------------

// Blocks that threads of the library released.
static _Atomic int released;
static _Thread_local bool counts_not;

static void *allocate(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    return aligned_alloc(alignment,
                         (size + alignment - 1) / alignment * alignment);
}

static void release(void *memory, size_t size, void *user_data)
{
    (void)size, (void)user_data;
    atomic_fetch_add(&released, !counts_not);
    free(memory);
}

static rnl_status make_graph(struct machine *machine, rnl_graph *out)
{
    rnl_graph body;
    rnl_node node;
    rnl_fill *fill = RNL_FILL(.to = {.buffer = machine->buffers[0]}, .width = 4,
                              .pattern_size = 4);
    rnl_status status = rnl_graph_create(machine->context, NULL, out);
    if (status)
        return status;
    return machine_has_bodies()
               ? rnl_graph_add_node(*out, NULL, 0,
                                    RNL_NODE(.kind = RNL_NODE_WHILE,
                                             .buffer = machine->buffers[0],
                                             .out_body = &body),
                                    &node)
               : rnl_graph_add_node(
                     *out, NULL, 0,
                     RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill), &node);
}

// A driver makes room for more graphs, and loads what decides in them, only
// when the device is idle, which a program may wait for in vain; it keeps both.
static bool reserve_graphs(struct machine *machine)
{
    rnl_graph graph = NULL;
    rnl_graph_exec execs[GRAPHS_OF_PROGRAM] = {NULL};
    bool made = !make_graph(machine, &graph);
    for (int i = 0; made && i < GRAPHS_OF_PROGRAM; i++)
        made = !rnl_graph_instantiate(graph, &execs[i]);
    int before = atomic_load(&released);
    for (int i = 0; i < GRAPHS_OF_PROGRAM; i++)
        rnl_graph_exec_release(execs[i]);
    rnl_graph_release(graph);
    // They go in the background, each of two blocks.
    while (made && atomic_load(&released) - before < 2 * GRAPHS_OF_PROGRAM)
        sched_yield();
    return made;
}

// --- Memory ----------------------------------------------------------------

static bool make_words(struct machine *machine)
{
    return rnl_buffer_create(machine->context, 8 * PROMISES,
                             RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST,
                                                .zeroed = true),
                             &machine->words) == RNL_OK;
}

static bool make_memory(struct machine *machine, int i)
{
    uint8_t bytes[BYTES];
    rnl_stream stream;
    rnl_buffer_info info = {.struct_size = sizeof info};
    for (int k = 0; k < BYTES; k++)
        bytes[k] = memory_start(i, k);
    if (i >= BUFFERS) {
        void *host = NULL;
        if (i >= REACHED)
            host = malloc(BYTES);
        else if (rnl_host_allocate(machine->context, BYTES, &host))
            return false;
        if (host)
            machine->addresses[i] = memcpy(host, bytes, BYTES);
        return host;
    }
    if (rnl_buffer_create(machine->context, BYTES, NULL,
                          &machine->buffers[i]) ||
        rnl_context_default_stream(machine->context, &stream) ||
        rnl_copy_to_buffer_and_wait(stream, machine->buffers[i], 0, bytes,
                                    BYTES) ||
        rnl_buffer_get_info(machine->buffers[i], &info))
        return false;
    machine->addresses[i] = info.device_address;
    return true;
}

bool machine_read(struct machine *machine, uint8_t memory[MEMORIES][BYTES])
{
    rnl_stream stream;
    bool read = !rnl_context_default_stream(machine->context, &stream);
    for (int i = 0; read && i < BUFFERS; i++)
        read = !rnl_copy_from_buffer_and_wait(
            stream, memory[i], machine->buffers[i], 0, BYTES);
    for (int i = BUFFERS; i < MEMORIES; i++)
        memcpy(memory[i], machine->addresses[i], BYTES);
    return read;
}

// --- Begin and end ---------------------------------------------------------

bool machine_open(struct machine *machine, uint32_t threads)
{
    counts_not = true;
    if (!machine_is_cpu())  // refused but the first time
        rnl_allocator_set(
            RNL_ALLOCATOR(.allocate = allocate, .release = release));
    char api[16] = "";
    size_t index = 0;
    sscanf(device(), "%15[^:]:%zu", api, &index);
    bool made = rnl_context_open(
                    api, index,
                    RNL_CONTEXT_OPTIONS(.threads = machine_is_cpu() ? threads
                                                                    : 0),
                    &machine->context) == RNL_OK &&
                make_words(machine);
    for (int i = 0; made && i < MEMORIES; i++)
        made = make_memory(machine, i);
    return made && (machine_is_cpu() ? make_native(machine)
                                     : make_compiled(machine) &&
                                           reserve_graphs(machine));
}

void machine_close(struct machine *machine)
{
    for (int i = 0; i < BUFFERS; i++)
        rnl_buffer_release(machine->buffers[i]);
    for (int i = BUFFERS; i < REACHED; i++)
        rnl_host_free(machine->context, machine->addresses[i]);
    for (int i = REACHED; i < MEMORIES; i++)
        free(machine->addresses[i]);
    rnl_buffer_release(machine->words);
    for (int i = 0; i < KERNELS; i++)
        rnl_function_release(machine->kernels[i]);
    rnl_context_release(machine->context);
}

// Attributes of a cpu as a device, by the numbers of CUdevice_attribute.
#include "backends/cpu/device_attribute.h"

#include "backends/cpu/kernel/block.h"
#include "core/backend.h"

extern const struct backend cpu_backend;

// Numbered facts, up to the last number of CUDA 13.0. All numbers without a row
// concern features that a cpu lacks, and are 0, except `unknown` rows.
enum { ATTRIBUTE_LAST = 147 };

static const struct {
    uint32_t id;
    int32_t value;
} facts[] = {
    {11, INT32_MAX},               // most bytes of a pitch
    {12, 65536},                   // registers of a block: no kernel has more
    {14, 1},                       // alignment of textures: any,
    {15, 1},                       // copies beside kernels
    {18, 1},                       // one memory with the host
    {19, 1},                       // kernels reach the host's memory
    {30, 1},                       // … of surfaces,
    {31, 1},                       // kernels beside kernels
    {39, BLOCK_THREADS_MOST},      // threads of a core: one block at a time
    {40, 1},                       // copies beside kernels, by the workers
    {41, 1},                       // one address space with the host
    {51, 1},                       // … and of a texture's rows
    {78, 1},                       // priorities of streams
    {79, 1},                       // global …
    {80, 1},                       // … and local memory in the first cache
    {81, RNL_CPU_DYNAMIC_LIMIT},   // shared bytes of a core: of one block
    {82, 65536},                   // registers of a core: of one block
    {83, 1},                       // managed memory
    {86, 1},                       // atomics together with the host
    {87, 2},                       // doubles take twice the time of floats
    {88, 1},                       // kernels reach ordinary memory,
    {89, 1},                       // managed memory at the same time as the host
    {90, 1},                       // kernels are preempted
    {91, 1},                       // registered memory has one address
    {92, 1},                       // values written and waited for,
    {93, 1},                       // … of 64 bits,
    {94, 1},                       // … by NOR
    {95, BLOCK_COOPERATES},        // cooperative launches
    {98, 1},                       // waits see all that was written before
    {99, 1},                       // host memory can be registered
    {100, 1},                      // … by the host's page tables
    {101, 1},                      // the host reaches managed memory
    {106, 1},                      // blocks of a core at a time
    {115, 1},                      // memory in the order of streams
    {122, 1},                      // values of 64 bits
    {123, 1},                      // waits by NOR
    {126, 1},                      // domains of memory
    {131, -1},                     // node of memory: no single one
    {134, -1},                     // … of the host
};

// Error correction, buses, memory clocks: nothing tells.
static const uint8_t unknown[] = {32, 33, 34, 36, 37, 50, 139, 140};

rnl_status cpu_device_attribute(uint32_t index, rnl_attribute id,
                                int64_t *out_value)
{
    (void)index;
    if ((int)id < 1 || (int)id > ATTRIBUTE_LAST)
        return fail_at(RNL_ERROR_UNSUPPORTED, "id",
                       "a cpu has no attribute %d: the numbers are 1 to %d",
                       (int)id, ATTRIBUTE_LAST);
    for (size_t i = 0; i < sizeof unknown; i++)
        if (unknown[i] == (uint32_t)id)
            return fail_at(RNL_ERROR_UNSUPPORTED, "id",
                           "a cpu does not tell attribute %d: it is on no bus "
                           "of devices, and its memory is the machine's",
                           (int)id);
    // Interprocess events come and go with the feature.
    *out_value =
        (int)id == 125 &&
        cpu_backend.features & BACKEND_FEATURE(RNL_FEATURE_INTERPROCESS);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].id == (uint32_t)id)
            *out_value = facts[i].value;
    return RNL_OK;
}

// The kernel that hands a number to a condition, which Runnel brings as PTX:
// the fake runs no PTX, but knows this one.
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static rnl_status decide(const rnl_native_call *call)
{
    uint64_t handle;
    const _Atomic uint32_t *word;  // others may write it meanwhile
    memcpy(&handle, call->arguments[0], sizeof handle);
    memcpy(&word, call->arguments[1], sizeof word);
    ((struct fake_condition *)(uintptr_t)handle)->word =
        atomic_load(word);
    return RNL_OK;
}

static const rnl_parameter parameters[] = {
    {.kind = RNL_VALUE_INTEGER, .size = 8, .alignment = 8, .type = "u64"},
    {.kind = RNL_VALUE_INTEGER, .size = 8, .alignment = 8, .type = "u64"},
};

static const struct fake_kernel kernels[] = {
    {"runnel_decide", decide, 2, parameters},
};

void *fake_condition_kernel(size_t *out_size, int *out_code)
{
    struct {
        char magic[8];
        uint64_t kernels, count;
    } payload = {"FAKENATV", (uintptr_t)kernels, 1};
    void *copy = malloc(sizeof payload);
    if (copy)
        memcpy(copy, &payload, sizeof payload);
    *out_size = sizeof payload;
    *out_code = copy ? FAKE_OK : FAKE_OUT_OF_MEMORY;
    return copy;
}

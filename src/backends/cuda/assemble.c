// The driver's linker with one input. Launches continue meanwhile, whereas the
// loading of PTX blocks launches (seen with driver 580).
#include "backends/cuda/assemble.h"

#include <string.h>

static int link_one(const struct driver_functions *call, void *handle,
                    const char *ptx, struct text *out)
{
    void *data = NULL;
    size_t size = 0;
    int code = call->link_add(handle, DRIVER_LINK_ASSEMBLY, (void *)ptx,
                              strlen(ptx) + 1, "kernels", 0, NULL, NULL);
    if (code == 0)
        code = call->link_complete(handle, &data, &size);
    if (code == 0)
        text_add_bytes(out, data, size);
    return code;
}

void cuda_assemble(struct gpu_context *gpu, const char *ptx, struct text *out)
{
    const struct driver_functions *call = call_of(gpu);
    void *handle = NULL, *before = current_enter(gpu);
    int code = call->link_create(0, NULL, NULL, &handle);
    if (code == 0) {
        code = link_one(call, handle, ptx, out);
        call->link_destroy(handle);
    }
    current_back(gpu, before);
    if (code != 0 || out->failed)
        text_finish(out);
}

// The two functions of libamd_comgr that runnel-hip-cc calls: in the fake of
// hiprtc, or in a library of their own, which does not know gfx906.
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int amd_comgr_get_isa_count(size_t *out_count);
EXPORT int amd_comgr_get_isa_name(size_t index, const char **out_name);

static const char *const isas[] = {
    "amdgcn-amd-amdhsa--gfx90a",
    "amdgcn-amd-amdhsa--gfx1030",
#ifdef FAKE_HIP
    "amdgcn-amd-amdhsa--gfx906",
#endif
};

int amd_comgr_get_isa_count(size_t *out_count)
{
    *out_count = sizeof isas / sizeof *isas;
    return 0;
}

int amd_comgr_get_isa_name(size_t index, const char **out_name)
{
    *out_name = isas[index];
    return 0;
}

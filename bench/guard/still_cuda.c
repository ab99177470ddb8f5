// A CUDA driver and NVRTC that do nothing at once, for guard.sh: what is left
// of a call is Runnel's own, and how often it calls the driver.
//
// Every entry is the same function that says success, but for those whose
// results somebody looks at. Work is always done.
#include "still.h"

#include <string.h>

enum { NOT_FOUND = 500 };

static _Thread_local void *current;

static int version(int *out_version)
{
    *out_version = 13000;
    return 0;
}

static int attribute(int *out_value, int id, int of)
{
    enum { COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76 };
    (void)of;
    *out_value = id == COMPUTE_MAJOR ? 9 : id == COMPUTE_MINOR ? 0 : 1024;
    return 0;
}

// Parameters of the kernels below.
static int parameter(void *of, size_t index, size_t *out_offset,
                     size_t *out_size)
{
    static const size_t offsets[] = {0, 8, 12}, sizes[] = {8, 4, 4};
    (void)of;
    *out_offset = index / 3 * 16 + offsets[index % 3];
    *out_size = sizes[index % 3];
    return 0;
}

static int error(int code, const char **out_text)
{
    (void)code;
    *out_text = "an error";
    return 0;
}

static int get_context(void **out_context)
{
    *out_context = current;
    return 0;
}

static int set_context(void *context)
{
    current = context;
    return 0;
}

typedef void entry(void);  // stands for any

#define ENTRY(vendor, function) {#vendor, (entry *)(function)}

static const struct {
    const char *vendor;
    entry *function;  // NULL: this driver has none
} entries[] = {
    ENTRY(cuDeviceGetCount, one_device),
    ENTRY(cuDriverGetVersion, version),
    ENTRY(cuDeviceGet, device),
    ENTRY(cuDeviceGetName, text),
    ENTRY(cuDeviceGetPCIBusId, text),
    ENTRY(cuDeviceTotalMem, memory),
    ENTRY(cuDeviceGetAttribute, attribute),
    ENTRY(cuFuncGetAttribute, function_attribute),
    ENTRY(cuFuncGetParamInfo, parameter),
    ENTRY(cuGetErrorName, error),
    ENTRY(cuGetErrorString, error),
    ENTRY(cuDevicePrimaryCtxRetain, handle),
    ENTRY(cuCtxGetCurrent, get_context),
    ENTRY(cuCtxSetCurrent, set_context),
    ENTRY(cuStreamCreateWithPriority, handle),
    ENTRY(cuEventCreate, handle),
    ENTRY(cuEventElapsedTime, elapsed),
    ENTRY(cuModuleLoadDataEx, handle),
    ENTRY(cuModuleGetFunction, handle),
    ENTRY(cuGraphCreate, handle),
    ENTRY(cuGraphInstantiateWithFlags, handle),
    ENTRY(cuGraphAddKernelNode, handle),
    ENTRY(cuGraphAddEmptyNode, handle),
    ENTRY(cuMemAlloc, allocate),
    ENTRY(cuMemHostAlloc, allocate_host),
    ENTRY(cuMemFree, release),
    ENTRY(cuMemFreeAsync, release),
    ENTRY(cuMemFreeHost, release),
    ENTRY(cuStreamWriteValue32, write_value),
    {"cuModuleGetFunctionCount", NULL},
    {"cuModuleEnumerateFunctions", NULL},
    {"cuFuncGetName", NULL},
};

int cuGetProcAddress(const char *symbol, void **out, int wanted,
                     uint64_t flags);

int cuGetProcAddress(const char *symbol, void **out, int wanted,
                     uint64_t flags)
{
    entry *found = (entry *)nothing;
    (void)wanted;
    (void)flags;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].vendor, symbol) == 0)
            found = entries[i].function;
    memcpy(out, &found, sizeof found);
    return found ? 0 : NOT_FOUND;
}

// --- NVRTC -----------------------------------------------------------------
//
// Whatever is compiled, out come kernels with 0, 3, 16 and 64 arguments.

static char *ptx;

static size_t add_kernel(char *at, size_t size, int count)
{
    static const char *const types[] = {".u64", ".u32", ".f32"};
    size_t length = (size_t)snprintf(at, size, ".visible .entry args%d(",
                                     count);
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(at + length, size - length,
                                   "%s.param %s args%d_param_%d",
                                   i ? ", " : "", types[i % 3], count, i);
    return length + (size_t)snprintf(at + length, size - length,
                                     ")\n{\n    ret;\n}\n");
}

static const char *make_ptx(void)
{
    static const int counts[] = {0, 3, 16, 64};
    enum { SIZE = 8192 };
    if (ptx)
        return ptx;
    ptx = malloc(SIZE);
    if (!ptx)
        abort();
    size_t length = (size_t)snprintf(
        ptx, SIZE, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        length += add_kernel(ptx + length, SIZE - length, counts[i]);
    return ptx;
}

static const char *say(int status)
{
    (void)status;
    return "an error";
}

static int nvrtc_version(int *out_major, int *out_minor)
{
    *out_major = 13;
    *out_minor = 0;
    return 0;
}

static int no_log(void *program, size_t *out_size)
{
    (void)program;
    *out_size = 0;
    return 0;
}

static int ptx_size(void *program, size_t *out_size)
{
    (void)program;
    *out_size = strlen(make_ptx()) + 1;
    return 0;
}

static int get_ptx(void *program, char *out)
{
    (void)program;
    strcpy(out, make_ptx());
    return 0;
}

// The symbols by which NVRTC is found, without a header of its own.
#define ALIAS(type, vendor, parameters, call)  \
    type vendor parameters;                    \
    type vendor parameters { return call; }

ALIAS(const char *, nvrtcGetErrorString, (int status), say(status))
ALIAS(int, nvrtcVersion, (int *major, int *minor),
      nvrtc_version(major, minor))
ALIAS(int, nvrtcCreateProgram, (void **out_program), handle(out_program))
ALIAS(int, nvrtcDestroyProgram, (void), nothing())
ALIAS(int, nvrtcAddNameExpression, (void), nothing())
ALIAS(int, nvrtcCompileProgram, (void), nothing())
ALIAS(int, nvrtcGetProgramLogSize, (void *program, size_t *out_size),
      no_log(program, out_size))
ALIAS(int, nvrtcGetProgramLog, (void), nothing())
ALIAS(int, nvrtcGetPTXSize, (void *program, size_t *out_size),
      ptx_size(program, out_size))
ALIAS(int, nvrtcGetPTX, (void *program, char *out), get_ptx(program, out))
ALIAS(int, nvrtcGetLoweredName, (void), NOT_FOUND)

// The hip backend: symbols and numbers of libamdhip64, and adapters for the
// functions that have another shape than the driver's table.
//
// HIP has no contexts: a thread has a current device. A context's handle is the
// number of its device plus one, and making it current sets the device.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// --- Codes -------------------------------------------------------------------

enum {
    HIP_INVALID_VALUE = 1,
    HIP_OUT_OF_MEMORY = 2,
    HIP_DEINITIALIZED = 4,
    HIP_INVALID_CONFIGURATION = 9,
    HIP_INVALID_DEVICE_FUNCTION = 98,
    HIP_NO_DEVICE = 100,
    HIP_INVALID_DEVICE = 101,
    HIP_INVALID_IMAGE = 200,
    HIP_INVALID_CONTEXT = 201,
    HIP_NO_BINARY_FOR_GPU = 209,
    HIP_INVALID_KERNEL_FILE = 218,
    HIP_INVALID_SOURCE = 300,
    HIP_NOT_FOUND = 500,
    HIP_NOT_READY = 600,
    HIP_ILLEGAL_ADDRESS = 700,
    HIP_LAUNCH_OUT_OF_RESOURCES = 701,
    HIP_LAUNCH_TIMEOUT = 702,
    HIP_PEER_ACCESS_ALREADY_ENABLED = 704,
    HIP_ASSERT = 710,
    HIP_LAUNCH_FAILURE = 719,
    HIP_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    HIP_NOT_SUPPORTED = 801,
    HIP_STREAM_CAPTURE_IMPLICIT = 906,
};

// --- Structs that the functions take, equal from HIP 5.2 to 7.2 --------------

struct hip_dim3 {
    unsigned x, y, z;
};

struct hip_rows {
    void *pointer;
    size_t pitch, width, height;
};

// hipMemcpy3DParms
struct hip_copy {
    void *from_array;
    size_t from_x, from_y, from_z;
    struct hip_rows from;
    void *to_array;
    size_t to_x, to_y, to_z;
    struct hip_rows to;
    size_t width, height, depth;
    int kind;
};

enum { HIP_COPY_DEFAULT = 4 };  // the driver looks where the addresses are

struct hip_kernel_node {
    struct hip_dim3 block;
    void **extra, *function;
    struct hip_dim3 grid;
    void **arguments;
    unsigned shared_size;
};

// hipMemsetParams
struct hip_fill_node {
    void *to;
    unsigned element_size;
    size_t height, pitch;
    unsigned value;
    size_t width;  // in elements
};

// Without it, an environment variable may make the memory not coherent.
#define HIP_HOST_COHERENT 0x40000000u

// --- The vendor's functions that adapters call -------------------------------

#define ADAPTED(name, vendor, suffix, since, need, why, result, parameters) \
    typedef result hip_##name##_fn parameters;
#define OTHER ADAPTED
#include "backends/hip/symbols.def"

struct hip_functions {
#define ADAPTED(name, vendor, suffix, since, need, why, result, parameters) \
    hip_##name##_fn *name;
#define OTHER ADAPTED
#include "backends/hip/symbols.def"
};

// Filled once, before any adapter is called.
extern struct hip_functions hip;
extern int hip_version;  // 50221153 for 5.2.21153

// --- Adapters ----------------------------------------------------------------

// Each puts its functions into the table.
void hip_adapt_contexts(struct driver_functions *call);
void hip_adapt_streams(struct driver_functions *call);
void hip_adapt_memory(struct driver_functions *call);
void hip_adapt_modules(struct driver_functions *call);
void hip_adapt_graphs(struct driver_functions *call);

extern const struct driver_points hip_points;

// A copy in HIP's form, with a pitch and a height also where one row is copied.
struct hip_copy hip_copy_of(const struct driver_copy *copy);

// --- Loading -----------------------------------------------------------------

// Fills in the functions and the number of devices, or the reason why no device
// can be used. Called once.
void hip_load(struct driver *driver);

// The feature that is missing without an optional symbol, by the vendor's name
// of the symbol; "" if the library has the symbol.
const char *hip_missing(const char *vendor);

// The interface of libamdhip64, as far as it differs from the driver's table:
// facts, declared here so that no SDK is needed. A test compares them with the
// vendor's header if that header is present.
#pragma once

#include "backends/cudalike/driver/driver.h"

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

// hipAccessPolicyWindow
struct hip_window {
    void *base;
    int hit;
    float hit_ratio;
    int miss;
    size_t size;
};

enum { HIP_EXTRA_END = 3 };  // 0 with CUDA

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

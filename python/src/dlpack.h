// The binary interface of DLPack 1.x, as it was published: facts that
// https://dmlc.github.io/dlpack describes.
#pragma once

#include <stdint.h>

enum dl_device_type {
    DL_CPU = 1,
    DL_CUDA = 2,
    DL_CUDA_HOST = 3,
    DL_ROCM = 10,
    DL_ROCM_HOST = 11,
    DL_CUDA_MANAGED = 13,
};

enum dl_type_code {
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_COMPLEX = 5,
    DL_BOOL = 6,
};

struct dl_device {
    int32_t type;
    int32_t id;
};

struct dl_data_type {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_data_type dtype;
    int64_t *shape;
    int64_t *strides;  // in elements; NULL: C order
    uint64_t byte_offset;
};

// Before version 1.
struct dl_managed {
    struct dl_tensor tensor;
    void *owner;
    void (*deleter)(struct dl_managed *self);
};

#define DL_READ_ONLY 1u
#define DL_IS_COPIED 2u

struct dl_managed_versioned {
    uint32_t major, minor;
    void *owner;
    void (*deleter)(struct dl_managed_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

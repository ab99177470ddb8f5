// The binary interface of DLPack 1: numbers, names and layout as in other
// libraries (dmlc/dlpack, include/dlpack/dlpack.h of version 1.0).
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DLPACK_MAJOR 1u
#define DLPACK_MINOR 0u
#define DLPACK_READ_ONLY UINT64_C(1)

enum dlpack_device {
    DLPACK_CPU = 1,
    DLPACK_CUDA = 2,
    DLPACK_CUDA_HOST = 3,
    DLPACK_ROCM = 10,
    DLPACK_ROCM_HOST = 11,
    DLPACK_CUDA_MANAGED = 13,
};

enum dlpack_code {
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_BOOL = 6,
};

struct dlpack_type {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t axis_count;
    struct dlpack_type type;
    int64_t *shape, *strides;  // strides in elements; NULL: packed rows
    uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *tensor);
    uint64_t flags;
    struct dlpack_tensor tensor;
};

// Where an address has 8 bytes.
_Static_assert(sizeof(void *) != 8 || sizeof(struct dlpack_tensor) == 48,
               "struct DLTensor");
_Static_assert(sizeof(void *) != 8 ||
                   offsetof(struct dlpack_tensor, shape) == 24,
               "DLTensor::shape");
_Static_assert(sizeof(void *) != 8 ||
                   sizeof(struct DLManagedTensorVersioned) == 80,
               "struct DLManagedTensorVersioned");
_Static_assert(sizeof(void *) != 8 ||
                   offsetof(struct DLManagedTensorVersioned, flags) == 24,
               "DLManagedTensorVersioned::flags");
_Static_assert(sizeof(void *) != 8 ||
                   offsetof(struct DLManagedTensorVersioned, tensor) == 32,
               "DLManagedTensorVersioned::dl_tensor");

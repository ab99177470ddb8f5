// The only file that names every backend.

#include "core/backend.h"

extern const struct backend cuda_backend;
extern const struct backend hip_backend;
extern const struct backend cpu_backend;

const struct backend *const backends[] = {
    &cuda_backend,
    &hip_backend,
    &cpu_backend,
    NULL,
};

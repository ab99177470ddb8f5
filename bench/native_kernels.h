// The kernels that are C functions, compiled like the OpenMP peer's loop.
#pragma once

#include <runnel/cpu.h>

rnl_status native_empty(const rnl_native_call *call);

// Arguments: float a, const float *x, float *y, int count.
rnl_status native_axpy(const rnl_native_call *call);

// Its signature.
extern const rnl_parameter native_axpy_parameters[4];

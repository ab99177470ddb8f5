#include <cuda_fp16.h>
namespace a { inline namespace b {
template <class T, int N> __global__ void __launch_bounds__(N, 2)
scale(T *x, const T f) { x[threadIdx.x] *= f; }
} }
extern "C" { __global__ void plain(float *x, int n) { if (n) x[0] = 1; } }
__constant__ float table[4] = {1, 2};
__device__ int counter;
namespace c = a;
===

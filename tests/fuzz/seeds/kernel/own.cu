typedef float real;
using word = unsigned int;
__device__ float sinf(float x) { return x; }
__device__ double atomicAdd(double *p, double v) noexcept { return *p += v; }
extern "C" __device__ int __popc(unsigned x) { return x ? 1 : 0; }
template <class T> requires (sizeof(T) > 1 && true) __device__ T max(T a, T b = T{});
__device__ auto f = [] (real x) { return R"tag(})tag" "\"" '"'; };
#define KERNEL(name) __global__ void name()
KERNEL(k) { /* { */ // }
}
#line 7 "other.cu"
#pragma unroll

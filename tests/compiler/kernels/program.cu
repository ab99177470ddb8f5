// A program as nvcc takes it, of which the host's side is left out.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>
#include "cuda_runtime.h"

using namespace std;

#define CHECK(call)                                              \
    do {                                                         \
        cudaError_t error = (call);                              \
        if (error != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(error));  \
            exit(1);                                             \
        }                                                        \
    } while (0)

struct Timer {
    cudaEvent_t start, stop;
    Timer() { cudaEventCreate(&start); }
    float ms() { float t; cudaEventElapsedTime(&t, start, stop); return t; }
};

static std::vector<float> table = {1, 2, 3};
std::string title("x");
cudaStream_t stream;
cudaPitchedPtr image;

class Bad : public std::runtime_error {
public:
    Bad(const std::string &s) : std::runtime_error(s) {}
    const char *what() const noexcept override { return "bad"; }
};

template <typename T> void upload(T *d, const std::vector<T> &h)
{
    CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(T),
                     cudaMemcpyHostToDevice));
}

template <typename T, typename std::enable_if<
                          std::is_floating_point<T>::value, int>::type = 0>
__device__ T half_of(T x)
{
    return x / 2;
}

__global__ void stale(int *p);
__global__ void stale(int *p, int n) { p[0] = n; }

__device__ uint3 make_uint3(unsigned s) { return make_uint3(s, s, s); }
__device__ unsigned sum(uint3 v) { return v.x + v.y + v.z; }
__device__ unsigned sum(dim3 v) { return v.x * v.y * v.z; }

extern "C" __global__ void k(int *out, const int *in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto at = threadIdx;
    const uint3 &there = blockIdx;
    out[i] = (int)std::sqrt((float)in[i]) + (int)half_of(std::max(n, 1) * 2.0f);
    out[i] += (std::numeric_limits<int>::max() == 2147483647) + (M_PI > 3);
    out[i] += sum(at) + sum(there) + sum(blockDim) + sum(make_uint3(2));
}

template <int N> __global__ void __launch_bounds__(N * 2) bounded(int *p)
{
    p[0] = N;
}
template __global__ void bounded<48>(int *);

static void usage(const char *name)
{
    std::cout << "usage: " << name << std::endl;
}

int main(int argc, char **argv)
{
    std::vector<float> h(1 << 20);
    auto now = std::chrono::high_resolution_clock::now();
    float *d;
    CHECK(cudaMalloc(&d, h.size() * sizeof(float)));
    upload(d, h);
    k<<<dim3((h.size() + 255) / 256), 256, 0, stream>>>(d, nullptr, 3);
    CHECK(cudaDeviceSynchronize());
    for (auto &x : h)
        printf("%f\n", x);
    return 0;
}

// Variables of a module.
__constant__ float factors[4];
__constant__ int table[3] = {7, 8, 9};
__device__ int counter = 5;
__device__ double wide;
static __device__ int hidden_counter = 1;
__device__ int first = 1, second[2] = {2, 3};
__device__ float *pointer;

namespace physics {
__constant__ double gravity = 9.75;
namespace inner {
__device__ unsigned char bytes[100];
}
}

struct Settings {
    int a;
    float b;
};
__constant__ Settings settings;
__device__ const int fixed = 11;

extern "C" __global__ void globals_read(float *out)
{
    int t = threadIdx.x;
    out[t] = factors[t] + table[t % 3] + settings.a + settings.b +
             (float)physics::gravity + physics::inner::bytes[t] + fixed +
             first + second[1];
}

extern "C" __global__ void globals_write(int *out)
{
    out[threadIdx.x] = atomicAdd(&counter, 1);
    atomicAdd(&hidden_counter, 2);
    if (threadIdx.x == 0) {
        wide = 2.5;
        pointer = nullptr;
    }
}

typedef int function(int);
typedef int (*to_function)(int);
template <class T> using same = T;
__device__ function twice, thrice;
__device__ same<int(int)> fourfold;
__device__ function *by_star = twice;
__device__ to_function by_name = thrice;
__device__ same<int (*)(int)> by_alias = fourfold, plain[2];
int twice(int x) { return 2 * x; }
int thrice(int x) { return 3 * x; }
int fourfold(int x) { return 4 * x; }

extern "C" __global__ void globals_called(int *out)
{
    plain[1] = by_star;
    out[0] = plain[1](1) + by_name(10) + by_alias(100);
}

extern "C" __global__ void globals_hidden(int *out) { out[0] = hidden_counter; }

// Kernels in all the places where they can be.
__global__ void declared_first(int *out, const int *in, int n);
extern "C" __global__ void c_declared_first(int *out, const int *in, int n);

namespace a {
__global__ void kernel(int *out, const int *, int) { out[0] = 1; }
namespace b {
struct Config {
    int value;
};
__global__ void kernel(int *out, const int *, int) { out[0] = 2; }
__global__ void configured(int *out, Config config) { out[0] = config.value; }
}
}

namespace c::d {
inline namespace v1 {
__global__ void kernel(int *out, const int *, int) { out[0] = 3; }
}
}

namespace {
__global__ void unnamed(int *out, const int *, int) { out[0] = 4; }
}

static __global__ void with_static(int *out, const int *, int) { out[0] = 5; }

extern "C" {
__global__ void in_block(int *out, const int *, int) { out[0] = 6; }
__global__ void __launch_bounds__(128, 2)
bounded(int *out, const int *, int) { out[0] = 7; }
}

constexpr int limit = 96;
__launch_bounds__(limit * 2) __global__ void bounded_too(int *out, const int *, int)
{
    out[0] = 8;
}

__global__ void overloaded(int *out, const int *, int) { out[0] = 9; }
__global__ void overloaded(float *out, float value) { out[0] = value; }

__global__ void declared_first(int *out, const int *, int) { out[0] = 10; }
extern "C" __global__ void c_declared_first(int *out, const int *, int)
{
    out[0] = 11;
}

__global__
void
spread(int *__restrict__ out,
       const int *__restrict__ in,  // a comment, with commas
       int n)
{
    out[0] = 12;
}

class Holder {
public:
    __device__ int get() const { return value; }
    int value = 13;
};

__global__ void uses_class(int *out, const int *, int)
{
    Holder holder;
    out[0] = holder.get();
}

__global__ void no_parameters() {}

namespace a::b {
__global__ void outside(int *out, const int *, int);
__global__ void outside(Config config, int *out);
}
__global__ void a::b::outside(int *out, const int *, int) { out[0] = 14; }
__global__ void ::a::b::outside(Config config, int *out) { out[0] = 15; }

// Arithmetic and conversions with each rounding: case 4 * operation + mode.
#define CASE(number, value) case number: out[i] = value; break;
#define MODES(number, name, ...)            \
    CASE(4 * number, name##_rn(__VA_ARGS__))     \
    CASE(4 * number + 1, name##_rz(__VA_ARGS__)) \
    CASE(4 * number + 2, name##_ru(__VA_ARGS__)) \
    CASE(4 * number + 3, name##_rd(__VA_ARGS__))

extern "C" __global__ void round_float(float *out, const float *a,
                                       const float *b, const float *c,
                                       int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[i], z = c[i];
    switch (which) {
        MODES(0, __fadd, x, y)
        MODES(1, __fsub, x, y)
        MODES(2, __fmul, x, y)
        MODES(3, __fdiv, x, y)
        MODES(4, __fsqrt, x)
        MODES(5, __fmaf, x, y, z)
        MODES(6, __frcp, x)
    }
}

extern "C" __global__ void round_double(double *out, const double *a,
                                        const double *b, const double *c,
                                        int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = a[i], y = b[i], z = c[i];
    switch (which) {
        MODES(0, __dadd, x, y)
        MODES(1, __dsub, x, y)
        MODES(2, __dmul, x, y)
        MODES(3, __ddiv, x, y)
        MODES(4, __dsqrt, x)
        MODES(5, __fma, x, y, z)
        MODES(6, __drcp, x)
        MODES(7, __double2float, x)
    }
}

extern "C" __global__ void round_integers(double *out, const long long *in,
                                          int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long x = in[i];
    switch (which) {
        MODES(0, __ll2float, x)
        MODES(1, __ull2float, (unsigned long long)x)
        MODES(2, __int2float, (int)x)
        MODES(3, __uint2float, (unsigned int)x)
        MODES(4, __ll2double, x)
        MODES(5, __ull2double, (unsigned long long)x)
    }
}

// Both kinds of numbers to each kind of integer.
extern "C" __global__ void round_to_integers(long long *out, const double *in,
                                             int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i];
    float y = (float)x;
    switch (which) {
        MODES(0, __double2int, x)
        MODES(1, __double2uint, x)
        MODES(2, __double2ll, x)
        MODES(3, (long long)__double2ull, x)
        MODES(4, __float2int, y)
        MODES(5, __float2uint, y)
        MODES(6, __float2ll, y)
        MODES(7, (long long)__float2ull, y)
    }
}

#define CASTS(number, type)                             \
    CASE(2 * number, (long long)(type)(float)x)          \
    CASE(2 * number + 1, (long long)(type)x)

extern "C" __global__ void casts(long long *out, const double *in, int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i];
    switch (which) {
        CASTS(0, int)
        CASTS(1, unsigned)
        CASTS(2, long long)
        CASTS(3, unsigned long long)
        CASTS(4, short)
        CASTS(5, unsigned char)
    }
}

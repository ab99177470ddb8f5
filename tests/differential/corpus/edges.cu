// What compilers of loops and rows have got wrong: work before a loop, values
// that meet behind branches, and code between two rounds.

// Who has a round at all is counted before the loop.
// @run int n=300 grid=2 block=100
extern "C" __global__ void counted_before(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, most = n / 2;
    if (i < most) {
        atomicAdd(&out[0], 1);
        for (; i < most; i += blockDim.x * gridDim.x)
            out[1 + i] = in[i] + 1;
    }
}

// An array is written before the loop, by those who have a round.
// @run int n=300 grid=2 block=100
extern "C" __global__ void array_before(int *out, const int *in, int n)
{
    int a[4] = {1, 2, 3, 4};
    int t = blockIdx.x * blockDim.x + threadIdx.x, i = t, sum = 0;
    if (i < n / 2) {
        a[0] = 50;
        for (; i < n / 2; i += blockDim.x * gridDim.x)
            sum += in[i];
    }
    out[t] = a[in[t] & 1] + sum;
}

// Two clamped indices meet behind a branch.
// @run int n=600 grid=1 block=64
// @run int n=600 grid=1 block=100
extern "C" __global__ void clamps_that_meet(int *out, const int *in, int n)
{
    int t = threadIdx.x, index;
    if (in[t] % 31 == 0 || t > 61) {
        index = max(t - 1, 0);
        out[200 + t] = 1;
    } else {
        index = max(t - 2, 0);
        out[400 + t] = 2;
    }
    out[t] = in[index];
}

// A clamped index changes in the rounds that only some threads have.
// @run int n=800 grid=1 block=64
extern "C" __global__ void clamp_of_a_loop(int *out, const int *in, int n)
{
    int t = threadIdx.x, index = max(t - 1, 0), round = 0;
    while (round < (in[t] & 1023) % 3) {
        out[300 + 64 * round + t] = in[index];
        index = max(t - 5, 0);
        round++;
    }
    out[t] = in[index] + 1000 * round;
}

// What stands between two rounds is not run after the last.
// @run int n=800 grid=2 block=100
extern "C" __global__ void between_rounds(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, most = n - 250;
    if (i >= most)
        return;
    for (;;) {
        int value = in[i], *place = &out[i + 2];
        i += blockDim.x * gridDim.x;
        if (value & 1)
            *place = value + 1;
        if (!(i < most))
            break;
        atomicAdd(&out[0], 1);
    }
}

// An unsigned index goes down until it wraps.
// @run int n=1000 grid=1 block=64
extern "C" __global__ void down_to_the_wrap(int *out, const int *in, int n)
{
    for (unsigned i = 100u + threadIdx.x; i < 1000u; i -= 64u)
        out[i] = in[i] + 1;
}

__device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? 1 : fibonacci(n - 1) + fibonacci(n - 2);
}

// The step is computed within the loop.
// @run int n=450 grid=2 block=100
extern "C" __global__ void step_of_a_loop(int *out, const int *in, int n)
{
    int factor = (n & 3) - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;) {
        int value = in[i] + fibonacci(in[i] & 3);
        int *place = &out[i];
        int step = gridDim.x * blockDim.x * factor;
        i += step;
        if (value & 1)
            *place = step;
    }
}

// A product that wraps is not a row.
// @run int n=64000 grid=1000 block=64
extern "C" __global__ void hash_of_the_number(int *out, const int *in, int n)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = t * 1640531527u;
    unsigned long wide = hash, sum = 0;
    for (int k = 0; k < (in[t] & 3); k++)
        sum += wide >> k;
    out[t] = (int)(sum ^ sum >> 32);
}

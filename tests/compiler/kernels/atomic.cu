// Atomic functions on global and shared memory.
extern "C" __global__ void atomic_integers(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[0], in[i]);
    atomicSub(&out[1], in[i]);
    atomicMin(&out[2], in[i]);
    atomicMax(&out[3], in[i]);
    atomicOr(&out[4], 1 << (i % 20));
    atomicAnd(&out[5], ~(1 << (i % 20)));
    atomicXor(&out[6], i);
    atomicInc((unsigned *)&out[7], 9);
    atomicDec((unsigned *)&out[8], 9);
    atomicAdd_block(&out[9], 1);
    atomicAdd_system((unsigned *)&out[10], 2u);
    atomicMax((unsigned *)&out[11], (unsigned)in[i]);
}

extern "C" __global__ void atomic_wide(unsigned long long *sums, double *real,
                                       float *single)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&sums[0], 1ull << 33);
    atomicMax(&sums[1], (unsigned long long)i << 32);
    atomicXor(&sums[2], (unsigned long long)i << 20);
    atomicExch(&sums[3], 77ull);
    atomicCAS(&sums[4], 5ull, 6ull);
    atomicAdd(real, 0.5);
    atomicAdd(single, 0.25f);
    atomicMax(single + 1, (float)i);
}

extern "C" __global__ void atomic_histogram(int *out, const int *in, int n)
{
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16)
        bins[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n;
         i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] & 15], 1);
    __syncthreads();
    if (t < 16)
        atomicAdd(&out[t], bins[t]);
}

// The index is what was there before this thread wrote.
extern "C" __global__ void atomic_index_overwritten(int *out, const int *, int)
{
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    int index = out[t];
    out[t] = 63 - index;
    atomicAdd(&bins[index], t);
    __syncthreads();
    out[t] += 100 * bins[t];
}

// The usual way to make an atomic function that there is not.
__device__ int atomic_multiply(int *p, int factor)
{
    int old = *p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, seen * factor);
    } while (old != seen);
    return old;
}

extern "C" __global__ void atomic_cas_loop(int *out, const int *, int n)
{
    atomic_multiply(&out[0], 3);
}

// --- Waiting by spinning ---------------------------------------------------

__device__ int lock_word;

extern "C" __global__ void lock_cas(int *out, const int *, int n)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            out[0] += 1;
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}

// The holder waits inside for a thread that wants the lock, too.
extern "C" __global__ void lock_held_long(int *out, const int *, int n)
{
    __shared__ int lock, reached;
    if (threadIdx.x == 0)
        lock = reached = 0;
    __syncthreads();
    atomicAdd(&reached, 1);
    while (atomicExch(&lock, 1) != 0)
        ;
    while (atomicAdd(&reached, 0) < (int)blockDim.x)
        __nanosleep(20);
    out[0] += 1;
    atomicExch(&lock, 0);
}

// The first thread asks until the last one has said so.
extern "C" __global__ void flag_asked(int *out, const int *, int n)
{
    __shared__ int flag, box;
    if (threadIdx.x == 0)
        flag = box = 0;
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        box = 7;
        __threadfence_block();
        atomicExch(&flag, 1);
    }
    if (threadIdx.x > 0)
        return;
    if (n == 0)
        while (!atomicAdd(&flag, 0)) {
        }
    else if (n == 1)
        while (!atomicAnd(&flag, -1)) {
        }
    else if (n == 2)
        while (!atomicXor(&flag, 0)) {
        }
    else
        while (!atomicCAS(&flag, 0, 0)) {
        }
    out[n] = box;
}

// The second warp makes what the first one takes, a few at a time.
extern "C" __global__ void flag_volatile(int *out, const int *, int n)
{
    __shared__ int ring[2][32];
    __shared__ volatile int made, taken;
    int lane = threadIdx.x & 31, sum = 0;
    if (threadIdx.x == 0)
        made = taken = 0;
    __syncthreads();
    for (int i = 0; i < n; i++) {
        if (threadIdx.x >= 32) {
            while (i - taken >= 2) {
            }
            ring[i & 1][lane] = i * lane;
        } else {
            while (made <= i) {
            }
            sum += ring[i & 1][lane];
        }
        __threadfence_block();
        __syncwarp();
        if (threadIdx.x == 32)
            made = i + 1;
        else if (threadIdx.x == 0)
            taken = i + 1;
    }
    if (threadIdx.x < 32)
        out[lane] = sum;
}

extern "C" __global__ void lock_sleep(int *out, const int *, int n)
{
    __shared__ volatile int turn;
    if (threadIdx.x == 0)
        turn = blockDim.x - 1;
    __syncthreads();
    while (turn != threadIdx.x)
        __nanosleep(100);
    out[blockDim.x - 1 - threadIdx.x] = threadIdx.x;
    turn = threadIdx.x - 1;
}

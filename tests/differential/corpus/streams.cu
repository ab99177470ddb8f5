// Launches that write so much that it goes past the caches.

// @run long long n=2097152 grid=8192 block=256
// @run long long n=2097152 grid=65536,2 block=16
extern "C" __global__ void whole_lines(long long *out, const long long *in,
                                       int n)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n - 3)
        out[i] = in[i] * 3 + i;
}

// @run long long n=2097152 grid=8192 block=256
extern "C" __global__ void between_lines(long long *out, const long long *in,
                                         int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1)
        out[i + 1] = in[i] ^ 5;
}

// What was written is read by other threads of the block.
// @run long long n=2097152 grid=8192 block=256
extern "C" __global__ void read_again(long long *out, const long long *in,
                                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;
    __syncthreads();
    long long other = out[i ^ 37];
    __syncthreads();
    out[i] += other * 2;
}

// Who am I: indices in one to three dimensions.
extern "C" __global__ void index_1d(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] + i;
}

extern "C" __global__ void index_2d(int *out, const int *, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * width + x] = y * 1000 + x;
}

extern "C" __global__ void index_3d(int *out, const int *, int)
{
    int thread = threadIdx.x +
                 blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int size = blockDim.x * blockDim.y * blockDim.z;
    out[block * size + thread] =
        threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z +
        1000 * blockIdx.x + 10000 * blockIdx.y + 100000 * blockIdx.z;
}

// The same with a barrier, so that indices survive a change of threads.
extern "C" __global__ void index_3d_barrier(int *out, const int *, int)
{
    __shared__ int sum;
    int thread = threadIdx.x +
                 blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int size = blockDim.x * blockDim.y * blockDim.z;
    if (thread == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, 1);
    __syncthreads();
    out[block * size + thread] = sum * 1000000 + threadIdx.x +
                                 10 * threadIdx.y + 100 * threadIdx.z;
}

extern "C" __global__ void index_dims(int *out, const int *, int)
{
    dim3 block = blockDim;
    uint3 where = threadIdx;
    if (where.x == 0 && blockIdx.x == 0) {
        out[0] = gridDim.x;
        out[1] = gridDim.y;
        out[2] = gridDim.z;
        out[3] = block.x;
        out[4] = block.y;
        out[5] = block.z;
        out[6] = warpSize;
        out[7] = dim3(4, 5).z;
    }
}

// Contiguous along y: the lanes of a chunk lie there.
extern "C" __global__ void index_columns(int *out, const int *in, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    int across = gridDim.x * blockDim.x, up = gridDim.y * blockDim.y;
    if (y < height)
        out[(z * across + x) * up + y] =
            in[(z * across + x) * up + y] + 1000 * x + y + 100000 * z;
}

// The same with a barrier and with what a block shares.
extern "C" __global__ void index_columns_shared(int *out, const int *in,
                                                int height)
{
    __shared__ int line[1024];
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    int across = gridDim.x * blockDim.x, up = gridDim.y * blockDim.y;
    int at = (z * across + x) * up + y;
    int column = (threadIdx.z * blockDim.x + threadIdx.x) * blockDim.y;
    line[column + threadIdx.y] = in[at];
    __syncthreads();
    int other = line[column + blockDim.y - 1 - threadIdx.y];
    if (y < height)
        out[at] = other + 1000 * x + y + 100000 * z;
}

// Numbers the threads in the order in which they run.
extern "C" __global__ void index_order(int *out, const int *, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[1 + y * width + x] = atomicAdd(out, 1);
}

// Blocks that go from plane to plane: a shared tile holds the plane, a variable
// the number of the plane before.
extern "C" __global__ void index_planes(int *out, const int *in, int planes)
{
    __shared__ int tile[16][16];
    int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int last = 0;
    for (int z = 0; z < planes; z++) {
        int at = (z * height + y) * width + x;
        __syncthreads();
        tile[threadIdx.y][threadIdx.x] = in[at];
        __syncthreads();
        int other = tile[blockDim.y - 1 - threadIdx.y]
                        [blockDim.x - 1 - threadIdx.x];
        out[at] = other * 2 + last;
        last = in[at] - x;
    }
}

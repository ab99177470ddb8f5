// One Jacobi step of Laplace's equation in a box of n x n x n cells. A block
// walks through the planes of its columns, with the plane that it is in, and a
// rim of neighbours, in shared memory. The walls keep their values.
#define SIDE 16

extern "C" __global__ void laplace(const float *from, float *to, int n)
{
    __shared__ float tile[SIDE + 2][SIDE + 2];
    int x = blockIdx.x * SIDE + threadIdx.x;
    int y = blockIdx.y * SIDE + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int plane = n * n, at = y * n + x;
    bool wall = x == 0 || y == 0 || x == n - 1 || y == n - 1;
    float below = from[at], own = from[at], above = from[at + plane];
    to[at] = own;
    for (int z = 1; z < n - 1; z++) {
        at += plane;
        below = own;
        own = above;
        above = from[at + plane];
        __syncthreads();
        tile[ty][tx] = own;
        if (threadIdx.x == 0 && x > 0)
            tile[ty][0] = from[at - 1];
        if (threadIdx.x == SIDE - 1 && x < n - 1)
            tile[ty][SIDE + 1] = from[at + 1];
        if (threadIdx.y == 0 && y > 0)
            tile[0][tx] = from[at - n];
        if (threadIdx.y == SIDE - 1 && y < n - 1)
            tile[SIDE + 1][tx] = from[at + n];
        __syncthreads();
        if (wall)
            to[at] = own;
        else
            to[at] = (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] +
                      tile[ty + 1][tx] + below + above) *
                     (1.0f / 6.0f);
    }
    to[at + plane] = above;
}

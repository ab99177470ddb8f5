// The mean of each cell of an n x n grid and its four neighbours; the grid has
// a border one cell wide.
extern "C" __global__ void stencil(const float *__restrict__ from,
                                   float *__restrict__ to, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    int width = n + 2, i = (y + 1) * width + x + 1;
    to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - width] +
                    from[i + width]);
}

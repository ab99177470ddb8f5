// The strength of the edges of a grey image of n x n bytes, by Sobel's filter.
extern "C" __global__ void sobel(const unsigned char *image,
                                 unsigned char *edges, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    const unsigned char *at = image + y * n + x;
    int gx = at[-n + 1] + 2 * at[1] + at[n + 1] - at[-n - 1] - 2 * at[-1] -
             at[n - 1];
    int gy = at[n - 1] + 2 * at[n] + at[n + 1] - at[-n - 1] - 2 * at[-n] -
             at[-n + 1];
    int strength = abs(gx) + abs(gy);
    edges[y * n + x] = strength > 255 ? 255 : strength;
}

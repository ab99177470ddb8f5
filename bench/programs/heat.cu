// One explicit step of the heat equation on a plane of n x n cells whose edge
// keeps its temperature.
extern "C" __global__ void heat(const float *now, float *next, int n)
{
    size_t width = n;
    size_t x = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t y = (size_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= width)
        return;
    size_t at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == width - 1) {
        next[at] = now[at];
        return;
    }
    float own = now[at];
    next[at] = own + 0.1f * (now[at - 1] + now[at + 1] + now[at - width] +
                             now[at + width] - 4.0f * own);
}

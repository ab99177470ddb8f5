// Damps n x 4096 fields of four numbers, in blocks of 1 x 256 threads: the
// threads of a warp lie one below the other.
extern "C" __global__ void columns(const double4 *from, double4 *to, int n)
{
    unsigned x = blockDim.x * blockIdx.x + threadIdx.x;
    unsigned y = blockDim.y * blockIdx.y + threadIdx.y;
    if (x >= n)
        return;
    unsigned at = y * n + x;
    double4 value = from[at];
    value.x = value.x * 0.5 + 1;
    value.y = value.y * 0.5 + value.x;
    value.z = value.z * 0.5 + value.y;
    value.w = value.w * 0.5 + value.z;
    to[at] = value;
}

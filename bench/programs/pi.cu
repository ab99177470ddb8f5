// Counts for each of n generators how many of 256 random points lie in the
// quarter of a circle.
extern "C" __global__ void pi(const unsigned *seeds, unsigned *counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned state = seeds[i] | 1, count = 0;
    for (int k = 0; k < 256; k++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float x = (state >> 8) / 16777216.0f;
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float y = (state >> 8) / 16777216.0f;
        if (x * x + y * y < 1.0f)
            count++;
    }
    counts[i] = count;
}

// Iterations until a point of an n x n picture escapes, 256 at most.
extern "C" __global__ void mandelbrot(unsigned int *__restrict__ picture,
                                      int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n)
        return;
    float cx = -2 + 3.0f * column / n, cy = -1.5f + 3.0f * row / n;
    float x = 0, y = 0;
    unsigned int steps = 0;
    while (steps < 256 && x * x + y * y < 4) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        steps++;
    }
    picture[row * n + column] = steps;
}

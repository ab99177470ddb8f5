__kernel void mandelbrot(__global uint *restrict picture, int n)
{
    int column = get_global_id(0);
    int row = get_global_id(1);
    float cx = -2 + 3.0f * column / n, cy = -1.5f + 3.0f * row / n;
    float x = 0, y = 0;
    uint steps = 0;
    while (steps < 256 && x * x + y * y < 4) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        steps++;
    }
    picture[row * n + column] = steps;
}

__kernel void stencil(__global const float *restrict from,
                      __global float *restrict to, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    int width = n + 2, i = (y + 1) * width + x + 1;
    to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - width] +
                    from[i + width]);
}

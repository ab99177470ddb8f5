__kernel void saxpy(float a, __global const float *restrict x,
                    __global float *restrict y, int n)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        y[i] += a * x[i];
}

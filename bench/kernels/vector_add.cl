__kernel void vector_add(__global const float *restrict a,
                         __global const float *restrict b,
                         __global float *restrict sum, int n)
{
    int i = get_global_id(0);
    sum[i] = a[i] + b[i];
}

__kernel void histogram(__global const uint *restrict words,
                        __global uint *restrict counts, int n)
{
    __local uint own[256];
    int t = get_local_id(0);
    own[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&own[words[i] & 255]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[t], own[t]);
}

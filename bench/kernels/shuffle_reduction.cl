// PoCL's CPU device has no sub-groups: a tree in local memory instead.
__kernel void shuffle_reduction(__global const float *restrict values,
                                __global float *restrict sums, int n)
{
    __local float part[256];
    int t = get_local_id(0);
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum += values[i];
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = 128; half_size > 0; half_size /= 2) {
        if (t < half_size)
            part[t] += part[t + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        sums[get_group_id(0)] = part[0];
}

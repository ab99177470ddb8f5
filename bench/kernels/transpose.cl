__kernel void transpose(__global const float *restrict from,
                        __global float *restrict to, int n)
{
    __local float tile[32][33];
    int x = get_local_id(0);
    int left = get_group_id(0) * 32, top = get_group_id(1) * 32;
    for (int y = get_local_id(1); y < 32; y += 8)
        tile[y][x] = from[(top + y) * n + left + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int y = get_local_id(1); y < 32; y += 8)
        to[(left + y) * n + top + x] = tile[x][y];
}

__kernel void matmul(__global const float *restrict a,
                     __global const float *restrict b,
                     __global float *restrict c, int n)
{
    __local float a_tile[16][16], b_tile[16][16];
    int x = get_local_id(0), y = get_local_id(1);
    int row = get_global_id(1), column = get_global_id(0);
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
        a_tile[y][x] = a[row * n + tile + x];
        b_tile[y][x] = b[(tile + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            sum += a_tile[y][k] * b_tile[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

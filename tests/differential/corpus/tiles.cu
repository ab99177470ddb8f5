// Loops over tiles in shared memory, in code for one block size: tiles that
// hold nothing but copies of arrays are read from there instead.
// @options --block-size=8x8

// @run int n=1024 grid=4,4 block=8,8 more=32
// @run int n=4096 grid=8,8 block=8,8 more=64
extern "C" __global__ void product(int *out, const int *in, int n, int side)
{
    __shared__ int a[8][8], b[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x, sum = 0;
    for (int tile = 0; tile < side; tile += 8) {
        a[y][x] = in[row * side + tile + x];
        b[y][x] = in[(tile + y) * side + column];
        __syncthreads();
        for (int k = 0; k < 8; k++)
            sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    out[row * side + column] = sum;
}

// What is read has been written since it was copied, or not.
// @run int n=1024 grid=1,1 block=8,8 more=16
extern "C" __global__ void changing(int *out, const int *in, int n, int side)
{
    __shared__ int a[8][8];
    int x = threadIdx.x, y = threadIdx.y, sum = 0;
    for (int i = y * 8 + x; i < 8 * side; i += 64)
        out[i] = in[i];
    __syncthreads();
    for (int tile = 0; tile < side; tile += 8) {
        a[y][x] = out[y * side + tile + x];
        __syncthreads();
        out[y * side + tile + x] = sum;
        for (int k = 0; k < 8; k++)
            sum += a[y][k] * (k + 1);
        __syncthreads();
    }
    out[8 * side + y * 8 + x] = sum;
}

// @run int n=1024 grid=4,4 block=8,8 more=32
extern "C" __global__ void between(int *out, const int *in, int n, int side)
{
    __shared__ int a[8][8];
    int x = threadIdx.x, y = threadIdx.y, sum = 0;
    int row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    for (int tile = 0; tile < side; tile += 8) {
        a[y][x] = in[row * side + tile + x];
        __syncthreads();
        for (int k = 0; k < 8; k++)
            sum += a[y][k] ^ x;
        __syncthreads();
        out[row * side + column] = sum;
    }
}

// Rows that the next round copies to other places, columns, and both.
// @run int n=1024 grid=1,4 block=8,8 more=32
extern "C" __global__ void turning(int *out, const int *in, int n, int side)
{
    __shared__ int a[8][8], b[8][8];
    int x = threadIdx.x, y = threadIdx.y, sum = 0;
    int row = blockIdx.y * 8 + y;
    for (int tile = 0; tile < side; tile += 8) {
        a[(y + tile / 8) & 7][x] = in[row * side + tile + x];
        b[y][x] = in[(row ^ 1) * side + tile + x];
        __syncthreads();
        for (int k = 0; k < 8; k++)
            sum = 3 * sum + a[y][k] + b[k][x] * b[x][k];
        __syncthreads();
    }
    out[row * 8 + x] = sum;
}

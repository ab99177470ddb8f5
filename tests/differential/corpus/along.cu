// Threads that go along memory, each through a row of its own.

// @run int n=1024 grid=2 block=64
// @run int n=700 grid=1 block=70
extern "C" __global__ void sums_of_rows(int *out, const int *in, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, all = 0;
    for (int count = 0; count < 10; count++) {
        int sum = count;
        for (int k = 0; k < count; k++)
            sum = sum * 3 + in[t * 8 % (n - 10) + k];
        all ^= sum << count;
    }
    if (t < n)
        out[t] = all;
}

// @run float n=1024 grid=1 block=100
// @run float n=1111 grid=2 block=33
extern "C" __global__ void matrix_times_vector(float *out, const float *in,
                                               int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, columns = n / 100;
    if (row * columns + columns > n)
        return;
    float sum = 0;
    for (int k = 0; k < columns; k++)
        sum += in[row * columns + k] * in[k];
    out[row] = sum;
}

// @run double n=1000 grid=1 block=50
extern "C" __global__ void doubles_backwards(double *out, const double *in,
                                             int n)
{
    int row = threadIdx.x, columns = n / 50;
    double sum = 0;
    for (int k = columns - 1; k >= 0; k--)
        sum = sum * 0.5 + in[row * columns + k];
    out[row] = sum;
}

// Each as many as its number says.
// @run float n=2016 grid=1 block=64
extern "C" __global__ void triangle(float *out, const float *in, int n)
{
    int row = threadIdx.x, begin = row * (row - 1) / 2;
    float sum = 1;
    for (int k = 0; k < row; k++)
        sum -= in[begin + k] * in[k];
    out[row] = sum;
}

// @run float n=2016 grid=1 block=64
extern "C" __global__ void triangle_backwards(float *out, const float *in,
                                              int n)
{
    int row = threadIdx.x;
    float sum = 1;
    for (int k = 30; k > row; k--)
        sum -= in[row * 31 + k] * in[k];
    out[row] = sum;
}

// What has been counted is used behind the loop.
// @run int n=1100 grid=1 block=100
extern "C" __global__ void counted(int *out, const int *in, int n)
{
    int row = threadIdx.x, most = (unsigned)in[row] % 10 + 1, k = 0, sum = 0;
    do
        sum ^= in[row * 11 + k];
    while (++k != most);
    out[row] = sum * 100 + k;
}

// @run int n=1200 grid=1 block=100
extern "C" __global__ void counted_by_threes(int *out, const int *in, int n)
{
    int row = threadIdx.x, most = (unsigned)in[row] % 11, k = 5, sum = 0, l = 0;
    for (; k < most; k++, l -= 3)
        sum += in[row * 12 + k] ^ l;
    out[row] = sum * 100 + k + l * 7;
}

// @run int n=2000 grid=1 block=80
extern "C" __global__ void products_of_bytes(int *out, const int *in, int n)
{
    const signed char *bytes = reinterpret_cast<const signed char *>(in);
    int row = threadIdx.x, columns = 4 * n / 80 - 3, sum = 0;
    for (int k = 0; k < columns; k++)
        sum += bytes[row * columns + k] * bytes[k];
    out[row] = sum;
}

// @run int n=2000 grid=1 block=80
extern "C" __global__ void products_of_halves(int *out, const int *in, int n)
{
    const short *halves = reinterpret_cast<const short *>(in);
    int row = threadIdx.x, columns = 2 * n / 80 - 1, sum = 0;
    for (int k = 0; k < columns; k++)
        sum += halves[row * columns + k] * halves[k + 1];
    out[row] = sum;
}

// @run float n=2000 grid=1 block=90
extern "C" __global__ void complex_rows(float *out, const float *in, int n)
{
    const float2 *from = reinterpret_cast<const float2 *>(in);
    int row = threadIdx.x, columns = n / 180;
    float re = 0, im = 1;
    for (int k = 0; k < columns; k++) {
        float2 v = from[row * columns + k];
        float next = re * v.x - im * v.y;
        im = re * v.y + im * v.x;
        re = next;
    }
    out[2 * row] = re;
    out[2 * row + 1] = im;
}

// The greatest, where it is, and how far all others are from it.
// @run float n=1300 grid=1 block=96
extern "C" __global__ void soft(float *out, const float *in, int n)
{
    int row = threadIdx.x, columns = n / 96, where = -1;
    float most = -1e30f, sum = 0;
    for (int k = 0; k < columns; k++) {
        float v = in[row * columns + k];
        if (v > most) {
            most = v;
            where = k;
        }
    }
    for (int k = 0; k < columns; k++)
        sum += most - in[row * columns + k];
    out[row] = sum + where;
}

// Of two points, each with as many numbers.
// @run float n=1024 grid=2 block=32
extern "C" __global__ void nearest(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, numbers = n / 64, which = 0;
    float best = 1e30f;
    for (int j = 0; j < 64; j++) {
        float far = 0;
        for (int k = 0; k < numbers; k++) {
            float apart = in[i * numbers + k] - in[j * numbers + k];
            far += apart * apart;
        }
        if (j != i && far < best) {
            best = far;
            which = j;
        }
    }
    out[i] = which;
}

// In shared memory, which others write between the loops.
// @run int n=1024 grid=1 block=32
extern "C" __global__ void shared_rows(int *out, const int *in, int n)
{
    __shared__ int s[32 * 33];
    int t = threadIdx.x, sum = 0, columns = n / 32;
    for (int k = 0; k < columns; k++)
        s[k * 33 + t] = in[k * 32 + t];
    s[t * 33 + 32] = t;  // read below: row 0 ends there
    __syncthreads();
    for (int k = 0; k < columns; k++)
        sum = sum * 5 + s[t * 33 + k];
    __syncthreads();
    s[t] = sum;
    __syncthreads();
    for (int k = 0; k < columns; k++)
        sum += s[t * (columns / 32) + k];
    out[t] = sum;
}

// By numbers that may wrap.
// @run int n=1000 grid=1 block=64
extern "C" __global__ void unsigned_rows(int *out, const int *in, unsigned n)
{
    unsigned row = threadIdx.x, columns = n / 64, sum = 0;
    for (unsigned k = 0; k < columns; k++)
        sum = sum * 7 + in[row * columns + k];
    for (unsigned k = 0; k < columns; k++)
        sum = sum * 7 + in[(row - 32) * columns + k + 32 * columns];
    out[row] = sum;
}

// Rows in each lane's own order, by columns that are found in memory.
// @run int n=1000 grid=1 block=70
extern "C" __global__ void sparse(int *out, const int *in, int n)
{
    int row = threadIdx.x;
    int begin = (unsigned)in[row] % (n - 20), sum = 0;
    int end = begin + (unsigned)in[row + 70] % 20;
    for (int k = begin; k < end; k++)
        sum += in[k] * in[(unsigned)in[k] % n];
    out[row] = sum;
}

// Linear algebra, transforms, stencils, images and particles.

// --- Linear algebra --------------------------------------------------------

// Systems of 16 equations with three diagonals, one for each thread.
// @run double n=1056 block=66
extern "C" __global__ void tridiagonal(double *out, const double *in, int n)
{
    const double *right = in + threadIdx.x * 16;
    double upper[16], value[16];
    upper[0] = 0.25;
    value[0] = right[0] * 0.25;
    for (int i = 1; i < 16; i++) {
        upper[i] = 1.0 / (4.0 + (i & 1) - upper[i - 1]);
        value[i] = (right[i] - value[i - 1]) * upper[i];
    }
    double x = 0.0;
    for (int i = 15; i >= 0; i--) {
        x = i == 15 ? value[15] : value[i] - upper[i] * x;
        out[threadIdx.x * 16 + i] = x;
    }
}

// The same by all threads of a block together.
// @run float n=128 grid=2 block=64
// @run float n=66 grid=2 block=33
extern "C" __global__ void cyclic_reduction(float *out, const float *in, int n)
{
    __shared__ float a[64], b[64], c[64], d[64];
    int t = threadIdx.x, size = blockDim.x, i = blockIdx.x * size + t;
    a[t] = t ? 1.0f : 0.0f;
    b[t] = 4.0f;
    c[t] = t < size - 1 ? 1.0f : 0.0f;
    d[t] = in[i];
    __syncthreads();
    for (int distance = 1; distance < size; distance *= 2) {
        int left = t - distance, right = t + distance;
        float new_a = 0.0f, new_b = b[t], new_c = 0.0f, new_d = d[t];
        if (left >= 0) {
            float factor = a[t] / b[left];
            new_a = -a[left] * factor;
            new_b -= c[left] * factor;
            new_d -= d[left] * factor;
        }
        if (right < size) {
            float factor = c[t] / b[right];
            new_c = -c[right] * factor;
            new_b -= a[right] * factor;
            new_d -= d[right] * factor;
        }
        __syncthreads();
        a[t] = new_a;
        b[t] = new_b;
        c[t] = new_c;
        d[t] = new_d;
        __syncthreads();
    }
    out[i] = d[t] / b[t];
}

// @run float n=512 grid=2 block=16
// @run float n=512 grid=2 block=32
extern "C" __global__ void lu_with_pivots(float *out, const float *in, int n)
{
    __shared__ float matrix[16][16];
    __shared__ int pivot;
    int t = threadIdx.x, base = blockIdx.x * 256;
    for (int i = t; i < 256; i += blockDim.x)
        matrix[i / 16][i % 16] = in[base + i];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        if (t == 0) {
            pivot = k;
            for (int i = k + 1; i < 16; i++)
                if (fabsf(matrix[i][k]) > fabsf(matrix[pivot][k]))
                    pivot = i;
        }
        __syncthreads();
        if (pivot != k && t < 16) {
            float kept = matrix[k][t];
            matrix[k][t] = matrix[pivot][t];
            matrix[pivot][t] = kept;
        }
        __syncthreads();
        if (t > k && t < 16) {
            float factor = matrix[t][k] / matrix[k][k];
            matrix[t][k] = factor;
            for (int j = k + 1; j < 16; j++)
                matrix[t][j] -= factor * matrix[k][j];
        }
        __syncthreads();
    }
    for (int i = t; i < 256; i += blockDim.x)
        out[base + i] = matrix[i / 16][i % 16];
}

// @run double n=512 grid=2 block=16
// @run double n=512 grid=2 block=100
extern "C" __global__ void cholesky(double *out, const double *in, int n)
{
    __shared__ double lower[16][17];
    int base = blockIdx.x * 256;
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        lower[i / 16][i % 16] =
            (in[base + i] + in[base + i % 16 * 16 + i / 16]) * 0.01 +
            (i % 17 ? 0 : 100);
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        if (threadIdx.x == 0)
            lower[k][k] = sqrt(lower[k][k]);
        __syncthreads();
        for (int i = k + 1 + threadIdx.x; i < 16; i += blockDim.x)
            lower[i][k] /= lower[k][k];
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += blockDim.x) {
            int y = i / 16, x = i % 16;
            if (x > k && x <= y)
                lower[y][x] -= lower[y][k] * lower[x][k];
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        out[base + i] = i % 16 <= i / 16 ? lower[i / 16][i % 16] : 0.0;
}

// Gauss and Jordan in private memory, with pivots that differ.
// @run double n=1056 block=66
extern "C" __global__ void inverse_of_four(double *out, const double *in,
                                           int n)
{
    double rows[4][8];
    int first = threadIdx.x * 16;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            rows[i][j] = j < 4 ? in[first + i * 4 + j] : j - 4 == i;
    for (int k = 0; k < 4; k++) {
        int pivot = k;
        for (int i = k + 1; i < 4; i++)
            if (fabs(rows[i][k]) > fabs(rows[pivot][k]))
                pivot = i;
        for (int j = 0; pivot != k && j < 8; j++) {
            double kept = rows[k][j];
            rows[k][j] = rows[pivot][j];
            rows[pivot][j] = kept;
        }
        double scale = 1 / rows[k][k];
        for (int j = 0; j < 8; j++)
            rows[k][j] *= scale;
        for (int i = 0; i < 4; i++)
            for (int j = 7; i != k && j >= k; j--)
                rows[i][j] -= rows[i][k] * rows[k][j];
    }
    for (int i = 0; i < 16; i++)
        out[first + i] = rows[i / 4][i % 4 + 4];
}

// A row for each warp, of any length.
// @run float n=64 grid=4 block=256
// @run float n=64 grid=64 block=32
extern "C" __global__ void sparse_rows(float *out, const float *in, int n)
{
    int lane = threadIdx.x % 32;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (int row = warp; row < n; row += gridDim.x * blockDim.x / 32) {
        float sum = 0.0f;
        for (int k = lane; k < row * 7 % 130; k += 32)
            sum += (float)(k % 5 + 1) * in[(row * 3 + k * 5) % n];
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, d);
        if (lane == 0)
            out[row] = sum;
    }
}

// Rows in any order: what neighbours have of one row is added up first.
// @run int n=256 block=64
// @run int n=256 block=256
extern "C" __global__ void sparse_triples(int *out, const int *in, int n)
{
    __shared__ int sums[256];
    int lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sums[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < 4 * n; i += blockDim.x) {
        int row = i / 7 % n, value = in[i * 17 % n] * (i % 5 - 2);
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            int other_row = __shfl_up_sync(~0u, row, d);
            int other = __shfl_up_sync(~0u, value, d);
            if (lane >= d && other_row == row)
                value += other;
        }
        int next = __shfl_down_sync(~0u, row, 1);
        if (lane == 31 || next != row)
            atomicAdd(&sums[row], value);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = sums[i];
}

// --- Transforms ------------------------------------------------------------

// @run float n=512 grid=1 block=128 ulp=64
// @run float n=256 grid=2 block=32 ulp=64
extern "C" __global__ void fourier(float *out, const float *in, int n)
{
    __shared__ float2 line[256];
    int t = threadIdx.x, size = 2 * blockDim.x, bits = __ffs(size) - 1;
    const float2 *from = (const float2 *)in + blockIdx.x * size;
    float2 *to = (float2 *)out + blockIdx.x * size;
    for (int i = t; i < size; i += blockDim.x)
        line[__brev(i) >> (32 - bits)] = from[i];
    __syncthreads();
    for (int half = 1; half < size; half *= 2) {
        int k = t & (half - 1), i = 2 * (t - k) + k;
        float sine, cosine;
        sincospif(-(float)k / half, &sine, &cosine);
        // On a grid that no error of the functions leaves.
        sine = rintf(sine * 1024.0f) / 1024.0f;
        cosine = rintf(cosine * 1024.0f) / 1024.0f;
        float2 a = line[i], b = line[i + half];
        float2 turned = make_float2(b.x * cosine - b.y * sine,
                                    b.x * sine + b.y * cosine);
        line[i] = make_float2(a.x + turned.x, a.y + turned.y);
        line[i + half] = make_float2(a.x - turned.x, a.y - turned.y);
        __syncthreads();
    }
    for (int i = t; i < size; i += blockDim.x)
        to[i] = line[i];
}

__constant__ float cosines[8] = {1.0f,         0.98078528f, 0.92387953f,
                                 0.83146961f,  0.70710678f, 0.55557023f,
                                 0.38268343f,  0.19509032f};

// The cosine of k sixteenths of pi.
__device__ float cosine_of(int k)
{
    k &= 31;
    if (k > 16)
        k = 32 - k;
    return k > 8 ? -cosine_of(16 - k) : k == 8 ? 0.0f : cosines[k];
}

// @run float n=512 grid=8 block=8,8
// @run float n=512 grid=4 block=8,8,2
extern "C" __global__ void cosine_transform(float *out, const float *in, int n)
{
    __shared__ float tiles[2][8][8], rows[2][8][8];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int i = (blockIdx.x * blockDim.z + z) * 64 + y * 8 + x;
    tiles[z][y][x] = in[i];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += tiles[z][y][k] * cosine_of((2 * k + 1) * x);
    rows[z][y][x] = sum * (x ? 0.5f : 0.35355339f);
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += rows[z][k][x] * cosine_of((2 * k + 1) * y);
    out[i] = sum * (y ? 0.5f : 0.35355339f);
}

// --- Stencils and images ---------------------------------------------------

__constant__ float weights[9] = {0.02f, 0.05f, 0.1f,  0.2f, 0.26f,
                                 0.2f,  0.1f,  0.05f, 0.02f};

// Several results for each thread, with the neighbours of both ends.
// @run float n=1024 grid=1,4 block=16,4
extern "C" __global__ void blurred_rows(float *out, const float *in, int n)
{
    __shared__ float rows[4][96];
    int x = (int)threadIdx.x - 16, y = blockIdx.y * 4 + threadIdx.y;
    const float *from = in + y * 64;
    float *row = rows[threadIdx.y];
#pragma unroll
    for (int k = 0; k < 6; k++) {
        int at = x + k * 16;
        row[at + 16] = at >= 0 && at < 64 ? from[at] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 1; k <= 4; k++) {
        float sum = 0.0f;
#pragma unroll
        for (int d = -4; d <= 4; d++)
            sum += weights[4 - d] * row[threadIdx.x + k * 16 + d];
        out[y * 64 + x + k * 16] = sum;
    }
}

// Planes one after another: those above and below stay in registers.
// @run float n=1280 block=16,8
// @run float n=1280 grid=2,2 block=8,4
extern "C" __global__ void stencil_of_planes(float *out, const float *in,
                                             int n)
{
    __shared__ float plane[10][18];
    const int width = 16, height = 8;
    int x = blockIdx.x * blockDim.x + threadIdx.x, tx = threadIdx.x + 1;
    int y = blockIdx.y * blockDim.y + threadIdx.y, ty = threadIdx.y + 1;
    int i = y * width + x;
    bool edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    float below, here = in[i], above = in[i + width * height];
    out[i] = here;
    for (int z = 1; z < n / (width * height) - 1; z++) {
        i += width * height;
        below = here;
        here = above;
        above = in[i + width * height];
        __syncthreads();
        plane[ty][tx] = here;
        if (tx == 1 && x > 0)
            plane[ty][0] = in[i - 1];
        if (tx == blockDim.x && x < width - 1)
            plane[ty][tx + 1] = in[i + 1];
        if (ty == 1 && y > 0)
            plane[0][tx] = in[i - width];
        if (ty == blockDim.y && y < height - 1)
            plane[ty + 1][tx] = in[i + width];
        __syncthreads();
        float around = plane[ty][tx - 1] + plane[ty][tx + 1] +
                       plane[ty - 1][tx] + plane[ty + 1][tx];
        out[i] = edge ? here : 0.4f * here + 0.1f * (around + below + above);
    }
    out[i + width * height] = above;
}

__device__ void order(int &a, int &b)
{
    int low = min(a, b);
    b = max(a, b);
    a = low;
}

// @run int n=512 grid=2,1 block=16,16
// @run int n=512 grid=5,6 block=7,3
extern "C" __global__ void median_of_nine(int *out, const int *in, int n)
{
    __shared__ short tile[18][18];
    int left = blockIdx.x * blockDim.x - 1, top = blockIdx.y * blockDim.y - 1;
    for (int y = threadIdx.y; y < blockDim.y + 2; y += blockDim.y)
        for (int x = threadIdx.x; x < blockDim.x + 2; x += blockDim.x)
            tile[y][x] = in[min(max(top + y, 0), 15) * 32 +
                            min(max(left + x, 0), 31)];
    __syncthreads();
    int x = left + 1 + threadIdx.x, y = top + 1 + threadIdx.y, v[9];
    if (x >= 32 || y >= 16)
        return;
#pragma unroll
    for (int k = 0; k < 9; k++)
        v[k] = tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
    const int steps[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4},
                              {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                              {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5},
                              {4, 7}, {4, 2}, {6, 4}, {4, 2}};
#pragma unroll
    for (int k = 0; k < 19; k++)
        order(v[steps[k][0]], v[steps[k][1]]);
    out[y * 32 + x] = v[4];
}

__constant__ signed char contours[16][4] = {
    {-1}, {3, 0, -1}, {0, 1, -1}, {3, 1, -1},
    {1, 2, -1}, {3, 0, 1, 2}, {0, 2, -1}, {3, 2, -1},
    {2, 3, -1}, {2, 0, -1}, {0, 1, 2, 3}, {2, 1, -1},
    {1, 3, -1}, {1, 0, -1}, {0, 3, -1}, {-1}};

// The length of the contour in each cell.
// @run float n=1024 grid=4 block=256
// @run float n=1024 grid=32 block=33
extern "C" __global__ void marching_squares(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 33)
        return;
    const float corners[4] = {in[i], in[i + 1], in[i + 33], in[i + 32]};
    int kind = 0;
#pragma unroll
    for (int k = 0; k < 4; k++)
        kind |= (corners[k] > 0.0f) << k;
    float length = 0.0f;
    for (int k = 0; k < 4 && contours[kind][k] >= 0; k += 2) {
        float x[2], y[2];
        for (int end = 0; end < 2; end++) {
            int edge = contours[kind][k + end];
            float a = corners[edge], b = corners[(edge + 1) & 3];
            float part = a / (a - b);
            switch (edge) {
            case 0: x[end] = part, y[end] = 0; break;
            case 1: x[end] = 1, y[end] = part; break;
            case 2: x[end] = 1 - part, y[end] = 1; break;
            default: x[end] = 0, y[end] = 1 - part;
            }
        }
        length += fabsf(x[0] - x[1]) + fabsf(y[0] - y[1]);
    }
    out[i] = length;
}

// --- Particles and flows ---------------------------------------------------

// Particles are put into the lists of cells, and look into those beside.
// @run float n=200 block=64
// @run float n=200 block=33
extern "C" __global__ void neighbours_in_cells(float *out, const float *in,
                                               int n)
{
    __shared__ int starts[33], ends[32], members[200];
    auto cell_of = [](float x) {
        return min(31, max(0, (int)((x + 125.0f) / 8.0f)));
    };
    for (int k = threadIdx.x; k < 33; k += blockDim.x)
        starts[k] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&starts[cell_of(in[i]) + 1], 1);
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 0; k < 32; k++)
            starts[k + 1] += starts[k];
    __syncthreads();
    for (int k = threadIdx.x; k < 32; k += blockDim.x)
        ends[k] = starts[k];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        members[atomicAdd(&ends[cell_of(in[i])], 1)] = i;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int cell = cell_of(in[i]), count = 0;
        float farthest = 0.0f;
        for (int c = max(cell - 1, 0); c <= min(cell + 1, 31); c++)
            for (int k = starts[c]; k < starts[c + 1]; k++) {
                float distance = fabsf(in[i] - in[members[k]]);
                if (members[k] == i || distance >= 8.0f)
                    continue;
                count++;
                farthest = fmaxf(farthest, distance);
            }
        out[i] = count * 100.0f + farthest;
    }
}

__constant__ signed char steps_x[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ signed char steps_y[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ signed char opposites[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};

// A step of a lattice Boltzmann method, with walls.
// @run float n=2304 grid=1,4 block=16,4
// @run float n=2304 grid=3,4 block=7,5
extern "C" __global__ void lattice_gas(float *out, const float *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= 16 || y >= 16)
        return;
    float f[9], density = 0.0f, vx = 0.0f, vy = 0.0f;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        int from_x = (x - steps_x[k] + 16) % 16;
        int from_y = (y - steps_y[k] + 16) % 16;
        f[k] = 0.1f + 1e-4f * in[(k * 16 + from_y) * 16 + from_x];
        density += f[k];
        vx += f[k] * steps_x[k];
        vy += f[k] * steps_y[k];
    }
    if ((x * 7 + y * 3) % 11 == 0) {
        for (int k = 0; k < 9; k++)
            out[(opposites[k] * 16 + y) * 16 + x] = f[k];
        return;
    }
    vx /= density;
    vy /= density;
    float square = 1.5f * (vx * vx + vy * vy);
    for (int k = 0; k < 9; k++) {
        float along = 3.0f * (steps_x[k] * vx + steps_y[k] * vy);
        float weight = (k == 0 ? 16.0f : k < 5 ? 4.0f : 1.0f) / 36.0f;
        float rest = weight * density *
                     (1.0f + along + 0.5f * along * along - square);
        out[(k * 16 + y) * 16 + x] = f[k] - 0.6f * (f[k] - rest);
    }
}

__device__ float cubic(float x)
{
    return x * x * x - 2 * x + 1;
}

// Simpson's rule, on halves where it is not exact enough.
__device__ float area(float from, float to, float error, int depth)
{
    float middle = (from + to) * 0.5f, width = to - from;
    float ends = cubic(from) + cubic(to), centre = cubic(middle);
    float coarse = width / 6 * (ends + 4 * centre);
    float quarters =
        cubic((from + middle) * 0.5f) + cubic((middle + to) * 0.5f);
    float fine = width / 12 * (ends + 2 * centre + 4 * quarters);
    if (depth == 0 || fabsf(fine - coarse) < error)
        return fine;
    return area(from, middle, error * 0.5f, depth - 1) +
           area(middle, to, error * 0.5f, depth - 1);
}

// @run float n=128 grid=2 block=64
// @run float n=66 grid=2 block=33
extern "C" __global__ void areas(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = area(0.0f, in[i] * 0.1f, 1e-3f, i % 7);
}

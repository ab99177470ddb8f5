// Whatever else kernels do.

// A miscompile of clang's loop vectoriser: wrong in 7 of 128 elements.
extern "C" __global__ void misc_ring(int *out, const int *in, int n)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = in[t] * 2;
    __syncthreads();
    for (int i = 0; i < 128; i++)
        if (i == t)
            out[i] = s[(i * 3) & 127] + in[i];
}

extern "C" __global__ void misc_ring_loop(int *out, const int *in, int n)
{
    __shared__ int s[128];
    for (int i = 0; i < 128; i++)
        s[i] = in[i] * 2;
    for (int i = 0; i < 128; i++)
        out[i] = s[(i * 3) & 127] + in[i];
}

__device__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void misc_recursion(int *out, const int *, int n)
{
    out[threadIdx.x] = fibonacci(threadIdx.x);
}

__device__ int add_one(int x) { return x + 1; }
__device__ int twice(int x) { return x * 2; }
typedef int (*function)(int);
__device__ function choices[2] = {add_one, twice};

extern "C" __global__ void misc_pointers(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    out[t] = choices[t & 1](in[t]);
}

__device__ int wait_here(int x)
{
    __syncthreads();
    return x + 100;
}
__device__ function waiting[1] = {wait_here};

// The barrier is reached only through a table.
extern "C" __global__ void misc_hidden_barrier(int *out, const int *in, int n)
{
    out[threadIdx.x] = waiting[0](in[threadIdx.x]);
}

extern "C" __global__ void misc_control(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = in[t], steps = 0;
    while (true) {
        switch (value % 4) {
        case 0:
            value /= 2;
            break;
        case 1:
            value = 3 * value + 1;
            break;
        case 2:
            value -= 1;
            continue;
        default:
            value += 5;
            goto next;
        }
        steps += 10;
    next:
        if (++steps > 50 || value > 100000)
            break;
    }
    out[t] = steps * 1000 + value % 1000;
}

extern "C" __global__ void misc_lambda(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    auto weigh = [=](int x) { return x * n + t; };
    out[t] = weigh(in[t]) + [](int y) { return y & 7; }(t);
}

struct Shape {
    __device__ virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    __device__ explicit Square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};
struct Row : Shape {
    int length;
    __device__ explicit Row(int l) : length(l) {}
    __device__ int area() const override { return length; }
};

extern "C" __global__ void misc_virtual(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    Square square(in[t]);
    Row row(in[t]);
    const Shape *shape = &row;
    if (t & 1)
        shape = &square;
    out[t] = shape->area();
}

// A tile of shared memory at a time, the classic of every guide.
extern "C" __global__ void misc_matmul(int *out, const int *in, int n)
{
    __shared__ int a[8][8], b[8][8];
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    int sum = 0;
    for (int tile = 0; tile < n / 8; tile++) {
        a[threadIdx.y][threadIdx.x] = in[row * n + tile * 8 + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = in[(tile * 8 + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    out[row * n + column] = sum;
}

extern "C" __global__ void misc_reduce(int *out, const int *in, int n)
{
    extern __shared__ int sums[];
    unsigned t = threadIdx.x;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x)
        sum += in[i];
    sums[t] = sum;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, sums[0]);
}

extern "C" __global__ void misc_vectors(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    int4 v = reinterpret_cast<const int4 *>(in)[t];
    int2 w = make_int2(v.x + v.y, v.z + v.w);
    uchar4 bytes = make_uchar4(1, 2, 3, 250);
    reinterpret_cast<int2 *>(out)[t] =
        make_int2(w.x * 2, w.y + bytes.w + (int)sizeof(float3));
}

extern "C" __global__ void misc_clock(int *out, const int *, int n)
{
    long long before = clock64();
    __threadfence();
    long long after = clock64();
    out[threadIdx.x] = after >= before && clock() != 0;
}

// A list made with new, in each thread.
struct Node {
    int value;
    Node *next;
};

extern "C" __global__ void misc_new(int *out, const int *in, int n)
{
    Node *first = nullptr;
    for (int i = 0; i < n; i++)
        first = new Node{in[i], first};
    int sum = 0;
    while (first) {
        Node *next = first->next;
        sum = sum * 2 + first->value;
        delete first;
        first = next;
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void misc_stack(int *out, const int *, int n)
{
    volatile char large[100000];
    int t = threadIdx.x;
    for (int i = 0; i < 100000; i += 1000)
        large[i] = (char)(t + i / 1000);
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 100000; i += 1000)
        sum += large[i];
    out[t] = sum;
}

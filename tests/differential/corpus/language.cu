// What C++ adds: templates, lambdas, references, recursion, function pointers,
// classes.

template <int Size> __device__ int sum_of(const int *values)
{
    int sum = 0;
#pragma unroll
    for (int k = 0; k < Size; k++)
        sum += values[k];
    return sum;
}

template <class T, class F> __device__ T folded(const T *values, int count, F f)
{
    T result = values[0];
    for (int k = 1; k < count; k++)
        result = f(result, values[k]);
    return result;
}

// @run int n=128 grid=1 block=120
extern "C" __global__ void templates(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    out[t] = sum_of<8>(in + t) + sum_of<3>(in + t) * 2 - sum_of<1>(in);
}

// @run int n=128 grid=1 block=100
extern "C" __global__ void lambdas(int *out, const int *in, int n)
{
    int t = threadIdx.x, limit = t * 10;
    auto capped = [=](int a, int b) { return min(a + b, limit); };
    auto largest = [](int a, int b) { return a > b ? a : b; };
    int count = 0;
    auto counted = [&](int a, int b) {
        count += b > 0;
        return a ^ b;
    };
    out[t] = folded(in + t, 1 + t % 9, capped) + folded(in + t, 7, largest) +
             folded(in + t, t % 4 + 1, counted) + count;
}

__device__ int fibonacci(int k)
{
    return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void recursion(int *out, const int *in, int n)
{
    out[threadIdx.x] = fibonacci(threadIdx.x % 12) + in[threadIdx.x];
}

__device__ int odd(int k);
__device__ int even(int k)
{
    return k == 0 ? 1 : odd(k - 1);
}
__device__ int odd(int k)
{
    return k == 0 ? 0 : even(k - 1);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void mutual_recursion(int *out, const int *in, int n)
{
    int k = in[threadIdx.x] & 15;
    out[threadIdx.x] = even(k) * 2 + odd(k);
}

__device__ void visit(const int *in, int node, int n, int &sum)
{
    if (node >= n)
        return;
    visit(in, 2 * node + 1, n, sum);
    sum = sum * 3 + in[node] & 0xffffff;
    if (in[node] > -500)
        visit(in, 2 * node + 2, n, sum);
}

// @run int n=63 grid=1 block=63
extern "C" __global__ void tree_walk(int *out, const int *in, int n)
{
    int sum = threadIdx.x;
    visit(in, threadIdx.x, n, sum);
    out[threadIdx.x] = sum;
}

__device__ int added(int a, int b) { return a + b; }
__device__ int multiplied(int a, int b) { return a * b; }
__device__ int subtracted(int a, int b) { return a - b; }

// @run int n=64 grid=2 block=32
extern "C" __global__ void function_pointers(int *out, const int *in, int n)
{
    int (*const table[3])(int, int) = {added, multiplied, subtracted};
    int i = blockIdx.x * 32 + threadIdx.x;
    int (*chosen)(int, int) = in[i] > 0 ? added : subtracted;
    out[i] = table[i % 3](in[i], i) + chosen(i, 5) + table[blockIdx.x](i, 2);
}

struct shape {
    __device__ virtual int area(int by) const = 0;
};
struct square : shape {
    int side;
    __device__ square(int s) : side(s) {}
    __device__ int area(int by) const override { return side * side * by; }
};
struct strip : shape {
    int width, height;
    __device__ strip(int w, int h) : width(w), height(h) {}
    __device__ int area(int by) const override { return width * height - by; }
};

// @run int n=64 grid=1 block=64
extern "C" __global__ void virtual_functions(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    square a(in[t]);
    strip b(t, in[t]);
    const shape *chosen = &a;
    if (t & 1)
        chosen = &b;
    out[t] = chosen->area(t % 7);
}

class accumulator {
public:
    __device__ explicit accumulator(int start) : sum_(start), steps_(0) {}
    __device__ accumulator &operator+=(int value)
    {
        sum_ += value;
        steps_++;
        return *this;
    }
    __device__ operator int() const { return sum_ * 8 + steps_; }

private:
    int sum_, steps_;
};

// @run int n=64 grid=1 block=64
extern "C" __global__ void operators(int *out, const int *in, int n)
{
    accumulator sum(threadIdx.x);
    for (int k = 0; k < (in[threadIdx.x] & 7); k++)
        sum += in[k];
    out[threadIdx.x] = sum;
}

// Destructors run on every way out.
struct counter {
    int *place;
    __device__ explicit counter(int *p) : place(p) {}
    __device__ ~counter() { *place += 1000; }
};

// @run int n=64 grid=1 block=64
extern "C" __global__ void destructors(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    out[t] = in[t];
    for (int k = 0; k < 5; k++) {
        counter inner(&out[t]);
        if (in[t] > k * 200)
            continue;
        if (in[t] < -500)
            return;
        out[t]++;
    }
}

namespace shapes {
enum class colour { red, green = 7, blue };

__device__ constexpr int weight(colour c)
{
    return c == colour::green ? 100 : static_cast<int>(c);
}
} // namespace shapes

// @run int n=64 grid=1 block=64
extern "C" __global__ void enumerations(int *out, const int *in, int n)
{
    using shapes::colour;
    constexpr int fixed = shapes::weight(colour::blue);
    colour mine = in[threadIdx.x] > 0 ? colour::red : colour::green;
    if constexpr (fixed > 3)
        out[threadIdx.x] = shapes::weight(mine) + fixed;
    else
        out[threadIdx.x] = 0;
}

template <class T> struct pair_of {
    T first, second;
};

template <class T> __device__ void swap_if(bool condition, pair_of<T> &pair)
{
    if (condition) {
        T kept = pair.first;
        pair.first = pair.second;
        pair.second = kept;
    }
}

// @run double n=64 grid=1 block=64
extern "C" __global__ void template_structs(double *out, const double *in,
                                            int n)
{
    int t = threadIdx.x;
    pair_of<double> a = {in[t], in[63 - t]};
    pair_of<short> b = {(short)t, (short)in[t]};
    swap_if(a.first > a.second, a);
    swap_if(b.first > b.second, b);
    auto [low, high] = b;
    out[t] = a.second - a.first * 2 + low * 3 + high;
}

struct alignas(16) link {
    int key;
    link *next;
    __device__ link(int k, link *n) : key(k), next(n) {}
};

// alignas may follow __shared__, and objects be made in shared memory.
// @run int n=100 grid=1 block=100
// @run int n=128 grid=1 block=128
extern "C" __global__ void objects_in_place(int *out, const int *in, int n)
{
    __shared__ alignas(link) unsigned char place[sizeof(link) * 128];
    __shared__ alignas(sizeof(link) > 8 ? 64 : 8) int sum;
    int t = threadIdx.x, result = 0;
    link *links = reinterpret_cast<link *>(place);
    if (t == 0)
        sum = 0;
    link *own = new (links + t) link(in[t], t ? links + t - 1 : nullptr);
    __syncthreads();
    for (int k = 0; own && k < 20; k++, own = own->next)
        result = (result * 3 + own->key) & 0xffffff;
    atomicAdd(&sum, result & 0xff);
    __syncthreads();
    out[t] = result + sum + int(size_t(links) % alignof(link)) +
             int(size_t(&sum) % 64);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void range_loops(int *out, const int *in, int n)
{
    int t = threadIdx.x, own[5] = {in[t], 2, t, -4, 5}, sum = 0;
    for (int &value : own)
        value += t & 3;
    for (int value : own)
        sum = sum * 2 + value;
    out[t] = sum;
}

struct seven {
    unsigned char at[7];
};

__device__ uchar3 mixed(uchar3 a, uchar3 b)
{
    return make_uchar3((a.x + b.z) / 2, a.y ^ b.y, max(a.z, b.x));
}

__device__ seven turned(seven a, int by)
{
    seven b;
    for (int i = 0; i < 7; i++)
        b.at[i] = a.at[(i + by) % 7];
    return b;
}

// Structures that are passed as integers of 24 and 56 bits.
// @run int n=700 block=100
// @run int n=231 block=33
extern "C" __global__ void odd_sizes(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    const uchar3 *pixels = (const uchar3 *)in;
    ((uchar3 *)out)[t] = mixed(pixels[t], pixels[n - 1 - t]);
    const seven *from = (const seven *)in;
    ((seven *)(out + n / 7))[t] = turned(from[t], t & 3);
}

struct polynomial {
    float at[4];
    __device__ polynomial(std::initializer_list<float> factors) : at{}
    {
        float *next = at;
        for (float factor : factors)
            *next++ = factor * (float)factors.size();
    }
    __device__ float operator()(float x) const
    {
        return at[0] + x * (at[1] + x * (at[2] + x * at[3]));
    }
};

__device__ __nv_pure__ float squared(float x) { return x * x; }

// Lists are the compiler's own, without any header.
// @run float n=64 block=64
extern "C" __global__ void lists(float *out, const float *in, int n)
{
    int t = threadIdx.x;
    float x = squared(in[t]), sum = 0;
    for (float factor : {0.5f, x, -2.0f})
        sum += factor;
    auto pair = {t, n};
    polynomial p{1.0f, x, 0.25f};
    out[t] = p(sum) + (float)(pair.begin()[1] - *pair.begin());
}

// As people write kernels in C++20: concepts, packs, tables, classes.

// @options --fmad=false -std=c++20 -default-device

#include <cooperative_groups.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

// --- Concepts -------------------------------------------------------------

template <class T, class U> struct same {
    static constexpr bool value = false;
};
template <class T> struct same<T, T> {
    static constexpr bool value = true;
};
template <class T, class U>
concept same_as = same<T, U>::value;
template <class T>
concept integral = same_as<T, int> || same_as<T, unsigned> ||
    same_as<T, long long> || same_as<T, short>;
template <class T>
concept addable = requires(T a, T b)
{
    {
        a + b
        } -> same_as<T>;
    T{};
};
template <class F, class T>
concept unary_on = requires(F f, T x)
{
    {
        f(x)
        } -> same_as<T>;
};
template <class T>
concept has_identity = requires
{
    T::identity();
    typename T::value_type;
};

struct plus_op {
    using value_type = int;
    __device__ static constexpr int identity()
    {
        return 0;
    }
    __device__ int operator()(int a, int b) const
    {
        return a + b;
    }
};
struct max_op {
    using value_type = int;
    __device__ static constexpr int identity()
    {
        return -2147483647 - 1;
    }
    __device__ int operator()(int a, int b) const
    {
        return a > b ? a : b;
    }
};

template <has_identity Op>
__device__ typename Op::value_type warp_reduce(typename Op::value_type v, Op op)
{
#pragma unroll
    for (int offset = 16; offset; offset >>= 1)
        v = op(v, __shfl_xor_sync(0xffffffff, v, offset));
    return v;
}

template <has_identity Op, int Threads>
__device__ typename Op::value_type block_reduce(typename Op::value_type v,
                                                Op op = {})
{
    using T = typename Op::value_type;
    __shared__ T partial[Threads / 32];
    v = warp_reduce(v, op);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    T r = threadIdx.x < Threads / 32 ? partial[threadIdx.x] : Op::identity();
    if (threadIdx.x < 32)
        r = warp_reduce(r, op);
    if (threadIdx.x == 0)
        partial[0] = r;
    __syncthreads();
    T all = partial[0];
    __syncthreads();
    return all;
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void concept_reduce(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = block_reduce<plus_op, 256>(in[i]);
    int most = block_reduce<max_op, 256>(in[i] ^ i);
    out[i] = sum * 3 + most;
}

template <integral T> __device__ T pick(T x)
{
    return x * 2;
}
template <class T>
requires(!integral<T>) __device__ T pick(T x)
{
    return x / 2;
}
template <addable T> __device__ auto twice(T x)
{
    return x + x;
}
template <unary_on<int> F> __device__ int apply(F f, int x)
{
    return f(x);
}

// @run int n=100 block=100
extern "C" __global__ void constrained_overloads(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    short s = (short)in[t];
    out[t] = pick(in[t]) + (int)pick((float)in[t]) + pick(s) +
             (int)twice(1.5 * t) + apply([=](int x) { return x - t; }, in[t]);
}

// --- Packs ----------------------------------------------------------------

template <class... T> struct tuple;
template <> struct tuple<> {
};
template <class H, class... T> struct tuple<H, T...> {
    H head;
    [[no_unique_address]] tuple<T...> tail;
};
template <class... T> __device__ tuple(T...)->tuple<T...>;
template <class H> __device__ constexpr tuple<H> make(H h)
{
    return {h, {}};
}
template <class H, class... T>
__device__ constexpr tuple<H, T...> make(H h, T... t)
{
    if constexpr (sizeof...(T) == 0)
        return {h, {}};
    else
        return {h, make(t...)};
}
template <int I, class H, class... T>
__device__ constexpr auto &get(tuple<H, T...> &t)
{
    if constexpr (I == 0)
        return t.head;
    else
        return get<I - 1>(t.tail);
}

// @run int n=64 block=64
extern "C" __global__ void tuples(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    auto t = make(in[i], 2.5f, (short)7, (long long)in[i] * 5);
    get<0>(t) += 1;
    get<2>(t) = (short)(get<2>(t) * i);
    get<3>(t) %= 1000;
    out[i] = get<0>(t) + (int)(get<1>(t) * 4) + get<2>(t) + (int)get<3>(t);
}

template <int... I> struct seq {
};
template <int N, int... I> struct make_seq_ : make_seq_<N - 1, N - 1, I...> {
};
template <int... I> struct make_seq_<0, I...> {
    using type = seq<I...>;
};
template <int N> using make_seq = typename make_seq_<N>::type;

template <class F, int... I> __device__ void unrolled(F f, seq<I...>)
{
    (f(I), ...);
}
template <class... A> __device__ int sum(A... a)
{
    return (a + ... + 0);
}
template <class... A> __device__ bool all_less(int x, A... a)
{
    return ((x < a) && ...);
}
template <int... V> __device__ constexpr int count_odd = ((V & 1) + ... + 0);

// @run int n=96 block=96
extern "C" __global__ void folds(int *out, const int *in, int n)
{
    int t = threadIdx.x, acc = 0, regs[8];
    unrolled([&](int k) { regs[k] = in[(t + k) % n] * (k + 1); },
             make_seq<8>());
    unrolled([&](auto k) { acc ^= regs[k] << k; }, make_seq<8>());
    out[t] = acc + sum(regs[0], regs[3], regs[5]) +
             all_less(in[t], 900, 500, 700) + count_odd<1, 2, 3, 5, 8>;
}

// --- Tables made while compiling ------------------------------------------

template <class T, int N> struct array {
    T v[N];
    __host__ __device__ constexpr T &operator[](int i)
    {
        return v[i];
    }
    __host__ __device__ constexpr const T &operator[](int i) const
    {
        return v[i];
    }
    __host__ __device__ constexpr int size() const
    {
        return N;
    }
    __host__ __device__ constexpr const T *begin() const
    {
        return v;
    }
    __host__ __device__ constexpr const T *end() const
    {
        return v + N;
    }
};

__host__ __device__ constexpr array<unsigned, 256> make_crc()
{
    array<unsigned, 256> table{};
    for (unsigned i = 0; i < 256; i++) {
        unsigned c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[(int)i] = c;
    }
    return table;
}

__constant__ constexpr array<unsigned, 256> crc_table = make_crc();

// @run int n=128 block=128
extern "C" __global__ void crc32(int *out, const int *in, int n)
{
    unsigned crc = ~0u;
    for (int k = 0; k < 4; k++)
        for (int byte = 0; byte < 4; byte++) {
            unsigned char b =
                (unsigned char)(in[(threadIdx.x + k) % n] >> (8 * byte));
            crc = crc_table[(crc ^ b) & 255] ^ (crc >> 8);
        }
    out[threadIdx.x] = (int)~crc;
}

__host__ __device__ consteval int square_of(int x)
{
    return x * x;
}
template <int N> __host__ __device__ constexpr array<int, N> make_primes()
{
    array<int, N> p{};
    int count = 0;
    for (int c = 2; count < N; c++) {
        bool prime = true;
        for (int d = 2; d * d <= c; d++)
            prime &= c % d != 0;
        if (prime)
            p[count++] = c;
    }
    return p;
}

// @run int n=64 block=64
extern "C" __global__ void primes(int *out, const int *in, int n)
{
    static constexpr auto p = make_primes<32>();
    int t = threadIdx.x, r = square_of(9);
    for (int q : p)
        r += in[t] % q == 0 ? q : 0;
    out[t] = r + p[t % 32] + p.size();
}

// --- Static polymorphism --------------------------------------------------

template <class D> struct shape {
    __device__ float area() const
    {
        return self().area_of();
    }
    __device__ float scaled(float f) const
    {
        return self().area_of() * f * f;
    }
    __device__ const D &self() const
    {
        return static_cast<const D &>(*this);
    }
};
struct square : shape<square> {
    float a;
    __device__ explicit square(float x) : a(x)
    {
    }
    __device__ float area_of() const
    {
        return a * a;
    }
};
struct rectangle : shape<rectangle> {
    float a, b;
    __device__ rectangle(float x, float y) : a{x}, b{y}
    {
    }
    __device__ float area_of() const
    {
        return a * b;
    }
};
template <class D> __device__ float measure(const shape<D> &s)
{
    return s.area() + s.scaled(2);
}

// @run float n=64 block=64
extern "C" __global__ void crtp(float *out, const float *in, int n)
{
    int t = threadIdx.x;
    out[t] = measure(square(in[t])) + measure(rectangle(in[t], 2.0f));
}

// An expression template.
template <class L, class R, class Op> struct expression {
    L l;
    R r;
    __device__ float operator[](int i) const
    {
        return Op::apply(l[i], r[i]);
    }
};
struct view {
    const float *p;
    __device__ float operator[](int i) const
    {
        return p[i];
    }
};
struct scalar {
    float v;
    __device__ float operator[](int) const
    {
        return v;
    }
};
struct add_ {
    __device__ static float apply(float a, float b)
    {
        return a + b;
    }
};
struct mul_ {
    __device__ static float apply(float a, float b)
    {
        return a * b;
    }
};
template <class T>
concept vectorial = requires(T t)
{
    {
        t[0]
        } -> same_as<float>;
};
template <vectorial L, vectorial R> __device__ auto operator+(L l, R r)
{
    return expression<L, R, add_>{l, r};
}
template <vectorial L, vectorial R> __device__ auto operator*(L l, R r)
{
    return expression<L, R, mul_>{l, r};
}

// @run float n=128 grid=2 block=64
extern "C" __global__ void expressions(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    view x{in};
    auto e = x * x + scalar{2} * x + scalar{1};
    out[i] = e[i] + (x + e)[(i + 1) % n];
}

// --- Lambdas and bindings -------------------------------------------------

struct range {
    int first, last, step;
    struct iterator {
        int i, step;
        __device__ int operator*() const
        {
            return i;
        }
        __device__ iterator &operator++()
        {
            i += step;
            return *this;
        }
        __device__ bool operator!=(const iterator &o) const
        {
            return i < o.i;
        }
    };
    __device__ iterator begin() const
    {
        return {first, step};
    }
    __device__ iterator end() const
    {
        return {last, step};
    }
};
__device__ range grid_stride(int n)
{
    return {int(blockIdx.x * blockDim.x + threadIdx.x), n,
            int(gridDim.x * blockDim.x)};
}

// @run int n=1000 grid=3 block=64
extern "C" __global__ void ranges(int *out, const int *in, int n)
{
    for (auto i : grid_stride(n))
        out[i] = in[i] * 3 - i;
}

struct min_max {
    int least, most;
};
__device__ min_max find(const int *p, int n)
{
    min_max r{p[0], p[0]};
    for (int i = 1; i < n; i++) {
        if (p[i] < r.least)
            r.least = p[i];
        if (p[i] > r.most)
            r.most = p[i];
    }
    return r;
}

// @run int n=128 block=64
extern "C" __global__ void bindings(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    auto [least, most] = find(in + t, 1 + t % 40);
    int pair[2] = {least, most};
    auto &[a, b] = pair;
    a += 1;
    b -= 1;
    const auto [x, y, z] = threadIdx;
    out[2 * t] = least * 10 + pair[0] + (int)x;
    out[2 * t + 1] = most * 10 + pair[1] + (int)(y + z);
}

template <class F> __device__ auto compose(F f)
{
    return f;
}
template <class F, class... G> __device__ auto compose(F f, G... g)
{
    return [=](auto x) { return f(compose(g...)(x)); };
}

// @run int n=70 block=70
extern "C" __global__ void lambdas(int *out, const int *in, int n)
{
    int t = threadIdx.x, count = 0;
    auto tick = [&count, step = 2](int x) mutable {
        count += step++;
        return x + count;
    };
    auto f = compose([](int x) { return x * 2; }, [t](int x) { return x + t; },
                     [](int x) { return x % 100; });
    int r = f(in[t]) + tick(1) + tick(2) + tick(3);
    int (*plain)(int) = [](int x) { return x ^ 5; };
    auto fact = [](auto &self, int k) -> int {
        return k < 2 ? 1 : k * self(self, k - 1);
    };
    out[t] = r + plain(in[t]) + fact(fact, 1 + t % 8);
}

// --- Enumerations, switches, `if` with initialisers -----------------------

enum class op : unsigned char { add, sub, mul, div, shl, neg };

// @run int n=128 block=128
extern "C" __global__ void interpreter(int *out, const int *in, int n)
{
    int t = threadIdx.x, x = in[t], y = t + 1;
    for (int pc = 0; pc < 6; pc++) {
        using enum op;
        switch (static_cast<op>((in[(t + pc) % n] & 0xff) % 6)) {
        case add:
            x += y;
            break;
        case sub:
            x -= y * 2;
            break;
        case mul:
            x = (x & 0xffff) * y;
            break;
        case div:
            x /= y;
            [[fallthrough]];
        case shl:
            x <<= 1;
            break;
        default:
            x = -x;
        }
        if (int rest = x % 7; rest == 0) [[unlikely]]
            y++;
        else if (rest < 0)
            y += 2;
    }
    out[t] = x ^ y;
}

// --- Tiles and layouts ----------------------------------------------------

template <int R, int C> struct row_major {
    static constexpr int rows = R, columns = C;
    __device__ static constexpr int at(int r, int c)
    {
        return r * C + c;
    }
};
template <int R, int C> struct column_major {
    static constexpr int rows = R, columns = C;
    __device__ static constexpr int at(int r, int c)
    {
        return c * R + r;
    }
};
template <class Layout> struct swizzled : Layout {
    __device__ static constexpr int at(int r, int c)
    {
        return Layout::at(r, c ^ (r & 7));
    }
};
template <class T, class Layout> struct tile {
    T *data;
    __device__ T &operator()(int r, int c) const
    {
        return data[Layout::at(r, c)];
    }
};
template <int M, int N, int K> struct shape3 {
    static constexpr int m = M, n = N, k = K;
};

template <class Shape, class LA, class LB, class LC> struct gemm {
    using A = swizzled<row_major<Shape::m, Shape::k>>;
    using B = row_major<Shape::k, Shape::n>;
    struct storage {
        float a[Shape::m * Shape::k], b[Shape::k * Shape::n];
    };
    storage &s;
    float acc[2][2] = {};
    __device__ explicit gemm(storage &shared) : s(shared)
    {
    }
    template <int Size, class F> __device__ static void for_each(F f)
    {
        for (int i = threadIdx.x; i < Size; i += blockDim.x)
            f(i);
    }
    __device__ void load(tile<const float, LA> a, tile<const float, LB> b)
    {
        for_each<Shape::m * Shape::k>([&](int i) {
            tile<float, A>{s.a}(i / Shape::k, i % Shape::k) =
                a(i / Shape::k, i % Shape::k);
        });
        for_each<Shape::k * Shape::n>([&](int i) {
            tile<float, B>{s.b}(i / Shape::n, i % Shape::n) =
                b(i / Shape::n, i % Shape::n);
        });
        __syncthreads();
    }
    __device__ void multiply()
    {
        int r = threadIdx.x / (Shape::n / 2) * 2,
            c = threadIdx.x % (Shape::n / 2) * 2;
        for (int k = 0; k < Shape::k; k++)
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 2; j++)
                    acc[i][j] += tile<float, A>{s.a}(r + i, k) *
                                 tile<float, B>{s.b}(k, c + j);
    }
    template <class E> __device__ void store(tile<float, LC> to, E epilogue)
    {
        int r = threadIdx.x / (Shape::n / 2) * 2,
            c = threadIdx.x % (Shape::n / 2) * 2;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                to(r + i, c + j) = epilogue(acc[i][j]);
    }
};

// @run float n=256 block=64
extern "C" __global__ void tiled_product(float *out, const float *in, int n)
{
    using shape = shape3<16, 16, 16>;
    using kernel =
        gemm<shape, row_major<16, 16>, column_major<16, 16>, row_major<16, 16>>;
    __shared__ typename kernel::storage s;
    kernel g(s);
    g.load({in}, {in});
    g.multiply();
    g.store({out}, [](float x) { return x > 0 ? x : 0.5f * x; });
}

// --- Unions, bit-fields, placement ----------------------------------------

union word {
    float f;
    unsigned u;
    struct {
        unsigned mantissa : 23, exponent : 8, sign : 1;
    } bits;
    unsigned char bytes[4];
};

// @run int n=64 block=64
extern "C" __global__ void unions(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    word w;
    w.f = in[t] * 0.37f;
    w.bits.exponent += 1;
    w.bits.sign ^= t & 1;
    out[t] = (int)w.f + w.bytes[2] + (int)(w.bits.mantissa >> 10);
}

struct packed {
    int a : 5;
    unsigned b : 11;
    signed int c : 7;
    bool d : 1;
    unsigned : 0;
    unsigned e : 20 = 77;
};

// @run int n=64 block=64
extern "C" __global__ void bit_fields(int *out, const int *in, int n)
{
    packed p{};
    int t = threadIdx.x;
    p.a = in[t];
    p.b = in[t] * 3;
    p.c = -in[t];
    p.d = in[t] & 4;
    p.e += p.b;
    p.a++;
    p.c >>= 1;
    out[t] = p.a * 1000 + p.b + p.c * 100 + p.d + p.e + (int)sizeof(packed);
}

struct node {
    int value;
    node *next;
    __device__ node(int v, node *n) : value(v), next(n)
    {
    }
};

// @run int n=64 block=64
extern "C" __global__ void placement(int *out, const int *in, int n)
{
    alignas(node) unsigned char memory[6][sizeof(node)];
    node *list = nullptr;
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 6; i++)
        if (in[(t + i) % n] % 3)
            list = new (memory[i]) node(in[(t + i) % n], list);
    for (int w = 1; list; list = list->next, w++)
        sum += list->value * w;
    out[t] = sum;
}

// --- Functions by pointers ------------------------------------------------

__device__ int fa(int x)
{
    return x + 1;
}
__device__ int fb(int x)
{
    return x * 3;
}
__device__ int fc(int x)
{
    return x ^ 0x55;
}
using fn = int (*)(int);
__device__ const fn functions[] = {fa, fb, fc};
__constant__ fn chosen = fb;

// @run int n=64 block=64
extern "C" __global__ void function_tables(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    out[t] = functions[t % 3](in[t]) + chosen(t);
}

struct animal {
    int legs;
    __device__ animal(int l) : legs(l)
    {
    }
    __device__ virtual ~animal()
    {
    }
    __device__ virtual int sound(int x) const = 0;
    __device__ virtual int move(int x) const
    {
        return x + legs;
    }
};
struct dog final : animal {
    __device__ dog() : animal(4)
    {
    }
    __device__ int sound(int x) const override
    {
        return x * 2;
    }
};
struct bird : animal {
    __device__ bird() : animal(2)
    {
    }
    __device__ int sound(int x) const override
    {
        return x - 3;
    }
    __device__ int move(int x) const override
    {
        return animal::move(x) * 5;
    }
};

// @run int n=64 block=64
extern "C" __global__ void virtual_functions(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    dog d;
    bird b;
    const animal *a = in[t] & 1 ? static_cast<const animal *>(&d) : &b;
    out[t] = a->sound(in[t]) + a->move(t) + b.move(1) + d.sound(2);
}

struct counter {
    int n;
    __device__ int up(int k)
    {
        return n += k;
    }
    __device__ int down(int k)
    {
        return n -= k;
    }
};

// @run int n=64 block=64
extern "C" __global__ void member_pointers(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    counter c{in[t]};
    int (counter::*f)(int) = t & 1 ? &counter::up : &counter::down;
    int counter::*m = &counter::n;
    out[t] = (c.*f)(t) + c.*m;
}

// --- Comparisons ----------------------------------------------------------

struct version {
    int major, minor;
    __device__ constexpr bool operator==(const version &) const = default;
    __device__ constexpr bool operator<(const version &o) const
    {
        return major != o.major ? major < o.major : minor < o.minor;
    }
};
template <version V> __device__ int code()
{
    return V.major * 100 + V.minor;
}

// @run int n=64 block=64
extern "C" __global__ void class_arguments(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    version v{.major = in[t] % 4, .minor = t % 3};
    out[t] =
        (v == version{2, 1}) + 2 * (v < version{1, 2}) + code<version{3, 7}>();
}

// @run int n=64 block=64
extern "C" __global__ void generic_lambdas(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    auto visit = [&](auto... v) { return (v + ... + t); };
    auto typed = []<class T>(T x) { return sizeof(T) + x; };
    out[t] =
        visit(in[t], (short)2, 3LL) + (int)typed((char)1) + (int)typed(2LL);
}

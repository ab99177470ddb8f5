// C++ as libraries of kernels use it: policies, packs, objects in shared
// memory, tables made by the compiler.

// @options --fmad=false -std=c++20 -default-device

// --- Policies and packs ----------------------------------------------------

template <class OWN> struct operation {
    __device__ int apply(int a, int b) const
    {
        return static_cast<const OWN *>(this)->apply_own(a, b);
    }
};

struct addition : operation<addition> {
    static constexpr int identity = 0;
    __device__ int apply_own(int a, int b) const { return a + b; }
};

struct salted : operation<salted> {
    static constexpr int identity = 7;
    int salt = 5;
    __device__ int apply_own(int a, int b) const { return a ^ b * 3 ^ salt; }
};

template <class OPERATION, int THREADS> struct block_reduction {
    struct storage {
        int values[THREADS];
    };
    storage &shared;
    OPERATION operation;

    __device__ int operator()(int value)
    {
        shared.values[threadIdx.x] = value;
        __syncthreads();
        int result = OPERATION::identity;
        for (int t = 0; t < blockDim.x; t++)
            result = operation.apply(result, shared.values[t]);
        __syncthreads();
        return result;
    }
};

template <class OPERATION>
__device__ int reduced(int value, OPERATION operation = OPERATION())
{
    using reduction = block_reduction<OPERATION, 128>;
    __shared__ typename reduction::storage shared;
    return reduction{shared, operation}(value);
}

// @run int n=128 block=128
// @run int n=33 block=33
extern "C" __global__ void policies(int *out, const int *in, int n)
{
    int value = in[threadIdx.x];
    out[threadIdx.x] = reduced<addition>(value) + reduced(value, salted{}) +
                       reduced(value, salted{{}, value & 1});
}

template <class... TERMS> __device__ auto sum_of(TERMS... terms)
{
    return (terms + ... + 0);
}

template <class FUNCTION, class... ARGUMENTS>
__device__ void for_each(FUNCTION &&function, ARGUMENTS &&...arguments)
{
    (function(static_cast<ARGUMENTS &&>(arguments)), ...);
}

template <int... INDICES> struct indices {};
template <int N, int... INDICES>
struct first_indices : first_indices<N - 1, N - 1, INDICES...> {};
template <int... INDICES> struct first_indices<0, INDICES...> {
    using type = indices<INDICES...>;
};

template <int... INDICES>
__device__ int weighted(const int *values, indices<INDICES...>)
{
    return ((values[INDICES] * (INDICES + 1)) + ...);
}

template <class FIRST, class... REST>
__device__ FIRST largest(FIRST first, REST... rest)
{
    if constexpr (sizeof...(rest) == 0) {
        return first;
    } else {
        FIRST other = largest(rest...);
        return first > other ? first : other;
    }
}

// @run int n=128 block=120
extern "C" __global__ void packs(int *out, const int *in, int n)
{
    int i = threadIdx.x, sum = 0, calls = 0;
    for_each([&](auto &value) {
        sum = sum * 3 + (int)value;
        value += 1;
        calls++;
    }, sum, i, calls);
    const int *values = in + threadIdx.x;
    out[threadIdx.x] = sum_of(values[0], (short)values[1], 3.0f, i) + sum +
                       weighted(values, first_indices<8>::type{}) +
                       largest(values[0], values[3], 17, calls) * calls;
}

template <class FUNCTION>
__device__ int sum_of_calls(int count, FUNCTION function)
{
    int sum = 0;
    for (int k = 0; k < count; k++)
        sum += function(k);
    return sum;
}

struct counter {
    int count;

    __device__ int run(int value)
    {
        auto product = [this, value] { return count * value; };
        auto copy = [*this]() mutable { return count += 2; };
        return product() + copy() + count;
    }
};

// @run int n=128 block=128
extern "C" __global__ void closures(int *out, const int *in, int n)
{
    int i = threadIdx.x, state = in[i], hits = 0;
    int sum = sum_of_calls(i % 7, [&state, &hits, n](int k) {
        state = state * 5 + k;
        hits += state & 1;
        return hits + n;
    });
    auto depth = [](auto self, int left) -> int {
        return left <= 0 ? 1 : left + self(self, left - 1) * 2;
    };
    int values[4] = {1, 2, 3, 4};
    auto at = [&values](int k) -> int & { return values[k & 3]; };
    at(i) += 10;
    at(i + 1) *= at(i);
    auto mixed = [&]<int... K>() { return ((in[(i + K) % n] << K) + ...); };
    auto number = [count = i]() mutable { return ++count; };
    auto copy = number;
    number();
    out[i] = sum + hits + depth(depth, i % 5) + values[0] + values[3] +
             mixed.template operator()<0, 1, 2>() + number() * 10 + copy() +
             counter{i}.run(state);
}

// --- Concepts --------------------------------------------------------------

template <class T>
concept sized = requires(T object) {
    { object.size() };
    T::weight;
};

struct list {
    static constexpr int weight = 3;
    int length;
    __device__ int size() const { return length; }
    __device__ bool operator==(const list &) const = default;
};

template <class T> __device__ int weight_of(T value) { return value * 2; }
template <sized T> __device__ int weight_of(T object)
{
    return object.size() * T::weight;
}

enum class way { add, multiply };

struct sizes {
    int width = 1, height = 2, depth = 3;
};

template <sizes SIZES> __device__ int volume()
{
    return SIZES.width * SIZES.height * SIZES.depth;
}

__device__ consteval int square(int x)
{
    return x * x;
}

// @run int n=128 block=128
extern "C" __global__ void concepts(int *out, const int *in, int n)
{
    using enum way;
    int i = threadIdx.x, sum = 0;
    way chosen = in[i] & 1 ? add : multiply;
    sizes size{.height = in[i], .depth = 5};
    int values[]{1, 2, 3};
    for (int k = 0; auto value : values)
        sum += value * ++k;
    if (i & 1) [[likely]]
        sum += 2;
    else [[unlikely]]
        sum -= 1;
    out[i] = weight_of(in[i]) + weight_of(list{i % 3}) + sum + square(4) +
             (chosen == add ? size.width + size.height
                            : size.width * size.depth) +
             volume<sizes{.depth = 7}>() +
             (list{i % 3} == list{in[i] & 1});
}

// --- Objects ---------------------------------------------------------------

struct place {
    float x, y;

    __device__ place operator+(place other) const
    {
        return {x + other.x, y + other.y};
    }
    __device__ place &operator+=(place other) { return *this = *this + other; }
    __device__ place operator-() const { return {-x, -y}; }
    __device__ float operator[](int k) const { return k ? y : x; }
    __device__ explicit operator bool() const { return x > 0; }
    __device__ friend place operator*(float factor, place p)
    {
        return {factor * p.x, factor * p.y};
    }
};

struct weight {
    float mass;
};

struct body : place, weight {
    int number;
    __device__ body(place where, float m, int k)
        : place(where), weight{m}, number(k)
    {
    }
};

__device__ float energy(body b)
{
    b.mass += 1;
    return b.mass * (b.x * b.x + b.y * b.y) + b.number;
}

__device__ place turned(place p)
{
    return -p;
}

// @run float n=130 block=128
extern "C" __global__ void bases(float *out, const float *in, int n)
{
    int i = threadIdx.x;
    body first({in[i], in[i + 1]}, in[i + 2], i), second = first;
    place sum = turned(first);
    sum += 2.0f * first;
    second.number = 3;
    static_cast<place &>(second) = sum;
    out[i] = energy(first) + energy(second) * 0.5f + sum[i & 1] +
             (sum ? 1.0f : 0.0f);
}

struct bits {
    unsigned a : 5;
    int b : 6;
    unsigned : 0;
    bool c : 1;
    unsigned long long d : 40;
};

// @run int n=128 block=128
extern "C" __global__ void bit_fields(int *out, const int *in, int n)
{
    int value = in[threadIdx.x];
    bits fields{};
    fields.a = value;
    fields.b = value >> 2;
    fields.c = value & 4;
    fields.d = (unsigned long long)value << 20;
    fields.a += 30;
    fields.b *= 3;
    fields.d--;
    out[threadIdx.x] = fields.a * 3 + fields.b * 5 + fields.c +
                       (int)(fields.d >> 13) + (int)sizeof fields;
}

struct alignas(16) node {
    int key;
    node *next;
    __device__ node(int k, node *n) : key(k), next(n) {}
};

// Constructed where bytes are, and found by pointers.
// @run int n=128 block=128
// @run int n=33 block=33
extern "C" __global__ void nodes_in_place(int *out, const int *in, int n)
{
    __shared__ alignas(16) unsigned char bytes[sizeof(node) * 128];
    node *nodes = reinterpret_cast<node *>(bytes);
    int t = threadIdx.x, sum = 0, steps = 0;
    node *own = new (nodes + t) node(in[t], t ? nodes + t - 1 : nullptr);
    __syncthreads();
    for (node *p = own; p && steps < 20; p = p->next, steps++)
        sum = sum * 3 + p->key;
    out[t] = sum + steps;
}

// Several arrays in the memory that the launch asks for.
extern __shared__ __align__(16) unsigned char of_launch[];

// @run int n=128 block=128 shared=1920
// @run int n=33 block=33 shared=495
extern "C" __global__ void carved_arrays(int *out, const int *in, int n)
{
    int t = threadIdx.x, last = n - 1 - t;
    double *doubles = (double *)of_launch;
    int *ints = (int *)(doubles + n);
    short *shorts = (short *)(ints + n);
    char *chars = (char *)(shorts + n);
    doubles[t] = t * 0.5;
    ints[t] = in[t];
    shorts[t] = t * 300;
    chars[t] = t * 3;
    __syncthreads();
    out[t] = (int)doubles[last] + ints[(t + 1) % n] + shorts[last] * 2 +
             chars[last];
}

// --- Tables ----------------------------------------------------------------

constexpr unsigned entry_of(unsigned index)
{
    for (int bit = 0; bit < 8; bit++)
        index = index & 1 ? 0xedb88320u ^ index >> 1 : index >> 1;
    return index;
}

struct table {
    unsigned entries[256];
    constexpr table() : entries()
    {
        for (unsigned k = 0; k < 256; k++)
            entries[k] = entry_of(k);
    }
};

__device__ constexpr table entries;

// @run unsigned n=128 block=128
extern "C" __global__ void table_of_constants(unsigned *out,
                                              const unsigned *in, int n)
{
    unsigned hash = ~0u, word = in[threadIdx.x];
    for (int k = 0; k < 4; k++, word >>= 8)
        hash = entries.entries[(hash ^ word) & 255] ^ hash >> 8;
    out[threadIdx.x] = ~hash;
}

struct setting {
    int values[3];
    float scale;
    const char *name;
};

__device__ setting settings[2] = {{{1, 2, 3}, 0.5f, "one"},
                                  {{4, 5, 6}, 1.5f, "two"}};
__device__ int rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int *second_row = &rows[1][0];
__device__ const int *const all_rows[] = {rows[0], rows[1]};

// @run int n=128 block=128
extern "C" __global__ void pointers_in_tables(int *out, const int *in, int n)
{
    int i = threadIdx.x, letters = 0;
    const setting &own = settings[in[i] & 1];
    for (const char *letter = own.name; *letter; letter++)
        letters += *letter;
    out[i] = own.values[i % 3] + (int)(own.scale * 4) + letters +
             second_row[i % 3] + all_rows[i & 1][2];
}

// Members that are defined outside of their class.
class meter {
public:
    __device__ meter(int *place, int start);
    __device__ ~meter();
    __device__ meter &operator+=(int value);
    template <class T> __device__ T times(T factor) const;

private:
    int *place_;
    int sum_;
};

__device__ meter::meter(int *place, int start) : place_(place), sum_(start) {}
__device__ meter::~meter()
{
    *place_ += sum_;
}
__device__ meter &meter::operator+=(int value)
{
    sum_ += value & 63;
    return *this;
}
template <class T> __device__ T meter::times(T factor) const
{
    return factor * sum_;
}

// @run int n=128 block=128
extern "C" __global__ void members_defined_outside(int *out, const int *in,
                                                   int n)
{
    int i = threadIdx.x;
    meter own(out + i, i);
    for (int k = 0; k < (in[i] & 7); k++)
        own += in[k];
    out[i] = int(own.times(1.5f));
}

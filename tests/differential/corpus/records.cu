// Members of structs, which lie woven in memory: all of them, some, in rows of
// records, in records all over, and of sizes and alignments of all sorts.

struct odd {
    unsigned char a;
    short b;
    int c;
};

struct three {
    float x, y, z;
};

struct wide {
    double d;
    float f;
    int i;
};

struct line {
    int k[16];
};

// @run float n=1200 grid=1 block=300
// @run float n=512 grid=2 block=64
extern "C" __global__ void quads(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = reinterpret_cast<const float4 *>(in)[i];
    reinterpret_cast<float4 *>(out)[i] =
        make_float4(v.w + v.x, v.y, v.z - v.x, v.x);
}

// @run float n=900 grid=1 block=300
// @run float n=600 grid=4 block=8,5
extern "C" __global__ void triples(float *out, const float *in, int n)
{
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    int i = blockIdx.x * blockDim.x * blockDim.y + t;
    const three *from = reinterpret_cast<const three *>(in);
    three *to = reinterpret_cast<three *>(out);
    if (3 * i + 2 >= n)
        return;
    three v = from[i];
    to[i] = {v.z, v.x + v.y, v.y};
}

// The same by numbers.
// @run int n=900 grid=3 block=100
extern "C" __global__ void triples_by_index(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned u = blockIdx.x * blockDim.x + threadIdx.x;
    int x = in[3 * i], y = in[3 * i + 1], z = in[3 * u + 2];
    out[3 * i] = y;
    out[3 * i + 1] = z ^ x;
    out[3 * u + 2] = x;
}

// Some members of each, in rows that end with the last one read.
// @run int n=1024 grid=1 block=256
// @run int n=512 grid=2 block=64
extern "C" __global__ void some_members(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int4 *from = reinterpret_cast<const int4 *>(in);
    int a = from[i].y, b = from[i].z;
    __syncthreads();
    out[i] = a * 3 ^ b;
    out[i + n / 4] = from[i].w;
}

// @run unsigned n=1024 grid=1 block=256
// @run unsigned n=320 grid=1 block=80
extern "C" __global__ void bytes(unsigned *out, const unsigned *in, int n)
{
    int i = threadIdx.x;
    const uchar3 *from = reinterpret_cast<const uchar3 *>(in);
    uchar3 c = from[i];
    uchar4 d = reinterpret_cast<const uchar4 *>(in)[i];
    out[i] = c.x * 77u + c.y * 150u + c.z * 29u;
    reinterpret_cast<uchar4 *>(out)[i + n / 4] =
        make_uchar4(255 - d.x, d.z, d.y, d.w ^ c.x);
    reinterpret_cast<uchar3 *>(out + n / 2)[i] = make_uchar3(d.w, c.z, d.x);
}

// @run int n=1024 grid=1 block=128
extern "C" __global__ void halfwords(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    short4 a = reinterpret_cast<const short4 *>(in)[i];
    ushort2 b = reinterpret_cast<const ushort2 *>(in)[i];
    short3 c = reinterpret_cast<const short3 *>(in)[i];
    reinterpret_cast<short4 *>(out)[i] =
        make_short4(a.w, a.x + b.y, a.z, c.y);
    reinterpret_cast<short3 *>(out + n / 2)[i] =
        make_short3(c.z, c.x, (short)b.x);
}

// @run double n=512 grid=1 block=128
extern "C" __global__ void doubles(double *out, const double *in, int n)
{
    int i = threadIdx.x;
    double2 a = reinterpret_cast<const double2 *>(in)[i];
    reinterpret_cast<double2 *>(out)[i] = make_double2(a.y, a.x + a.y);
    const wide *from = reinterpret_cast<const wide *>(in);
    wide *to = reinterpret_cast<wide *>(out + n / 2);
    wide w = from[i];
    w.i ^= 5;
    w.d = a.x;
    to[i] = w;
}

// Members of all sizes, and holes that nobody writes.
// @run int n=1024 grid=1 block=128
extern "C" __global__ void holes(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    odd v = reinterpret_cast<const odd *>(in)[i];
    odd *to = reinterpret_cast<odd *>(out);
    to[i].a = v.a + 1;
    to[i].b = (short)(v.b - v.c);
    to[i].c = v.c ^ v.a;
}

// Records all over.
// @run int n=1024 grid=1 block=100
// @run int n=2048 grid=2 block=128
extern "C" __global__ void places(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, many = n / 4;
    int at = (in[i] & 0xffff) % many, to = (i * 7 + 3) % many;
    int4 v = reinterpret_cast<const int4 *>(in)[at];
    int2 w = reinterpret_cast<const int2 *>(in)[at];
    uchar4 u = reinterpret_cast<const uchar4 *>(in)[at];
    if (i < many)
        reinterpret_cast<int4 *>(out)[to] =
            make_int4(v.w ^ u.x, v.x + w.y, v.y * u.w, v.z);
}

// Records all over, of some threads only.
// @run float n=1024 grid=1 block=128
extern "C" __global__ void places_of_some(float *out, const float *in, int n)
{
    int i = threadIdx.x;
    const float2 *from = reinterpret_cast<const float2 *>(in);
    float2 *to = reinterpret_cast<float2 *>(out);
    if (in[i] > 0) {
        float2 v = from[(i * 5) % 128];
        to[i * 3 % 128] = make_float2(v.y, v.x);
    } else {
        to[i * 3 % 128].y = from[i].x;
    }
}

// @run int n=2048 grid=1 block=128
extern "C" __global__ void large(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    const line *from = reinterpret_cast<const line *>(in);
    line *to = reinterpret_cast<line *>(out);
    line v = from[i];
    int swap = v.k[3];
    v.k[3] = v.k[12] + i;
    v.k[12] = swap;
    to[i] = v;
}

// What is written between two loads, and read between two stores, may be the
// same place.
// @run int n=512 grid=1 block=64
extern "C" __global__ void in_place(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    int2 *a = reinterpret_cast<int2 *>(out);
    int *b = &out[2 * i + ((in[0] & 1) | 1)];
    a[i].x = in[i];
    a[i].y = in[i] + 1;
    int x = a[i].x;
    *b = x * 3;
    int y = a[i].y;
    a[i].x = y - 1;
    int z = *b;
    a[i].y = z + x;
    *b += a[i].x;
}

// Members that share places.
// @run int n=512 grid=1 block=64
extern "C" __global__ void overlaps(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    long long *wide = reinterpret_cast<long long *>(out);
    wide[i] = in[i] * 0x100000001ll;
    out[2 * i] = in[i + 1];
    reinterpret_cast<short *>(out)[4 * i + 3] = (short)i;
    long long all = wide[i];
    out[2 * i + 1] = (int)(all >> 7);
}

// @run float n=256 grid=1 block=64
extern "C" __global__ void shared_records(float *out, const float *in, int n)
{
    __shared__ float2 s[64];
    int t = threadIdx.x;
    s[t] = make_float2(in[t], in[t + 64]);
    __syncthreads();
    for (int d = 32; d > 0; d >>= 1) {
        if (t < d) {
            float2 a = s[t], b = s[t + d];
            s[t] = make_float2(a.x + b.y, a.y - b.x);
        }
        __syncthreads();
    }
    float2 v = s[t ^ 5];
    out[t] = v.x;
    out[t + 64] = v.y;
    out[t + 128] = s[0].x;
}

// In a loop over the grid, as most are.
// @run float n=4000 grid=2 block=64
extern "C" __global__ void strides(float *out, const float *in, int n)
{
    const float4 *from = reinterpret_cast<const float4 *>(in);
    float2 *to = reinterpret_cast<float2 *>(out);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4;
         i += gridDim.x * blockDim.x) {
        float4 v = from[i];
        to[i] = make_float2(v.x + v.y, v.z - v.w);
    }
}

struct node {
    int value, left, right;
    node *next;
};

// Pointers to records, which are loaded themselves.
// @run int n=512 grid=1 block=64
extern "C" __global__ void nodes(int *out, const int *in, int n)
{
    __shared__ node tree[64];
    int t = threadIdx.x;
    tree[t] = {in[t], (2 * t + 1) % 64, (2 * t + 2) % 64, &tree[(t * 11) % 64]};
    __syncthreads();
    const node *at = &tree[t];
    int sum = 0;
    for (int k = 0; k < (in[t] & 7); k++) {
        sum = sum * 5 + at->value + tree[at->left].value -
              tree[at->right].value;
        at = at->next;
    }
    out[t] = sum;
}

struct best {
    int x, y;
};

// One thread writes what is alike for all, and what is its own.
// @run int n=64 grid=1 block=64
extern "C" __global__ void one_simple(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    best *r = (best *)out;
    if (in[t] == in[9] && t == 9) { r[3].x = t * in[t]; r[3].y = n; }
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void one_result(int *out, const int *in, int n)
{
    int t = threadIdx.x, greatest = in[t];
    bool mine = true;
    for (int k = 0; k < 64; k++)
        if (in[k] > greatest || (in[k] == greatest && k < t)) mine = false;
    best *r = (best *)out;
    if (mine) { r->x = greatest; r->y = 1; }
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void one_four(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    int4 *r = (int4 *)out;
    if (t == (in[0] & 31)) { r->x = in[t]; r->y = 5; r->z = t; r->w = n; }
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void one_shared(int *out, const int *in, int n)
{
    __shared__ best most;
    int t = threadIdx.x;
    if (t == 0) { most.x = 1; most.y = 2; }
    __syncthreads();
    if (t == (in[3] & 63)) { most.x = in[t]; most.y = n; }
    __syncthreads();
    out[t] = most.x + most.y * 3;
}

// The places of one bundle are known to be rows, and not.
// @run int n=4096 grid=1 block=128 more=5
extern "C" __global__ void mixed(int *out, const int *in, int n, int o)
{
    int t = threadIdx.x;
    int x = 3 * (t + o);
    int a = in[x + 1], b = in[x + 2], c = in[x];
    ((long long *)(out + n / 2))[t] = (long long)x;
    out[x + 2] = b ^ c;
    out[x + 1] = a + 1;
    out[x] = c * 2;
}

// @run int n=4096 grid=1 block=128 more=5
extern "C" __global__ void mixed2(int *out, const int *in, int n, int o)
{
    int t = threadIdx.x;
    int x = 3 * (t + o);
    int a = in[x + 1], b = in[x + 2], c = in[x];
    long long y = (long long)(x + 1);
    ((long long *)(out + n / 2))[t] = y / 3;
    out[x + 2] = b ^ c;
    out[x] = c * 2;
    out[x + 1] = a + 1;
}

// Numbers that are not aligned.
struct __attribute__((packed)) p1 {
    short a;
    int b;
    short c;
    long long d;
};

struct __attribute__((packed)) p2 {
    char a;
    short b;
    int c;
    char d;
};

struct __attribute__((packed)) p4 {
    short a;
    float b;
    short c;
};

// rows, units of 8 bytes: b begins 2 bytes after one
// @run int n=2048 grid=1 block=128
extern "C" __global__ void packed_row(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    p1 v = ((const p1 *)in)[t];
    out[t] = v.a + v.b * 3 + v.c * 5 + (int)(v.d >> 7);
}

// @run int n=2048 grid=1 block=128
extern "C" __global__ void packed_store_row(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    p1 v = {(short)in[t], in[t + 1] * 0x10101, (short)t,
            in[t + 2] * 0x123456789abll};
    ((p1 *)out)[t] = v;
}

// @run int n=2048 grid=1 block=128
extern "C" __global__ void packed_elsewhere(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    p4 v = ((const p4 *)in)[(t * 5) & 127];
    out[t] = v.a + __float_as_int(v.b) * 3 + v.c * 5;
}

// @run int n=2048 grid=1 block=128
extern "C" __global__ void packed_words(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    p2 v = ((const p2 *)in)[t];
    out[t] = v.a + v.b * 3 + v.c * 5 + v.d * 7;
}

// No packed struct: a message whose numbers lie anywhere
// @run int n=2048 grid=1 block=128
extern "C" __global__ void message(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    const char *m = (const char *)in + 16 * t;
    short kind, sum;
    int length;
    memcpy(&kind, m, 2);
    memcpy(&length, m + 2, 4);
    memcpy(&sum, m + 6, 2);
    out[t] = kind + length * 3 + sum * 5;
}

// as stores
// @run int n=2048 grid=1 block=100
extern "C" __global__ void message_store(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    char *m = (char *)out + 16 * ((t * 3) & 127);
    short kind = (short)in[t], sum = (short)(in[t] >> 3);
    int length = in[t + 1] * 77777;
    memcpy(m, &kind, 2);
    memcpy(m + 2, &length, 4);
    memcpy(m + 6, &sum, 2);
    m = (char *)out + 2048 + 8 * t;
    memcpy(m, &kind, 2);
    memcpy(m + 6, &sum, 2);
    memcpy(m + 2, &length, 4);
}

// The last store is aligned, the first place is not.
// @run float n=4096 grid=4 block=128
extern "C" __global__ void stores_from_the_middle(float *out, const float *in,
                                                  int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 *q = reinterpret_cast<float4 *>(out);
    float v = in[i];
    q[i].y = v;
    q[i].z = v + 1;
    q[i].w = v * 2;
    q[i + 1].x = v - 1;
}

// Pairs in an array of the thread, which go through shared memory in a loop.
__device__ float2 both(float2 a, float2 b, float2 sign)
{
    return make_float2(a.x + sign.x * b.y, a.y + sign.y * b.x);
}

// @run float n=2048 grid=4 block=64
// @run float n=1024 grid=2 block=64
extern "C" __global__ void pairs_exchanged(float *out, const float *in, int n)
{
    __shared__ float2 s[256];
    int t = threadIdx.x;
    const float2 *from = reinterpret_cast<const float2 *>(in) +
                         256 * blockIdx.x;
    float2 *to = reinterpret_cast<float2 *>(out) + 256 * blockIdx.x;
    float2 one = make_float2(1, -1), other = make_float2(-1, 1), a[4];
    for (int i = 0; i < 4; i++)
        a[i] = from[t + 64 * i];
    for (int h = 1; h < 64; h *= 4) {
        float2 u = both(a[0], a[2], one), v = both(a[0], a[2], other);
        float2 w = both(a[1], a[3], one), z = both(a[1], a[3], other);
        a[0] = both(u, w, one), a[1] = both(v, z, one);
        a[2] = both(u, w, other), a[3] = both(v, z, other);
        __syncthreads();
        for (int i = 0; i < 4; i++)
            s[t * 4 + i] = a[i];
        __syncthreads();
        for (int i = 0; i < 4; i++)
            a[i] = s[(t ^ h) + 64 * i];
    }
    for (int i = 0; i < 4; i++)
        to[t + 64 * i] = a[i];
}

struct two {
    float x, y;
};

__device__ two get(const two *p)
{
    return *p;
}

// @run float n=600 grid=2 block=128
extern "C" __global__ void pairs_chosen(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const two *from = reinterpret_cast<const two *>(in);
    two v = get(from + i), w = get(from + i + 1);
    for (int k = 0; k < i % 5; k++) {
        two m = (i + k) & 1 ? v : w;
        v = w;
        w = m;
    }
    reinterpret_cast<two *>(out)[i] = w;
}
